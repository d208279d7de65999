"""How a run grows with assets and bars: time per bar, its exponent in the number of assets, and memory.

First a plain tracker, whole runs of it. Then the ensemble with thousands of names once its rows are full, beside products of a
dense matrix and a vector in the same process, on one thread.
"""

from __future__ import annotations

import json
import os
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

#: Names of the ensemble, and bars: more than its longest memory keeps rows.
WIDE, FULL = (1000, 2000, 5000, 8000), 1700
#: Names whose bar is told in products of a dense matrix of that size and a vector.
DENSE = 5000

ENSEMBLE = """
import json, resource, sys, time
import numpy as np
from tracker_strategies.algorithms import ShareCounts
n, bars, dense = map(int, sys.argv[1:])
rng = np.random.default_rng(7)
loads, shares, prices = rng.normal(1.0, 0.3, (n, 3)), rng.lognormal(0.0, 1.3, n), np.ones(n)
learner, times = ShareCounts(n), []
for t in range(bars):
    x = np.clip(0.005 * loads @ rng.standard_normal(3) + 0.015 * rng.standard_normal(n), -0.3, 0.3)
    before, prices = prices @ shares, prices * (1.0 + x)
    start = time.process_time()
    learner.update(x, float(prices @ shares / before - 1.0))
    times.append(time.process_time() - start)
peak, product = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 0.0
if dense:
    matrix, found = rng.standard_normal((n, n)), []
    for _ in range(15):
        start = time.process_time()
        matrix @ x
        found.append(time.process_time() - start)
    product = float(np.median(found))
print(json.dumps([float(np.median(times[-100:])), product, peak]))
"""


def run() -> Report:
    report = Report("scaling")
    ensemble(report)
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
                    "us per bar": 1e6 * seconds / length,
                    "peak MB": round(megabytes),
                }
            )
    for length, times in per_bar.items():
        exponent = float(np.polyfit(np.log(SIZES), np.log(times), 1)[0])
        report.claim(f"exponent of the time per bar in the number of assets, {length} bars", exponent, at_most=1.1)
    report.claim("most memory of any run, MB", most, at_most=4096)
    return report


def ensemble(report: Report) -> None:
    """Time per bar of the ensemble with full rows."""
    times, most = [], 0.0
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for size in WIDE:
        command = [sys.executable, "-c", ENSEMBLE, str(size), str(FULL), str(int(size == DENSE))]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | threads)
        seconds, product, megabytes = json.loads(done.stdout)
        times.append(seconds)
        most = max(most, megabytes)
        report.rows.append({"assets": size, "bars": FULL, "ensemble, CPU ms per bar": 1e3 * seconds, "peak MB": round(megabytes)})
        if size == DENSE:
            text = f"ensemble, {size} names: CPU per bar / CPU of one product of a dense matrix of that size and a vector"
            report.claim(text, seconds / product, at_most=8.0)
    exponent = float(np.polyfit(np.log(WIDE), np.log(times), 1)[0])
    report.claim(f"ensemble: exponent of the time per bar, {WIDE[0]} to {WIDE[-1]} names, full rows", exponent, at_most=1.2)
    report.claim("ensemble: most memory of any run, MB", most, at_most=1536)
