"""Cells in processes of this machine that may die: a death is the failure of one row and of no other.

The pool of a library knows that one of its processes has died, but not of which task, and cannot end a task that never ends.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tracker_strategies.errors import ParameterError
from tracker_strategies.research.sweeps.asking.cells import Cell
from tracker_strategies.research.sweeps.errors import CellDiedError, CellTimeError, WorkerError
from tracker_strategies.research.sweeps.running.cell_process import LEAVING, Errand
from tracker_strategies.research.sweeps.running.processes import CellProcess, give_back, take
from tracker_strategies.research.sweeps.running.worker import Row, describe, failed

#: Seconds that a cell may take, unless somebody says otherwise: many times what the largest of the benchmarks takes.
CELL_SECONDS = 3600.0
#: A cell is tried so many times before it counts as the cause of the deaths; so many processes may fail to start in a row.
TRIES, STARTS = 2, 3
_KINDS = {
    -signal.SIGSEGV: "segmentation fault",
    -signal.SIGKILL: "killed, perhaps because memory ran out",
    -signal.SIGABRT: "aborted",
}


@dataclass(frozen=True)
class Allowance:
    """What a cell may take: seconds, and bytes of memory (None: the machine's, divided by the number of processes)."""

    seconds: float = CELL_SECONDS
    memory: int | None = None

    @classmethod
    def of(cls, seconds: Any, gigabytes: Any) -> Allowance:
        """From what was asked for; refuses what is no positive number."""
        for name, value in (("cell_seconds", seconds), ("cell_memory", gigabytes)):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and 0.0 < value < 1e6) and not (value is None and name == "cell_memory"):
                raise ParameterError(f"{name}={value!r} must be a positive number below a million")
        return cls(float(seconds), None if gigabytes is None else int(gigabytes * 2**30))

    def share(self, jobs: int) -> int:
        """Bytes for each of so many processes."""
        return self.memory or machine_memory() // jobs


def machine_memory() -> int:
    """Bytes that the processes of this machine, or of this container, have together."""
    found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # "max": no limit
            found = min(found, int(Path(path).read_text()))
    return found


class Crew:
    """Runs cells in so many processes.

    Parameters
    ----------
    jobs : int
        Number of processes.
    code, shelf : str
        Version of the code; folder with the panels.
    allowance : Allowance
        What a cell may take.
    whole : bool
        Whether rows hold the record of their run instead of its figures.
    goes_on : callable
        Asked before each further cell whether to run it.
    """

    def __init__(
        self,
        jobs: int,
        code: str,
        shelf: str,
        allowance: Allowance,
        *,
        whole: bool = False,
        goes_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._jobs, self._code, self._goes_on = jobs, code, goes_on
        self._terms = (code, shelf, allowance.seconds, allowance.share(jobs), whole)
        self._crew: list[CellProcess] = []
        self._again: deque[Errand] = deque()
        self._deaths: dict[str, list[str]] = {}
        self._failed_starts = 0

    def run(self, cells: Iterable[Cell]) -> Iterator[Row]:
        """Rows in the order in which they are finished; a cell that took its process down twice, or too long, is a failed row."""
        new = (Errand(cell, *self._terms) for cell in cells)
        try:
            while True:
                self._hand_out(new)
                busy = {process.line: process for process in self._crew if process.errands}
                if not busy:
                    return
                patience = min(process.deadline for process in busy.values()) - time.monotonic()
                for line in wait(list(busy), max(0.0, patience)):
                    yield from self._hear(busy[line])  # type: ignore[index]
                for process in busy.values():
                    if process in self._crew and process.errands and time.monotonic() > process.deadline:
                        yield from self._lost(process, late=True)
        finally:
            for process in self._crew:
                give_back(process)
            self._crew = []

    def _hand_out(self, new: Iterator[Errand]) -> None:
        while self._goes_on():
            free = [process for process in self._crew if process.room > 0]
            if not free and len(self._crew) >= self._jobs:
                return
            errand = self._again.popleft() if self._again else next(new, None)
            if errand is None:
                return
            idle = [process for process in free if not process.errands]
            if not idle and len(self._crew) < self._jobs:
                idle = [take()]
                self._crew += idle
            (idle or free)[0].give(errand)

    def _hear(self, process: CellProcess) -> Iterator[Row]:
        said = process.hear()
        if said is None:
            yield from self._lost(process)
        elif said == LEAVING:
            self._replace(process)
        elif isinstance(said, dict):
            self._failed_starts = 0
            yield said

    def _replace(self, process: CellProcess) -> int:
        """Take a process out of the crew, and its errands back; its exit code."""
        self._crew.remove(process)
        self._again.extend(process.errands)
        return process.end()

    def _lost(self, process: CellProcess, *, late: bool = False) -> Iterator[Row]:
        """A process died, or had to be killed."""
        first = process.errands[0] if process.errands else None
        exit_code = self._replace(process)
        if first is None:
            return
        if not process.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise WorkerError(
                    f"a worker process does not start ({_ending(exit_code)}; its output is above); finished rows are kept. "
                    "Fix the cause and run the same command to continue"
                )
            return
        cell = first.cell
        where = process.last_words(cell.strategy.rpartition(":")[0])
        problem: Exception
        if late or process.out_of_time:
            where = f"; it was{where}" if where else ""
            problem = CellTimeError(f"stopped after {first.seconds:g} seconds (--cell-seconds){where}")
        else:
            key = cell.key(self._code)
            deaths = self._deaths.setdefault(key, [])
            deaths.append(f"{_ending(exit_code)}{where}")
            if len(deaths) < TRIES:  # somebody else may have been the cause
                return
            # each way it died once: one of them may have been an accident, the other is the cell's own
            problem = CellDiedError(f"its process died, {TRIES} times: {', then '.join(dict.fromkeys(deaths))}")
        self._again.remove(first)
        row = failed(describe(cell, self._code), problem)
        yield row | {"seconds": time.monotonic() - process.since, "worker": f"{socket.gethostname()}:{process.pid}"}


def _ending(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        return f"it ended itself with exit code {exit_code}"
    name = signal.Signals(-exit_code).name if -exit_code in set(signal.Signals) else f"signal {-exit_code}"
    return f"{_KINDS.get(exit_code, 'ended by a signal')} ({name})"
