"""Market data for index trackers: panels, where they come from, and the backtrader feeds over them.

Names are imported on first use, so that the errors (which the mathematics needs) do not cost an import of pandas and backtrader.
"""

from typing import TYPE_CHECKING

from datafeeds.errors import DataError, TrackerError, UniverseError
from datafeeds.lazy import importer

if TYPE_CHECKING:
    from datafeeds.adapters import IndexData, SingleIndexData
    from datafeeds.clock import PanelClock
    from datafeeds.feeds import PanelFeed
    from datafeeds.panel import MarketPanel
    from datafeeds.readers import load_sample, open_source, read_panel
    from datafeeds.synthetic import SyntheticMarket, simulate_market, synthetic_market
    from datafeeds.synthetic_events import MarketEvent

_HOMES = {
    "IndexData": "adapters",
    "MarketEvent": "synthetic_events",
    "MarketPanel": "panel",
    "PanelClock": "clock",
    "PanelFeed": "feeds",
    "SingleIndexData": "adapters",
    "SyntheticMarket": "synthetic",
    "load_sample": "readers",
    "open_source": "readers",
    "read_panel": "readers",
    "simulate_market": "synthetic",
    "synthetic_market": "synthetic",
}

__all__ = [
    "DataError",
    "IndexData",
    "MarketEvent",
    "MarketPanel",
    "PanelClock",
    "PanelFeed",
    "SingleIndexData",
    "SyntheticMarket",
    "TrackerError",
    "UniverseError",
    "load_sample",
    "open_source",
    "read_panel",
    "simulate_market",
    "synthetic_market",
]

__getattr__ = importer(__name__, _HOMES)
