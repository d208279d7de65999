"""AdaGrad: each round is the argmin it claims to be, also while some assets are not seen."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tests.algorithms.gradient.adagrad_runs import Played, common, losses, rules, seeds
from tracker_strategies.algorithms import AdaGrad, FeasibleSet, RealSpace, Simplex
from tracker_strategies.testing.rounds import market


@common
@given(seeds, rules, losses, st.sampled_from([0.0, 1e-5, 1e-3]))
def test_on_the_simplex_every_round_satisfies_the_kkt_conditions(seed: int, rule: str, loss: str, lam: float) -> None:
    """nu = gradient of the objective: equal to one price on held assets, not below it on the others. In units of weights."""
    X, Y = market(int(np.random.default_rng(seed).integers(1, 12)), 25, seed=seed % 10_000)
    n, eta = X.shape[1], 0.05
    phi = {"regulariser": "l2sq", "lam": lam} if lam else {}
    run = Played(AdaGrad(n, loss=loss, rule=rule, eta=eta, **phi), X, Y)
    for t in range(len(X)):
        w, g, H = run.W[t + 1], run.G[t], run.H[t]
        np.testing.assert_allclose(H, 1e-8 + np.sqrt((run.G[: t + 1] ** 2).sum(axis=0)), rtol=1e-12)
        if rule == "cmd":
            nu = eta * g + eta * lam * w + H * (w - run.W[t])
        else:
            nu = eta * run.G[: t + 1].sum(axis=0) + eta * (t + 1) * lam * w + H * w
        curvature = H + eta * lam * (1 if rule == "cmd" else t + 1)
        held = w > 0.0
        price = np.average(nu[held], weights=1.0 / curvature[held])
        residual = (nu - price) / curvature
        assert np.abs(residual[held]).max() <= 1e-10
        assert residual[~held].min(initial=0.0) >= -1e-10
        assert abs(w.sum() - 1.0) <= 1e-12


@common
@given(seeds, rules, st.sampled_from([Simplex(), RealSpace()]), st.sampled_from([1e-8, 0.1]))
def test_the_full_matrix_round_is_its_argmin(seed: int, rule: str, W: FeasibleSet, delta: float) -> None:
    X, Y = market(5, 15, seed=seed % 10_000)
    eta = 0.05
    learner = AdaGrad(5, matrix="full", rule=rule, eta=eta, delta=delta, feasible=W)
    run = Played(learner, X, Y)
    for t in range(len(X)):
        values, Q = np.linalg.eigh(run.G[: t + 1].T @ run.G[: t + 1])
        H = delta * np.eye(5) + (Q * np.sqrt(np.maximum(values, 0.0))) @ Q.T
        w = run.W[t + 1]
        nu = eta * run.G[t] + H @ (w - run.W[t]) if rule == "cmd" else eta * run.G[: t + 1].sum(axis=0) + H @ w
        scale = float(np.abs(H).max())
        if isinstance(W, RealSpace):
            assert np.abs(nu).max() <= 1e-6 * scale  # the oracle's root has half of the digits
        else:
            assert float(nu @ w - nu.min()) <= 1e-7 * scale


@common
@example(13363564, "rda", "full")  # a weight of 4e-17 that belongs at zero
@given(seeds, rules, st.sampled_from(["diagonal", "full"]))
def test_a_round_with_unseen_assets_is_the_argmin_over_the_others(seed: int, rule: str, matrix: str) -> None:
    """Frozen assets keep their weight, and tie the others to it where the metric has cross terms."""
    rng = np.random.default_rng(seed)
    X, Y = market(5, 10, seed=seed % 10_000)
    eta, delta = 0.05, 1e-4
    learner = AdaGrad(5, rule=rule, matrix=matrix, eta=eta, delta=delta)
    sum_g = np.zeros(5)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        seen = np.ones(5, dtype=bool) if t % 3 else rng.permutation(5) < 3
        before = learner.weights
        w = learner.update(np.where(seen, x, np.nan), y, observed=seen)
        x = np.where(seen, x, 0.0)
        g = (float(before @ x) - y) * x
        sum_g += g
        H = np.diag(learner.H) if matrix == "diagonal" else delta * np.eye(5) + learner._root
        nu = eta * g + H @ (w - before) if rule == "cmd" else eta * sum_g + H @ w
        held = seen & (w > 0.0)
        np.testing.assert_array_equal(w[~seen], before[~seen])
        assert np.ptp(nu[held]) <= 1e-9 * np.abs(H).max()
        assert (nu[seen] >= nu[held].min() - 1e-9 * np.abs(H).max()).all()
