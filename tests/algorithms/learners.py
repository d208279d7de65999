"""The learners that the generic checks run on: a new class adds its line here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tracker_strategies.algorithms import PA, Box, CappedSimplex, ConstantWeights, Hyperplane, L1Ball, OnlineAlgorithm, RealSpace


@dataclass(frozen=True)
class Learner:
    """A name, and how to make one for N assets."""

    name: str
    make: Callable[[int], OnlineAlgorithm]


PORTFOLIO_LEARNERS = [
    Learner("constant", lambda n: ConstantWeights(n)),
    Learner("PA", lambda n: PA(n)),
    Learner("PA-I", lambda n: PA(n, variant="PA-I", eps=0.0)),
    Learner("PA-II", lambda n: PA(n, variant="PA-II")),
    Learner("PA capped", lambda n: PA(n, feasible=CappedSimplex(1.0 if n == 1 else 0.6))),
]
"""Weights on the simplex, whatever happens."""

OTHER_LEARNERS = [
    Learner("PA in R^N", lambda n: PA(n, feasible=RealSpace())),
    Learner("PA l1 ball", lambda n: PA(n, feasible=L1Ball(1.5))),
    Learner("PA hyperplane", lambda n: PA(n, feasible=Hyperplane())),
    Learner("PA box", lambda n: PA(n, feasible=Box(-0.1, 0.6))),
]
"""Weights that may be negative or leave cash."""

each_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS + OTHER_LEARNERS, ids=lambda entry: entry.name)
each_portfolio_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS, ids=lambda entry: entry.name)
