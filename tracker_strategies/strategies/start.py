"""What an account begins with, from when on it trades, and how it learns nights, from the params of a strategy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import one_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.holdings.account import Account
from tracker_strategies.execution.overnight import CHOICES, Overnight

FloatArray = NDArray[np.float64]


def first_date(given: Any) -> np.datetime64 | None:
    """The first date on which a strategy may trade; None for all."""
    if given is None:
        return None
    try:
        found = np.datetime64(given, "ns")
    except (TypeError, ValueError):
        found = np.datetime64("NaT", "s")
    if np.isnat(found):
        raise ParameterError(f"trade_from={given!r} must be a date such as 2020-01-31")
    return found


def settle_holdings(p: Any, symbols: tuple[str, ...]) -> FloatArray | None:
    """(N,) shares held at the start, None for none. The params tell them as plain values after, whatever they came from."""
    if p.holdings is None:
        return None
    account = Account.of(p.holdings)
    sizes = account.sizes(symbols)
    p.holdings = {name: size for name, size in zip(symbols, sizes.tolist(), strict=True) if size}
    return sizes


def overnight_of(p: Any) -> Overnight | None:
    """How returns over a night are learned; None for as any other."""
    if one_of("overnight", p.overnight, CHOICES) == "learn":
        return None
    if p.coordinates != "weights":
        raise ParameterError(
            f"overnight={p.overnight!r} needs coordinates='weights', because share counts must follow prices overnight, too; "
            "omit it, or choose a strategy with coordinates='weights'"
        )
    return Overnight(p.overnight)
