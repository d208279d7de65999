"""From a learner to what a strategy runs: the one place that knows which params limit or wrap it, and in which order."""

from __future__ import annotations

from typing import Any

from tracker_strategies._checks import number
from tracker_strategies.algorithms import (
    Budgeted,
    CappedSimplex,
    CostAware,
    FeasibleSet,
    GroupedSimplex,
    Holdings,
    OnlineAlgorithm,
    Simplex,
    Tilted,
    TopNames,
)
from tracker_strategies.algorithms.wrapper import limits_of
from tracker_strategies.errors import ParameterError, UniverseError

#: Params for learners that take a feasible set, with their defaults and what they are.
LIMITS: dict[str, tuple[Any, str]] = {
    "max_weight": (None, "most that one name may weigh"),
    "sectors": (None, "mapping of symbol to sector, together with ``max_sector``"),
    "max_sector": (None, "most that one sector may weigh"),
}


def feasible_set(p: Any, symbols: tuple[str, ...]) -> FeasibleSet:
    """The simplex, with caps on names and sectors where the strategy knows such params and they are set."""
    cap, most, sectors = (getattr(p, name, None) for name in ("max_weight", "max_sector", "sectors"))
    for name, value in (("max_weight", cap), ("max_sector", most)):
        if value is not None:
            number(name, value, above=0.0)
    if most is None and sectors is None:
        return Simplex() if cap is None else CappedSimplex(cap)
    if most is None or sectors is None:
        raise ParameterError("sectors (a mapping of symbol to sector) and max_sector belong together; give both or none")
    unknown = [name for name in sectors if name not in symbols]
    if unknown:
        raise UniverseError(f"sectors name {unknown[0]!r}, which is not among the {len(symbols)} assets")
    groups: dict[str, list[int]] = {}
    for i, name in enumerate(symbols):
        if name in sectors:
            groups.setdefault(sectors[name], []).append(i)
    return GroupedSimplex(list(groups.values()), upper=most, **({} if cap is None else {"u": cap}))


def in_coordinates(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, in holdings where the params ask for that."""
    if p.coordinates not in ("weights", "holdings"):
        raise ParameterError(f"coordinates={p.coordinates!r} is unknown; choose weights or holdings")
    return Holdings(algorithm.n_assets, learner=algorithm) if p.coordinates == "holdings" else algorithm


def compose(
    p: Any, algorithm: OnlineAlgorithm, *, chooses_names: bool = False, sets_coordinates: bool = False
) -> OnlineAlgorithm:
    """The algorithm in the coordinates that the params ask for, minding costs, and with as many names as they allow.

    Parameters
    ----------
    p
        Params ``coordinates``, ``cost_aware`` and ``max_names``.
    algorithm : OnlineAlgorithm
        A learner, or several in one.
    chooses_names : bool, default False
        Whether it keeps to ``max_names`` itself.
    sets_coordinates : bool, default False
        Whether its members are in their coordinates already, as in a vote of holdings.
    """
    n, few = algorithm.n_assets, p.max_names
    keeps = chooses_names and not isinstance(algorithm, Tilted | Budgeted)  # a tilt leans to names that were not chosen
    if not sets_coordinates:
        algorithm = in_coordinates(p, algorithm)
    if chooses_names and p.cost_aware is not None and few is not None and few < n:
        # A sparse fit sells a name as a whole; minding costs would keep a rest of it, and with it more names than allowed.
        raise ParameterError(
            f"cost_aware={p.cost_aware!r} and max_names={few!r} do not go together in this strategy, which would hold "
            "more names than that: leave out cost_aware, or max_names (None is no limit)"
        )
    if p.cost_aware is not None:
        _refuse_limits("cost_aware", p.cost_aware, algorithm)
        algorithm = CostAware(n, learner=algorithm, cost_bps=p.cost_aware)
    if few is not None and not keeps:
        _refuse_limits("max_names", few, algorithm)
        algorithm = TopNames(n, learner=algorithm, max_names=few)
    return algorithm


def _refuse_limits(name: str, value: Any, algorithm: OnlineAlgorithm) -> None:
    limits = limits_of(algorithm)
    if limits is not None:
        raise ParameterError(
            f"{name}={value!r} does not go together with limits on weights or sectors ({limits!r}), which it would break: "
            f"leave out {name}, or max_weight, sectors and max_sector"
        )
