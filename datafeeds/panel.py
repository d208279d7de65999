"""MarketPanel: a clean, aligned table of prices that every feed, learner and report shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength, moment
from datafeeds.checks import check_dates, check_mask, check_matrix, check_names, fingerprint_of
from datafeeds.errors import DataError, UniverseError
from datafeeds.wide_frames import parts_of_frame

if TYPE_CHECKING:
    from datafeeds.cleaning.report import CleaningReport

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MarketPanel:
    """Prices of N assets and q targets on T common dates.

    A missing price is NaN and means *this asset has no bar on this date*: before its first price it is not listed yet, between
    two prices it is halted or on holiday, after its last price it is halted or delisted (later bars decide which).
    Targets have a price on every date.

    Build one with :meth:`from_frame`, :func:`datafeeds.read_panel`, :func:`datafeeds.load_sample` or
    :func:`datafeeds.synthetic_market`; the constructor validates whatever it is given.

    Parameters
    ----------
    dates : (T,) datetime64[ns]
        Strictly increasing, without time zone.
    symbols : sequence of N str
        Names of the assets; they become the names of the backtrader feeds.
    close : (T, N) float
        Closing prices, positive or NaN.
    targets : sequence of q str
        Names of the indices to track.
    target_close : (T, q) float
        Levels of the indices, positive.
    open, high, low, volume : (T, N) float, optional
        Full bars. Where absent, open = high = low = close and volume = 0.
    source : str
        Where the prices came from, for the record of a run.
    dropped : mapping of symbol to reason
        Series that the source has and this panel does not.
    target_seen : (T, q) bool, optional
        Where a target has its own level; elsewhere its last one was carried forward. None means everywhere.
    members : (T, N) bool, optional
        Where an asset belongs to the index: on other dates it may not be held (:func:`datafeeds.with_members`). None means
        always.
    at_decision : (N,) bool, optional
        Assets whose close is the moment at which a bar's decisions are made. The close of the others is history by then, because
        their market closes before (:mod:`datafeeds.feeds.multi_index`), and no order can fill at it. None means all.
    cleaning : CleaningReport, optional
        What :func:`datafeeds.clean` found and did, if it was used.
    cut : tuple of str
        Bars of the source that were dropped because a target had not begun or had ended, in words.
    read_as : tuple of str
        What the reader guessed about the file, in words: "semicolons", "decimal comma", "day first".

    Raises
    ------
    DataError, UniverseError
        With the first offending date and symbol in the message.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> panel = load_sample()
    >>> panel.n_bars, panel.n_assets, panel.targets
    (3018, 20, ('INDEX',))
    """

    dates: NDArray[np.datetime64]
    symbols: tuple[str, ...]
    close: FloatArray
    targets: tuple[str, ...]
    target_close: FloatArray
    open: FloatArray | None = None
    high: FloatArray | None = None
    low: FloatArray | None = None
    volume: FloatArray | None = None
    source: str = "memory"
    dropped: Mapping[str, str] = field(default_factory=dict)
    target_seen: BoolArray | None = None
    members: BoolArray | None = None
    at_decision: BoolArray | None = None
    cleaning: CleaningReport | None = None
    cut: tuple[str, ...] = ()
    read_as: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Validate, and freeze the arrays: a panel is shared, so nobody may write to it."""
        dates = check_dates(self.dates)
        symbols, targets = check_names(self.symbols, self.targets)
        shape = (len(dates), len(symbols))
        frozen: dict[str, object] = {"dates": dates, "symbols": symbols, "targets": targets}
        frozen["close"] = check_matrix(self.close, shape, "close", dates, symbols)
        frozen["target_close"] = check_matrix(
            self.target_close, (len(dates), len(targets)), "target", dates, targets, holes=False
        )
        for name in ("open", "high", "low", "volume"):
            values = getattr(self, name)
            if values is not None:
                frozen[name] = check_matrix(values, shape, name, dates, symbols, positive=name != "volume")
        frozen["dropped"] = MappingProxyType(dict(self.dropped))
        frozen["target_seen"] = check_mask(self.target_seen, (len(dates), len(targets)), "target_seen")
        frozen["members"] = check_mask(self.members, shape, "members")
        frozen["at_decision"] = check_mask(self.at_decision, shape[1:], "at_decision")
        never = np.flatnonzero(~np.isfinite(frozen["close"]).any(axis=0))  # type: ignore[call-overload]
        if never.size:
            raise DataError(f"{symbols[never[0]]} has no price at all; drop the column")
        for name, value in frozen.items():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            object.__setattr__(self, name, value)
        self._check_bars()

    def _check_bars(self) -> None:
        """A bar is whole or absent, and low <= open, close <= high."""
        for name in ("open", "high", "low"):
            values = getattr(self, name)
            if values is None:
                continue
            lone = np.isfinite(values) != self.has_bar
            self._refuse(lone, name, values, "it is missing where the close is not, or the reverse")
            for inner in (self.open, self.close):
                if inner is not None and name != "open":
                    outside = values < inner if name == "high" else values > inner
                    self._refuse(
                        outside, name, values, f"that bar's open or close lies {'above' if name == 'high' else 'below'} it"
                    )

    def _refuse(self, wrong: BoolArray, name: str, values: FloatArray, why: str) -> None:
        if wrong.any():
            t, i = np.argwhere(wrong)[0]
            raise DataError(f"{name} of {self.symbols[i]} on {moment(self.dates[t])} is {values[t, i]:g}: {why}")

    # -- building ----------

    @classmethod
    def from_frame(
        cls,
        prices: pd.DataFrame,
        targets: str | Sequence[str] = "INDEX",
        *,
        bars: Mapping[str, pd.DataFrame] | None = None,
        gaps: str = "error",
        source: str = "memory",
        dropped: Mapping[str, str] | None = None,
    ) -> MarketPanel:
        """Make a panel from a wide frame: dates down, one column of prices per series, targets among them.

        Parameters
        ----------
        prices : DataFrame
            Index of naive dates; numeric columns.
        targets : str or sequence of str, default "INDEX"
            Column(s) to track. They are not investable.
        bars : mapping with any of "open", "high", "low", "volume", optional
            Frames of the same shape, for the assets.
        gaps : {"error", "freeze", "live"}
            A price missing *between* two others is an error by default. With "freeze" it is a halt: the name keeps its weight and
            cannot be traded on that date, and a target that is missing keeps its last level. Missing prices before the first one
            (late listing) and after the last one (delisting) are always allowed for assets. Of targets they are refused by
            default; with "freeze" the panel begins with the first date on which every target has a level and ends with the last
            before one of them ends: a :class:`~datafeeds.errors.DataWarning` and the panel's ``cut`` say what was dropped.
            "live" is "freeze" for prices that continue: a target without a level on up to ten newest bars, while another has one,
            is on holiday.
        """
        parts = parts_of_frame(prices, (targets,) if isinstance(targets, str) else tuple(targets), bars or {}, gaps, source)
        lost = parts.pop("lost")
        return cls(**parts, source=source, dropped={**(dropped or {}), **lost})

    # -- reading ----------

    @property
    def n_bars(self) -> int:
        """Number of dates T."""
        return len(self.dates)

    @property
    def n_assets(self) -> int:
        """Number of assets N."""
        return len(self.symbols)

    @cached_property
    def has_bar(self) -> BoolArray:
        """(T, N) mask: this asset traded on this date."""
        return np.isfinite(self.close)

    @cached_property
    def complete(self) -> bool:
        """Whether every asset has a bar on every date; then no mask is ever needed."""
        return bool(self.has_bar.all())

    @cached_property
    def last_bar(self) -> NDArray[np.int64]:
        """(T, N) row of the latest bar of each asset up to each date; -1 before its listing. Looks only backwards."""
        rows = np.where(self.has_bar, np.arange(self.n_bars)[:, None], -1)
        return np.maximum.accumulate(rows, axis=0)

    @cached_property
    def returns(self) -> FloatArray:
        """(T-1, N) simple returns from bar to bar, NaN where either price is missing. Worked out once for all who share it."""
        returns = self.close[1:] / self.close[:-1]
        returns -= 1.0
        returns.setflags(write=False)
        return returns

    @cached_property
    def bar_length(self) -> BarLength:
        """How long its bars are, by the distances of the dates.

        Raises :class:`DataError` where stretches of them have bars of different lengths.
        """
        return BarLength.of(self.dates)

    @property
    def periods_per_year(self) -> float:
        """252, 52 or 12, by the length of the bars; for finer bars, 252 times the bars of a typical day."""
        return self.bar_length.per_year

    def column(self, name: str) -> FloatArray:
        """Closing prices of one asset or target."""
        if name in self.targets:
            return self.target_close[:, self.targets.index(name)]
        if name in self.symbols:
            return self.close[:, self.symbols.index(name)]
        raise UniverseError(
            f"{name!r} is neither an asset nor a target of this panel ({self.n_assets} assets, targets {self.targets})"
        )

    def day(self, row: int) -> str:
        """ISO date of a row, for messages."""
        return str(self.dates[row].astype("datetime64[D]"))

    def rows(self, start: int | None = None, stop: int | None = None) -> MarketPanel:
        """The panel between two rows (as a slice), without assets that have no price there."""
        cut = slice(start, stop)
        return self.take(np.asarray(np.isfinite(self.close[cut]).any(axis=0)), "no price in the chosen period", cut)

    def take(self, keep: BoolArray, why: str, rows: slice = slice(None)) -> MarketPanel:
        """The panel of the assets in a mask (between some rows); the others are dropped, with this reason."""
        which = np.flatnonzero(keep)
        per_asset = ("close", "open", "high", "low", "volume", "members")
        return replace(
            self,
            dates=self.dates[rows],
            symbols=tuple(self.symbols[i] for i in which),
            target_close=self.target_close[rows],
            target_seen=None if self.target_seen is None else self.target_seen[rows],
            at_decision=None if self.at_decision is None else self.at_decision[which],
            dropped={**self.dropped, **{self.symbols[i]: why for i in np.flatnonzero(~keep)}},
            **{k: v[rows][:, which] for k in per_asset if (v := getattr(self, k)) is not None},
        )

    def require_bars(self, needed: int) -> None:
        """Raise :class:`DataError` when there are fewer dates."""
        if self.n_bars < needed:
            raise DataError(f"{self.n_bars} bars, but {needed} are needed; give a longer history")

    def to_frame(self) -> pd.DataFrame:
        """Closing prices as a wide frame, targets first."""
        data = np.hstack([self.target_close, self.close])
        return pd.DataFrame(data, index=pd.DatetimeIndex(self.dates, name="date"), columns=[*self.targets, *self.symbols])

    def fingerprint(self) -> str:
        """SHA-256 of names, dates, every price and the members by date: equal for equal panels, on every machine."""
        parts = (self.close, self.target_close, self.open, self.high, self.low, self.volume)
        return fingerprint_of((*self.symbols, "\1", *self.targets), self.dates, parts, self.target_seen, self.members)

    def __reduce__(self) -> tuple[Any, ...]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return _restore, ({**values, "dropped": dict(self.dropped)},)

    def __repr__(self) -> str:
        span = f"{self.day(0)}..{self.day(-1)}"
        return (
            f"MarketPanel({self.n_bars} bars x {self.n_assets} assets, targets {', '.join(self.targets)}, {span}, {self.source})"
        )


def _restore(values: dict[str, Any]) -> MarketPanel:
    """A panel from its pickle."""
    return MarketPanel(**values)
