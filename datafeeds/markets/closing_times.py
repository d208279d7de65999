"""When a market closes: session dates as instants, so that it can be told what was known where."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.errors import DataError

_CLOCK = re.compile(r"([0-3]?\d|4[0-7]):([0-5]\d)")


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError):
        raise DataError(f"unknown time zone {name!r}; give an IANA name such as America/New_York or Asia/Tokyo") from None


def time_of_day(text: str) -> np.timedelta64:
    """A closing time such as 16:00 as the distance from the midnight with which the session date begins.

    24:00 is midnight at the end of the day, and later hours count on: 25:30 is 01:30 of the next day. 00:00 is refused: at that
    time nothing of the session has happened, and a market that closes at midnight means 24:00.
    """
    clock = _CLOCK.fullmatch(str(text).strip())
    if clock is None:
        raise DataError(
            f"closing time {text!r} must be a time of day such as 16:00; 24:00 is midnight at the end of the day, 25:30 is 01:30 "
            "of the next day"
        )
    minutes = int(clock[1]) * 60 + int(clock[2])
    if not minutes:
        raise DataError(
            f"closing time {text!r} is the midnight before the session, when none of its prices is known; for a day that ends at "
            "midnight write '24:00'"
        )
    return np.timedelta64(minutes, "m")


def closing_instants(days: NDArray[np.datetime64], zone: str, close: str) -> NDArray[np.datetime64]:
    """(T,) datetime64[ns] in UTC at which a market with this closing time (local time) closes on these session dates.

    Summer time is that of the date. A local time that happens twice is the later one, one that does not happen is moved to the
    end of the gap: the later instant is the one at which the close is surely known.
    """
    local = pd.DatetimeIndex(days.astype("datetime64[ns]") + time_of_day(close))
    late = local.tz_localize(zone_of(zone), ambiguous=np.zeros(len(local), dtype=bool), nonexistent="shift_forward")
    return late.tz_convert("UTC").tz_localize(None).to_numpy(dtype="datetime64[ns]")


def last_before(instants: NDArray[np.datetime64], moments: NDArray[np.datetime64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """(T,) place of the latest instant at or before each moment (-1: none yet), and whether it is later than the moment before.

    Both must be sorted. At the first moment whatever there is counts as new.
    """
    place = np.searchsorted(instants, moments, side="right") - 1
    return place, np.diff(place, prepend=-1) > 0
