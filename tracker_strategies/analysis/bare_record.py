"""What one analyzer knows, as a record, for the figures that it tells."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.order_log import order_table
from tracker_strategies.analysis.record import RunRecord

FloatArray = NDArray[np.float64]


def figures(record: RunRecord, keys: Iterable[str]) -> OrderedDict[str, float]:
    """Some figures of a record that nobody needs any more."""
    found = record.metrics()
    vars(record).pop("part", None)  # it knows the record, and both would stay until Python looks for such pairs
    return OrderedDict((key, found[key]) for key in keys)


def bare_record(analyzer: Any, index: FloatArray, weights: FloatArray, **more: Any) -> RunRecord:
    """What one analyzer knows, as a record: its figures come from where all others do."""
    dates = np.broadcast_to(np.datetime64(0, "ns"), len(analyzer._value))  # of no matter to the figures
    named: dict[str, Any] = {"symbols": (), "periods_per_year": 1.0, "dates": dates, **more}
    return RunRecord(
        strategy="",
        value=np.array(analyzer._value),
        index=index,
        weights=weights,
        turnover=np.array(analyzer._traded),
        cost=np.array(analyzer._paid),
        orders=order_table((), ()),
        flow=np.array(analyzer._flow) if any(analyzer._flow) else None,
        carried=np.array(analyzer._carried) if analyzer._carried else None,
        entry=analyzer.entry,
        **named,
    )
