"""`tracker run pa` from file to metrics against the learner alone; and what starting the command costs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._markets import N_ASSETS, N_BARS
from benchmarks._measure import Report, side_by_side
from datafeeds import open_source, synthetic_market
from tracker_strategies.algorithms import PA
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.runner import backtest


def run() -> Report:
    panel = synthetic_market(N_ASSETS, N_BARS, seed=7)
    x = panel.close[1:] / panel.close[:-1] - 1.0
    y = (panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0).tolist()

    def learner() -> None:
        algorithm = PA(panel.n_assets)
        for x_t, y_t in zip(x, y, strict=True):
            algorithm.update(x_t, y_t)

    report = Report("whole_run")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "market.parquet"
        panel.to_frame().to_parquet(path)

        def everything() -> dict[str, float]:
            return backtest(open_source(str(path)), "pa", costs=CostModel(bps=5), orders=False).metrics()

        timings, _ = side_by_side({"learner alone": learner, "load, learn, trade, analyse": everything}, 31)
    report.timings(timings, "learner alone")
    report.claim(
        "time of a whole run / time of the learner",
        timings["load, learn, trade, analyse"].least / timings["learner alone"].least,
        at_most=10,
    )
    timings, _ = side_by_side(
        {
            "import numpy, pandas": lambda: _python("import numpy, pandas"),
            "import the command line": lambda: _python("import tracker_strategies.cli"),
        },
        7,
    )
    report.timings(timings, "import numpy, pandas")
    base, command = timings.values()
    report.claim("start-up of the command line beyond numpy and pandas, s", command.least - base.least, at_most=0.4)
    return report


def _python(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
