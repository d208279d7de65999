"""How patient a fetch is."""

from __future__ import annotations

from dataclasses import dataclass

from datafeeds.errors import DataError

#: A timeout is brought into these bounds, in seconds.
TIMEOUT_BOUNDS = (0.1, 60.0)


@dataclass(frozen=True)
class Patience:
    """Timeouts, retries and waits.

    Parameters
    ----------
    timeout : float, default 10
        Seconds for each single request, kept between 0.1 and 60.
    retries : int, default 3
        Further tries after a rate limit, a server error or a malformed answer. No answer at all is tried once more.
    pause : float, default 1
        Seconds before the first retry; doubled for each further one.
    rate_limit_pause : float, default 30
        The same after a rate limit (HTTP 429) that does not say how long to wait.
    longest_wait : float, default 120
        No single wait is longer, whatever Retry-After says.
    lock_wait : float, default 120
        Seconds to wait for another process that refreshes the same series.

    Examples
    --------
    >>> from datafeeds import Patience
    >>> Patience(timeout=5.0, retries=1).retries
    1
    """

    timeout: float = 10.0
    retries: int = 3
    pause: float = 1.0
    rate_limit_pause: float = 30.0
    longest_wait: float = 120.0
    lock_wait: float = 120.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise DataError(f"{name}={value!r} must be a finite number of at least 0")
        low, high = TIMEOUT_BOUNDS
        object.__setattr__(self, "timeout", min(max(self.timeout, low), high))
