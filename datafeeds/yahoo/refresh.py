"""Keep the cached series of one ticker in step with Yahoo."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING

import pandas as pd

from datafeeds.errors import DataError, LockedError
from datafeeds.yahoo.bars import same_past, traded_bars, unexplained_factor
from datafeeds.yahoo.cache import DamagedFileError, PriceCache, PriceSeries
from datafeeds.yahoo.report import SeriesFailure, Status

if TYPE_CHECKING:
    from datafeeds.yahoo.client import YahooClient

#: Cached sessions that an incremental refresh asks for once more, to see whether the past has changed.
OVERLAP = 5
#: Relative difference of prices that counts as a change; Yahoo sends single precision (6e-8) and rounds anew after a split.
RESTATED_BEYOND = 1e-6


class Mode(StrEnum):
    """When Yahoo is asked.

    ``online`` whenever the period is not over and the cache might be behind; ``prefer-cache`` only for what the cache does not
    hold; ``offline`` never.
    """

    ONLINE = "online"
    PREFER_CACHE = "prefer-cache"
    OFFLINE = "offline"

    @classmethod
    def parse(cls, name: str) -> Mode:
        """By name, or a :class:`DataError` that lists the names."""
        try:
            return cls(name)
        except ValueError:
            raise DataError(f"mode={name!r} is unknown; choose one of {', '.join(cls)}") from None


@dataclass(frozen=True, eq=False)
class Kept:
    """A series, how it was come by, and what there is to say about it."""

    series: PriceSeries
    status: Status
    note: str = ""


class SeriesKeeper:
    """Brings series from the cache or from Yahoo, one ticker at a time.

    Parameters
    ----------
    cache : PriceCache
        Prepared, unless `mode` is offline.
    mode : Mode
        When to ask.
    client : callable
        Makes the client when first needed; offline it never is.
    lock_wait : float
        Seconds to wait for another process.
    keep_delisted : bool
        Whether a cached series that Yahoo no longer knows counts as complete.
    """

    def __init__(
        self, cache: PriceCache, mode: Mode, client: Callable[[], YahooClient], *, lock_wait: float, keep_delisted: bool
    ) -> None:
        self.cache, self.mode, self.lock_wait, self.keep_delisted = cache, mode, lock_wait, keep_delisted
        self._client = client
        self._began = datetime.now(UTC)

    def get(self, ticker: str, start: date, end: date | None) -> Kept:
        """The series of a ticker, covering `start` to `end` (or as far as it goes).

        Raises
        ------
        SeriesFailure
            With the outcome to report. The cached file, if there is one, is as good as before.
        """
        if self.mode is Mode.OFFLINE:
            return self._from_cache(ticker, start, end)
        try:
            cached = self.cache.read(ticker)
        except DamagedFileError:
            cached = None
        if cached is not None and self._enough(cached, start, end):
            return Kept(cached, Status.CACHED)
        try:
            with self.cache.lock(ticker, self.lock_wait):
                return self._refresh(ticker, start, end)
        except LockedError as error:
            raise SeriesFailure(Status.LOCKED, str(error)) from None

    def _from_cache(self, ticker: str, start: date, end: date | None) -> Kept:
        try:
            cached = self.cache.read(ticker)
        except DamagedFileError as error:
            raise SeriesFailure(Status.DAMAGED, f"{error}; fetch it again with mode online") from None
        if cached is None:
            raise SeriesFailure(Status.NOT_CACHED, "never fetched; use mode online or prefer-cache")
        if not self._enough(cached, start, end):
            span = f"{cached.asked_from} to {cached.covered_until}"
            raise SeriesFailure(Status.NOT_CACHED, f"the cache covers {span} only; use mode online, or a shorter period")
        return Kept(cached, Status.CACHED)

    def _enough(self, cached: PriceSeries, start: date, end: date | None) -> bool:
        """Whether the cache can stand for Yahoo. Without an end, online wants the newest and the others take what there is."""
        if cached.asked_from > start:
            return False
        if end is None and self.mode is not Mode.ONLINE:
            return True
        fresh = self.mode is not Mode.OFFLINE and cached.fetched_at >= self._began  # another process was faster
        return fresh or (end is not None and cached.covered_until >= end)

    def _refresh(self, ticker: str, start: date, end: date | None) -> Kept:
        """Under the lock: look again, then ask for the newest part, or for everything."""
        note = ""
        try:
            cached = self.cache.read(ticker)
        except DamagedFileError as error:
            cached, note = None, f"damaged file put aside as {self.cache.put_aside(ticker).name}: {error}"
        if cached is not None and self._enough(cached, start, end):
            return Kept(cached, Status.CACHED)
        if cached is None:
            return self._keep(self._ask(ticker, start, start), Status.FETCHED, note)
        try:
            return self._update(cached, start)
        except SeriesFailure as failure:
            if failure.status is not Status.NOT_FOUND:
                raise SeriesFailure(failure.status, f"{failure.reason}; cached until {cached.covered_until}") from None
            if self.keep_delisted and cached.asked_from <= start:
                return self._close(cached)
            hint = f"cached until {cached.last_day}: keep it as delisted with --keep-delisted"
            raise SeriesFailure(failure.status, f"{failure.reason}; {hint}") from None

    def _update(self, cached: PriceSeries, start: date) -> Kept:
        if cached.asked_from > start:
            return self._keep(self._ask(cached.ticker, start, start), Status.FETCHED, "an earlier start than before")
        since = cached.bars.index[-min(OVERLAP, len(cached.bars))].date()
        newest = self._ask(cached.ticker, since, cached.asked_from)
        if same_past(cached.bars, newest.bars, since, RESTATED_BEYOND):
            bars = pd.concat([cached.bars.loc[: pd.Timestamp(since) - pd.Timedelta(days=1)], newest.bars])
            new = len(bars) - len(cached.bars)
            return self._keep(replace(newest, bars=bars), Status.REFRESHED, f"{new} new bar{'s' * (new != 1)}")
        factor = unexplained_factor(cached.bars, newest.bars)
        if factor is not None:
            place = self.cache.path(cached.ticker)
            raise SeriesFailure(
                Status.MALFORMED,
                f"past prices are {factor:g} times the cached ones and no split explains it; try again later, or delete {place}",
            )
        whole = self._ask(cached.ticker, cached.asked_from, cached.asked_from)
        if whole.bars.index[0] > cached.bars.index[0] or whole.last_day < cached.last_day:
            raise SeriesFailure(
                Status.MALFORMED,
                f"a history from {whole.bars.index[0]:%Y-%m-%d} to {whole.last_day}, shorter than the cached one",
            )
        return self._keep(whole, Status.RESTATED, "Yahoo had changed past prices; the whole history was fetched again")

    def _ask(self, ticker: str, since: date, asked_from: date) -> PriceSeries:
        now = datetime.now(UTC)
        answer = self._client().history(ticker, since)
        bars, covered = traded_bars(answer, now)
        return PriceSeries(ticker, bars, asked_from, covered, now, answer.currency)

    def _close(self, cached: PriceSeries) -> Kept:
        """A name that has left the market: nothing was traded after its last cached bar, so that it is covered until today."""
        now = datetime.now(UTC)
        ended = replace(cached, covered_until=max(now.date(), cached.covered_until), fetched_at=now)
        return self._keep(ended, Status.DELISTED, f"no longer at Yahoo; prices until {cached.last_day}")

    def _keep(self, series: PriceSeries, status: Status, note: str) -> Kept:
        self.cache.write(series)
        return Kept(series, status, note)
