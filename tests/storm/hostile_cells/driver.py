"""Runs a hostile sweep as a process of its own, and disturbs it: ``python -m tests.storm.hostile_cells.driver JSON``.

The exit code is 0 when the sweep is finished, 130 when it was stopped.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
from tracker_strategies.research.sweeps.running import store
from tracker_strategies.research.sweeps.running.driver import Unwatched

OWN = f"{Path(__file__).with_name('own.py')}:Hostile"
MARKET = "synthetic:n_assets=4,n_bars=40"
#: What can be done to a driver or its processes, once.
DISTURBANCES = ("nothing", "ctrl-c", "ctrl-c twice", "sigterm", "kill driver", "kill driver at a moment", "kill a process")


class Disturber(Unwatched):
    """Does its worst at the row ``at``, or after a fifth of so many seconds."""

    def __init__(self, what: str, at: int) -> None:
        self.what, self.left = what, at
        if what == "kill driver at a moment":
            timer = threading.Timer(at / 5.0, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()

    def row(self, row: dict[str, Any]) -> None:
        """One more."""
        self.left -= 1
        if self.left:
            return
        me = os.getpid()
        if self.what.startswith("ctrl-c"):
            os.kill(me, signal.SIGINT)
        if self.what == "ctrl-c twice":
            os.kill(me, signal.SIGINT)
        if self.what == "sigterm":
            os.kill(me, signal.SIGTERM)
        if self.what == "kill driver":
            os.kill(me, signal.SIGKILL)
        if self.what == "kill a process" and row["worker"]:
            with suppress(ProcessLookupError):
                os.kill(int(row["worker"].rpartition(":")[2]), signal.SIGKILL)


def sweep_of(acts: Sequence[str], marks: str) -> Sweep:
    """A cell for each act, and a baseline that behaves."""
    return Sweep(Space((OWN,), {"act": tuple(acts), "marks": (marks,)}), data=(MARKET,), baselines=("pa",))


def main() -> int:
    """Run, be disturbed, and tell how it ended."""
    told = json.loads(sys.argv[1])
    store.SECONDS_PER_PART = 0.0  # every row is on disk before the next: then it can be told which may not be lost
    watcher = Disturber(told["disturbance"], told["at"])
    limits = {"cell_seconds": told["seconds"], "cell_memory": 0.75}
    summary = run_sweep(sweep_of(told["acts"], told["marks"]), told["folder"], jobs=told["jobs"], watcher=watcher, **limits)
    return 130 if summary.stopped else 0


if __name__ == "__main__":
    sys.exit(main())
