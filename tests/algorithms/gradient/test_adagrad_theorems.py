"""AdaGrad: the lemma and the theorems hold, and it learns the motivating example as the paper says."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algorithms.gradient.adagrad_runs import Played, common, labelled, seeds
from tracker_strategies.algorithms import OGD, AdaGrad, Box, FeasibleSet, RealSpace, Simplex


@common
@given(seeds, st.sampled_from(["squared", "eps_insensitive", "hinge"]))
def test_lemma_5(seed: int, loss: str) -> None:
    """sum_t g' diag(s_t)^-1 g <= 2 sum_i ||g_{1:T,i}||."""
    X, Y = labelled(seed, loss)
    G = Played(AdaGrad(X.shape[1], loss=loss, eps=0.1, eta=0.5, feasible=RealSpace()), X, Y).G
    s = np.sqrt(np.cumsum(G**2, axis=0))
    assert np.divide(G**2, s, out=np.zeros_like(G), where=s > 0.0).sum() <= 2.0 * np.linalg.norm(G, axis=0).sum() * (1 + 1e-12)


LASSO: dict[str, Any] = {"regulariser": "l1", "lam": 0.05}


@common
@given(seeds, st.sampled_from(["squared", "eps_insensitive", "hinge"]), st.sampled_from(["diagonal", "full"]), st.booleans())
def test_theorems_6_and_8(seed: int, loss: str, matrix: str, simplex: bool) -> None:
    """Regret of both rules against any point of W; rda needs a delta above every gradient."""
    X, Y = labelled(seed, loss)
    n = X.shape[1]
    rng = np.random.default_rng(seed)
    W: FeasibleSet = Simplex() if simplex else RealSpace()
    phi = LASSO if matrix == "diagonal" and not simplex else {}
    u = rng.dirichlet(np.ones(n)) if simplex else rng.standard_normal(n)
    for rule, eta in (("cmd", 0.4), ("rda", 0.4)):
        delta, run = 0.1, None
        while run is None or (rule == "rda" and delta < np.linalg.norm(run.G, axis=1).max()):
            delta = delta if run is None else 2.0 * float(np.linalg.norm(run.G, axis=1).max())
            learner = AdaGrad(n, loss=loss, eps=0.1, rule=rule, matrix=matrix, eta=eta, delta=delta, feasible=W, **phi)
            run = Played(learner, X, Y)
        if matrix == "diagonal":
            gamma, far = np.linalg.norm(run.G, axis=0).sum(), np.abs(u - run.W[:-1]).max()
            size, share = np.abs(u).max(), 0.5
        else:
            gamma, far = np.linalg.svd(run.G, compute_uv=False).sum(), np.linalg.norm(u - run.W[:-1], axis=1).max()
            size, share = np.linalg.norm(u), 1.0
        if rule == "cmd":
            bound = share * delta / eta * ((u - run.W[0]) ** 2).sum() + far**2 * gamma / (2.0 * eta) + eta * gamma
        else:
            bound = delta / eta * (u @ u) + size**2 * gamma / eta + eta * gamma
        assert run.regret(u, X, Y) <= bound * (1 + 1e-9)


@common
@given(seeds, st.sampled_from(["squared", "eps_insensitive", "hinge"]))
def test_corollary_7(seed: int, loss: str) -> None:
    """In a box of width D the step D/sqrt(2) gives a regret of sqrt(2) D sum_i ||g_i||, with delta = 0 and nothing to know."""
    X, Y = labelled(seed, loss)
    D = 1.0
    learner = AdaGrad(X.shape[1], loss=loss, eps=0.1, eta=D / math.sqrt(2.0), delta=0.0, feasible=Box(-D / 2, D / 2))
    run = Played(learner, X, Y)
    bound = math.sqrt(2.0) * D * np.linalg.norm(run.G, axis=0).sum()
    for u in np.random.default_rng(seed).uniform(-D / 2, D / 2, (20, X.shape[1])):
        assert run.regret(u, X, Y) <= bound * (1 + 1e-9)


@common
@given(seeds, st.sampled_from([0.05, 0.5]))
def test_the_strongly_convex_variant_has_logarithmic_regret(seed: int, lam: float) -> None:
    r"""Section 5, constants derived again: with eta = G^2/lam,
    R <= (lam delta/(2 G^2) + lam/2) ||u - w_1||^2 + G^2/(2 lam) sum_i log(1 + ||g_i||^2/delta).
    """
    X, Y = labelled(seed, "hinge")
    X = np.clip(X, -1.0, 1.0)  # hinge gradients are then at most 1
    delta, eta = 0.5, 1.0 / lam
    learner = AdaGrad(
        X.shape[1], loss="hinge", eta=eta, delta=delta, regulariser="l2sq", lam=lam, strongly_convex=True, feasible=RealSpace()
    )
    run = Played(learner, X, Y)
    np.testing.assert_allclose(run.H[-1], delta + (run.G**2).sum(axis=0), rtol=1e-12)
    logs = np.log1p((run.G**2).sum(axis=0) / delta).sum()
    for u in (np.zeros(X.shape[1]), *np.random.default_rng(seed).standard_normal((10, X.shape[1]))):
        assert run.regret(u, X, Y) <= (lam * delta + lam) / 2.0 * (u @ u) + eta / 2.0 * logs + 1e-9


@pytest.mark.parametrize("d", [16, 49])
def test_the_motivating_example(d: int) -> None:
    """Unit vectors in turn: AdaGrad needs to see each once. Gradient descent loses d sqrt(d)/4 more."""
    rng = np.random.default_rng(d)
    W = Box(-1.0, 1.0)
    adagrad, ogd = AdaGrad(d, loss="hinge", eta=1.0, delta=0.0, feasible=W), OGD(d, loss="hinge", eta=1.0, feasible=W)
    lost = np.zeros(2)
    for t in range(d * (math.isqrt(d) + 2)):
        sign = float(rng.choice([-1.0, 1.0]))
        for k, learner in enumerate((adagrad, ogd)):
            learner.update(sign * np.eye(d)[t % d], sign)
            lost[k] += learner.diagnostics()["loss"]
    assert lost[0] == d
    assert lost[1] >= d + d * math.sqrt(d) / 4.0
    np.testing.assert_array_equal(adagrad.weights, np.ones(d))
