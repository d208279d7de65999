"""What goes into a panel of several markets: an exchange with its targets and assets, and rates of exchange."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.checks import check_dates, check_frame, check_matrix, find_holes
from datafeeds.choices import GAP_POLICIES, check_choice
from datafeeds.errors import DataError, UniverseError
from datafeeds.markets.closing_times import closing_instants
from datafeeds.panel import MarketPanel
from datafeeds.sources import open_frames

FloatArray = NDArray[np.float64]
Prices = MarketPanel | pd.DataFrame | Mapping[str, pd.Series] | str | os.PathLike[str]
#: Parts of a bar beside the close.
BAR_PARTS = ("open", "high", "low", "volume")


@dataclass(frozen=True, eq=False)
class Market:
    """One exchange: its series, calendar, closing time and currency.

    Parameters
    ----------
    prices : MarketPanel, DataFrame, mapping of name to Series, or path
        Targets and assets, with session dates as the index. A path is that of a file or folder that
        :func:`~datafeeds.sources.open_source` reads. A market may have targets only, or assets only.
    targets : str or sequence of str
        Which of the series are to be tracked; () for none. Of a panel its own targets, if none are named.
    timezone : str
        IANA name of the exchange's zone: "America/New_York", "Asia/Tokyo", "Europe/London".
    close : str
        Regular closing time there, "16:00". On days with an early close the regular time is kept, which is later and hence safe.
        Where the time has changed (Tokyo: 15:00, since November 2024 15:30), give the later one. A day that ends at midnight
        closes at "24:00", a session that ends at 01:30 of the next day at "25:30"; "00:00" is refused.
    currency : str, optional
        Currency of all prices. None: take them as they are, as for an index in local currency.
    bars : mapping with any of "open", "high", "low", "volume" to DataFrame, optional
        Full bars of the assets, when prices are a frame.
    gaps : {"error", "freeze"}
        What a price means that is missing on a session of this market, between two others: see :meth:`MarketPanel.from_frame`.

    Examples
    --------
    >>> import pandas as pd
    >>> from datafeeds import Market, MultiIndexData
    >>> days = pd.DatetimeIndex(["2024-01-02", "2024-01-03"])
    >>> ny = pd.DataFrame({"SPX": [10.0, 11], "AAPL": [5.0, 6]}, index=days)
    >>> tokyo = pd.DataFrame({"NKY": [20.0, 21], "SONY": [3.0, 4]}, index=days)
    >>> markets = {"NY": Market(ny, "SPX", "America/New_York", "16:00"), "TOKYO": Market(tokyo, "NKY", "Asia/Tokyo", "15:30")}
    >>> MultiIndexData.from_markets(markets).panel.targets
    ('SPX', 'NKY')
    """

    prices: Prices
    targets: str | Sequence[str]
    timezone: str
    close: str
    currency: str | None = None
    bars: Mapping[str, pd.DataFrame] | None = None
    gaps: str = "error"

    @cached_property
    def sessions(self) -> Sessions:
        """The series as arrays, checked."""
        return _sessions(self)

    def closes_at(self, days: NDArray[np.datetime64]) -> NDArray[np.datetime64]:
        """Instants in UTC at which this market closes on session dates, or would on a holiday."""
        return closing_instants(days, self.timezone, self.close)


@dataclass(frozen=True, eq=False)
class Sessions:
    """S sessions of a market with n assets and q targets, NaN where a series has no price.

    `parts` has "close" and those of "open", "high", "low", "volume", "members" that the market has, each (S, n).
    """

    days: NDArray[np.datetime64]
    assets: tuple[str, ...]
    parts: Mapping[str, NDArray[np.generic]]
    targets: tuple[str, ...]
    levels: FloatArray
    dropped: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class ExchangeRate:
    """Units of the base currency per unit of another currency, day by day.

    Parameters
    ----------
    rates : Series or path
        Positive numbers, with dates as the index; the calendar is its own. Of a file the only column besides the dates is taken.
    timezone, close : str, default "Europe/London", "16:00"
        When the rate of a day is known: the default is the hour of the London fixing. A rate that is noted at the close of New
        York is not known to a decision made at that close a minute earlier.

    Examples
    --------
    >>> import pandas as pd
    >>> from datafeeds import ExchangeRate
    >>> rates = pd.Series([0.0070, 0.0071], index=pd.DatetimeIndex(["2024-01-02", "2024-01-04"]))
    >>> rate = ExchangeRate(rates)
    """

    rates: pd.Series | str | os.PathLike[str]
    timezone: str = "Europe/London"
    close: str = "16:00"

    @cached_property
    def quotes(self) -> tuple[NDArray[np.datetime64], NDArray[np.datetime64], FloatArray]:
        """Dates, the instants at which their rates became known, and the rates; without dates that have none."""
        rates = self.rates
        if not isinstance(rates, pd.Series):
            frame, _ = open_frames(rates)
            if frame.shape[1] != 1:
                raise DataError(
                    f"{os.fspath(rates)}: a file of rates has dates and one column, but this has {frame.shape[1]} columns"
                )
            rates = frame.iloc[:, 0]
        frame = rates.to_frame("rate")
        check_frame(frame, ())
        days = _session_dates(frame)
        values = check_matrix(frame.to_numpy(dtype=np.float64), frame.shape, "exchange rate", days, ("the currency",))[:, 0]
        known = np.isfinite(values)
        return days[known], closing_instants(days[known], self.timezone, self.close), values[known]


def _sessions(market: Market) -> Sessions:
    wanted = (market.targets,) if isinstance(market.targets, str) else tuple(market.targets)
    check_choice("gaps", market.gaps, GAP_POLICIES)
    if isinstance(market.prices, MarketPanel):
        return _of_panel(market.prices, wanted)
    if isinstance(market.prices, str | os.PathLike):
        prices, bars = open_frames(market.prices)
    else:
        prices = market.prices if isinstance(market.prices, pd.DataFrame) else pd.DataFrame(dict(market.prices))
        bars = dict(market.bars or {})
    check_frame(prices, wanted)
    days = _session_dates(prices)
    assets = [name for name in prices.columns if name not in wanted]
    levels = _checked(prices[list(wanted)], "target", days)
    parts = {"close": _checked(prices[assets], "close", days)}
    for part in BAR_PARTS:
        if part in bars:
            aligned = bars[part].reindex(index=prices.index, columns=assets)
            parts[part] = _checked(aligned, part, days, positive=part != "volume")
    if market.gaps == "error":
        find_holes(parts["close"], days, assets)
        find_holes(levels, days, wanted)
    empty = [name for name, column in zip(wanted, levels.T, strict=True) if np.isnan(column).all()]
    if empty:
        raise DataError(f"target {empty[0]} has no data; add its levels, or do not name it as a target")
    traded = np.isfinite(parts["close"]).any(axis=0)
    gone = {str(assets[i]): "no price at all" for i in np.flatnonzero(~traded)}
    names = tuple(str(assets[i]) for i in np.flatnonzero(traded))
    return Sessions(days, names, {k: v[:, traded] for k, v in parts.items()}, tuple(map(str, wanted)), levels, gone)


def _of_panel(panel: MarketPanel, wanted: tuple[str, ...]) -> Sessions:
    unknown = [name for name in wanted if name not in panel.targets]
    if unknown:
        raise UniverseError(f"{unknown[0]!r} is not a target of the panel; its targets are {', '.join(panel.targets)}")
    which = [panel.targets.index(name) for name in wanted or panel.targets]
    levels = panel.target_close[:, which]
    if panel.target_seen is not None:
        levels = np.where(panel.target_seen[:, which], levels, np.nan)
    parts = {k: v for k in ("close", *BAR_PARTS, "members") if (v := getattr(panel, k)) is not None}
    days = _session_dates(pd.DataFrame(index=pd.DatetimeIndex(panel.dates)))
    return Sessions(days, panel.symbols, parts, wanted or panel.targets, levels, panel.dropped)


def _checked(frame: pd.DataFrame, what: str, days: NDArray[np.datetime64], *, positive: bool = True) -> FloatArray:
    values = frame.to_numpy(dtype=np.float64)
    return check_matrix(values, frame.shape, what, days, [str(c) for c in frame.columns], positive=positive)


def _session_dates(frame: pd.DataFrame) -> NDArray[np.datetime64]:
    dates = check_dates(frame.index.to_numpy(dtype="datetime64[ns]"))
    days = dates.astype("datetime64[D]")
    if (days != dates).any():
        odd = dates[int(np.argmax(days != dates))]
        raise DataError(
            f"{odd.astype('datetime64[m]')} is a time within a day; markets are joined by session dates, so give daily bars"
        )
    return days
