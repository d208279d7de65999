"""The process that runs cells, and that a cell may take down with it.

It gets errands through a socket and answers with rows, one at a time. It tells where it was when it died, ends a cell that takes
too long, and is gone as soon as its driver is.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import resource
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from tracker_strategies.research.sweeps.asking.cells import Cell
from tracker_strategies.research.sweeps.running.worker import Row, evaluate, one_thread

#: What a process says when it can work, and when it will not work any longer though nothing is wrong.
READY, LEAVING = "ready", "leaving"
#: Seconds after which a process that nobody has an errand for ends.
IDLE = 60.0


@dataclass(frozen=True)
class Errand:
    """A cell to run.

    Parameters
    ----------
    cell : Cell
    code : str
        Version of the driver's code.
    shelf : str
        Folder with the panels.
    seconds, memory : float, int
        What the cell may take.
    whole : bool
        Whether the row holds the record of the run, instead of its figures.
    """

    cell: Cell
    code: str
    shelf: str
    seconds: float
    memory: int
    whole: bool = False


def serve(line: int, trace: int) -> None:
    """Run errands that come through the socket ``line`` until it is closed; ``trace`` is a file for last words."""
    faulthandler.enable(trace, all_threads=False)
    with suppress(OSError):  # only Linux has it: when memory runs out, this process is taken and not the driver
        Path("/proc/self/oom_score_adj").write_text("1000")
    driver, errands = Connection(line), queue.SimpleQueue[Errand | None]()
    threading.Thread(target=_listen, args=(driver, errands), daemon=True).start()
    with one_thread(), suppress(queue.Empty):
        driver.send(READY)
        while (errand := errands.get(timeout=IDLE)) is not None:
            row = _run(errand, trace)
            driver.send(row)
            if row["error"].startswith("MemoryError"):  # whatever filled the memory may still be there
                break
        driver.send(LEAVING)


def _run(errand: Errand, trace: int) -> Row:
    """The row of an errand's cell."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    memory = errand.memory if most == resource.RLIM_INFINITY else min(errand.memory, most)
    resource.setrlimit(resource.RLIMIT_DATA, (memory, most))
    # Its watchdog needs neither the interpreter nor the driver: a loop in C ends too, and one that has lost its driver.
    faulthandler.dump_traceback_later(errand.seconds, exit=True, file=trace)
    row = evaluate(errand.cell, errand.code, errand.shelf, whole=errand.whole)
    faulthandler.cancel_dump_traceback_later()
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if row["error"].startswith("MemoryError"):
        row["error"] += f" (a cell may take {memory / 2**30:.3g} GB here: --cell-memory, or fewer --jobs, give it more)"
    return row


def _listen(driver: Connection, errands: queue.SimpleQueue[Errand | None]) -> None:
    """Take in errands. When the driver is gone, end at once, in the midst of a cell too."""
    try:
        while True:
            errands.put(driver.recv())
    except MemoryError:  # the cell under way has taken everything; what did not fit goes to another process
        errands.put(None)
    except (EOFError, OSError):
        os._exit(1)
