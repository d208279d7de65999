"""A process that runs cells and may die of them, seen from the driver: started, given errands, heard, and if need be killed."""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.research.sweeps.running.cell_process import IDLE, READY, Errand
from tracker_strategies.research.sweeps.running.worker import Row
from tracker_strategies.strategies.registry import is_strategy

#: Seconds that a process has to start, and to end a cell by itself that has run out of time.
TO_START, GRACE = 120.0, 5.0
#: A process has a second cell waiting where the last one took less than so many seconds: then it need not wait for the driver.
SHORT = 0.5
_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from tracker_strategies.research.sweeps.running.cell_process import serve; serve(int(sys.argv[1]), int(sys.argv[2]))"
)


class CellProcess:
    """One process, seen from the driver: a line to it, and the errands that it has been given and not answered."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._trace = tempfile.TemporaryFile()  # noqa: SIM115 - read after the end of the process
        ends = (theirs.fileno(), self._trace.fileno())
        self.surroundings = surroundings()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _BOOT, *map(str, ends), json.dumps(sys.path)],
                pass_fds=ends,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a strategy prints must not get between the results
                start_new_session=True,  # Ctrl-C in a terminal is for the driver; and whatever a cell starts dies with it
            )
        self.line = Connection(ours.detach())
        self.errands: deque[Errand] = deque()
        self.ready, self.own_code, self.last = False, False, 0.0
        self.since = time.monotonic()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def room(self) -> int:
        """How many errands it can take now."""
        return (2 if 0.0 < self.last < SHORT else 1) - len(self.errands)

    @property
    def deadline(self) -> float:
        """When to lose patience."""
        return self.since + (self.errands[0].seconds + GRACE if self.ready else TO_START)

    def give(self, errand: Errand) -> None:
        """Hand over an errand. If the process is dead, that shows when it is heard."""
        if not self.errands and self.ready:
            self.since = time.monotonic()
        self.errands.append(errand)
        self.own_code |= not is_strategy(errand.cell.strategy)
        with suppress(OSError):
            self.line.send(errand)

    def hear(self) -> Row | str | None:
        """What it says; None if it has died."""
        try:
            said: Row | str = self.line.recv()
        except (EOFError, OSError):
            return None
        self.last, self.since = (0.0 if said == READY else time.monotonic() - self.since), time.monotonic()
        self.ready = True
        if isinstance(said, dict):
            self.errands.popleft()
        return said

    def end(self) -> int:
        """Kill it if it lives, with all that its cell has started; its exit code."""
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)  # before it is waited for: until then its number is its own
        self.line.close()
        return self._process.wait()

    def last_words(self, own: str) -> str:
        """The place in the code where it was when it died, if it could tell: the innermost in the file ``own``, or of all."""
        told = os.pread(self._trace.fileno(), 1 << 20, 0).decode(errors="replace")
        threads = [part for part in re.split(r"^(?:Current thread|Thread) ", told, flags=re.M) if " in serve\n" in part]
        places = re.findall(r'File "(.*)", line (\d+) in (.*)', "".join(threads) or told)
        place = next((place for place in places if place[0] == own), places[0] if places else None)
        return "" if place is None else f" in {Path(place[0]).name}, line {place[1]}, in {place[2]}"

    @property
    def out_of_time(self) -> bool:
        """Whether it has ended because a cell took too long."""
        return os.pread(self._trace.fileno(), 9, 0) == b"Timeout ("


def surroundings() -> tuple[Any, ...]:
    """What a process has from its driver; another one has to be started where it has changed."""
    return os.getpid(), kernels.in_use(), os.getcwd(), tuple(sys.path)


#: Processes without work, for the next who has some: to start one takes most of a second.
_idle: list[CellProcess] = []


def take() -> CellProcess:
    """A process without errands."""
    with suppress(IndexError):  # another thread may have taken the last
        while True:
            found = _idle.pop()
            if found.surroundings == surroundings() and time.monotonic() - found.since < IDLE / 2:
                return found
            found.end()
    return CellProcess()


def give_back(process: CellProcess) -> None:
    """Keep it for the next, or end it: if it is at work, or has run code of a user's own, which may have left anything behind."""
    if process.errands or process.own_code or not process.ready:
        process.end()
    else:
        process.since = time.monotonic()
        _idle.append(process)


@atexit.register
def _dismissed() -> None:
    while _idle:
        _idle.pop().end()


os.register_at_fork(after_in_child=_idle.clear)
