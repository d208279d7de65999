"""Ask Yahoo for one series, through yfinance, and say exactly what came of it.

yfinance reports a network failure as a delisting unless its exceptions are let through, forgets the header that says how long to
wait, waits up to 70 s for silent hosts, and remembers a bad answer for the life of the process. All four are dealt with here,
from outside: its own code asks and parses.
"""

from __future__ import annotations

import logging
import random
import shutil
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pandas as pd

from datafeeds.errors import DataError
from datafeeds.yahoo.patience import TIMEOUT_BOUNDS, Patience
from datafeeds.yahoo.report import SeriesFailure, Status

try:
    import yfinance as yf
    from curl_cffi import requests as curl
    from yfinance import cache as yf_cache
    from yfinance.data import YfData
    from yfinance.exceptions import YFPricesMissingError, YFRateLimitError
except ImportError as error:
    raise DataError(
        f"Yahoo prices need the package yfinance ({error}); install it with: pip install 'backtrader-index-tracker[yahoo]'"
    ) from None

_Session: Any = curl.Session  # generic in some versions only
CHART_PATH = "/v8/finance/chart/"
#: After so many tickers in a row without any answer the network is down, and the rest is not asked for.
GIVE_UP_AFTER = 3


class YahooSession(_Session):
    """The HTTP session that yfinance is given: it bounds every wait and notes what the chart endpoint answered."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"impersonate": "chrome", **options})
        self.longest = TIMEOUT_BOUNDS[1]
        self.chart: Any = None
        self.retry_after: str | None = None

    def request(self, method: Any, url: str, *args: Any, **options: Any) -> Any:
        """As in curl_cffi; no request takes longer than `longest` seconds."""
        asked = options.get("timeout")
        options["timeout"] = min(asked, self.longest) if isinstance(asked, int | float) else self.longest
        response = super().request(method, url, *args, **options)
        if CHART_PATH in url:
            self.chart = response
        if response.status_code == 429:
            self.retry_after = response.headers.get("Retry-After")
        return response


@dataclass(frozen=True, eq=False)
class Answer:
    """What yfinance returned: its frame, and of Yahoo's metadata the currency and the hours of the current session."""

    frame: pd.DataFrame
    currency: str
    session_end: pd.Timestamp | None


