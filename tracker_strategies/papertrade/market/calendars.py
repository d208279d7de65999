"""The exchanges of an account: the days on which each of them trades, when, and which names trade there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import MissingExtraError, ParameterError

BoolArray = NDArray[np.bool_]
Moments = NDArray[np.datetime64]


@dataclass(frozen=True)
class Calendars:
    """One exchange or several, as an account's ``calendar`` writes them: "XNYS", "XNYS XLON", "XNYS XTKS=NKY,SONY,TM".

    A date is a session when one of them trades. It begins with the first open of that date and is over with the last close.

    Attributes
    ----------
    codes : tuple of str
    homes : tuple of (name, code)
        Names whose exchange was told. All others belong to the first exchange without a list, if names were told at all.
    """

    codes: tuple[str, ...]
    homes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> Calendars:
        """Read the text; the exchanges themselves are not looked up before somebody asks for a day."""
        codes: list[str] = []
        homes: dict[str, str] = {}
        for word in text.split():
            code, told, names = word.partition("=")
            own = [name for name in names.split(",") if name]
            if not code or "," in code or code in codes or (told and not own):
                raise ParameterError(
                    f"calendar={text!r}: write exchange codes separated by spaces, each once, and after each = the "
                    "names that trade there: 'XNYS XTKS=NKY,SONY'"
                )
            for name in own:
                if homes.setdefault(name, code) != code:
                    raise ParameterError(f"calendar={text!r}: {name} cannot trade at both {homes[name]} and {code}")
            codes.append(code)
        if not codes:
            raise ParameterError("calendar is empty; give the code of an exchange, such as XNYS")
        return cls(tuple(codes), tuple(homes.items()))

    def check(self, names: Sequence[str]) -> None:
        """Refuse names that the account does not have, and names without an exchange."""
        strange = [name for name, _ in self.homes if name not in names]
        if strange:
            raise ParameterError(
                f"calendar: {', '.join(strange[:5])} is not one of this account's names, which are {', '.join(names[:5])}, ..."
            )
        lost = [name for name in names if self.homes and self.home(name) is None]
        if lost:
            others = f" and {len(lost) - 1} other names" if len(lost) > 1 else ""
            raise ParameterError(
                f"calendar: no exchange is given for {lost[0]}{others}; write each name after the exchange where it trades"
            )

    def home(self, name: str) -> str | None:
        """The exchange of a name; None when nobody told."""
        return self._told.get(name, self._rest)

    @cached_property
    def _told(self) -> dict[str, str]:
        return dict(self.homes)

    @cached_property
    def _rest(self) -> str | None:
        """Where names trade that are in no list."""
        return next((code for code in self.codes if code not in self._told.values()), None) if self.homes else None

    def closed(self, names: Sequence[str], session: str) -> BoolArray:
        """(N,) names whose exchange does not trade on that date."""
        day = session[:10]
        shut = {code: day not in self._days[code] for code in self.codes} if self.homes else {}
        return np.array([shut.get(self.home(name) or "", False) for name in names], dtype=bool)

    @cached_property
    def _days(self) -> dict[str, frozenset[str]]:
        days = {code: trading_calendar(code).sessions.to_numpy().astype("datetime64[D]") for code in self.codes}
        return {code: frozenset(np.datetime_as_string(dates).tolist()) for code, dates in days.items()}

    @cached_property
    def hours(self) -> tuple[list[str], Moments, Moments]:
        """All sessions, with the first open and the last close of each, in UTC."""
        each = [trading_calendar(code) for code in self.codes]
        dates = [days.sessions.to_numpy().astype("datetime64[D]") for days in each]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opens, closes = (np.concatenate([_utc(getattr(days, part)) for days in each]) for part in ("opens", "closes"))
        sessions, place = np.unique(np.concatenate(dates), return_inverse=True)
        first, last = np.full(len(sessions), opens.max()), np.full(len(sessions), closes.min())
        np.minimum.at(first, place, opens)
        np.maximum.at(last, place, closes)
        known = (sessions >= max(d[0] for d in dates)) & (sessions <= min(d[-1] for d in dates))  # to all of them
        return np.datetime_as_string(sessions[known]).tolist(), first[known], last[known]


def trading_calendar(name: str) -> Any:
    """A calendar of exchange_calendars."""
    try:
        import exchange_calendars
    except ImportError:
        raise MissingExtraError(
            "the calendar of an exchange needs exchange_calendars: pip install 'backtrader-index-tracker[paper]'"
        ) from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it uses parts of pandas that newer versions frown upon
            return exchange_calendars.get_calendar(name)
    except Exception:  # its errors have no common root
        raise ParameterError(f"no calendar named {name!r}; use the code of an exchange, such as XNYS, XNAS, XLON, XETR") from None


def _utc(series: Any) -> Any:
    return series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy().astype("datetime64[ns]")
