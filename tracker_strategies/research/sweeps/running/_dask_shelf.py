"""How panels reach the workers of a Dask cluster. Apart from the engines because it needs Dask to be imported."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from datafeeds import MarketPanel
from tracker_strategies.research.sweeps.running.worker import drop_panels, keep_panels


class Shelf(WorkerPlugin):
    """Puts panels on the shelf of each worker as it joins, and takes them off at the end."""

    def __init__(self, panels: dict[str, MarketPanel]) -> None:
        self.panels = panels

    def setup(self, worker: Any) -> None:
        """The worker has joined, or the sweep has begun."""
        keep_panels(self.panels)

    def teardown(self, worker: Any) -> None:
        """The sweep is over."""
        drop_panels(list(self.panels))
