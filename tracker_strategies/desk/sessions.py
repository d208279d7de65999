"""Whether the last bar is the one that tomorrow's orders have to start from. The clock is a check, and never in the result."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.papertrade.market.calendars import Calendars

#: Days by which the last bar of weeks and months may be older than the last session, by bars per year.
_LAG = {52.0: 7, 12.0: 31, 4.0: 92, 1.0: 366}


def until(panel: MarketPanel, as_of: Any) -> MarketPanel:
    """The panel up to a date, which has to be one of its bars; all of it for None."""
    if as_of is None:
        return panel
    try:
        day = np.datetime64(as_of, "D")
        if np.isnat(day):
            raise ValueError
    except (TypeError, ValueError):
        raise ParameterError(f"as_of={as_of!r} is not a date; write YYYY-MM-DD") from None
    days = panel.dates.astype("datetime64[D]")
    stop = int(np.searchsorted(days, day, side="right"))
    if not stop or days[stop - 1] != day:
        near = f"the last bar before it is of {panel.day(stop - 1)}" if stop else f"the first bar is of {panel.day(0)}"
        raise DataError(f"as_of={day}: the data have no bar of that date; {near}, the newest of {panel.day(-1)}")
    return panel if stop == panel.n_bars else panel.rows(0, stop)


def check_session(panel: MarketPanel, calendar: str = "XNYS", *, as_of: Any = None, now: datetime | None = None) -> str:
    """Refuse a panel unless its last bar is of the last completed session.

    Parameters
    ----------
    panel : MarketPanel
    calendar : str, default "XNYS"
        Exchange whose sessions count, by its code in exchange_calendars; several separated by spaces.
    as_of : date, optional
        The date of the last bar, given to confirm that the data may be old. A session that is still open is refused in any case.
    now : datetime, optional
        The present time; by default that of this computer.

    Returns
    -------
    str
        What was checked, in one sentence.

    Raises
    ------
    DataError
        The data are stale, or their last row belongs to a session that is still open or has not begun.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.desk import check_session
    >>> notes = check_session(load_sample(), as_of="2022-12-28")
    """
    calendars = Calendars.parse(calendar)
    sessions, opens, closes = calendars.hours
    code = ", ".join(calendars.codes)
    moment = np.datetime64((now or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None), "ns")
    last = panel.day(-1)[:10]
    if last > sessions[-1]:
        raise DataError(f"the last bar is of {last}, but the calendar {code} ends on {sessions[-1]}; update exchange_calendars")
    place = int(np.searchsorted(sessions, last))
    known = place < len(sessions) and sessions[place] == last
    done = int(np.searchsorted(closes, moment, side="right")) - 1
    newest = sessions[max(done, 0)]
    daily = 250.0 <= panel.periods_per_year <= 260.0
    if known and place > done and panel.periods_per_year <= 260.0:
        state = f"closes at {_time(closes[place])} UTC" if opens[place] <= moment else f"opens at {_time(opens[place])} UTC"
        raise DataError(
            f"the last row is of {last}, whose session at {code} {state}: its close is not known yet. Wait for it, or give "
            f"--as-of {newest} to ignore the row"
        )
    if as_of is not None:
        return f"as of {last}, as requested; the last completed session of {code} is {newest}"
    if not known and daily:
        raise DataError(
            f"the last bar is of {last}, which is not a session of {code}; name the exchange with --calendar, or accept "
            f"the date with --as-of {last}"
        )
    lag = _LAG.get(panel.periods_per_year, 0)
    if last < newest and (np.datetime64(newest) - np.datetime64(last)).astype(int) > lag:
        raise DataError(
            f"the data are stale: their last bar is of {last}, but the last completed session of {code} is {newest}. Update the "
            f"data, or give --as-of {last} to use them as they are"
        )
    return f"the last bar, {last}, is of the last completed session of {code}"


def next_session(panel: MarketPanel, calendar: str = "XNYS") -> str:
    """The date of the first session of an exchange after the last bar."""
    calendars = Calendars.parse(calendar)
    sessions, last = calendars.hours[0], panel.day(-1)[:10]
    place = int(np.searchsorted(sessions, last, side="right"))
    if place >= len(sessions):
        raise DataError(f"the calendar {', '.join(calendars.codes)} ends on {sessions[-1]}; update exchange_calendars")
    return str(sessions[place])


def _time(moment: np.datetime64) -> str:
    return str(moment.astype("datetime64[m]")).replace("T", " ")
