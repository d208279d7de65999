"""The learners that the generic checks run on: every example that a class registers, and wrappers around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tests.algorithms.wrappers.halfway import Halfway
from tracker_strategies import algorithms
from tracker_strategies.algorithms import (
    APAS,
    AROW,
    PA,
    PAS,
    RLS,
    SLAIT,
    VAW,
    AdaGrad,
    AdaptiveLasso,
    Box,
    CappedSimplex,
    DiscountedVAW,
    Holdings,
    LeastSquares,
    MultiplicativePA,
    OnlineAlgorithm,
    PAClassifier,
    RealSpace,
    SparseLeastSquares,
    SparsePLS,
    SwitchingCost,
    Tilted,
    Vote,
)
from tracker_strategies.algorithms.registration import registration_of

CLASS, VARIANT = 100_000, 10_000
"""Adversarial rounds of a class and of its variants; everything takes 100,000 among the slow tests."""

CLASSES: list[Any] = [
    thing
    for name in algorithms.__all__
    if isinstance(thing := getattr(algorithms, name), type)
    if issubclass(thing, OnlineAlgorithm) and thing is not OnlineAlgorithm
]


@dataclass(frozen=True)
class Learner:
    """A name, how to make one for N assets, and how many adversarial rounds it must survive in the quick run; 0 for one that is
    too slow for any.
    """

    name: str
    make: Callable[[int], OnlineAlgorithm]
    rounds: int = VARIANT


class Labels:
    """Learns whether the target rises; what is no return stays as it is, to be refused."""

    def update(self, x: Any, y: Any, **masks: Any) -> np.ndarray:
        label = np.copysign(1.0, y) if isinstance(y, float) and abs(y) < 1e50 else y
        return super().update(x, label, **masks)  # type: ignore[misc]


class SignClassifier(Labels, PAClassifier):
    pass


class SignMultiplicativePA(Labels, MultiplicativePA):
    pass


class SignAdaGrad(Labels, AdaGrad):
    pass


class SignAROW(Labels, AROW):
    pass


SIGNED = {cls.__mro__[2]: cls for cls in Labels.__subclasses__()}
ROUNDS = {
    "SLAIT(window=12, every=3, accelerate=False, starts=3, max_iter=50)": 0,  # a fit every third round
    "AdaptiveLasso(theta=3, sweeps=300, warm_up=5)": 0,  # with one sweep a round instead, below
    "AdaGrad(eta=0.1, matrix='full', rule='rda')": 5_000,
}
SLOW = {
    "AdaptiveLasso",
    "LeastSquares",
    "RandomPortfolios",
    "RecursiveLars",
    "ShareCounts",
    "SparseLeastSquares",
    "StronglyAdaptive",
}
"""Classes whose rounds cost too much for 100,000 of them in the quick run."""


def example(cls: Any, number: int, n: int) -> OnlineAlgorithm:
    record = registration_of(cls)
    assert record is not None
    options = list(record.examples(n))[number]
    labels = cls is PAClassifier or options.get("task") == "classification" or options.get("loss") == "hinge"
    return (SIGNED[cls] if labels else cls)(n, **options)


def registered() -> Iterator[Learner]:
    for cls in CLASSES:
        record = registration_of(cls)
        for number, options in enumerate(record.examples(6)) if record else ():
            name = f"{cls.__name__}({', '.join(f'{key}={value!r}' for key, value in options.items())})"
            usual = CLASS if number == 0 and cls.__name__ not in SLOW else VARIANT
            yield Learner(name, partial(example, cls, number), ROUNDS.get(name, usual))


def capped(n: int) -> CappedSimplex:
    return CappedSimplex(max(0.6, 1.0 / n))


WRAPPED = [
    Learner("least squares in holdings", lambda n: Holdings(n, learner=LeastSquares(n, gamma=0.97))),
    Learner("ensemble", lambda n: Vote(n, members=[Holdings(n, learner=a) for a in (PA(n), LeastSquares(n, gamma=[1.0, 0.9]))])),
    Learner(
        "sparse least squares in holdings",
        lambda n: Holdings(n, learner=SparseLeastSquares(n, max_names=min(n, 3), warm_up=5, review=4)),
    ),
    Learner("halfway to PA", lambda n: Halfway(n, learner=PA(n))),
    Learner("halfway to PA in holdings", lambda n: Halfway(n, learner=Holdings(n, learner=PA(n)))),
    Learner("VAW in holdings", lambda n: Holdings(n, learner=DiscountedVAW(n, gamma=0.99))),
    Learner("RLS in holdings", lambda n: Holdings(n, learner=RLS(n))),
    Learner("sparse PLS in holdings", lambda n: Holdings(n, learner=SparsePLS(n, warm_up=5))),
    Learner("APAS in holdings", lambda n: Holdings(n, learner=APAS(n, lam=0.05))),
    Learner("AdaGrad in holdings", lambda n: Holdings(n, learner=AdaGrad(n, eta=0.1))),
    Learner("tilted PA in holdings", lambda n: Tilted(n, learner=Holdings(n, learner=PA(n)), lam=0.05)),
    Learner(
        "tilted PA, switching cost",
        lambda n: Tilted(n, learner=PA(n, feasible=capped(n)), side=SwitchingCost(0.02, against="drifted")),
    ),
    Learner(
        "vote of PAS and SLAIT",
        lambda n: Vote(n, members=[PAS(n), SLAIT(n, window=12, every=3, accelerate=False, starts=3, max_iter=50)]),
        0,
    ),
    Learner(
        "vote in a box", lambda n: Vote(n, members=[PA(n, feasible=Box(-0.1, 0.6)), VAW(n, feasible=RealSpace(), prior=None)])
    ),
    Learner("adaptive lasso of one sweep", lambda n: AdaptiveLasso(n, theta=min(3, n), warm_up=5)),
    Learner("SLAIT stopped on its way", lambda n: SLAIT(n, window=12, every=250, starts=3, max_iter=100)),
]
"""Wrappers around learners, and what only adversarial rounds are for."""

#: A fit that is stopped on its way depends on the order of the names, by a little: adversarial rounds only.
UNFINISHED_FITS = ("adaptive lasso of one sweep", "SLAIT stopped on its way")
LEARNERS = [*registered(), *WRAPPED]
