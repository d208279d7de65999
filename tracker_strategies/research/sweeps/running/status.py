"""How far a sweep is, from what it has written so far."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tracker_strategies.research.sweeps.running.store import in_use, read_description, read_rows

#: The speed is that of so many latest rows.
LATEST = 200


def how_far(folder: str | Path) -> dict[str, Any]:
    """Cells, done, failed, whether a process is at work, speed, seconds left, and the errors with their counts.

    Rows of another version of the code do not count: the sweep would run them again.
    """
    about, running = read_description(folder), in_use(folder)
    rows = read_rows(folder, ("key", "status", "error", "code", "finished")).to_pydict()
    own = [i for i, code in enumerate(rows["code"]) if code == about["code"]]
    finished = np.sort([rows["finished"][i] for i in own])[-LATEST:]
    errors = Counter(rows["error"][i] for i in own if rows["status"][i] != "ok")
    done = len(own)
    span = float(finished[-1] - finished[0]) if len(finished) > 1 else 0.0
    speed = (len(finished) - 1) / span if span > 0.0 else None
    left = max(0, about["cells"] - done)
    return {
        "cells": about["cells"],
        "done": done,
        "failed": sum(errors.values()),
        "running": running,
        "started": about["started"],
        "cells_per_second": speed,
        "seconds_left": left / speed if running and speed and left else None,
        "rows_of_other_code": len(rows["code"]) - done,
        "errors": dict(errors.most_common(10)),
    }
