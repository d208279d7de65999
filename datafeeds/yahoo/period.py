"""The days that are asked for."""

from __future__ import annotations

from datetime import UTC, date, datetime

from datafeeds.errors import DataError

Day = str | date


def period_of(start: Day, end: Day | None) -> tuple[date, date | None]:
    """Both ends of a period as dates; :class:`DataError` when they make no sense."""
    first = _day(start, "start")
    last = None if end is None else _day(end, "end")
    today = datetime.now(UTC).date()
    for day in (first, last or first):
        if not 1900 <= day.year <= 2200:
            raise DataError(f"{day} is out of range; choose a day between the years 1900 and 2200")
    if last is not None and first > last:
        raise DataError(f"start {first} is after end {last}; swap them")
    if first > today:
        raise DataError(f"start {first} lies in the future; today is {today}")
    return first, last


def _day(given: Day, what: str) -> date:
    if isinstance(given, datetime):
        return given.date()
    if isinstance(given, date):
        return given
    try:
        return date.fromisoformat(given)
    except (ValueError, TypeError):
        raise DataError(f"{what} {given!r} is not a date; write it as YYYY-MM-DD") from None
