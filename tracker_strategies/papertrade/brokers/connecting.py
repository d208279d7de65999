"""The broker of an account, connected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tracker_strategies.papertrade.brokers import broker_file
from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.brokers.faults import Faults, FaultyBroker
from tracker_strategies.papertrade.brokers.simulated import SimulatedBroker
from tracker_strategies.papertrade.config import AccountConfig


def connect(
    config: AccountConfig, folder: Path, pause: Callable[[float], None], begun: Callable[[], bool], *, from_copy: bool
) -> Broker:
    """Connect to the broker that an account was opened with; `begun`: whether it has had a session."""
    if config.broker == "alpaca":
        from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

        return AlpacaBroker.from_environment(config.url, pause=pause)
    faults = Faults.build(config.faults)
    part = faults.part if faults.partial else None
    given = (config.cash, config.costs_by_name, config.lot, part, config.guard, config.liquidity)
    place = folder / broker_file.FILE
    broker = SimulatedBroker(place, *given, expected=begun(), from_copy=from_copy, holdings=config.holdings)
    return FaultyBroker(broker, faults) if config.faults else broker
