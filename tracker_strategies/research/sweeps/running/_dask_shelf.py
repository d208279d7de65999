"""How panels reach the workers of a Dask cluster. Apart from the engines because it needs Dask to be imported."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from datafeeds import MarketPanel
from tracker_strategies.research.sweeps.running.dask_worker import put_up, take_down


class ShelfPlugin(WorkerPlugin):
    """Puts panels on a shelf of each worker as it joins, and takes it down at the end."""

    def __init__(self, name: str, panels: dict[str, MarketPanel]) -> None:
        self.name, self.panels = name, panels

    def setup(self, worker: Any) -> None:
        """The worker has joined, or the sweep has begun."""
        put_up(self.name, self.panels)

    def teardown(self, worker: Any) -> None:
        """The sweep is over."""
        take_down(self.name)
