"""Which entrant of a leaderboard is better, market by market: the rows get their intervals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.verdicts import judge
from tracker_strategies.errors import ParameterError

#: The reference, unless another is named.
REFERENCE = "ensemble"


def reference(names: Sequence[str], against: str | None = None) -> str:
    """The entrant that the others are compared with: the one that was named, the ensemble, or else the first."""
    if against is not None and against not in names:
        raise ParameterError(f"--against {against} is not in this leaderboard; choose one of {', '.join(dict.fromkeys(names))}")
    return against or (REFERENCE if REFERENCE in names else names[0])


def judge_rows(rows: Sequence[dict[str, Any]], paths: Mapping[str, NDArray[np.float64]], against: str) -> None:
    """Give each row of one market its interval and verdict, group by group, under ``judged``.

    Parameters
    ----------
    rows : sequence of dict
        Of one market. In a group without the reference the first row of the group takes its place.
    paths : mapping of key to (T,) float
        Active returns. Runs that got to their targets later than others have fewer and are not judged.
    against : str
        Name of the reference.
    """
    for group in dict.fromkeys(row["group"] for row in rows):
        own = [row for row in rows if row["group"] == group and not row["error"]]
        most = max((len(paths[row["key"]]) for row in own), default=0)
        fit = {row["strategy"]: row for row in own if len(paths[row["key"]]) == most > 0}
        if not fit:
            continue
        found = judge({name: paths[row["key"]] for name, row in fit.items()}, against if against in fit else None)
        for name, row in fit.items():
            row["judged"] = found[name].told()
