"""Prices of an index and its stocks from Yahoo, through a cache that survives.

    fetched = fetch_yahoo("^GSPC", ["AAPL", "MSFT"], "2015-01-01")
    panel = fetched.panel(adjust="split", policy="strict")

What is fetched stays in the cache as it was traded. Splits and dividends are applied when a panel is made, and only those inside
its period: the same period gives the same panel, whenever it was fetched.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache as once
from typing import TYPE_CHECKING, Any

import pandas as pd

from datafeeds.adjustment import Adjustment, adjust, whole_bars
from datafeeds.choices import GAP_POLICIES
from datafeeds.errors import DataError, DataWarning, UniverseError
from datafeeds.panel import MarketPanel
from datafeeds.yahoo.cache import PriceCache, PriceSeries
from datafeeds.yahoo.currencies import EARLIER, check_currency, in_one_currency, other_currencies, rate_ticker
from datafeeds.yahoo.patience import Patience
from datafeeds.yahoo.period import Day, period_of
from datafeeds.yahoo.refresh import Mode, SeriesKeeper
from datafeeds.yahoo.report import FetchError, FetchReport, Outcome, SeriesFailure, Status
from datafeeds.yahoo.tickers import check_ticker, tickers_of

if TYPE_CHECKING:
    from datafeeds.yahoo.client import YahooClient, YahooSession

#: ``strict``: every series or an error; ``drop``: go on without the assets that could not be had.
POLICIES = ("strict", "drop")
#: Failures that are spelled out in a message; the report has them all.
SHOWN = 5


def fetch_yahoo(
    index: str | Sequence[str],
    tickers: str | os.PathLike[str] | Iterable[str],
    start: Day,
    end: Day | None = None,
    *,
    mode: str = "online",
    cache: str | os.PathLike[str] | None = None,
    keep_delisted: bool = False,
    currency: str | None = None,
    patience: Patience | None = None,
    session: YahooSession | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    on_wait: Callable[[float, str], None] | None = None,
) -> FetchedPrices:
    """Fetch daily prices of one or several indices and of their assets, through the cache.

    Parameters
    ----------
    index : str or sequence of str
        Yahoo's ticker(s) of the index, such as ``"^GSPC"``. They are fetched first, and all of them are needed: if one fails,
        no asset is requested.
    tickers : iterable of str, text with commas, or path of a file
        The assets: see :func:`datafeeds.yahoo.tickers.tickers_of`.
    start, end : date or ISO text
        First and last day, both included. Without `end`: as far as every series goes.
    mode : {"online", "prefer-cache", "offline"}
        Ask Yahoo whenever it may have more than the cache; only for what the cache does not have; or never (then nothing is
        written, and yfinance need not be installed).
    cache : path, optional
        Folder of the cache: see :class:`datafeeds.yahoo.cache.PriceCache`.
    keep_delisted : bool, default False
        Treat a cached series that Yahoo no longer serves (HTTP 404) as delisted, instead of as a failure.
    currency : str, optional
        Convert everything to it by Yahoo's daily exchange rates; by default series in different currencies make no panel.
    patience : Patience, optional
        Timeouts and retries: see :class:`datafeeds.yahoo.patience.Patience`.
    session : YahooSession, optional
        Sends the requests; for a proxy, or your own server.
    on_outcome, on_wait : callable, optional
        Called after every series, and before every wait of some seconds.

    Returns
    -------
    FetchedPrices
        With a report. Series that failed are listed there; whether that is an error is decided by :meth:`FetchedPrices.panel`.

    Raises
    ------
    DataError, UniverseError, CacheError
        The request makes no sense, or the cache cannot be written to.

    Notes
    -----
    One request per series, one after the other (two the first time). Interrupting (Ctrl-C) or killing it leaves a cache with
    every series that was finished; calling it again continues from there.

    >>> from datafeeds import fetch_yahoo
    >>> prices = fetch_yahoo("^GSPC", ["AAPL", "MSFT"], start="2024-01-02")  # doctest: +SKIP
    """
    indices = tuple(dict.fromkeys(check_ticker(name) for name in ([index] if isinstance(index, str) else index)))
    if not indices:
        raise UniverseError("no index to track; name at least one, for example ^GSPC")
    assets = tickers_of(tickers)
    both = [name for name in assets if name in indices]
    if both:
        raise UniverseError(f"{both[0]} is the index and cannot be an asset, too; remove it from the tickers")
    first, last = period_of(start, end)
    wanted = None if currency is None else check_currency(currency)
    chosen, store, patience = Mode.parse(mode), PriceCache(cache), patience or Patience()

    @once
    def client() -> YahooClient:
        from datafeeds.yahoo.client import YahooClient

        return YahooClient(store.root / "yfinance", patience, session, on_wait)

    if chosen is not Mode.OFFLINE:
        store.prepare()
    keeper = SeriesKeeper(store, chosen, client, lock_wait=patience.lock_wait, keep_delisted=keep_delisted)
    report = FetchReport()

    def ask(ticker: str, since: date) -> PriceSeries | None:
        found = None
        try:
            kept = keeper.get(ticker, since, last)
            bars = kept.series.between(since, last)
            if bars.empty:
                raise SeriesFailure(
                    Status.EMPTY, f"its prices reach from {kept.series.bars.index[0]:%Y-%m-%d} to {kept.series.last_day}"
                )
            outcome = Outcome(ticker, kept.status, kept.note, len(bars), bars.index[0].date(), bars.index[-1].date())
            found = kept.series
        except SeriesFailure as failure:
            outcome = Outcome(ticker, failure.status, failure.reason + _hint(ticker, failure.status))
        report.add(outcome)
        if on_outcome is not None:
            on_outcome(outcome)
        return found

    series = _found((ticker, ask(ticker, first)) for ticker in indices)
    if len(series) == len(indices):  # nothing can be tracked without the index: do not ask for a thousand stocks first
        series |= _found((ticker, ask(ticker, first)) for ticker in assets)
    others = [] if wanted is None else other_currencies(series.values(), wanted)
    rates = _found((other, ask(rate_ticker(other, wanted or ""), (first - EARLIER))) for other in others)
    return FetchedPrices(indices, assets, first, last, series, report, wanted, rates)


def _found(asked: Iterable[tuple[str, PriceSeries | None]]) -> dict[str, PriceSeries]:
    return {name: kept for name, kept in asked if kept is not None}


@dataclass(frozen=True, eq=False)
class FetchedPrices:
    """What :func:`fetch_yahoo` brought: series as traded, and the outcome of each."""

    indices: tuple[str, ...]
    assets: tuple[str, ...]
    start: date
    asked_end: date | None
    series: Mapping[str, PriceSeries]
    report: FetchReport
    currency: str | None = None
    rates: Mapping[str, PriceSeries] = field(default_factory=dict)

    @property
    def end(self) -> date:
        """The last day on which every series is known, so that a day that was not fetched yet is not taken for a halt."""
        covered = min(kept.covered_until for kept in self.series.values())
        return covered if self.asked_end is None else min(covered, self.asked_end)

    def check(self, policy: str = "strict") -> None:
        """Raise :class:`FetchError` if a series is missing, unless `policy` allows it."""
        check_choices("split", policy)
        failed = self.report.failed
        lost = [outcome for outcome in failed if outcome.ticker in self.indices]
        if lost:
            raise FetchError(f"no prices of the index: {lost[0]}; nothing can be tracked without it", self.report)
        others = [] if self.currency is None else other_currencies(self.series.values(), self.currency)
        if missing := [name for name in others if name not in self.rates]:
            ticker = rate_ticker(missing[0], self.currency or "")
            raise FetchError(f"no exchange rate: {self.report.of(ticker)}; nothing can be converted without it", self.report)
        if failed and policy == "strict":
            shown = "; ".join(map(str, failed[:SHOWN])) + (f"; and {len(failed) - SHOWN} more" if len(failed) > SHOWN else "")
            raise FetchError(
                f"{len(failed)} of {len(self.report)} series failed: {shown}. Drop them with --policy drop (policy='drop')",
                self.report,
            )
        if not any(name in self.series for name in self.assets):
            raise FetchError(f"no prices of any asset: {failed[0]}", self.report)

    def converted(self) -> tuple[dict[str, pd.DataFrame], list[str]]:
        """The bars of all series in one currency, indices first, and remarks on what was done for it.

        Raises
        ------
        DataError
            Currencies differ, and none was named to convert to.
        """
        known = [name for name in (*self.indices, *self.assets) if name in self.series]
        traded = {name: self.series[name].between(self.start, self.end) for name in known}
        return in_one_currency(self.series, traded, self.currency, self.rates)

    def frames(self, adjust_by: str) -> tuple[dict[str, pd.DataFrame], list[str]]:
        """Wide frames ``close``, ``open``, ``high``, ``low``, ``volume``, indices first, in one currency, and remarks on what was
        changed.

        The dates are those on which an index has a price. An asset's bar on another day has no index return to compare with and
        is left out.
        """
        mode = Adjustment.parse(adjust_by)
        parts, remarks = self.converted()
        for name in list(parts):
            bars, mended = whole_bars(parts[name])
            if mended and name not in self.indices:
                remarks.append(f"{name}: {mended} bars with a missing or impossible open, high or low were corrected")
            parts[name] = adjust(bars, mode)
        days = pd.DatetimeIndex([], name="date")
        for name in self.indices:
            days = days.union(pd.DatetimeIndex(parts[name].index))
        for name, bars in parts.items():
            extra = len(bars.index.difference(days))
            if extra:
                remarks.append(f"{name}: {extra} bars on days without a price of the index were left out")
        least, most = (pick(self.series.values(), key=lambda kept: kept.covered_until) for pick in (min, max))
        if self.end < (self.asked_end or most.covered_until):
            remarks.append(f"prices end on {self.end}: there are no later prices of {least.ticker}")
        wide = {
            column: pd.DataFrame({name: bars[column] for name, bars in parts.items()}, index=days)
            for column in ("close", "open", "high", "low", "volume")
        }
        return wide, remarks

    def panel(self, *, adjust: str = "split", policy: str = "strict", gaps: str = "error") -> MarketPanel:
        """A panel of full bars, with the indices as targets.

        Parameters
        ----------
        adjust : {"split", "total", "raw"}
            See :class:`datafeeds.adjustment.Adjustment`. Most indices (``^GSPC``, ``^NDX``) are price indices: ``split`` compares
            like with like, ``total`` belongs to a total return index (``^SP500TR``).
        policy : {"strict", "drop"}
            Whether an asset that could not be had is an error, or is left out and listed in ``panel.dropped``.
        gaps : {"error", "freeze"}
            See :meth:`MarketPanel.from_frame`.
        """
        self.check(policy)
        for remark in self.converted()[1]:
            warnings.warn(remark, DataWarning, stacklevel=2)
        wide, _ = self.frames(adjust)
        alive = wide["close"].notna().any()
        dropped = {o.ticker: f"{o.status}: {o.note}" for o in self.report.failed}
        dropped.update({str(name): "no price on any day of the index" for name in alive.index[~alive]})
        wide = {column: frame.loc[:, alive] for column, frame in wide.items()}
        close = wide.pop("close")
        return MarketPanel.from_frame(close, self.indices, bars=wide, gaps=gaps, source=f"yahoo ({adjust})", dropped=dropped)


def yahoo_panel(
    index: str | Sequence[str],
    tickers: str | os.PathLike[str] | Iterable[str],
    start: Day,
    end: Day | None = None,
    *,
    adjust: str = "split",
    policy: str = "strict",
    gaps: str = "error",
    **options: Any,
) -> MarketPanel:
    """:func:`fetch_yahoo` and :meth:`FetchedPrices.panel` in one call; `options` go to the former.

    >>> from datafeeds import yahoo_panel
    >>> panel = yahoo_panel("^GSPC", ["AAPL", "MSFT"], "2024-01-02")  # doctest: +SKIP

    Raises
    ------
    FetchError
        With a line for each series in its `report`.
    """
    check_choices(adjust, policy, gaps)
    return fetch_yahoo(index, tickers, start, end, **options).panel(adjust=adjust, policy=policy, gaps=gaps)


def check_choices(adjust: str, policy: str, gaps: str = "error") -> None:
    """Refuse a misspelled choice before anything is fetched."""
    Adjustment.parse(adjust)
    for name, value, known in (("policy", policy, POLICIES), ("gaps", gaps, GAP_POLICIES)):
        if value not in known:
            raise DataError(f"{name}={value!r} is unknown; choose one of {', '.join(known)}")


def _hint(ticker: str, status: Status) -> str:
    """Half of the unknown tickers are share classes in another vendor's spelling."""
    head, dot, tail = ticker.rpartition(".")
    if status is Status.NOT_FOUND and dot and len(tail) == 1 and head.isalpha():
        return f"; a share class is written {head}-{tail} there"
    return ""
