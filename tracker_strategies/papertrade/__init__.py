"""Paper trading: the same strategies in an account that is journalled, survives anything, and may stand at a real broker's.

>>> from tracker_strategies.papertrade import PaperAccount
"""

from typing import TYPE_CHECKING

from datafeeds._lazy import importer

if TYPE_CHECKING:
    from tracker_strategies.papertrade.account import PaperAccount
    from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker
    from tracker_strategies.papertrade.brokers.faults import Faults, FaultyBroker
    from tracker_strategies.papertrade.brokers.simulated import SimulatedBroker
    from tracker_strategies.papertrade.config import AccountConfig, Limits
    from tracker_strategies.papertrade.live.store import PaperStore
    from tracker_strategies.papertrade.step import StepResult

_HOMES = {
    "AccountConfig": "config",
    "AlpacaBroker": "brokers.alpaca",
    "Faults": "brokers.faults",
    "FaultyBroker": "brokers.faults",
    "Limits": "config",
    "PaperAccount": "account",
    "PaperStore": "live.store",
    "SimulatedBroker": "brokers.simulated",
    "StepResult": "step",
}

__all__ = [
    "AccountConfig",
    "AlpacaBroker",
    "Faults",
    "FaultyBroker",
    "Limits",
    "PaperAccount",
    "PaperStore",
    "SimulatedBroker",
    "StepResult",
]

__getattr__ = importer(__name__, _HOMES)
