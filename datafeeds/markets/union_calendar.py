"""Several markets on one calendar, as one panel in one currency."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.checks import check_common_dates, common_span, fill_target_gaps, say_what_is_left_off
from datafeeds.errors import DataError, UniverseError
from datafeeds.markets.closing_times import last_before
from datafeeds.markets.market import BAR_PARTS, ExchangeRate, Market, Sessions
from datafeeds.panel import MarketPanel
from datafeeds.wide_frames import NO_COMMON_PRICE

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
Rate = ExchangeRate | pd.Series | str | os.PathLike[str]
#: A rate older than this when the first bar is decided is none at all.
_LONG_WEEKEND = np.timedelta64(5, "D")


def join_markets(
    markets: Mapping[str, Market | Mapping[str, Any]],
    *,
    decision: str | None = None,
    base: str | None = None,
    fx: Mapping[str, Rate] | None = None,
    fx_carry: int = 0,
) -> MarketPanel:
    """One panel on the union of the calendars of several markets: see :class:`~datafeeds.feeds.multi_index.MultiIndexData`.

    Raises
    ------
    DataError
        A target without data, targets without common dates, a gap in a rate, an unknown time zone, a currency without a rate.
    UniverseError
        A name in two markets, or a decision market that is not one of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from datafeeds import Market, join_markets
    >>> frame = pd.DataFrame({"SPX": [10.0, 11], "AAPL": [5.0, 6]}, index=pd.DatetimeIndex(["2024-01-02", "2024-01-03"]))
    >>> join_markets({"NY": Market(frame, "SPX", "America/New_York", "16:00")}).symbols
    ('AAPL',)
    """
    if not (isinstance(fx_carry, int) and fx_carry >= 0):
        raise DataError(f"fx_carry={fx_carry!r} must be a number of bars >= 0")
    blocks = {name: market if isinstance(market, Market) else Market(**market) for name, market in markets.items()}
    sessions = {name: _read(name, block) for name, block in blocks.items()}
    _check_names(sessions)
    days = np.unique(np.concatenate([s.days for s in sessions.values()]))
    leader = _decision_market(blocks, decision, days)
    moments = blocks[leader].closes_at(days)
    views = {name: _View(block, sessions[name], moments) for name, block in blocks.items()}
    targets = tuple(target for s in sessions.values() for target in s.targets)
    if not targets:
        raise UniverseError("no target to track; name the targets of at least one market")
    seen = np.hstack([np.isfinite(view.levels) for view in views.values()])
    check_common_dates(seen, targets, days)
    span, left = common_span(seen, targets, days)
    say_what_is_left_off(left, " + ".join(sessions), depth=3)
    for name, currency in _foreign(blocks, leader, base).items():
        views[name].rate = _rates(_rate(name, currency, fx), currency, days, moments, views[name].new, fx_carry, span)
    parts: dict[str, Any] = {part: values[span] for part, values in _bars(list(views.values())).items()}
    symbols = tuple(asset for s in sessions.values() for asset in s.assets)
    alive = np.isfinite(parts["close"]).any(axis=0)
    lost = {symbols[i]: NO_COMMON_PRICE for i in np.flatnonzero(~alive)}
    return MarketPanel(
        days[span].astype("datetime64[ns]"),
        tuple(symbols[i] for i in np.flatnonzero(alive)),
        targets=targets,
        target_close=fill_target_gaps(np.hstack([view.levels * view.rate[:, None] for view in views.values()])[span]),
        target_seen=seen[span],
        at_decision=np.concatenate([np.full(len(view.sessions.assets), view.prompt) for view in views.values()])[alive],
        source=" + ".join(sessions),
        cut=left,
        dropped={**{name: why for s in sessions.values() for name, why in s.dropped.items()}, **lost},
        **{part: values[:, alive] for part, values in parts.items()},
    )


class _View:
    """A market as it is known at the moments of decision.

    Attributes
    ----------
    place : (T,) int
        Its latest session; -1 before the first.
    new : (T,) bool
        Whether that session has closed since the moment before. Where it has not, the market has no bar.
    prompt : bool
        Whether its sessions always close at the moment itself.
    levels : (T, q) float
        Levels of its targets, NaN without a bar.
    rate : (T,) float
        Units of the base currency for one of the market's.
    """

    def __init__(self, market: Market, sessions: Sessions, moments: NDArray[np.datetime64]) -> None:
        instants = market.closes_at(sessions.days)
        self.sessions = sessions
        self.place, self.new = last_before(instants, moments)
        self.prompt = bool((instants[self.place[self.new]] == moments[self.new]).all())
        self.levels = self.show(sessions.levels)
        self.rate = np.ones(len(moments))

    def show(self, values: NDArray[Any]) -> FloatArray:
        """(T, n) numbers of the sessions, NaN without a bar."""
        return np.where(self.new[:, None], values[np.maximum(self.place, 0)], np.nan)


def _read(name: str, market: Market) -> Sessions:
    try:
        return market.sessions
    except (DataError, UniverseError) as error:
        raise type(error)(f"market {name}: {error}") from None


def _check_names(sessions: Mapping[str, Sessions]) -> None:
    if not sessions:
        raise UniverseError("no market is given; give at least one")
    home: dict[str, str] = {}
    for market, s in sessions.items():
        for name in (*s.targets, *s.assets):
            if home.setdefault(name, market) != market:
                raise UniverseError(
                    f"{name!r} appears in the markets {home[name]} and {market}; rename it in one of them ({name}.{market})"
                )


def _decision_market(blocks: Mapping[str, Market], wanted: str | None, days: NDArray[np.datetime64]) -> str:
    """The market at whose close decisions are made: the one asked for, or the one that closes last."""
    if wanted is not None:
        if wanted not in blocks:
            raise UniverseError(f"decision={wanted!r} is not a market; choose one of {', '.join(blocks)}")
        return wanted
    hour = {name: np.mean((block.closes_at(days) - days).astype(np.int64)) for name, block in blocks.items()}
    return max(hour, key=lambda name: hour[name])


def _bars(views: Sequence[_View]) -> dict[str, NDArray[Any]]:
    """Bars of all assets side by side, in the base currency. A market without opens has its closes there, without a volume 0."""
    present = [part for part in BAR_PARTS if any(part in view.sessions.parts for view in views)]
    columns: dict[str, list[NDArray[Any]]] = {part: [] for part in ("close", *present)}
    for view in views:
        own = {part: view.show(values) for part, values in view.sessions.parts.items() if part != "members"}
        money = {part: values if part == "volume" else values * view.rate[:, None] for part, values in own.items()}
        close = money["close"]
        opens = money.get("open", close)
        absent = {"open": opens, "high": np.fmax(opens, close), "low": np.fmin(opens, close), "volume": close * 0.0}
        for part, values in columns.items():
            values.append(money[part] if part in money else absent[part])
    if any("members" in view.sessions.parts for view in views):
        # On a holiday of its market a name is a member if it was one on the last session before.
        everybody = [np.ones((len(view.sessions.days), len(view.sessions.assets)), dtype=bool) for view in views]
        columns["members"] = [
            view.sessions.parts.get("members", everyone)[np.maximum(view.place, 0)]
            for view, everyone in zip(views, everybody, strict=True)
        ]
    return {part: np.hstack(values) for part, values in columns.items()}


# -- rates of exchange ----------


def _foreign(blocks: Mapping[str, Market], leader: str, base: str | None) -> dict[str, str]:
    """Markets that are quoted in another currency than the base, and in which."""
    base = base or blocks[leader].currency or next((b.currency for b in blocks.values() if b.currency is not None), None)
    return {name: block.currency for name, block in blocks.items() if block.currency not in (None, base)}


def _rate(market: str, currency: str, fx: Mapping[str, Rate] | None) -> ExchangeRate:
    """The rate of a market's currency."""
    if fx is None or currency not in fx:
        raise DataError(
            f"market {market} is quoted in {currency}, but no exchange rate is given: pass fx={{{currency!r}: rates}}, in units "
            f"of the base currency per {currency}, or currency=None to use its prices without conversion"
        )
    rate = fx[currency]
    return rate if isinstance(rate, ExchangeRate) else ExchangeRate(rate)


def _rates(
    rate: ExchangeRate,
    currency: str,
    days: NDArray[np.datetime64],
    moments: NDArray[np.datetime64],
    needed: BoolArray,
    carry: int,
    span: slice,
) -> FloatArray:
    """The latest rate at each moment; where a price of the span needs one, it may be at most `carry` bars old."""
    try:
        quoted, instants, values = rate.quotes
    except DataError as error:
        raise DataError(f"rate of {currency}: {error}") from None
    place, new = last_before(instants, moments)
    new[0] &= bool(new[0]) and instants[place[0]] > moments[0] - _LONG_WEEKEND
    rows = np.arange(len(moments))
    latest = np.maximum.accumulate(np.where(new, rows, -1))
    gap = (needed & ((latest < 0) | (rows - latest > carry)))[span]
    if gap.any():
        t = span.start + int(np.argmax(gap))
        last = "none is earlier" if place[t] < 0 else f"the last one is of {quoted[place[t]]}"
        raise DataError(
            f"no exchange rate of {currency} for {days[t]} ({int(gap.sum())} dates without a rate; {last}): add the rates, or "
            "use the last one for some more bars with fx_carry"
        )
    return np.where(place >= 0, values[np.maximum(place, 0)], np.nan)
