"""From which row on a run is scored, from a fraction of it or a date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import DataError, ParameterError


def start_row(dates: NDArray[np.datetime64], start: float | str | None) -> int:
    """First scored row: a fraction in [0, 1) of the bars, or the first bar on or after an ISO date."""
    if start is None:
        return 0
    try:
        fraction = float(start)
    except ValueError:
        try:
            day = np.datetime64(str(start), "ns")
        except ValueError:
            raise ParameterError(f"eval-from {start!r} is neither a fraction such as 0.5 nor a date such as 2019-06-30") from None
        row = int(np.searchsorted(dates, day))
        if row >= len(dates) - 1:
            raise ParameterError(
                f"eval-from {start}: the data end on {dates[-1].astype('datetime64[D]')}, so no bar is left to score; choose an "
                "earlier date"
            ) from None
        return row
    if not 0.0 <= fraction < 1.0:
        raise ParameterError(f"eval-from {fraction:g} must be a fraction in [0, 1) or a date")
    row = int(len(dates) * fraction)
    if row >= len(dates) - 1:
        raise DataError(f"{len(dates)} bars are too few to score the last {1 - fraction:.0%} of them")
    return row
