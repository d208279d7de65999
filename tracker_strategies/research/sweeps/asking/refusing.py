"""What is refused before anything runs: values that a strategy does not take, and limits of all that cannot hold together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError, ParameterError, TrackerError, UniverseError
from tracker_strategies.research.sweeps.asking.cells import Data
from tracker_strategies.research.sweeps.asking.space import Candidate
from tracker_strategies.research.sweeps.asking.spec import Sweep, open_panels
from tracker_strategies.research.sweeps.asking.values import as_json, in_words
from tracker_strategies.runner import check_mandate
from tracker_strategies.strategies.registry import check_params, default_params, is_strategy, load_strategy
from tracker_strategies.strategies.year import settle_year

if TYPE_CHECKING:
    from tracker_strategies.research.sweeps.asking.spec import Context


def checked_panels(sweep: Sweep) -> dict[Data, MarketPanel]:
    """The panels of a sweep, once everything about it is known to make sense: see :func:`refuse`."""
    panels = open_panels(sweep)
    refuse(sweep, sweep.contexts(panels), panels)
    return panels


def refuse(sweep: Sweep, contexts: Iterable[Context], panels: Mapping[Data, MarketPanel]) -> None:
    """Raise :class:`ParameterError` and its like for what can never run. ``contexts`` and ``panels`` are those of the sweep."""
    refuse_values(sweep, next(iter(panels.values())))
    refuse_limits(sweep, contexts, panels)


def refuse_values(sweep: Sweep, panel: MarketPanel) -> None:
    """Refuse values that a strategy of this project does not take, whatever the market; all of them are counted.

    What a class of a user's own thinks of its values is left to its cells: its code is run in no process but theirs. So are
    limits that single candidates try and that do not fit the market: such a cell fails before its first bar, the others run.
    """
    found: list[str] = []
    tried = {(c.strategy, as_json(c.params)): c for c in (*sweep.candidates(), *sweep.space.corners())}
    for candidate in tried.values():
        if is_strategy(candidate.strategy):
            try:
                _make(candidate, sweep, panel)
            except (DataError, UniverseError):
                continue
            except Exception as problem:  # a learner may choke on a word where it wants a number
                words = f"{problem}" if isinstance(problem, TrackerError) else f"{type(problem).__name__}: {problem}"
                found.append(f"{candidate.strategy} {in_words(candidate.params)}".strip() + f": {' '.join(words.split())}")
    if found:
        many = (
            f"{len(found)} of {len(tried)} candidates would be refused by their strategy, the first: " if len(found) > 1 else ""
        )
        raise ParameterError(f"{many}{found[0]}")


def _make(candidate: Candidate, sweep: Sweep, panel: MarketPanel) -> None:
    """Make the strategy of a candidate as a run does, up to its first bar."""
    cls, params = load_strategy(candidate.strategy), {**sweep.mandate, **candidate.params, "fill": sweep.fill[0]}
    check_params(cls, params)
    p = SimpleNamespace(**{**default_params(cls), **params})
    settle_year(p, lambda: panel.periods_per_year)
    cls.make_tracker(p, panel.symbols, sweep.costs[0], len(panel.targets))


def refuse_limits(sweep: Sweep, contexts: Iterable[Context], panels: Mapping[Data, MarketPanel]) -> None:
    """Raise what :func:`~tracker_strategies.runner.check_mandate` does, with the strategy's name, where windows begin."""
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
