"""PaperAccount: a paper account in a folder."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from datafeeds import MarketPanel, MarketSource
from datafeeds.files import UNFINISHED
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.papertrade.brokers import simulated
from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.brokers.faults import Faults, FaultyBroker
from tracker_strategies.papertrade.brokers.settling import cancel_open, settle
from tracker_strategies.papertrade.brokers.simulated import SimulatedBroker
from tracker_strategies.papertrade.config import AccountConfig, RiskLimits
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.interventions import flatten_account, take_over
from tracker_strategies.papertrade.journal import journal as journals
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import Ledger, opening_entries
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch, account_lock
from tracker_strategies.papertrade.market.session_clocks import DataClock, ReplayClock, SessionClock, WallClock
from tracker_strategies.papertrade.opening import (
    absolute,
    cash_at_alpaca,
    first_session,
    limits_written_out,
    names_of,
    refuse_limits,
    try_out,
)
from tracker_strategies.papertrade.step import Step, StepResult
from tracker_strategies.strategies.registry import check_params, load_strategy

#: Options of :meth:`PaperAccount.create` that describe the source.
SOURCE_OPTIONS = ("gaps", "adjust", "seed", "members", "renames", "clean")


class PaperAccount:
    """A paper account: a folder with a journal in it.

    Open one with :meth:`create`, once; then run :meth:`step` after every session, in a process as short as you like. Nothing is
    kept in memory between two steps.

    Parameters
    ----------
    folder : path
    broker : Broker, optional
        Instead of the one that the account was opened with.
    clock : callable, optional
        The present time, in UTC, for accounts that follow a calendar.
    pause : callable, optional
        Waits so many seconds, when a broker has to be asked again.

    Examples
    --------
    >>> account = PaperAccount.create("demo", "apas", "sample", replay="2020-01-02")    # doctest: +SKIP
    >>> account.step().sent                                                             # doctest: +SKIP
    20
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        broker: Broker | None = None,
        clock: Callable[[], datetime] | None = None,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.halt_switch = HaltSwitch(self.folder)
        self._broker, self._clock, self._pause = broker, clock, pause
        with self.journal(readonly=True) as journal, journal.errors():
            self.config = AccountConfig.from_json(journal.meta("config"))

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        strategy: str,
        source: str | MarketSource,
        params: Mapping[str, Any] | None = None,
        *,
        panel: MarketPanel | None = None,
        targets: tuple[str, ...] = ("INDEX",),
        start: str | None = None,
        replay: str | None = None,
        symbols: tuple[str, ...] | None = None,
        limits: RiskLimits | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Open an account in a new folder.

        Parameters
        ----------
        strategy, params, targets
            See :class:`~tracker_strategies.papertrade.config.AccountConfig`.
        source : str or MarketSource
            Where bars come from. Its ``gaps`` are for the history that is there now: whatever happens later, a session without a
            price is a trading halt, of which an account must not die.
        panel : MarketPanel, optional
            Use this instead of opening the source.
        start : str, optional
            First session that may trade; by default the newest one in the source. Earlier bars are learned from.
        replay : str, optional
            Practise on recorded history from this date on: every step brings one more session.
        symbols : tuple of str, optional
            Names that may be held; by default all of the source (or the strategy's parameter ``assets``).
        **options
            ``cash``, ``costs``, ``broker``, ``url``, ``clock``, ``calendar``, ``actions``, ``faults``, ``verify_every``,
            see AccountConfig; ``gaps``, ``adjust``, ``seed``, ``renames``: see :class:`datafeeds.MarketSource`.

        Raises
        ------
        ParameterError, DataError, OutputError, StrategyError
            Before anything is written.
        """
        place = Path(folder).expanduser()
        if place.exists() and (not place.is_dir() or any(UNFINISHED not in p.name for p in place.iterdir())):
            raise OutputError(f"{place} exists already and is not empty; choose a new folder, or step the account in it")
        cls_, chosen = load_strategy(strategy), dict(params or {})
        check_params(cls_, chosen)
        how = {key: options.pop(key) for key in SOURCE_OPTIONS if key in options}
        market = source if isinstance(source, MarketSource) else MarketSource(source, targets, **how)
        for key in ("members", "clean"):
            if (told := getattr(market, key)) is not None:
                raise ParameterError(f"{key}={told!r}: a paper account keeps bars as they come; prepare them in the source")
        if options.get("broker") == "alpaca":
            options = {"clock": "wall", **options, **cash_at_alpaca(options)}
        if options.get("actions"):
            options["actions"] = absolute(options["actions"])
        if panel is None:
            panel = market.open()
        year = chosen.get("bars_per_year", chosen.get("bars_a_year"))
        if year is None and any(chosen.get(key) is not None for key in ("margin", "enhance", "max_tracking_error", "te_budget")):
            # Told from the whole source once: the first sessions of an account are too few to tell weeks from months.
            chosen["bars_per_year"] = panel.periods_per_year
        names = names_of(panel, symbols, chosen.pop("assets", None))
        config = AccountConfig(
            name=name or secrets.token_hex(4),
            strategy=absolute(strategy),
            source=absolute(market.source),
            targets=market.targets,
            gaps="freeze",  # for sessions to come; holes of the past were judged when the source was opened
            adjust=market.adjust,
            seed=market.seed,
            renames=market.renames and absolute(market.renames),
            symbols=names,
            params=limits_written_out(cls_, chosen, names),
            prices=("close", *(k for k in ("open", "high", "low", "volume") if getattr(panel, k) is not None)),
            start=first_session(panel, start or replay),
            **{**({"clock": "replay"} if replay else {}), **options},
        )
        Faults.build(config.faults)
        if config.faults and config.broker != "simulated":
            raise ParameterError("faults are for the simulated broker; a real one has its own")
        meta = {"config": config.to_json(), "limits": (limits or RiskLimits()).to_json(), "opened": journals.now()}
        refuse_limits(config, cls_, panel)
        try_out(config, cls_, panel)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"cannot make {place}: {problem.strerror}; choose another folder") from None
        Journal.create(place / journals.FILE, meta, lambda journal: opening_entries(journal, config))
        return cls(place)

    # -- pieces ----------

    def journal(self, *, readonly: bool = False) -> Journal:
        """The journal, to be closed after use."""
        return Journal(self.folder / journals.FILE, readonly=readonly)

    def limits(self) -> RiskLimits:
        """The limits as they are now."""
        with self.journal(readonly=True) as journal, journal.errors():
            return RiskLimits.from_json(journal.meta("limits"))

    def change_limits(self, given: Mapping[str, Any]) -> RiskLimits:
        """Replace some of the limits."""
        with account_lock(self.folder), self.journal() as journal:
            limits = RiskLimits.from_json(journal.meta("limits")).changed(given)
            with journal.transaction("limits"):
                journal.set_meta("limits", limits.to_json())
                journal.note("limits", ", ".join(f"{k}={v}" for k, v in given.items()))
        return limits

    @contextmanager
    def broker(self) -> Iterator[Broker]:
        """The account's broker, connected."""
        if self._broker is not None:
            yield self._broker
            return
        broker = self._connect()
        try:
            yield broker
        finally:
            broker.close()

    def _connect(self) -> Broker:
        config = self.config
        if config.broker == "alpaca":
            from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

            return AlpacaBroker.from_environment(config.url, pause=self._pause)
        faults = Faults.build(config.faults)
        part = faults.part if faults.partial else None
        broker = SimulatedBroker(self.folder / simulated.FILE, config.cash, config.costs, config.lot, part, config.guard)
        return FaultyBroker(broker, faults) if config.faults else broker

    def session_clock(self, broker: Broker | None = None) -> SessionClock:
        """What tells which sessions have happened. A broker's own clock counts more than this computer's."""
        if self.config.clock == "replay":
            return ReplayClock(self.config.start)
        if self.config.clock == "data":
            return DataClock()
        here = self._clock or (lambda: datetime.now(UTC))
        there = None if broker is None else broker.time()
        if there is None:
            return WallClock(self.config.calendar, here)
        gap = there - here()
        return WallClock(self.config.calendar, lambda: here() + gap)

    # -- what it does ----------

    def step(
        self,
        panel: MarketPanel | None = None,
        *,
        verify: bool = False,
        max_move: float | None = None,
        wish: Wish | None = None,
        decide: bool = True,
        move_on: bool = False,
    ) -> StepResult:
        """Do all that can be done now: see :mod:`tracker_strategies.papertrade.step`.

        Parameters
        ----------
        panel : MarketPanel, optional
            Use this instead of opening the source.
        verify : bool, default False
            Replay everything, whatever the checkpoint says, and compare with what was decided.
        max_move : float, optional
            Believe moves of a price up to this in this step.
        wish : Wish, optional
            Decide this instead of asking the strategy.
        decide : bool, default True
            False only takes sessions in, and sends what was decided before.
        move_on : bool, default False
            In recorded history, go on to the next session although the rebalance of the newest was refused.
        """
        with account_lock(self.folder), self.journal() as journal, self.broker() as broker:
            with journal.errors():
                limits = RiskLimits.from_json(journal.meta("limits"))
            if max_move is not None:
                limits = limits.changed({"max_move": max_move})
            clock = self.session_clock(broker)
            options = {"panel": panel, "pause": self._pause, "verify": verify, "wish": wish, "decide": decide, "move_on": move_on}
            return Step(journal, self.config, limits, broker, clock, self.halt_switch, **options).run()  # type: ignore[arg-type]

    def halt(self, why: str = "by hand", *, cancel_open_orders: bool = False) -> int:
        """Stop all sending, at once, also in a step that runs now; return how many open orders were cancelled."""
        self.halt_switch.set(why)
        if not cancel_open_orders:
            return 0
        with account_lock(self.folder), self.journal() as journal, self.broker() as broker:
            ledger = Ledger(journal, self.config)
            settle(ledger, broker)
            return cancel_open(ledger, broker)

    def resume(self) -> None:
        """Go on after a halt."""
        self.halt_switch.clear()

    def adopt(self) -> list[str]:
        """Take the broker's account over into the journal, and say what was different."""
        with account_lock(self.folder), self.journal() as journal, self.broker() as broker:
            return take_over(Ledger(journal, self.config), broker)

    def flatten(self) -> StepResult:
        """Cancel what waits, sell everything that is held, and halt."""
        with account_lock(self.folder), self.journal() as journal, self.broker() as broker:
            return flatten_account(Ledger(journal, self.config), broker, self.halt_switch, self._pause)
