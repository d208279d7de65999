"""The length of a bar: the one place that tells minutes from months, and what "20 sessions" or "3 months" are in bars."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataError, ParameterError

Dates = NDArray[np.datetime64]

#: Sessions, weeks and months of a year, as everywhere in this project.
PER_YEAR = {"session": 252.0, "day": 252.0, "week": 52.0, "month": 12.0, "quarter": 4.0, "year": 1.0}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600}
_SHORT = {"s": "second", "min": "minute", "h": "hour", "d": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"}
_WINDOW = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)
#: Units of bars of a day or longer: calendar days from one bar to the next, holidays among them, and the days of one unit.
_COARSE = {"day": (0.5, 5.0), "week": (5.0, 20.0), "month": (20.0, 45.0), "quarter": (45.0, 200.0), "year": (200.0, 800.0)}
#: Gaps in a row that make a stretch of bars of one length; fewer are holidays and halts.
_STRETCH = 4
#: Share of the bars that have one length, or stand in stretches of one; with fewer, bars are irregular.
_MOST = 0.75
#: Share of the bars of one length that stand in stretches; with fewer, they are gaps between bars of another.
_FEW = 0.25
#: Fewer distances do not tell that bars are irregular.
_ENOUGH = 12
WINDOWS = 'a number of bars such as 20, or a time such as "20 sessions", "3 months" or "1y"'


@dataclass(frozen=True)
class BarLength:
    """Length of a bar, with the number of bars per session and per year.

    Parameters
    ----------
    unit : {"second", "minute", "hour", "day", "week", "month", "quarter", "year", "irregular"}
    size : int, default 1
        Number of units in a bar: 5 for bars of five minutes.
    per_year : float
        Bars per year: 252 for days, 52 for weeks, 98,280 for minutes of a session of six and a half hours.
    per_session : float, optional
        Bars per session: 390 for such minutes, 1 for days, less for longer bars. By default a year has 252 sessions.

    Examples
    --------
    >>> from datafeeds import BarLength
    >>> minute = BarLength("minute", 1, 98280.0)
    >>> minute.bars("20 sessions"), minute.bars("3 months"), minute.bars(20)
    (7800, 24570, 20)
    >>> str(minute), str(BarLength("minute", 30, 3276.0)), str(BarLength("week", 1, 52.0))
    ('1 minute', '30 minutes', '1 week')
    """

    unit: str
    size: int
    per_year: float
    per_session: float = math.nan

    def __post_init__(self) -> None:
        """Without a number of bars per session, that of a year of 252."""
        if math.isnan(self.per_session):
            object.__setattr__(self, "per_session", self.per_year / PER_YEAR["session"])

    @property
    def intraday(self) -> bool:
        """Whether bars are shorter than a day."""
        return self.unit in _SECONDS or (self.unit == "irregular" and self.per_session > 1.0)

    @property
    def seconds(self) -> float:
        """Seconds from one bar of a session to the next; NaN for irregular bars and those of a day or longer."""
        return float(self.size * _SECONDS[self.unit]) if self.unit in _SECONDS else math.nan

    @property
    def days(self) -> float:
        """Days from one bar to the next; NaN for irregular bars."""
        days = {"day": 1.0, "week": 7.0, "month": 30.4, "quarter": 91.3, "year": 365.2}
        return self.seconds / 86400.0 if self.unit in _SECONDS else self.size * days.get(self.unit, math.nan)

    @property
    def word(self) -> str:
        """The name of one bar in a sentence: minute, day, week, "bar of 5 minutes"; "bar" if bars are irregular."""
        return "bar" if self.unit == "irregular" else self.unit if self.size == 1 else f"bar of {self}"

    @property
    def kind(self) -> str:
        """What the bars are, in a sentence: "bars of 5 minutes", "irregular bars"."""
        return "irregular bars" if self.unit == "irregular" else f"bars of {self}"

    def count(self, bars: int) -> str:
        """A number of bars in words: 63 days, 1 week, 78 bars of 5 minutes."""
        one, _, rest = self.word.partition(" ")
        return f"{bars:,} {one}{'' if bars == 1 else 's'}{rest and f' {rest}'}"

    def __str__(self) -> str:
        return "irregular" if self.unit == "irregular" else f"{self.size} {self.unit}{'' if self.size == 1 else 's'}"

    def bars(self, window: Any, name: str = "window", *, least: int = 0) -> int:
        """Convert a window to bars: a number of bars is returned unchanged, a time is converted.

        A year has :attr:`per_year` bars, a month a twelfth of it, a week one of 52 parts. "20 sessions" are the bars of twenty
        sessions where bars are shorter than a day; a bar of a day or longer counts as one, because what the window counts then
        are observations. Hours and minutes need bars that are as short. Rounded to the nearest whole number.

        Raises
        ------
        ParameterError
            The value is not a window, or is less than one bar.
        """
        if isinstance(window, str) and window.strip().isdigit():
            window = int(window)
        if not isinstance(window, str):
            if isinstance(window, Integral) and not isinstance(window, bool | np.bool_) and int(window) >= least:
                return int(window)
            raise ParameterError(f"{name}={window!r} must be {WINDOWS}{f', at least {least} bars' if least else ''}")
        read = _WINDOW.fullmatch(window)
        unit = read and _unit(read[2])
        if read is None or unit is None:
            raise ParameterError(f"{name}={window!r} must be {WINDOWS}")
        bars = float(read[1]) * self._of(unit, name, window)
        if bars < 0.5 and float(read[1]):
            raise ParameterError(
                f"{name}={window!r} is less than one bar: the data have {self.kind}; give at least one bar, or finer data"
            )
        if round(bars) < least:
            raise ParameterError(
                f"{name}={window!r} is only {round(bars)} bars, because the data have {self.kind}; at least {least} are needed"
            )
        return round(bars)

    def _of(self, unit: str, name: str, window: str) -> float:
        """Bars of one unit of time."""
        if unit == "bar":
            return 1.0
        if unit in _SECONDS:
            if math.isnan(self.seconds):
                raise ParameterError(
                    f"{name}={window!r} needs bars of minutes or hours, but the data have {self.kind}; give it in bars, "
                    "sessions or months"
                )
            return _SECONDS[unit] / self.seconds
        if unit in ("session", "day"):
            return self.per_session if self.intraday else 1.0
        return self.per_year / PER_YEAR[unit]

    @classmethod
    def of(cls, dates: Dates) -> BarLength:
        """The bar length of these dates, from their distances.

        Raises
        ------
        DataError
            Stretches of the dates have bars of different lengths.
        """
        stretches = _stretches(dates)
        if len({length for _, length in stretches}) > 1:
            (first, one), (row, two) = stretches[:2]
            raise DataError(
                f"bars of different lengths are mixed: {_named(one)} from {moment(dates[first])}, {_named(two)} from "
                f"{moment(dates[row])}; keep the bars of one length, or make all as long as the longest with datafeeds.resample"
            )
        return cls.usual(dates)

    @classmethod
    def usual(cls, dates: Dates) -> BarLength:
        """The length of most bars on these dates, even if they differ; days if there are fewer than two dates."""
        if len(dates) < 2:
            return cls("day", 1, PER_YEAR["day"])
        gaps = np.diff(dates) / np.timedelta64(1, "D")
        gap = float(np.median(gaps))
        if gap < 0.5:
            return cls._within_days(dates, gaps)
        unit = next((name for name, (_, most) in _COARSE.items() if gap <= most), "year")
        size = max(1, round(gap / 7.0)) if unit == "week" else 1
        low, high = _COARSE[unit]
        if len(gaps) >= _ENOUGH and np.mean((gaps >= low) & (gaps <= high)) < _MOST:
            span = float(gaps.sum()) / 365.25
            return cls("irregular", 1, len(gaps) / span)
        return cls(unit, size, PER_YEAR[unit] / size)

    @classmethod
    def _within_days(cls, dates: Dates, gaps: NDArray[np.float64]) -> BarLength:
        counts = np.unique(dates.astype("datetime64[D]"), return_counts=True)[1]
        inside = np.round(gaps[gaps < 0.5] * 86400.0)
        seconds = float(np.median(inside))
        if len(inside) >= _ENOUGH and np.mean(np.abs(inside - seconds) <= 0.02 * seconds) < 0.5:
            return cls("irregular", 1, PER_YEAR["session"] * float(np.mean(counts)))
        unit = next(name for name in ("hour", "minute", "second") if seconds >= _SECONDS[name] or name == "second")
        if seconds % _SECONDS[unit]:  # 90 minutes are not 1.5 hours
            unit = "minute" if seconds % 60 == 0 else "second"
        return cls(unit, max(1, round(seconds / _SECONDS[unit])), PER_YEAR["session"] * float(np.median(counts)))


def is_window(text: str) -> bool:
    """Whether a text is a number of bars or a time, such as "20 sessions"."""
    read = _WINDOW.fullmatch(text)
    return text.strip().isdigit() or (read is not None and _unit(read[2]) is not None)


def bars_named(text: str) -> BarLength | None:
    """The length of bars from words such as "30 minutes" or "1 week", for a session of a whole day; None for other words."""
    read = _WINDOW.fullmatch(text)
    unit = read and _unit(read[2])
    if read is None or unit is None or not read[1].isdigit() or not int(read[1]):
        return None
    size = int(read[1])
    if unit in _SECONDS:
        whole = 86400 % (size * _SECONDS[unit]) == 0
        return BarLength(unit, size, PER_YEAR["session"] * 86400.0 / (size * _SECONDS[unit])) if whole else None
    return BarLength(unit, 1, PER_YEAR[unit]) if unit in ("day", "week", "month") and size == 1 else None


def moment(date: np.datetime64) -> str:
    """A date for people, with the time of day where it has one.

    >>> import numpy as np
    >>> from datafeeds.bar_length import moment
    >>> moment(np.datetime64("2024-03-08T15:55")), moment(np.datetime64("2024-03-08"))
    ('2024-03-08 15:55', '2024-03-08')
    """
    text = str(date.astype("datetime64[s]")).replace("T", " ")
    return text.removesuffix(" 00:00:00").removesuffix(":00")


def _unit(text: str) -> str | None:
    """The unit of a window by any of its names: y, year, years."""
    word = text.lower()
    word = _SHORT.get(word, word)
    for name in ("bar", *_SECONDS, *PER_YEAR):
        if word in (name, f"{name}s", f"{name}ly"):
            return name
    return None


def _named(length: float | str) -> str:
    if isinstance(length, str):
        return f"1 {length}"
    unit = next(name for name in ("hour", "minute", "second") if length % _SECONDS[name] == 0)
    return str(BarLength(unit, int(length) // _SECONDS[unit], math.inf))


def _stretches(dates: Dates) -> list[tuple[int, float | str]]:
    """Where bars of each length first stand for a while: row and length, in seconds or as the name of a unit.

    Within days it is the greatest common divisor of the distances: thin trading leaves bars out and does not change it. There are
    none where lengths change all the time.
    """
    if len(dates) <= 2 * _STRETCH:
        return []
    days, first, counts = np.unique(dates.astype("datetime64[D]"), return_index=True, return_counts=True)
    labels: list[tuple[int, float | str]] = []
    if (counts > 1).any():
        seconds = dates.astype("datetime64[s]").astype(np.int64)
        many = np.flatnonzero(counts >= 3)
        known = {int(d): float(np.gcd.reduce(np.diff(seconds[first[d] : first[d] + counts[d]]))) for d in many}
        for d in range(len(days)):
            if d in known or counts[d] == 1:
                labels.append((int(first[d]), known.get(d, "day")))
    else:
        gaps = np.diff(days).astype(np.int64)
        for row, gap in enumerate(gaps.tolist()):
            labels.append((row, next((name for name, (_, most) in _COARSE.items() if gap <= most), "year")))
    begins: dict[float | str, int] = {}
    within, total = Counter[float | str](), Counter(length for _, length in labels)
    start = 0
    for k in range(1, len(labels) + 1):
        if k == len(labels) or labels[k][1] != labels[start][1]:
            if k - start >= _STRETCH:
                begins.setdefault(labels[start][1], labels[start][0])
                within[labels[start][1]] += k - start
            start = k
    if within.total() < _MOST * len(labels):
        return []
    stand = ((row, length) for length, row in begins.items() if within[length] >= _FEW * total[length])  # others by chance
    return sorted(stand, key=lambda stretch: stretch[0])
