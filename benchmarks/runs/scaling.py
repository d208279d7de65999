"""How a run grows with assets and bars: time per bar, its exponent in the number of assets, and memory."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks._measure import Report

SIZES = (100, 453, 1000, 2000, 5000)
LENGTHS = (503, 2520)

#: Each size in a process of its own, so that memory is that of one run.
CHILD = """
import json, resource, sys, time
from datafeeds import synthetic_market
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.runner import backtest
n, t = int(sys.argv[1]), int(sys.argv[2])
panel = synthetic_market(n, t, seed=7)
best = float("inf")
for _ in range(3 if n * t < 2_000_000 else 1):
    start = time.perf_counter()
    backtest(panel, "pa", costs=CostModel(bps=5), orders=False)
    best = min(best, time.perf_counter() - start)
print(json.dumps([best, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


def run() -> Report:
    report = Report("scaling")
    per_bar: dict[int, list[float]] = {}
    most = 0.0
    for length in LENGTHS:
        for size in SIZES:
            output = subprocess.run(
                [sys.executable, "-c", CHILD, str(size), str(length)], check=True, capture_output=True, text=True
            ).stdout
            seconds, megabytes = json.loads(output)
            per_bar.setdefault(length, []).append(seconds / length)
            most = max(most, megabytes)
            report.rows.append(
                {
                    "assets": size,
                    "bars": length,
                    "run s": seconds,
                    "us a bar": 1e6 * seconds / length,
                    "peak MB": round(megabytes),
                }
            )
    for length, times in per_bar.items():
        exponent = float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])
        report.claim(f"exponent of the time per bar in the number of assets, {length} bars", exponent, at_most=1.1)
    report.claim("most memory of any run, MB", most, at_most=4096)
    return report
