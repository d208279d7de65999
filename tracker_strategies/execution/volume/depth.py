"""How much of each name is traded: on a bar, and per day over the 20 sessions before it. Looks only backwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: Sessions that tell what is usual, and how few of them will do for a name that has come or paused.
SESSIONS, LEAST = 20, 5
#: Of bars longer than a day, so many at least: fewer tell no volatility.
FEWEST_BARS = 4
_YEAR = 252.0


@dataclass(frozen=True, eq=False)
class Depth:
    """What was traded of N names.

    Attributes
    ----------
    volume : (N,) float
        Shares traded on the bar; 0 without a bar.
    usual : (N,) float
        ADV: mean shares per session over the sessions before the bar's own; NaN where too few are known.
    volatility : (N,) float
        Standard deviation of the returns per session over the same sessions.
    """

    volume: FloatArray
    usual: FloatArray
    volatility: FloatArray

    @cached_property
    def known(self) -> BoolArray:
        """(N,) names of which it is known what is usual."""
        return np.asarray((self.usual > 0.0) & np.isfinite(self.volatility))

    def scaled(self, factor: FloatArray) -> Depth:
        """The same in other units, given how many of them a share is."""
        return Depth(self.volume * factor, self.usual * factor, self.volatility)


class Span:
    """How many bars (of distinct dates) tell what is usual per session, from the number of bars per year (None: not known)."""

    def __init__(self, bars_per_year: float | None) -> None:
        length = _YEAR / bars_per_year if bars_per_year else 1.0
        self.sessions, self.bars = 1.0, SESSIONS
        if length > 1.5:
            self.sessions, self.bars = length, max(FEWEST_BARS, round(SESSIONS / length))

    def usual(self, closes: FloatArray, volumes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Volume and volatility per session, from the closes and volumes of up to so many dates; NaN where a name had none.

        One row of closes more than of volumes gives as many returns as volumes.
        """
        n, least = closes.shape[1], min(LEAST, self.bars)
        if len(volumes) < least or len(closes) <= least:
            return np.full(n, np.nan), np.full(n, np.nan)
        returns = closes[1:] / closes[:-1] - 1.0
        traded, seen = np.isfinite(volumes), np.isfinite(returns)
        count, moves = traded.sum(axis=0), seen.sum(axis=0)
        enough = (count >= least) & (moves >= least)
        count, moves = np.maximum(count, 1), np.maximum(moves, 2)
        returns = np.where(seen, returns, 0.0)
        centred = np.where(seen, returns - returns.sum(axis=0) / moves, 0.0)
        variance = (centred * centred).sum(axis=0) / (moves - 1)
        volume = np.where(traded, volumes, 0.0).sum(axis=0) / count
        return (
            np.where(enough, volume / self.sessions, np.nan),
            np.where(enough, np.sqrt(variance / self.sessions), np.nan),
        )


class PanelDepth:
    """Depth of the names of a panel, row by row. Bars of one date are one session.

    Parameters
    ----------
    panel : MarketPanel
    bars_per_year : float, optional
        By default the panel's own.
    columns : list of int, optional
        Which of its assets; all by default.

    Raises
    ------
    DataError
        The panel has no volume, or one of the names has none.
    """

    def __init__(self, panel: MarketPanel, bars_per_year: float | None = None, columns: list[int] | None = None) -> None:
        require_volume(panel, columns)
        assert panel.volume is not None
        self._span = Span(bars_per_year or panel.periods_per_year)
        pick = slice(None) if columns is None else columns
        self._volume = panel.volume[:, pick]
        days = panel.dates.astype("datetime64[D]")
        starts = np.flatnonzero(np.r_[True, days[1:] != days[:-1]])
        self._session = np.cumsum(np.r_[False, days[1:] != days[:-1]])
        if len(starts) == len(days):
            self._closes, self._volumes = (
                panel.close[:, pick],
                np.where(panel.has_bar[:, pick], np.nan_to_num(self._volume), np.nan),
            )
        else:
            last = panel.last_bar[:, pick][np.r_[starts[1:], len(days)] - 1]
            has = last >= starts[:, None]
            closes = np.take_along_axis(panel.close[:, pick], np.maximum(last, 0), axis=0)
            self._closes = np.where(has, closes, np.nan)
            self._volumes = np.where(has, np.add.reduceat(np.nan_to_num(self._volume), starts, axis=0), np.nan)
        self._known: tuple[int, FloatArray, FloatArray] | None = None

    def at(self, row: int) -> Depth:
        """The depth of a row's bar."""
        session = int(self._session[row])
        if self._known is None or self._known[0] != session:
            first = max(session - self._span.bars, 0)
            closes, volumes = self._closes[max(first - 1, 0) : session], self._volumes[first:session]
            self._known = session, *self._span.usual(closes, volumes)
        return Depth(np.nan_to_num(self._volume[row]), *self._known[1:])


