"""What is refused before anything runs: values that a strategy does not take, and limits of all that cannot hold together."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError, ParameterError, TrackerError, UniverseError
from tracker_strategies.research.sweeps.asking.cells import Data
from tracker_strategies.research.sweeps.asking.space import Candidate, Range
from tracker_strategies.research.sweeps.asking.spec import Sweep, open_panels
from tracker_strategies.research.sweeps.asking.values import as_json, canonical, in_words
from tracker_strategies.runner import check_mandate
from tracker_strategies.strategies.bar_lengths import settle_bars
from tracker_strategies.strategies.registry import check_params, default_params, is_strategy, load_strategy

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
    """Refuse each value, and each range, that a strategy of this project takes in none of its candidates, whatever the market.

    Combinations of values that are taken one by one are left to their cells, and so are limits that single candidates try and
    that do not fit the market: such a cell fails before its first bar, the others run. What a class of a user's own thinks of
    its values is left to its cells too: its code is run in no process but theirs.
    """
    tried = {(c.strategy, as_json(c.params)): c for c in (*sweep.candidates(), *sweep.space.corners())}
    refusals: dict[tuple[str, ...], list[str]] = {}
    for candidate in tried.values():
        if is_strategy(candidate.strategy):
            problem = _refusal(candidate, sweep, panel)
            for value in _values(candidate, sweep):
                refusals.setdefault(value, []).append(problem)
    found = list(dict.fromkeys(problems[0] for problems in refusals.values() if all(problems)))
    if found:
        more = f"; {len(found) - 1} more would be refused" if len(found) > 1 else ""
        raise ParameterError(found[0] + more)


def _values(candidate: Candidate, sweep: Sweep) -> Iterator[tuple[str, ...]]:
    """What a candidate tries: its values of the parameters that are varied, a range as one; itself if nothing is."""
    own = sweep.space.own(candidate.strategy) if candidate.strategy in sweep.space.strategies else {}
    if not own:
        yield (candidate.strategy,)
        return
    defaults = default_params(load_strategy(candidate.strategy))
    for key, domain in own.items():
        if not isinstance(domain, Range):
            yield candidate.strategy, key, json.dumps(canonical(candidate.params.get(key, defaults[key])))
        elif key in candidate.params:  # a default is no draw
            yield candidate.strategy, key


def _refusal(candidate: Candidate, sweep: Sweep, panel: MarketPanel) -> str:
    """Why its strategy refuses a candidate; empty if it does not."""
    try:
        _make(candidate, sweep, panel)
    except (DataError, UniverseError):
        return ""
    except Exception as problem:  # a learner may choke on a word where it wants a number
        words = f"{problem}" if isinstance(problem, TrackerError) else f"{type(problem).__name__}: {problem}"
        return f"{candidate.strategy} {in_words(candidate.params)}".strip() + f": {' '.join(words.split())}"
    return ""


def _make(candidate: Candidate, sweep: Sweep, panel: MarketPanel) -> None:
    """Make the strategy of a candidate as a run does, up to its first bar."""
    cls, params = load_strategy(candidate.strategy), {**sweep.mandate, **candidate.params, "fill": sweep.fill[0]}
    check_params(cls, params)
    p = SimpleNamespace(**{**default_params(cls), **params})
    settle_bars(cls, p, lambda: panel.bar_length)
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
