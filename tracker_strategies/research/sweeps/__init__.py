"""From one run to a thousand: sweeps over strategies, parameters, data, costs, fill modes and windows, and tuning.

>>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
>>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=60",))
>>> # run_sweep(sweep, "runs/sweep", jobs=2); write_report("runs/sweep")

Names are imported on first use, so that the command line starts fast.
"""

from typing import TYPE_CHECKING

from datafeeds._lazy import importer

if TYPE_CHECKING:
    from tracker_strategies.research.sweeps.asking.cells import Cell, Data, Window
    from tracker_strategies.research.sweeps.asking.space import Candidate, Range, Space
    from tracker_strategies.research.sweeps.asking.spec import Halving, Sweep
    from tracker_strategies.research.sweeps.asking.windows import WalkForward
    from tracker_strategies.research.sweeps.errors import WorkerError
    from tracker_strategies.research.sweeps.judging.report import write_report
    from tracker_strategies.research.sweeps.running.driver import Summary, run_sweep
    from tracker_strategies.research.sweeps.running.store import read_rows
    from tracker_strategies.research.sweeps.tuning.report import write_tuning
    from tracker_strategies.research.sweeps.tuning.tuner import Tuned, Tuning, run_tuning

_HOMES = {
    "Candidate": "asking.space",
    "Cell": "asking.cells",
    "Data": "asking.cells",
    "Halving": "asking.spec",
    "Range": "asking.space",
    "Space": "asking.space",
    "Summary": "running.driver",
    "Sweep": "asking.spec",
    "Tuned": "tuning.tuner",
    "Tuning": "tuning.tuner",
    "WalkForward": "asking.windows",
    "Window": "asking.cells",
    "WorkerError": "errors",
    "read_rows": "running.store",
    "run_sweep": "running.driver",
    "run_tuning": "tuning.tuner",
    "write_report": "judging.report",
    "write_tuning": "tuning.report",
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
