"""What strategies can do to any algorithm: learn holdings, mind the costs, keep to a few names."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import CostAware, Holdings, OnlineAlgorithm, TopNames
from tracker_strategies.algorithms.wrapper import limits_of
from tracker_strategies.errors import ParameterError


def in_coordinates(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, in holdings where the params ask for that."""
    if p.coordinates not in ("weights", "holdings"):
        raise ParameterError(f"coordinates={p.coordinates!r} is unknown; choose weights or holdings")
    return Holdings(algorithm.n_assets, learner=algorithm) if p.coordinates == "holdings" else algorithm


def minding_costs(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, trading only where that pays, if the params name a cost."""
    if p.cost_aware is None:
        return algorithm
    _refuse_limits("cost_aware", p.cost_aware, algorithm)
    return CostAware(algorithm.n_assets, learner=algorithm, cost_bps=p.cost_aware)


def with_few_names(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The largest weights of the algorithm, where the params limit the number of names."""
    if p.max_names is None:
        return algorithm
    _refuse_limits("max_names", p.max_names, algorithm)
    return TopNames(algorithm.n_assets, learner=algorithm, max_names=p.max_names)


def refuse_both(p: Any, algorithm: OnlineAlgorithm) -> None:
    """A sparse fit sells a name as a whole; minding costs would keep a rest of it, and with it more names than allowed."""
    if p.cost_aware is not None and p.max_names is not None and p.max_names < algorithm.n_assets:
        raise ParameterError(
            f"cost_aware={p.cost_aware!r} and max_names={p.max_names!r} do not go together in this strategy, which would hold "
            "more names than that: leave out cost_aware, or max_names (None is no limit)"
        )


def _refuse_limits(name: str, value: Any, algorithm: OnlineAlgorithm) -> None:
    limits = limits_of(algorithm)
    if limits is not None:
        raise ParameterError(
            f"{name}={value!r} does not go together with limits on weights or sectors ({limits!r}), which it would break: "
            f"leave out {name}, or max_weight, sectors and max_sector"
        )
