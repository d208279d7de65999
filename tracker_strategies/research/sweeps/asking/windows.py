"""Which rows of a panel a run learns from and which count: whole histories, periods, and walk-forward folds with purging."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.eval_from import start_row
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.research.sweeps.asking.cells import Window

#: Fewer scored bars say nothing about a tracking error.
LEAST_SCORED = 10
Dates = NDArray[np.datetime64]


@dataclass(frozen=True)
class WalkForward:
    r"""Folds that move through time: choose on the past, judge on what follows.

    Fold k is judged on the rows :math:`[c_k, c_{k+1})`, equal parts of what follows ``test_from``. It may be trained on the rows
    before, up to :math:`c_k - purge`: the purged rows are scored on neither side, so that no order that was decided in training
    and fills later, and no slowly fading error, is counted on both. A learner learns on through the purged and the test rows,
    one bar behind: that is what it does in life.

    Parameters
    ----------
    folds : int, default 4
    test_from : float or str, default 0.5
        Fraction of the rows, or date, at which the first test begins.
    train : int, optional
        Rows of each training window. By default all rows from the first one on.
    purge : int, default 5
        Rows between training and test that count for neither.
    burn_in : int, default 20
        First rows of a training window that are learned from but not scored.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.research.sweeps import WalkForward
    >>> splits = list(WalkForward(folds=3, test_from=0.5).splits(load_sample().dates))
    >>> len(splits)
    3
    """

    folds: int = 4
    test_from: float | str = 0.5
    train: int | None = None
    purge: int = 5
    burn_in: int = 20

    def __post_init__(self) -> None:
        """Whole numbers in their range."""
        for name, least in (("folds", 1), ("train", LEAST_SCORED), ("purge", 0), ("burn_in", 0)):
            value = getattr(self, name)
            if value is None and name == "train":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
                raise ParameterError(f"walk-forward {name}={value!r} must be a whole number >= {least}")

    def splits(self, dates: Dates) -> list[tuple[Window, Window]]:
        """The training and the test window of each fold, in time order.

        Raises
        ------
        DataError
            When a window would have fewer than 10 scored bars.
        """
        T, first = len(dates), start_row(dates, self.test_from)
        edges = np.linspace(first, T, self.folds + 1).round().astype(int).tolist()
        found = []
        for k, (begin, end) in enumerate(pairwise(edges)):
            stop = begin - self.purge
            start = 0 if self.train is None else max(0, stop - self.train)
            train = Window(start, start + self.burn_in, stop, "train", k)
            test = Window(start, begin, end, "test", k)
            for window in (train, test):
                if window.n_scored < LEAST_SCORED:
                    raise DataError(
                        f"fold {k + 1} of {self.folds}: its {window.part} window scores {max(0, window.n_scored)} of {T} bars, "
                        f"but {LEAST_SCORED} are needed; use fewer folds, a smaller burn_in or purge, or a longer history"
                    )
            found.append((train, test))
        return found


def windows_of(
    dates: Dates, *, eval_from: float | str | None = None, periods: tuple[str, ...] = (), walk_forward: WalkForward | None = None
) -> list[Window]:
    """The windows of a sweep: walk-forward folds, or the periods named ("2015-01-01:2019-12-31"), or the whole history."""
    if walk_forward is not None:
        if periods or eval_from is not None:
            raise ParameterError("walk-forward folds define their own windows: omit windows and eval_from")
        return [window for pair in walk_forward.splits(dates) for window in pair]
    found = []
    for words in periods or (":",):
        start, stop = _rows(dates, words)
        part = "whole" if words == ":" else words
        window = Window(start, start + start_row(dates[start:stop], eval_from), stop, part)
        if window.n_scored < LEAST_SCORED:
            raise DataError(
                f"window {part} has {max(0, window.n_scored)} scored bars, but {LEAST_SCORED} are needed; use a longer one"
            )
        found.append(window)
    return found


def _rows(dates: Dates, words: str) -> tuple[int, int]:
    """First and last-but-one row of ``FROM:TO``, both dates included and both optional."""
    first, colon, last = words.partition(":")
    if not colon:
        raise ParameterError(f"window {words!r} must look like 2015-01-01:2019-12-31; either date may be omitted")
    try:
        start = int(np.searchsorted(dates, np.datetime64(first, "ns"))) if first else 0
        # The last date counts with all bars of its day.
        stop = int(np.searchsorted(dates, np.datetime64(last, "D") + np.timedelta64(1, "D"))) if last else len(dates)
    except ValueError:
        raise ParameterError(f"window {words!r} contains something that is not a date such as 2015-01-01") from None
    if stop - start < 3:
        span = f"{dates[0].astype('datetime64[D]')} to {dates[-1].astype('datetime64[D]')}"
        raise ParameterError(
            f"window {words!r} contains {max(0, stop - start)} bars; at least 3 are needed, and the data run from {span}"
        )
    return start, stop
