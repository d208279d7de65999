"""What became of every series that was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from datafeeds.errors import DataError


class Status(StrEnum):
    """The outcome of one series. The first five bring prices, the others do not."""

    FETCHED = "fetched"  #: the whole period came from the vendor
    REFRESHED = "refreshed"  #: the cache agreed with the vendor and was brought up to date
    RESTATED = "restated"  #: the vendor had changed the past, so the whole history was fetched again
    CACHED = "cached"  #: the cache had it all; nobody was asked
    DELISTED = "delisted"  #: the vendor no longer knows it; the cached prices are its whole life (`keep_delisted`)

    NOT_FOUND = "not found"  #: HTTP 404: the vendor does not know the ticker
    EMPTY = "empty"  #: known, but without any price in the period
    RATE_LIMITED = "rate limited"  #: HTTP 429, and still so after all retries
    SERVER_ERROR = "server error"  #: HTTP 5xx, and still so after all retries
    REFUSED = "refused"  #: another HTTP error (401, 403, ...)
    MALFORMED = "malformed"  #: an answer that holds no usable prices: HTML, half a JSON, a negative price
    TIMED_OUT = "timed out"  #: no answer in time
    UNREACHABLE = "unreachable"  #: no connection: DNS, refused, dropped
    NOT_CACHED = "not cached"  #: mode offline, and the cache does not hold it or not the whole period
    DAMAGED = "damaged"  #: mode offline, and the cached file cannot be read
    LOCKED = "locked"  #: another process kept the series to itself for too long

    @property
    def ok(self) -> bool:
        """Whether there are prices."""
        return self in _GOOD


_GOOD = frozenset({Status.FETCHED, Status.REFRESHED, Status.RESTATED, Status.CACHED, Status.DELISTED})


class SeriesFailure(Exception):  # noqa: N818 - it never leaves the package: it becomes an outcome
    """One series could not be had; `status` says why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, " ".join(reason.split())


@dataclass(frozen=True)
class Outcome:
    """One line of a report: bars from `first` to `last` when there are prices, and a note or the reason why there are none."""

    ticker: str
    status: Status
    note: str = ""
    bars: int = 0
    first: date | None = None
    last: date | None = None

    def __str__(self) -> str:
        return f"{self.ticker} {self.status}" + (f" ({self.note})" if self.note else "")


class FetchReport(Sequence[Outcome]):
    """Outcomes in the order in which the series were requested."""

    def __init__(self, outcomes: Sequence[Outcome] = ()) -> None:
        self._outcomes = list(outcomes)

    def add(self, outcome: Outcome) -> None:
        """Append a line."""
        self._outcomes.append(outcome)

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        return self._outcomes[key]

    def __len__(self) -> int:
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self._outcomes)

    def of(self, ticker: str) -> Outcome:
        """The outcome of one ticker; :class:`KeyError` if it was not requested."""
        return {outcome.ticker: outcome for outcome in self}[ticker]

    @property
    def failed(self) -> list[Outcome]:
        """Those without prices."""
        return [outcome for outcome in self if not outcome.status.ok]


class FetchError(DataError):
    """Some series that are needed could not be fetched. `report` has a line for each.

    Examples
    --------
    >>> from datafeeds import FetchError, fetch_yahoo
    >>> try:
    ...     prices = fetch_yahoo("^GSPC", ["AAPL"], start="2024-01-02", mode="offline", cache="empty").panel()
    ... except FetchError as error:
    ...     print([outcome.ticker for outcome in error.report.failed])
    ...
    ['^GSPC']
    """

    def __init__(self, message: str, report: FetchReport) -> None:
        super().__init__(message)
        self.report = report
