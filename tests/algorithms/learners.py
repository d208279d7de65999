"""The learners that the generic checks run on: a new class adds its line here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tracker_strategies.algorithms import (
    APAS,
    PA,
    PAS,
    SLAIT,
    Box,
    CappedSimplex,
    ConstantWeights,
    Hyperplane,
    L1Ball,
    MultiplicativePA,
    MultiTargetPA,
    OnlineAlgorithm,
    PAClassifier,
    PAUniclass,
    Quadratic,
    RealSpace,
    SwitchingCost,
)


@dataclass(frozen=True)
class Learner:
    """A name, how to make one for N assets, how many adversarial rounds it must survive (each class 10^5, variants fewer), and
    how to make one that is quick enough for them, if that differs.
    """

    name: str
    make: Callable[[int], OnlineAlgorithm]
    rounds: int = 100_000
    make_for_many_rounds: Callable[[int], OnlineAlgorithm] | None = None


def sign(y: Any) -> Any:
    """The label of a return; what is no return stays as it is, to be refused."""
    return np.copysign(1.0, y) if isinstance(y, float) and abs(y) < 1e50 else y


class SignClassifier(PAClassifier):
    """Learns whether the target rises."""

    def update(self, x: Any, y: Any, **masks: Any) -> np.ndarray:
        return super().update(x, sign(y), **masks)


class SignMultiplicativePA(MultiplicativePA):
    """The same on the simplex."""

    def update(self, x: Any, y: Any, **masks: Any) -> np.ndarray:
        return super().update(x, sign(y), **masks)


def capped(n: int) -> CappedSimplex:
    return CappedSimplex(1.0 if n == 1 else 0.6)


VARIANT = 20_000
SWITCHING = SwitchingCost(0.02, against="drifted")

PORTFOLIO_LEARNERS = [
    Learner("constant", lambda n: ConstantWeights(n)),
    Learner("PA", lambda n: PA(n)),
    Learner("PA-I", lambda n: PA(n, variant="PA-I", eps=0.0), VARIANT),
    Learner("PA-II", lambda n: PA(n, variant="PA-II"), VARIANT),
    Learner("PA capped", lambda n: PA(n, feasible=capped(n)), VARIANT),
    Learner("multi-target PA", lambda n: MultiTargetPA(n)),
    Learner("multiplicative PA", lambda n: MultiplicativePA(n)),
    Learner("multiplicative classification", lambda n: SignMultiplicativePA(n, task="classification", eps=-0.01), VARIANT),
    Learner("multiplicative uniclass", lambda n: MultiplicativePA(n, task="uniclass", scale="inf", eps=0.1), VARIANT),
    Learner("PAS", lambda n: PAS(n)),
    Learner("PAS capped", lambda n: PAS(n, side=Quadratic(1.0), variant="PA-I", feasible=capped(n)), VARIANT),
    Learner("APAS", lambda n: APAS(n, lam=0.05)),
    Learner("APAS scaled", lambda n: APAS(n, variant="PA-II", scale="auto", lam=0.01), VARIANT),
    Learner("APAS switching cost", lambda n: APAS(n, side=SWITCHING, lam=0.01), VARIANT),
    Learner(
        "SLAIT",
        lambda n: SLAIT(n, window=12, every=3, accelerate=False),
        make_for_many_rounds=lambda n: SLAIT(n, window=12, every=250, max_iter=100),
    ),
]
"""Weights on the simplex, whatever happens."""

OTHER_LEARNERS = [
    Learner("PA in R^N", lambda n: PA(n, feasible=RealSpace())),
    Learner("PA l1 ball", lambda n: PA(n, feasible=L1Ball(1.5))),
    Learner("PA hyperplane", lambda n: PA(n, feasible=Hyperplane())),
    Learner("PA box", lambda n: PA(n, feasible=Box(-0.1, 0.6))),
    Learner("classifier", lambda n: SignClassifier(n, variant="PA-II", C=1.0)),
    Learner("uniclass", lambda n: PAUniclass(n, eps=0.01)),
    Learner("APAS hyperplane", lambda n: APAS(n, feasible=Hyperplane())),
    Learner("PAS l1 ball", lambda n: PAS(n, side=SwitchingCost(0.01), feasible=L1Ball(1.5))),
]
"""Weights that may be negative or leave cash."""

each_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS + OTHER_LEARNERS, ids=lambda entry: entry.name)
each_portfolio_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS, ids=lambda entry: entry.name)
