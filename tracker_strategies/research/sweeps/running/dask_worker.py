"""What a worker of a Dask cluster does: it keeps the panels of each sweep on disk, and has cells run in a process beside it."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence

from datafeeds import MarketPanel
from tracker_strategies._fingerprint import code_version
from tracker_strategies.research.sweeps.asking.cells import Cell
from tracker_strategies.research.sweeps.errors import WorkerError
from tracker_strategies.research.sweeps.running.crew import Allowance, Crew
from tracker_strategies.research.sweeps.running.shelf import Shelf
from tracker_strategies.research.sweeps.running.worker import Row

#: The shelves of the sweeps that this process works for, by the name of the plugin that brought them.
_shelves: dict[str, Shelf] = {}


def put_up(plugin: str, panels: Mapping[str, MarketPanel]) -> None:
    """The worker has joined, or the sweep has begun."""
    _shelves[plugin] = Shelf(panels)


def take_down(plugin: str) -> None:
    """The sweep is over."""
    _shelves.pop(plugin).remove()


def run_on_cluster(cells: Sequence[Cell], code: str, plugin: str, allowance: Allowance) -> list[Row]:
    """Run cells in a worker of a cluster, which has had its panels since it joined.

    Raises
    ------
    WorkerError
        When this process runs another version of the package than the driver, whose version is ``code``: it must not answer.
    """
    if code != code_version():
        raise WorkerError(version_words(f"{socket.gethostname()}:{os.getpid()}", code_version(), code))
    return list(Crew(1, code, _shelves[plugin].path, allowance).run(cells))


def version_words(who: str, theirs: str, ours: str) -> str:
    """What to say about a worker with another version of the package."""
    return (
        f"worker {who} runs version {theirs} of the package, but this sweep runs {ours}; install the same version on all machines"
    )
