"""From one run to a thousand: sweeps over strategies, parameters, data, costs, fill modes and windows, and tuning.

>>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
>>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=60",))
>>> # run_sweep(sweep, "runs/sweep", jobs=2); write_report("runs/sweep")

Names are imported on first use, so that the command line starts fast.
"""

from typing import TYPE_CHECKING

from datafeeds.lazy import importer

if TYPE_CHECKING:
    from tracker_strategies.research.sweeps.cells import Cell, Data, Window
    from tracker_strategies.research.sweeps.driver import Summary, run_sweep
    from tracker_strategies.research.sweeps.errors import WorkerError
    from tracker_strategies.research.sweeps.report import write_report
    from tracker_strategies.research.sweeps.space import Candidate, Range, Space
    from tracker_strategies.research.sweeps.spec import Halving, Sweep
    from tracker_strategies.research.sweeps.store import read_rows
    from tracker_strategies.research.sweeps.tune import Tuned, Tuning, run_tuning
    from tracker_strategies.research.sweeps.tune_report import write_tuning
    from tracker_strategies.research.sweeps.windows import WalkForward

_HOMES = {
    "Candidate": "space",
    "Cell": "cells",
    "Data": "cells",
    "Halving": "spec",
    "Range": "space",
    "Space": "space",
    "Summary": "driver",
    "Sweep": "spec",
    "Tuned": "tune",
    "Tuning": "tune",
    "WalkForward": "windows",
    "Window": "cells",
    "WorkerError": "errors",
    "read_rows": "store",
    "run_sweep": "driver",
    "run_tuning": "tune",
    "write_report": "report",
    "write_tuning": "tune_report",
}

__all__ = [
    "Candidate",
    "Cell",
    "Data",
    "Halving",
    "Range",
    "Space",
    "Summary",
    "Sweep",
    "Tuned",
    "Tuning",
    "WalkForward",
    "Window",
    "WorkerError",
    "read_rows",
    "run_sweep",
    "run_tuning",
    "write_report",
    "write_tuning",
]

__getattr__ = importer(__name__, _HOMES)
