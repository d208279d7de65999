"""Weights of the index at each close of a run, from those that were published now and then."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataWarning
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.strategies.index_weights.published import index_weights

FloatArray = NDArray[np.float64]


def index_weights_of(record: RunRecord) -> FloatArray | None:
    """(T, N) weights of the index at each close of a run that was given them, None for another.

    Weights of a date are those at its close. After it they drift with the prices, as those of an index of constant share counts
    do, until the next date; those of a date before the run count as those of its first close. None, too, where the first date
    lies after the first row: what is not known is not made up.

    Parameters
    ----------
    record : RunRecord
        With the stages of its decisions, which hold the prices, and the parameter ``index_weights``.
    """
    run, given = record.whole or record, record.params.get("index_weights")
    if given is None or run.stages is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the run has said what was rescaled
        published = index_weights(given, record.symbols)
    days, close = run.dates.astype("datetime64[D]"), run.stages.close
    known = np.searchsorted(np.array(published.dates, dtype="datetime64[D]"), days, side="right") - 1
    if known[-len(record.dates)] < 0:
        return None
    base = np.maximum(np.searchsorted(days, np.array(published.dates, dtype="datetime64[D]"), side="right") - 1, 0)[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = close / close[base]
    weights = np.array(published.rows)[known] * np.where(np.isfinite(grown), grown, 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))[-len(record.dates) :]