class LineDepth:
    """The same for feeds of any kind, which are told bar by bar.

    Parameters
    ----------
    assets : sequence of N feeds
        Those that are loaded and have no volume are refused with a DataError.
    bars_per_year : float, optional
    """

    def __init__(self, assets: Sequence[Any], bars_per_year: float | None) -> None:
        for data in assets:
            loaded = np.asarray(getattr(data.lines.volume, "array", ()), dtype=np.float64)
            if len(loaded) >= SESSIONS and not np.nansum(loaded) > 0.0:
                raise no_volume(data._name, "its feed")
        self._assets, self._span, n_assets = assets, Span(bars_per_year), len(assets)
        self._closes: deque[FloatArray] = deque(maxlen=self._span.bars + 1)
        self._volumes: deque[FloatArray] = deque(maxlen=self._span.bars)
        self._bar: tuple[np.datetime64, FloatArray, FloatArray] | None = None
        self._day: np.datetime64 | None = None
        self._close, self._sum = np.full(n_assets, np.nan), np.full(n_assets, np.nan)
        self._usual: tuple[FloatArray, FloatArray] = self._close, self._sum

    def at(self, date: np.datetime64, closes: FloatArray) -> Depth:
        """The depth of the bar at which the feeds stand: closes are NaN for names without one. It may be asked for again."""
        has = np.isfinite(closes)
        volumes = np.array([data.volume[0] if own else np.nan for data, own in zip(self._assets, has, strict=True)])
        if self._bar is not None and self._bar[0] != date:
            self._take(*self._bar)
        self._bar = date, closes, volumes
        if self._day is not None and date.astype("datetime64[D]") != self._day:
            self._close_session()
        return Depth(np.nan_to_num(volumes), *self._usual)

    def _take(self, date: np.datetime64, closes: FloatArray, volumes: FloatArray) -> None:
        """A bar is over."""
        has = np.isfinite(closes)
        self._day = date.astype("datetime64[D]")
        self._close = np.where(has, closes, self._close)
        self._sum = np.where(has, np.nan_to_num(self._sum) + np.nan_to_num(volumes), self._sum)

    def _close_session(self) -> None:
        self._closes.append(self._close)
        self._volumes.append(self._sum)
        self._day, n = None, len(self._close)
        self._close, self._sum = np.full(n, np.nan), np.full(n, np.nan)
        self._usual = self._span.usual(np.array(self._closes), np.array(self._volumes))


def require_volume(panel: MarketPanel, columns: Sequence[int] | None = None) -> None:
    """Refuse a panel that does not say how much was traded; of a name with a few bars that may be so."""
    which = np.arange(panel.n_assets) if columns is None else np.asarray(columns)
    silent = np.ones(len(which), dtype=bool)
    if panel.volume is not None:
        volume, bars = panel.volume[:, which], panel.has_bar[:, which].sum(axis=0)
        silent = (bars >= SESSIONS) & ~(np.nansum(volume, axis=0) > 0.0)
    none = [panel.symbols[i] for i in which[silent]]
    if none:
        raise no_volume(none[0], panel.source, len(none))


def no_volume(name: str, where: str, count: int = 1) -> DataError:
    """The refusal of a name without volume."""
    return DataError(
        f"{name} has no volume in {where} (names without volume: {count}): max_participation and impact need the traded volume; "
        "use bars with a column volume, or omit both"
    )
