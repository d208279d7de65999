"""Reading and validating a large panel from Parquet, against pandas reading the same file; and the memory it takes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._measure import Report, side_by_side
from datafeeds import MarketPanel, open_source, synthetic_market

N_ASSETS, N_BARS = 2000, 2520
#: Assets that list late, leave, and halts: a file with holes takes the longer way through validation.
EVENTS: dict[str, Any] = {"late_listings": 200, "delistings": 200, "halts": 2000}

#: Run in a process of its own: its peak of memory is that of this one read. A small file first, so that imports, thread pools and
#: arrow's own pool are there before the count begins. Linux tells peak and present of the process itself; elsewhere both are the
#: peak so far (which Linux, in turn, lets a process inherit from the one that started it).
_CHILD = """
import resource, sys
small, path, gaps = sys.argv[1:]
from datafeeds import open_source
def memory(field):
    try:
        with open("/proc/self/status") as file:
            return 1024 * next(int(line.split()[1]) for line in file if line.startswith(field))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
open_source(small)
before = memory("VmRSS:")
panel = open_source(path, gaps=gaps)
print(memory("VmHWM:") - before)
"""


def peak_memory(small: Path, path: Path, gaps: str) -> int:
    """Bytes by which the memory of a fresh process grows, at most, while it reads a panel."""
    command = [sys.executable, "-c", _CHILD, str(small), str(path), gaps]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def run() -> Report:
    report = Report("loading")
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        synthetic_market(5, 10, seed=1).to_frame().to_parquet(small)
        for kind, gaps in (("complete", "error"), ("with holes", "freeze")):
            path = Path(folder) / f"{kind}.parquet"
            synthetic_market(N_ASSETS, N_BARS, seed=1, **(EVENTS if gaps == "freeze" else {})).to_frame().to_parquet(path)
            _compare(report, kind, small, path, gaps)
    report.notes.append(f"raw array: {N_ASSETS} assets x {N_BARS} bars of doubles, {N_ASSETS * N_BARS * 8 / 1e6:.1f} MB")
    return report


def _compare(report: Report, kind: str, small: Path, path: Path, gaps: str) -> None:
    theirs, ours = f"pandas, {kind}", f"panel, {kind}"
    contenders = {theirs: lambda: pd.read_parquet(path), ours: lambda: open_source(path, gaps=gaps)}
    timings, found = side_by_side(contenders, 7)
    report.timings(timings, theirs)
    panel: MarketPanel = found[ours]
    frame: pd.DataFrame = found[theirs]
    same = np.array_equal(panel.close, frame[list(panel.symbols)].to_numpy(), equal_nan=True)
    report.claim(f"{kind}: prices differ", float(not same), at_most=0.0)
    report.claim(f"{kind}: time to read and validate / time of pandas", timings[ours].least / timings[theirs].least, at_most=10.0)
    memory = peak_memory(small, path, gaps) / (N_ASSETS * N_BARS * 8)
    report.claim(f"{kind}: peak of memory / raw array", memory, at_most=4.0)
