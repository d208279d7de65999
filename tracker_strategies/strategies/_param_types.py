"""Types of params, as signatures and `help` show them."""

from __future__ import annotations

from inspect import Parameter
from typing import Any


class Words(str):
    """A type in words: without quotes where a signature is printed."""

    __slots__ = ()
    __repr__ = str.__str__


_SHARES = "float | str | Mapping[str, float | str] | None"
#: Params with a default that does not show what they take; all others have the type of their default.
TYPES = {
    "target": "str | Sequence[str] | None",
    "assets": "Sequence[str] | None",
    "blend": "Sequence[float] | str | None",
    "margin": "float | str | Sequence[float] | None",
    "bars_per_year": "float | None",
    "coordinates": 'Literal["weights", "shares"]',
    "index_weights": "str | Mapping | None",
    "cash_flows": "str | Mapping | None",
    "mandate": "Mandate | Mapping | str | None",
    "max_tracking_error": "float | str | None",
    "fill": 'Literal["next_open", "open", "close"]',
    "max_participation": "float | str | None",
    "unfilled": 'Literal["carry", "drop"]',
    "impact": 'Literal["sqrt"] | None',
    "rebalance": "int | str",
    "calendar": "str | None",
    "listing_warmup": "int | str",
    "delist_after": "int | str",
    "overnight": 'Literal["learn", "scale", "skip"]',
    "holdings": "Account | Mapping[str, float] | str | None",
    "trade_from": "date | str | None",
    "capital": "float | None",
    "broker": 'Literal["basket", "ordinary"]',
    # limits
    "max_names": "int | None",
    "max_weight": _SHARES,
    "min_weight": _SHARES,
    "must_hold": "Mapping[str, float | str] | None",
    "sectors": "str | Mapping[str, str] | None",
    "max_sector": _SHARES,
    "min_sector": _SHARES,
    "groups": "Mapping[str, Mapping] | None",
    "max_names_per_group": "int | Mapping[str, int] | None",
    "unmapped": 'Literal["refuse", "group", "free"]',
    "exclude": "Sequence[str] | None",
    "only": "Sequence[str] | None",
    "freeze": "Sequence[str] | None",
    "min_cash": "float | str | None",
    "max_turnover": "float | str | None",
    "entry_turnover": "float | str | None",
    "lot": "float | None",
    "band": "float | str | None",
    "cost_aware": "float | None",
    "headroom": "float | None",
    "cure": 'Literal["schedule", "bar"]',
    "fees": "Mapping[str, Mapping] | None",
    # of single strategies
    "prior_weights": "str | Mapping | DataFrame | None",
    "review": "int | str",
    "review_offset": "int | str",
    "window": "int | str",
    "every": "int | str",
    "lam": "float | None",
    "C": "float | None",
    "eta": "float | None",
    "side": "str | SideInformation",
    "signal": "Callable[[Bar], Sequence[float]] | None",
    "scale": 'Literal["auto"] | None',
    "theta": "int | None",
    "n_factors": "int | None",
    "horizon": "int | None",
    "discounts": "Sequence[float] | None",
    "forgetting": 'float | Literal["self"]',
    "weights": "Mapping[str, float] | Sequence[float] | None",
}


def type_of(name: str, default: Any) -> Any:
    """The annotation of a param in a signature."""
    if name in TYPES:
        return Words(TYPES[name])
    return Parameter.empty if default is None else type(default)
