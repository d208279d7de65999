"""Market data for index trackers: panels, where they come from, and the backtrader feeds over them.

Names are imported on first use, so that the errors (which the mathematics needs) do not cost an import of pandas and backtrader.
"""

from typing import TYPE_CHECKING

from datafeeds._lazy import importer
from datafeeds.errors import DataError, DataWarning, TrackerError, UniverseError

if TYPE_CHECKING:
    from datafeeds.cleaning.cleaner import clean
    from datafeeds.cleaning.report import CleaningReport, Finding
    from datafeeds.feeds.clock import PanelClock
    from datafeeds.feeds.feed import PanelFeed
    from datafeeds.feeds.index_data import IndexData, SingleIndexData
    from datafeeds.feeds.multi_index import MultiIndexData
    from datafeeds.markets.market import ExchangeRate, Market
    from datafeeds.markets.sessions import SessionReport, check_sessions, expected_sessions
    from datafeeds.markets.union_calendar import join_markets
    from datafeeds.panel import MarketPanel
    from datafeeds.readers.long_tables import read_long_table
    from datafeeds.readers.sources import load_sample, open_source, read_panel
    from datafeeds.readers.ticker_folders import read_ticker_folder
    from datafeeds.resampling import resample
    from datafeeds.synthetic.events import MarketEvent
    from datafeeds.synthetic.market import SyntheticMarket, simulate_market, synthetic_market
    from datafeeds.universe.members import Spell, read_members, with_members
    from datafeeds.universe.renames import Rename, read_renames, rename
    from datafeeds.universe.sectors import read_sectors
    from datafeeds.yahoo.fetching import fetch_yahoo, yahoo_panel
    from datafeeds.yahoo.patience import Limits
    from datafeeds.yahoo.report import FetchError

_HOMES = {
    "CleaningReport": "cleaning.report",
    "ExchangeRate": "markets.market",
    "FetchError": "yahoo.report",
    "Finding": "cleaning.report",
    "IndexData": "feeds.index_data",
    "Limits": "yahoo.patience",
    "Market": "markets.market",
    "MarketEvent": "synthetic.events",
    "MarketPanel": "panel",
    "MultiIndexData": "feeds.multi_index",
    "PanelClock": "feeds.clock",
    "PanelFeed": "feeds.feed",
    "Rename": "universe.renames",
    "SessionReport": "markets.sessions",
    "SingleIndexData": "feeds.index_data",
    "Spell": "universe.members",
    "SyntheticMarket": "synthetic.market",
    "check_sessions": "markets.sessions",
    "clean": "cleaning.cleaner",
    "expected_sessions": "markets.sessions",
    "fetch_yahoo": "yahoo.fetching",
    "join_markets": "markets.union_calendar",
    "load_sample": "readers.sources",
    "open_source": "readers.sources",
    "read_long_table": "readers.long_tables",
    "read_members": "universe.members",
    "read_panel": "readers.sources",
    "read_renames": "universe.renames",
    "read_sectors": "universe.sectors",
    "read_ticker_folder": "readers.ticker_folders",
    "rename": "universe.renames",
    "resample": "resampling",
    "simulate_market": "synthetic.market",
    "synthetic_market": "synthetic.market",
    "with_members": "universe.members",
    "yahoo_panel": "yahoo.fetching",
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
