"""The mandate of a sweep: limits that hold for all its strategies, as plain values that any worker can have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from datafeeds import MarketPanel
from tracker_strategies.errors import TrackerError
from tracker_strategies.research.sweeps.asking.cells import Data
from tracker_strategies.runner import check_mandate
from tracker_strategies.strategies.registry import load_strategy

if TYPE_CHECKING:
    from tracker_strategies.research.sweeps.asking.spec import Context, Sweep


def refuse_limits(sweep: Sweep, contexts: Iterable[Context], panels: Mapping[Data, MarketPanel]) -> None:
    """Raise what :func:`~tracker_strategies.runner.check_mandate` does, with the strategy's name, where windows begin.

    Limits that single candidates try are left to their cells: such a cell fails before its first bar, the others run.
    """
    if not sweep.mandate:
        return
    strategies = {name: load_strategy(name) for name in dict.fromkeys(c.strategy for c in sweep.candidates())}
    for data, start in dict.fromkeys((context.data, context.window.start) for context in contexts if context.data in panels):
        panel = panels[data] if start == 0 else panels[data].rows(start, None)
        for name, cls in strategies.items():
            try:
                check_mandate(panel, cls, sweep.mandate, sweep.cash)
            except TrackerError as problem:
                raise type(problem)(f"{name} on {data.source}: {problem}") from None
