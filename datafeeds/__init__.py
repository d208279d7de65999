"""Market data for index trackers: panels, where they come from, and the backtrader feeds over them.

Names are imported on first use, so that the errors (which the mathematics needs) do not cost an import of pandas and backtrader.
"""

from typing import TYPE_CHECKING

from datafeeds.errors import DataError, DataWarning, TrackerError, UniverseError
from datafeeds.lazy import importer

if TYPE_CHECKING:
    from datafeeds.adapters import IndexData, SingleIndexData
    from datafeeds.cleaning import clean
    from datafeeds.cleaning_report import CleaningReport, Finding
    from datafeeds.clock import PanelClock
    from datafeeds.feeds import PanelFeed
    from datafeeds.fetch_limits import Limits
    from datafeeds.fetch_report import FetchError
    from datafeeds.long_tables import read_long_table
    from datafeeds.markets import ExchangeRate, Market
    from datafeeds.membership import Spell, read_members, with_members
    from datafeeds.multi_index import MultiIndexData
    from datafeeds.panel import MarketPanel
    from datafeeds.readers import load_sample, open_source, read_panel
    from datafeeds.renames import Rename, read_renames, rename
    from datafeeds.resampling import resample
    from datafeeds.sectors import read_sectors
    from datafeeds.sessions import SessionReport, check_sessions, expected_sessions
    from datafeeds.synthetic import SyntheticMarket, simulate_market, synthetic_market
    from datafeeds.synthetic_events import MarketEvent
    from datafeeds.ticker_folders import read_ticker_folder
    from datafeeds.union_calendar import join_markets
    from datafeeds.yahoo import fetch_yahoo, yahoo_panel

_HOMES = {
    "CleaningReport": "cleaning_report",
    "ExchangeRate": "markets",
    "FetchError": "fetch_report",
    "Finding": "cleaning_report",
    "IndexData": "adapters",
    "Limits": "fetch_limits",
    "Market": "markets",
    "MarketEvent": "synthetic_events",
    "MarketPanel": "panel",
    "MultiIndexData": "multi_index",
    "PanelClock": "clock",
    "PanelFeed": "feeds",
    "Rename": "renames",
    "SessionReport": "sessions",
    "SingleIndexData": "adapters",
    "Spell": "membership",
    "SyntheticMarket": "synthetic",
    "check_sessions": "sessions",
    "clean": "cleaning",
    "expected_sessions": "sessions",
    "fetch_yahoo": "yahoo",
    "join_markets": "union_calendar",
    "load_sample": "readers",
    "open_source": "readers",
    "read_long_table": "long_tables",
    "read_members": "membership",
    "read_panel": "readers",
    "read_renames": "renames",
    "read_sectors": "sectors",
    "read_ticker_folder": "ticker_folders",
    "rename": "renames",
    "resample": "resampling",
    "simulate_market": "synthetic",
    "synthetic_market": "synthetic",
    "with_members": "membership",
    "yahoo_panel": "yahoo",
}

__all__ = [
    "CleaningReport",
    "DataError",
    "DataWarning",
    "ExchangeRate",
    "FetchError",
    "Finding",
    "IndexData",
    "Limits",
    "Market",
    "MarketEvent",
    "MarketPanel",
    "MultiIndexData",
    "PanelClock",
    "PanelFeed",
    "Rename",
    "SessionReport",
    "SingleIndexData",
    "Spell",
    "SyntheticMarket",
    "TrackerError",
    "UniverseError",
    "check_sessions",
    "clean",
    "expected_sessions",
    "fetch_yahoo",
    "join_markets",
    "load_sample",
    "open_source",
    "read_long_table",
    "read_members",
    "read_panel",
    "read_renames",
    "read_sectors",
    "read_ticker_folder",
    "rename",
    "resample",
    "simulate_market",
    "synthetic_market",
    "with_members",
    "yahoo_panel",
]

__getattr__ = importer(__name__, _HOMES)
