"""One case of the storm of sweeps: ten cells, some of them hostile, under a driver that is disturbed until it gets to its end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.storm.hostile_cells.driver import DISTURBANCES
from tracker_strategies.research.sweeps.judging.report import findings
from tracker_strategies.research.sweeps.judging.results import load
from tracker_strategies.research.sweeps.running.status import how_far
from tracker_strategies.research.sweeps.running.store import PLAIN, VOLATILE, read_batches, read_rows

ROOT = Path(__file__).resolve().parents[3]
#: What a cell does, and how its row tells it; nothing where the row is as good as any.
ACTS = {
    "nothing": "",
    "raise": r"^ValueError: not with me",
    "leave": r"^SystemExit: I am leaving",
    "segfault": r"^CellDiedError: .*SIGSEGV.* in own\.py, line \d+, in _segfault",
    "abort": r"^CellDiedError: .*SIGABRT",
    "exit": r"^CellDiedError: .*exit code 3",
    "exit_quietly": r"^CellDiedError: .*exit code 0",
    "kill": r"^CellDiedError: .*SIGKILL",
    "loop": r"^CellTimeError: stopped after .* in own\.py, line \d+, in _loop",
    "sleep": r"^CellTimeError: stopped after .* in own\.py, line \d+, in _sleep",
    "hold": r"^CellTimeError: stopped after",
    "memory": r"^MemoryError: .*--cell-memory",
    "die_once": "",
    "die_twice": r"killed.*SIGKILL.*, then .*SIGABRT|SIGABRT",
}
#: Cells of a sweep beside its baseline; seconds that one may take; starts of a driver that nobody disturbs.
CELLS, SECONDS, RESTARTS = 10, 6.0, 8
STABLE = [name for name in PLAIN if name not in VOLATILE]


@dataclass(frozen=True)
class Case:
    """What the ten cells do, how many processes there are, and what is done to each start of the driver, and when."""

    name: str
    acts: tuple[str, ...]
    jobs: int
    disturbances: tuple[tuple[str, int], ...]


@dataclass
class Result:
    """What came of it."""

    case: Case
    findings: list[str] = field(default_factory=list)
    starts: int = 0
    seconds: float = 0.0


def make_case(seed: int, index: int) -> Case:
    """Drawn from the two numbers alone."""
    rng = np.random.default_rng([seed, index])
    disturbances = [(str(rng.choice(DISTURBANCES)), int(rng.integers(1, 9))) for _ in range(int(rng.integers(0, 4)))]
    killed = any(what == "kill a process" for what, _ in disturbances)  # one more death is then no act of the cell
    hostile = [act for act in ACTS if act != "nothing" and not (act in ("die_once", "die_twice") and killed)]
    acts = ["nothing"] * CELLS
    for at in rng.choice(CELLS, size=int(rng.integers(1, 4)), replace=False):
        acts[at] = str(rng.choice(hostile))
    named = tuple(f"{act}-{number}" for number, act in enumerate(acts))
    return Case(f"{seed}:{index}", named, int(rng.integers(1, 4)), tuple(disturbances))


def try_case(case: Case) -> Result:
    """Start the driver until the sweep is finished, disturb it each time, and look at what is there after each end."""
    result, begun = Result(case), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="storm-") as place:
        try:
            _storm(case, Path(place), result)
        except Exception as problem:
            result.findings.append(f"{type(problem).__name__}: {problem}")
    result.seconds = time.monotonic() - begun
    return result


def _storm(case: Case, place: Path, result: Result) -> None:
    folder, temporary = place / "sweep", place / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary), "STORM": str(place)}
    kept: dict[str, dict[str, Any]] = {}
    cells = len(case.acts) + 1
    plan = [*case.disturbances, *[("nothing", 1)] * RESTARTS]
    for disturbance, at in plan:
        told = {"acts": case.acts, "marks": str(place), "folder": str(folder), "jobs": case.jobs, "seconds": SECONDS}
        told |= {"disturbance": disturbance, "at": at}
        command = [sys.executable, "-m", "tests.storm.hostile_cells.driver", json.dumps(told)]
        ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
        result.starts += 1
        now = {row["key"]: row for row in read_rows(folder, STABLE).to_pylist()} if (folder / "sweep.json").exists() else {}
        for key, row in kept.items():
            if now.get(key) != row:
                result.findings.append(f"the row of {row['params']} was lost or changed after {disturbance} at {at}")
        kept = now
        allowed = {"nothing": (0,), "kill a process": (0,), "sigterm": (0, 130), "kill driver at a moment": (0, -9)}
        if ended.returncode not in allowed.get(disturbance, (0, 130, -9)):
            result.findings.append(f"exit code {ended.returncode} after {disturbance}: {ended.stderr[-400:]}")
        if kept and how_far(folder)["done"] != len(kept):
            result.findings.append("status counts other rows than there are")
        if kept and any(row["status"] == "ok" for row in kept.values()):
            found = findings(load(folder), draws=100)
            if found["finished"] != (len(kept) == cells) or (found["rows"], found["cells"]) != (len(kept), cells):
                result.findings.append(f"the report speaks of {found['rows']} of {found['cells']} cells, {len(kept)} have rows")
        if ended.returncode == 0:
            break
    else:
        result.findings.append("never got to its end")
    _judge(case, folder, kept, result)
    _look_for_leavings(place, temporary, result)


def _judge(case: Case, folder: Path, kept: dict[str, dict[str, Any]], result: Result) -> None:
    rows = {
        json.loads(row["params"]).get("act", "nothing-0" if "own.py" in row["strategy"] else "pa"): row for row in kept.values()
    }
    if set(rows) != {*case.acts, "pa"}:
        result.findings.append(f"cells without a row: {sorted({*case.acts, 'pa'} - set(rows))}; rows in all: {len(kept)}")
    stored = sum(len(batch) for batch in read_batches(folder, ("key",)))
    if stored != len(kept):
        result.findings.append(f"{stored} rows on disk for {len(kept)} cells")
    truth = rows["pa"]
    for act, row in rows.items():
        expected = ACTS.get(act.partition("-")[0], "")
        if expected and not (row["status"] == "error" and re.search(expected, row["error"])):
            result.findings.append(f"{act}: {row['status']} {row['error']!r}")
        if not expected and (row["status"] != "ok" or row["te_rms"] != truth["te_rms"]):
            result.findings.append(f"{act}: {row['status']} {row['error']!r} te_rms {row['te_rms']} instead of {truth['te_rms']}")


def _look_for_leavings(place: Path, temporary: Path, result: Result) -> None:
    """No process, and no prices, may be left."""
    mark, until = f"STORM={place}".encode(), time.monotonic() + SECONDS + 10.0
    while (left := _processes(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    if left:
        result.findings.append(f"processes left behind: {left}")
        for number in left:
            os.kill(number, 9)
    if found := [path.name for path in temporary.iterdir()]:
        result.findings.append(f"left in the temporary folder: {found}")


def _processes(mark: bytes) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append(int(process.name))
            except OSError:
                continue
    return found
