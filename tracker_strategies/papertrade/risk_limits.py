"""The limits of a paper account, which may be changed later, unlike its description."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeVar

from tracker_strategies._checks import number
from tracker_strategies.errors import ParameterError

T = TypeVar("T")


@dataclass(frozen=True)
class RiskLimits:
    """Limits of a rebalance. A breach rejects all of it.

    Parameters
    ----------
    max_order_value : float, optional
        Most that one order may be worth, in money.
    max_turnover : float, default 2
        Most that one session may buy and sell together, as a share of the account. The first investment turns over 1, a switch
        from one set of names to another 2.
    max_weight : float, optional
        Most that one name may weigh after the rebalance.
    max_orders : int, optional
        Most orders of one session.
    max_daily_loss : float, default 0.25
        Loss from one session to the next after which the account halts: nothing is traded until a person resumes.
    max_move : float, default 0.45
        Largest move of a price from one session to the next that is accepted; beyond it a bad print or a split is suspected
        and the session is not taken in.
    max_missing : float, default 0.25
        Largest share of the names that may lose their bar from one session to the next.
    allow : tuple of str, optional
        The only names that may be bought.

    Examples
    --------
    >>> from tracker_strategies.papertrade import PaperAccount, RiskLimits
    >>> limits = RiskLimits(max_weight=0.3, max_orders=50)
    >>> account = PaperAccount.create("account", "pa", "sample", limits=limits, replay="2022-12-20")
    >>> account.limits().max_orders
    50
    """

    max_order_value: float | None = None
    max_turnover: float | None = 2.0
    max_weight: float | None = None
    max_orders: int | None = None
    max_daily_loss: float | None = 0.25
    max_move: float | None = 0.45
    max_missing: float | None = 0.25
    allow: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Every limit is a positive number, or None for no limit, which may be written out."""
        for name in (f.name for f in fields(self) if getattr(self, f.name) == "none"):
            object.__setattr__(self, name, None)
        for name in (f.name for f in fields(self) if f.name != "allow"):
            value = getattr(self, name)
            if value is not None:
                checked = number(f"limit {name}, unless it is none,", value, above=0.0)
                object.__setattr__(self, name, value if isinstance(value, int) else checked)
        if self.allow is not None:
            if isinstance(self.allow, str):
                object.__setattr__(self, "allow", tuple(self.allow.split(",")))
            if not all(isinstance(symbol, str) for symbol in self.allow):
                raise ParameterError(f"limit allow={self.allow!r} must be a list of asset names")
            object.__setattr__(self, "allow", tuple(self.allow))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """From the journal."""
        return built(cls, json.loads(text))

    def to_json(self) -> str:
        """For the journal."""
        return json.dumps(asdict(self))

    def changed(self, given: Mapping[str, Any]) -> Self:
        """These limits with some of them replaced."""
        known = [f.name for f in fields(self)]
        for name in given:
            if name not in known:
                raise ParameterError(f"unknown limit {name!r}; the limits are {', '.join(known)}")
        return dataclasses.replace(self, **given)


def built(cls: type[T], given: Any) -> T:
    """A dataclass from JSON, with nothing missing and nothing unknown."""
    if not isinstance(given, dict):
        raise ParameterError(f"{cls.__name__} must be a JSON object, got {type(given).__name__}")
    try:
        return cls(**given)
    except (TypeError, AttributeError) as problem:
        raise ParameterError(f"not a valid {cls.__name__}: {problem}") from None
