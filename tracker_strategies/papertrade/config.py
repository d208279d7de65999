"""What an account is made of: the description that is fixed when it is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel, MarketSource
from tracker_strategies._checks import count, number
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.holdings.account import Account
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import bind
from tracker_strategies.execution.mandate.fills import FillGuard
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.execution.named_costs import named
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.papertrade.market.calendars import Calendars
from tracker_strategies.papertrade.risk_limits import built

FloatArray = NDArray[np.float64]

BROKERS = ("simulated", "alpaca")
CLOCKS = ("data", "wall", "replay")
TIMES_IN_FORCE = ("day", "opg")


@dataclass(frozen=True)
class AccountConfig:
    """What is fixed when an account is opened.

    Parameters
    ----------
    name : str
        Short and unique: every order of the account carries it.
    strategy, params : str, mapping
        Name as ``tracker list`` shows it, ``path/to/file.py:Class`` or ``module:Class``; parameters as JSON can hold them.
    source : str
        Where bars come from, as :class:`datafeeds.MarketSource` knows it: a file that grows, ``yahoo:AAPL,MSFT:2015-01-01``,
        ``sample``, ``synthetic``; with ``gaps``, ``adjust``, ``seed``, ``renames`` and ``reading``, the rest of its options.
    targets, symbols : tuples of str
        What is tracked, and what may be held, for the life of the account.
    prices : tuple of str
        Which prices a bar has: ``close`` and perhaps ``open``, ``high``, ``low``, ``volume``.
    start : str
        First session on which the account may trade. Bars before it are only learned from.
    cash : float
    holdings : mapping
        Shares held before the first session, by name.
    worth : float
        What they were worth at the close of the first session.
    costs : CostModel
        What the simulated broker charges, and what the rebalancer expects to pay.
    broker, url : {"simulated", "alpaca"}, str
        Who trades, and the address of it, for Alpaca.
    time_in_force : {"day", "opg"}
        At Alpaca: orders for the day, or for the opening auction, which takes whole shares only (a mandate with whole shares).
    clock : {"data", "wall", "replay"}
        How the newest session is determined: by the data themselves; the calendar and the time of day; or one more session of
        recorded history with every step.
    calendar : str
        Exchange whose sessions count, as exchange_calendars calls it; of an account over several markets all of them, and if you
        like the names that trade at each: see :class:`~tracker_strategies.papertrade.market.calendars.Calendars`.
    actions : str
        Path of a file of corporate actions, or empty.
    faults : mapping
        What the simulated broker gets wrong on purpose; see :class:`~tracker_strategies.papertrade.brokers.faults.Faults`.
    verify_every : int, default 250
        Sessions after which a step checks its files and replays everything instead of trusting its checkpoint; 1 always replays.

    Examples
    --------
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> account = PaperAccount.create("account", "pa", "sample", {"eps": 0.0003}, replay="2022-12-20")
    >>> account.config.strategy, account.config.params["eps"]
    ('pa', 0.0003)
    """

    name: str
    strategy: str
    source: str
    targets: tuple[str, ...]
    symbols: tuple[str, ...]
    start: str
    params: Mapping[str, Any] = field(default_factory=dict)
    prices: tuple[str, ...] = ("close",)
    cash: float = 1_000_000.0
    costs: CostModel = field(default_factory=CostModel)
    gaps: str = "freeze"
    adjust: str = "split"
    seed: int = 0
    renames: str | None = None
    broker: str = "simulated"
    url: str = ""
    clock: str = "data"
    calendar: str = "XNYS"
    actions: str = ""
    faults: Mapping[str, Any] = field(default_factory=dict)
    verify_every: int = 250
    time_in_force: str = "day"
    holdings: Mapping[str, float] = field(default_factory=dict)
    worth: float = 0.0
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Validate; make tuples of lists, as JSON has them."""
        for name in ("targets", "symbols", "prices"):
            value = getattr(self, name)
            if not isinstance(value, (list, tuple)) or not value or not all(isinstance(x, str) for x in value):
                raise ParameterError(f"{name}={value!r} must be a list of names")
            object.__setattr__(self, name, tuple(value))
        if isinstance(self.params, Mapping) and self.params.get("coordinates") == "holdings":  # as older accounts have it
            object.__setattr__(self, "params", {**self.params, "coordinates": "shares"})
        if isinstance(self.costs, Mapping):
            object.__setattr__(self, "costs", CostModel(**self.costs))
        for name, choices in (("broker", BROKERS), ("clock", CLOCKS), ("time_in_force", TIMES_IN_FORCE)):
            if getattr(self, name) not in choices:
                raise ParameterError(f"{name}={getattr(self, name)!r} is unknown; choose one of {', '.join(choices)}")
        if not isinstance(self.holdings, Mapping):
            raise ParameterError(f"holdings={self.holdings!r} must be a mapping from names to shares")
        number("worth", self.worth, least=0.0)
        number("cash", self.cash, least=0.0, above=None if self.worth else 0.0)
        Account(self.cash, self.holdings).sizes(self.symbols)
        count("verify_every", self.verify_every)
        if not (self.name.isascii() and self.name.isalnum() and len(self.name) <= 32):
            raise ParameterError(
                f"the account's name {self.name!r} must be at most 32 letters and digits, because it is part of every order id"
            )
        for name in ("strategy", "source", "start", "gaps", "adjust", "url", "calendar", "actions"):
            if not isinstance(getattr(self, name), str):
                raise ParameterError(f"{name}={getattr(self, name)!r} must be text")
        self.calendars.check((*self.targets, *self.symbols))
        self._check_fill()

    def _check_fill(self) -> None:
        if not isinstance(self.params, Mapping):
            raise ParameterError(f"params={self.params!r} must be a mapping of names to values")
        if self.fill is FillMode.OPEN:
            raise ParameterError(
                "fill='open' needs the opening price before trading starts, and it is not known then; use fill=next_open"
            )
        if self.fill is FillMode.CLOSE and self.broker != "simulated":
            raise ParameterError(
                f"fill='close' trades at a close that is already past, which the broker {self.broker} cannot do; "
                "use fill=next_open"
            )
        for name, instead in (("trade_from", "start (--start)"), ("holdings", "holdings (--holdings)")):
            if self.params.get(name) is not None:
                raise ParameterError(f"the parameter {name} is for backtests only; for a paper account use {instead}")
        if self.params.get("broker", "basket") != "basket":
            raise ParameterError("broker='ordinary' is for backtests only: a paper account has its own broker; remove it")
        if self.liquidity is not None and self.broker != "simulated":
            raise ParameterError(
                f"max_participation and impact model fills in a simulated market, but {self.broker} fills orders "
                "in a real market; remove them, or limit orders with max_order_value"
            )
        if self.time_in_force == "opg" and (self.broker == "simulated" or not self.lot or self.lot % 1.0):
            raise ParameterError(
                f"time_in_force='opg' needs broker='alpaca' and whole shares: got broker={self.broker!r} and a lot "
                f"of {self.lot:g}; "
                "add --whole-shares, or omit it (day orders also wait for the open)"
            )

    def open(self) -> MarketPanel:
        """The source as it is now."""
        gaps = "live" if self.gaps == "freeze" else self.gaps  # the newest session may be a holiday of one of the targets
        how: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in self.reading.items()}
        how["calendar"] = self.calendar if self.calendar.isalnum() else None  # of stamps with a time zone
        return MarketSource(self.source, self.targets, gaps, self.seed, self.adjust, renames=self.renames, **how).open()

    @property
    def calendars(self) -> Calendars:
        """The exchanges of the account."""
        return Calendars.parse(self.calendar)

    @property
    def fill(self) -> FillMode:
        """When orders fill."""
        return FillMode.parse(self.params.get("fill", "next_open"))

    @property
    def held(self) -> FloatArray:
        """(N,) shares before the first session."""
        return np.array([self.holdings.get(symbol, 0.0) for symbol in self.symbols])

    @property
    def opening_value(self) -> float:
        """What the account began with, in cash and shares."""
        return self.cash + self.worth

    @property
    def mandate(self) -> Mandate:
        """Limits of the account: those of its params."""
        own = {name: self.params[name] for name in KEYS if self.params.get(name) is not None}
        return Mandate.of(self.params.get("mandate")).merged(own)

    @property
    def guard(self) -> FillGuard:
        """Its limits on the number of names, as they apply to fills."""
        return FillGuard.of(bind(self.mandate, self.symbols))

    @property
    def liquidity(self) -> Liquidity | None:
        """How fills depend on volume; None where they do not."""
        return Liquidity.of(self.params)

    @property
    def costs_by_name(self) -> CostModel:
        """The costs of the names, if some of them have their own fees."""
        return named(self.costs, self.mandate.fees, self.symbols)

    @property
    def lot(self) -> float:
        """Smallest number of shares."""
        return self.mandate.lot

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the journal."""
        return built(cls, json.loads(text))

    def to_json(self) -> str:
        """For the journal."""
        try:
            return json.dumps(
                {**asdict(self), "params": dict(self.params), "faults": dict(self.faults), "holdings": dict(self.holdings)}
            )
        except TypeError as problem:
            raise ParameterError(
                f"parameters of a paper account must be plain values that can be saved as JSON: {problem}"
            ) from None