class YahooClient:
    """One series at a time, with bounded patience.

    Parameters
    ----------
    folder : Path
        Where yfinance keeps its time zones and cookies.
    patience : Patience
        Timeouts and retries.
    session : YahooSession, optional
        By default one that talks to Yahoo.
    on_wait : callable(seconds, reason), optional
        Told before every wait.
    """

    def __init__(
        self,
        folder: Path,
        patience: Patience,
        session: YahooSession | None = None,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> None:
        self.patience, self.folder, self.on_wait = patience, folder, on_wait
        self.session = YahooSession() if session is None else session
        self.session.longest = patience.timeout
        self._silent = 0
        self._closed: SeriesFailure | None = None

    def history(self, ticker: str, start: date) -> Answer:
        """Daily bars from `start` until now.

        Until now, always: Yahoo has divided the prices by *every* split up to today, but names only those inside the period that
        is asked for. Whoever asks for an older period alone cannot undo them.

        Raises
        ------
        SeriesFailure
            After all tries.
        """
        if self._closed is not None:
            raise SeriesFailure(self._closed.status, f"not requested: {self._closed.reason}")
        tried = 0
        while True:
            try:
                answer = self._ask(ticker, start)
            except SeriesFailure as failure:
                tried += 1
                if tried > self._tries(failure.status):
                    self._count(failure)
                    raise
                self._wait(failure, tried)
            else:
                self._silent = 0
                return answer

    def _tries(self, status: Status) -> int:
        if status in (Status.RATE_LIMITED, Status.SERVER_ERROR, Status.MALFORMED):
            return self.patience.retries
        return min(1, self.patience.retries) if status in (Status.TIMED_OUT, Status.UNREACHABLE) else 0

    def _count(self, failure: SeriesFailure) -> None:
        """Stop asking when Yahoo goes on refusing or the network is down: a thousand more tickers would fare no better."""
        if failure.status is Status.RATE_LIMITED:
            self._closed = failure
        elif failure.status in (Status.TIMED_OUT, Status.UNREACHABLE):
            self._silent += 1
            if self._silent >= GIVE_UP_AFTER:
                self._closed = SeriesFailure(failure.status, f"{GIVE_UP_AFTER} tickers in a row had no answer; {failure.reason}")
        else:
            self._silent = 0

    def _wait(self, failure: SeriesFailure, tried: int) -> None:
        limited = failure.status is Status.RATE_LIMITED
        told = _seconds(self.session.retry_after) if limited else None
        if told is None:
            first = self.patience.rate_limit_pause if limited else self.patience.pause
            told = first * 2.0 ** (tried - 1) * random.uniform(0.8, 1.2)  # so that several users do not come back together
        seconds = min(told, self.patience.longest_wait)
        if self.on_wait is not None:
            self.on_wait(seconds, failure.reason)
        time.sleep(seconds)

    def _ask(self, ticker: str, start: date) -> Answer:
        self.session.chart = self.session.retry_after = None
        with _plain_yfinance(self.folder):
            try:
                asked = yf.Ticker(ticker, session=self.session)
                frame = asked.history(
                    start=start.isoformat(), interval="1d", auto_adjust=False, actions=True, timeout=self.patience.timeout
                )
                return _answer(frame, asked.get_history_metadata())
            except Exception as error:
                if "peewee" in type(error).__module__ and "lock" not in str(error):
                    _forget_caches(self.folder)  # damaged: they only save requests
                raise self._failure(error) from error

    def _failure(self, error: Exception) -> SeriesFailure:
        """What an exception of yfinance means, judged by what the server really answered."""
        chart, kind = self.session.chart, type(error).__name__
        code = None if chart is None else chart.status_code
        said = f"{kind}: {(str(error).strip().splitlines() or [''])[0].partition('. See http')[0][:160]}"
        if code == 429 or isinstance(error, YFRateLimitError):
            after = f", Retry-After {self.session.retry_after}" if self.session.retry_after else ""
            return SeriesFailure(Status.RATE_LIMITED, f"HTTP 429{after}")
        if code == 404:
            return SeriesFailure(Status.NOT_FOUND, "Yahoo does not know this ticker")
        if isinstance(error, curl.exceptions.Timeout):
            return SeriesFailure(Status.TIMED_OUT, f"no answer within {self.session.longest:g} s")
        if isinstance(error, curl.exceptions.RequestException) and kind not in ("JSONDecodeError", "HTTPError"):
            return SeriesFailure(Status.UNREACHABLE, said)
        if code is not None and code >= 500:
            return SeriesFailure(Status.SERVER_ERROR, f"HTTP {code}")
        if isinstance(error, YFPricesMissingError) and (code == 400 or _has_result(chart)):
            return SeriesFailure(Status.EMPTY, "no prices in the period")
        if code is not None and code >= 400:
            return SeriesFailure(Status.REFUSED, f"HTTP {code}")
        return SeriesFailure(Status.MALFORMED, said)


def _answer(frame: pd.DataFrame, meta: Any) -> Answer:
    """Only single keys of `meta` are read: listing them all would send a request."""
    hours = (meta.get("currentTradingPeriod") or {}).get("regular") or {}
    end = hours.get("end")
    return Answer(frame, str(meta.get("currency") or ""), end if isinstance(end, pd.Timestamp) else None)


def _has_result(chart: Any) -> bool:
    """Whether an answer is one about a series, if only an empty one; yfinance calls any other JSON empty, too."""
    content = chart.json() if chart is not None else None
    return isinstance(content, dict) and bool((content.get("chart") or {}).get("result"))


def _seconds(header: str | None) -> float | None:
    """Retry-After in seconds: a number, or a date in the form of HTTP; None when it says nothing."""
    if header is None:
        return None
    try:
        return max(float(header), 0.0) if header.strip().replace(".", "", 1).isdigit() else _until(header)
    except (ValueError, TypeError):
        return None


def _until(moment: str) -> float:
    when = parsedate_to_datetime(moment)
    return max((when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds(), 0.0)


# -- settings of yfinance ----------


@contextmanager
def _plain_yfinance(folder: Path) -> Iterator[None]:
    """Its exceptions come through, its log keeps quiet, its caches lie in `folder`; afterwards all is as it was."""
    _use_caches(folder)
    YfData.cache_get.cache_clear()  # it keeps answers whatever their status: a retry would see the old failure again
    log = logging.getLogger("yfinance")
    hidden, level = yf.config.debug.hide_exceptions, log.level
    yf.config.debug.hide_exceptions = False
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations between yfinance and pandas, which are not the user's business
            yield
    finally:
        yf.config.debug.hide_exceptions = hidden
        log.setLevel(level)


_caches_in: Path | None = None


def _use_caches(folder: Path) -> None:
    """Point yfinance's databases to a folder; it opens them once per process, so another folder needs them to be forgotten."""
    global _caches_in
    if _caches_in == folder and folder.is_dir():
        return
    folder.mkdir(parents=True, exist_ok=True)
    yf.set_tz_cache_location(str(folder))
    for manager, held in (("_TzCacheManager", "_tz_cache"), ("_CookieCacheManager", "_Cookie_cache")):
        if hasattr(getattr(yf_cache, manager, None), held):
            setattr(getattr(yf_cache, manager), held, None)
    _caches_in = folder


def _forget_caches(folder: Path) -> None:
    global _caches_in
    shutil.rmtree(folder, ignore_errors=True)
    _caches_in = None
