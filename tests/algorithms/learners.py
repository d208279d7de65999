"""The learners that the generic checks run on: a new class adds its line here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tracker_strategies.algorithms import (
    APAS,
    AROW,
    FOBOS,
    OGD,
    PA,
    PAS,
    RDA,
    RLS,
    SLAIT,
    VAW,
    AdaGrad,
    AdaptiveDiscount,
    AdaptiveLasso,
    Box,
    CappedSimplex,
    ConstantWeights,
    CostAware,
    DiscountedVAW,
    Holdings,
    Hyperplane,
    L1Ball,
    LeastSquares,
    MultiplicativePA,
    MultiTargetPA,
    OnlineAlgorithm,
    PAClassifier,
    PAUniclass,
    Quadratic,
    RandomPortfolios,
    RealSpace,
    RecursiveLars,
    SketchedVAW,
    SparseLeastSquares,
    SparsePLS,
    StaticPortfolio,
    StronglyAdaptive,
    SwitchingCost,
    Tilted,
    TopNames,
    Vote,
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


class SignAdaGrad(AdaGrad):
    """The same by subgradients of the hinge loss."""

    def update(self, x: Any, y: Any, **masks: Any) -> np.ndarray:
        return super().update(x, sign(y), **masks)


class SignAROW(AROW):
    """The same with a belief about the weights."""

    def update(self, x: Any, y: Any, **masks: Any) -> np.ndarray:
        return super().update(x, sign(y), **masks)


def capped(n: int) -> CappedSimplex:
    return CappedSimplex(1.0 if n == 1 else 0.6)


def slait_every_third(n: int) -> SLAIT:
    return SLAIT(n, window=12, every=3, accelerate=False, starts=3)


def few_discounts(n: int) -> AdaptiveDiscount:
    return AdaptiveDiscount(n, gammas=[0.0, 0.9, 0.998, 1.0], hint="self")  # the default grid depends on n


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
    Learner("least squares", lambda n: LeastSquares(n), VARIANT),
    Learner("least squares in holdings", lambda n: Holdings(n, learner=LeastSquares(n, gamma=0.97)), VARIANT),
    Learner("least squares at two discounts", lambda n: LeastSquares(n, gamma=[1.0, 0.95], damping=[1.0, 0.0]), VARIANT),
    Learner(
        "ensemble",
        lambda n: Vote(n, members=[Holdings(n, learner=a) for a in (PA(n), LeastSquares(n, gamma=[1.0, 0.9]))]),
        VARIANT,
    ),
    Learner(
        "sparse least squares",
        lambda n: Holdings(n, learner=SparseLeastSquares(n, max_names=min(n, 3), warm_up=5, review=4)),
        VARIANT,
    ),
    Learner("cost-aware PA", lambda n: CostAware(n, learner=Holdings(n, learner=PA(n)), cost_bps=10.0), VARIANT),
    Learner("VAW in holdings", lambda n: Holdings(n, learner=DiscountedVAW(n, gamma=0.99)), VARIANT),
    Learner("RLS in holdings", lambda n: Holdings(n, learner=RLS(n)), VARIANT),
    Learner("sparse PLS in holdings", lambda n: Holdings(n, learner=SparsePLS(n, warm_up=5)), VARIANT),
    Learner("tilted PA in holdings", lambda n: Tilted(n, learner=Holdings(n, learner=PA(n)), lam=0.05)),
    Learner("tilted PA, switching cost", lambda n: Tilted(n, learner=PA(n, feasible=capped(n)), side=SWITCHING), VARIANT),
    Learner("PA in holdings", lambda n: Holdings(n, learner=PA(n))),
    Learner("APAS in holdings", lambda n: Holdings(n, learner=APAS(n, lam=0.05)), VARIANT),
    Learner("AdaGrad in holdings", lambda n: Holdings(n, learner=AdaGrad(n, eta=0.1)), VARIANT),
    Learner(
        "SLAIT",
        slait_every_third,
        make_for_many_rounds=lambda n: SLAIT(n, window=12, every=250, max_iter=100),
    ),
    Learner("AdaGrad", lambda n: AdaGrad(n, eta=0.1)),
    Learner("AdaGrad rda", lambda n: AdaGrad(n, rule="rda", eta=0.1, regulariser="l2sq", lam=1e-4), VARIANT),
    Learner("AdaGrad capped", lambda n: AdaGrad(n, loss="eps_insensitive", eta=0.1, feasible=capped(n)), VARIANT),
    Learner("AdaGrad hinge", lambda n: SignAdaGrad(n, loss="hinge", eta=0.1), VARIANT),
    Learner("AdaGrad full", lambda n: AdaGrad(n, matrix="full", eta=0.1), VARIANT),
    Learner("AdaGrad full rda", lambda n: AdaGrad(n, matrix="full", rule="rda", eta=0.1), 5_000),
    Learner("OGD", lambda n: OGD(n, eta=50.0)),
    Learner("FOBOS", lambda n: FOBOS(n, eta=50.0, regulariser="l2sq", lam=1e-4)),
    Learner("RDA", lambda n: RDA(n, eta=50.0)),
    Learner("AROW", lambda n: AROW(n, r=1e-3)),
    Learner("AROW diagonal", lambda n: AROW(n, matrix="diagonal", r=1e-3), VARIANT),
    Learner(
        "sparse PLS",
        lambda n: SparsePLS(n, theta=min(3, n), n_factors=min(2, n), warm_up=5),
        make_for_many_rounds=lambda n: SparsePLS(n, theta=min(3, n), n_factors=1, warm_up=5),
    ),
    Learner(
        "sparse PLS of the paper",
        lambda n: SparsePLS(
            n,
            theta=min(2, n),
            deflate="sparse",
            loading="instant",
            standardise=False,
            forgetting="self",
            mapping="project",
            warm_up=1,
        ),
        VARIANT,
    ),
    Learner(
        "sparse PLS adaptive",
        lambda n: SparsePLS(
            n,
            theta=min(3, n),
            n_factors=1,
            adapt_factors=True,
            forgetting="self",
            q_space="input",
            max_names=min(2, n),
            warm_up=5,
        ),
        VARIANT,
    ),
    Learner("RLS", lambda n: RLS(n)),
    Learner("RLS self-tuned", lambda n: RLS(n, forgetting="self", prior="zero", mapping="refit"), VARIANT),
    Learner("recursive LARS", lambda n: RecursiveLars(n, theta=min(3, n), warm_up=5), VARIANT),
    Learner(
        "adaptive lasso",
        lambda n: AdaptiveLasso(n, theta=min(3, n), sweeps=300, warm_up=5),
        VARIANT,
        make_for_many_rounds=lambda n: AdaptiveLasso(n, theta=min(3, n), warm_up=5),
    ),
    Learner("static least squares", lambda n: StaticPortfolio(n, window=15)),
    Learner("static LARS", lambda n: StaticPortfolio(n, method="lars", theta=min(3, n), window=8), VARIANT),
    Learner("random portfolios", lambda n: RandomPortfolios(n, n_portfolios=3, theta=n, warm_up=5), VARIANT),
    Learner("VAW", lambda n: VAW(n)),
    Learner("discounted VAW", lambda n: DiscountedVAW(n)),
    Learner("discounted VAW dual", lambda n: DiscountedVAW(n, gamma=0.9, hint="self", dual_rounds=n), VARIANT),
    Learner("discounted VAW floor", lambda n: DiscountedVAW(n, gamma=0.9, hint="last", prior=None, floor=1e-6), VARIANT),
    Learner("discounted VAW capped", lambda n: DiscountedVAW(n, gamma=0.99, feasible=capped(n)), VARIANT),
    Learner("sketched VAW", lambda n: SketchedVAW(n, rank=2, gamma=0.99)),
    Learner("adaptive discount", few_discounts),
    Learner("strongly adaptive", lambda n: StronglyAdaptive(n, gammas=[0.0, 0.99], horizon=500), VARIANT),
    Learner(
        "vote",
        lambda n: Vote(n, members=[PA(n), DiscountedVAW(n), ConstantWeights(n)]),
        make_for_many_rounds=lambda n: Vote(n, members=[PA(n), ConstantWeights(n)]),
    ),
]
"""Weights on the simplex, whatever happens."""

OTHER_LEARNERS = [
    Learner("top names of PA", lambda n: TopNames(n, learner=PA(n), max_names=min(n, 3)), VARIANT),
    Learner("PA in R^N", lambda n: PA(n, feasible=RealSpace())),
    Learner("PA l1 ball", lambda n: PA(n, feasible=L1Ball(1.5))),
    Learner("PA hyperplane", lambda n: PA(n, feasible=Hyperplane())),
    Learner("PA box", lambda n: PA(n, feasible=Box(-0.1, 0.6))),
    Learner("classifier", lambda n: SignClassifier(n, variant="PA-II", C=1.0)),
    Learner("uniclass", lambda n: PAUniclass(n, eps=0.01)),
    Learner("APAS hyperplane", lambda n: APAS(n, feasible=Hyperplane())),
    Learner("PAS l1 ball", lambda n: PAS(n, side=SwitchingCost(0.01), feasible=L1Ball(1.5))),
    Learner("AdaGrad in R^N", lambda n: AdaGrad(n, eta=0.1, feasible=RealSpace(), regulariser="l2", lam=1e-6)),
    Learner("AdaGrad l1 ball", lambda n: AdaGrad(n, rule="rda", eta=0.1, feasible=L1Ball(1.5), regulariser="l1", lam=1e-7)),
    Learner("AdaGrad box", lambda n: AdaGrad(n, loss="eps_insensitive", eta=0.1, delta=0.0, feasible=Box(-0.1, 0.6))),
    Learner("AdaGrad hyperplane", lambda n: AdaGrad(n, eta=0.1, feasible=Hyperplane())),
    Learner("AdaGrad full in R^N", lambda n: AdaGrad(n, matrix="full", rule="rda", eta=0.1, delta=0.0, feasible=RealSpace())),
    Learner(
        "AdaGrad strongly convex",
        lambda n: AdaGrad(
            n, eta=1e-6, delta=1e-9, regulariser="l2sq", lam=0.1, strongly_convex=True, feasible=RealSpace(), start=[0.0] * n
        ),
    ),
    Learner("RDA linf", lambda n: RDA(n, eta=50.0, regulariser="linf", lam=1e-7, feasible=RealSpace())),
    Learner("AROW classifier", lambda n: SignAROW(n, task="classification", feasible=RealSpace())),
    Learner("sparse PLS with cash", lambda n: SparsePLS(n, theta=min(3, n), n_factors=1, loyalty=0.0, mapping="cash", warm_up=5)),
    Learner("VAW in R^N", lambda n: VAW(n, feasible=RealSpace(), prior=None)),
    Learner("adaptive discount in R^N", lambda n: AdaptiveDiscount(n, gammas=[0.9, 1.0], feasible=RealSpace())),
    Learner(
        "vote in a box", lambda n: Vote(n, members=[PA(n, feasible=Box(-0.1, 0.6)), VAW(n, feasible=RealSpace(), prior=None)])
    ),
]
"""Weights that may be negative or leave cash, or start from a part of the names."""

each_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS + OTHER_LEARNERS, ids=lambda entry: entry.name)
each_portfolio_learner = pytest.mark.parametrize("learner", PORTFOLIO_LEARNERS, ids=lambda entry: entry.name)
