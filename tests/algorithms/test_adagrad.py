"""AdaGrad: each round is the argmin it claims to be, the theorems hold, and nothing in the data can break it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.algorithms.checks import market
from tracker_strategies.algorithms import (
    FOBOS,
    OGD,
    RDA,
    AdaGrad,
    Box,
    CappedSimplex,
    FeasibleSet,
    GroupedSimplex,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
)
from tracker_strategies.algorithms.losses import loss_and_slope
from tracker_strategies.errors import InputError, ParameterError

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)
rules = st.sampled_from(["cmd", "rda"])
losses = st.sampled_from(["squared", "eps_insensitive"])


def labelled(seed: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Instances and targets of unit size that no weights fit exactly; now and then nothing happens at all."""
    rng = np.random.default_rng(seed)
    n, rounds = int(rng.integers(1, 7)), int(rng.integers(1, 40))
    X = rng.standard_normal((rounds, n)) * (rng.random((rounds, n)) < 0.7)
    Y = X @ rng.standard_normal(n) + 0.5 * rng.standard_normal(rounds)
    return X, (np.where(Y >= 0.0, 1.0, -1.0) if loss == "hinge" else Y)


class Played:
    """A run: weights w_1..w_{T+1}, losses, gradients, and the metric after each round."""

    def __init__(self, learner: AdaGrad, X: np.ndarray, Y: np.ndarray) -> None:
        self.learner = learner
        W, G, H, lost = [learner.weights], [], [], []
        for x, y in zip(X, Y.tolist(), strict=True):
            W.append(learner.update(x, y))
            said = learner.diagnostics()
            G.append(loss_and_slope(learner.loss, said["prediction"], y, learner.eps)[1] * x)
            H.append(learner.H)
            lost.append(said["loss"])
        self.W, self.G, self.H, self.loss = np.array(W), np.array(G), np.array(H), np.array(lost)

    def regret(self, u: np.ndarray, X: np.ndarray, Y: np.ndarray) -> float:
        learner, phi = self.learner, self.learner._phi
        others = [loss_and_slope(learner.loss, float(u @ x), y, learner.eps)[0] for x, y in zip(X, Y.tolist(), strict=True)]
        return float(self.loss.sum() - sum(others)) + sum(phi.value(w) - phi.value(u) for w in self.W[:-1])


# ------------------------------------------------------------------ the argmin


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


# ------------------------------------------------------------------ kinship


class TimeMetric(AdaGrad):
    """AdaGrad that ignores its gradients: H_t = sqrt(t) for every asset."""

    def _diagonal(self, sum2: np.ndarray) -> np.ndarray:
        return np.full(sum2.shape[0], math.sqrt(self._t + 1))


CASES: list[tuple[FeasibleSet, dict[str, Any]]] = [
    (Simplex(), {}),
    (Simplex(), {"regulariser": "l2sq", "lam": 0.2}),
    (CappedSimplex(0.5), {}),
    (L1Ball(0.6), {"regulariser": "l1", "lam": 0.02}),
    (Box(-0.1, 0.4), {"regulariser": "l1", "lam": 0.02}),
    (Hyperplane(), {}),
    (RealSpace(), {"regulariser": "l1", "lam": 0.05}),
    (RealSpace(), {"regulariser": "l2", "lam": 0.05}),
    (RealSpace(), {"regulariser": "linf", "lam": 0.05}),
    (RealSpace(), {"regulariser": "l1l2", "lam": 0.05, "groups": [[0, 2], [1]]}),
    (RealSpace(), {"regulariser": "l1linf", "lam": 0.05, "groups": [[0, 2], [1]]}),
]


@pytest.mark.parametrize(
    ("W", "phi"), CASES, ids=lambda v: v.kind if isinstance(v, FeasibleSet) else v.get("regulariser", "none")
)
@pytest.mark.parametrize(("rule", "rival"), [("cmd", FOBOS), ("rda", RDA)])
def test_with_the_metric_of_time_it_is_fobos_or_rda(W: FeasibleSet, phi: dict[str, Any], rule: str, rival: type) -> None:
    rng = np.random.default_rng(7)
    X = rng.standard_normal((40, 4))
    Y = (X @ rng.standard_normal(4)).tolist()
    one, other = TimeMetric(4, rule=rule, eta=0.2, feasible=W, **phi), rival(4, eta=0.2, feasible=W, **phi)
    for x, y in zip(X, Y, strict=True):
        np.testing.assert_allclose(one.update(x, y), other.update(x, y), rtol=0, atol=1e-12)


def test_on_gradients_of_size_one_it_is_gradient_descent() -> None:
    """There the root of the sum of squares is the root of the time."""
    X = np.random.default_rng(8).choice([-1.0, 1.0], (200, 1))
    adagrad = AdaGrad(1, loss="eps_insensitive", eps=0.0, eta=0.5, delta=0.0, feasible=RealSpace())
    ogd = OGD(1, loss="eps_insensitive", eps=0.0, eta=0.5, feasible=RealSpace())
    for x in X:
        y = 3.3 * float(x[0])
        np.testing.assert_allclose(adagrad.update(x, y), ogd.update(x, y), rtol=0, atol=1e-12)


@common
@given(seeds, rules, st.sampled_from([RealSpace(), Box(-0.3, 0.3)]), st.sampled_from([1e-12, 1e-3, 1e5, 1e12]))
def test_without_delta_the_scale_of_the_data_does_not_matter(seed: int, rule: str, W: FeasibleSet, scale: float) -> None:
    """A common factor of X and Y is a common factor of all gradients, and cancels."""
    X, Y = labelled(seed, "squared")
    make = lambda: AdaGrad(X.shape[1], rule=rule, eta=0.3, delta=0.0, feasible=W)  # noqa: E731
    np.testing.assert_allclose(Played(make(), scale * X, scale * Y).W, Played(make(), X, Y).W, rtol=0, atol=1e-10)


def test_one_asset_in_each_instance_makes_both_matrices_the_same() -> None:
    rng = np.random.default_rng(9)
    X = np.eye(4)[rng.integers(0, 4, 30)] * rng.standard_normal((30, 1))
    Y = rng.standard_normal(30)
    for rule in ("cmd", "rda"):
        runs = [
            Played(AdaGrad(4, matrix=m, rule=rule, eta=0.3, delta=0.1, feasible=RealSpace()), X, Y) for m in ("diagonal", "full")
        ]
        np.testing.assert_allclose(runs[0].W, runs[1].W, rtol=0, atol=1e-12)
        np.testing.assert_allclose(runs[0].H, runs[1].H, rtol=1e-12)


@pytest.mark.parametrize("matrix", ["diagonal", "full"])
def test_an_asset_without_a_gradient_and_without_delta_rests(matrix: str) -> None:
    start = [0.0, 0.0, 0.25]
    cmd = AdaGrad(3, matrix=matrix, eta=1.0, delta=0.0, feasible=RealSpace(), start=start)
    rda = AdaGrad(3, matrix=matrix, rule="rda", eta=1.0, delta=0.0, feasible=RealSpace(), start=start)
    for x, y in (([1.0, 0.0, 0.0], 1.0), ([1.0, 2.0, 0.0], -1.0)):
        assert cmd.update(x, y)[2] == pytest.approx(0.25, abs=1e-15)
        assert rda.update(x, y)[2] == 0.0


# ------------------------------------------------------------------ theory


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


# ------------------------------------------------------------------ hard data


def adversarial(rounds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Six columns: one without any return, one constant, two collinear, two free; scales from 1e-12 to 1e12, by row or column."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, 6))
    X[:, 0], X[:, 1], X[:, 3] = 0.0, 1.0, -2.0 * X[:, 2]
    X *= 10.0 ** rng.integers(-12, 13, (rounds, 1))
    wild = rng.random(rounds) < 0.3
    X[wild] *= 10.0 ** rng.integers(-12, 13, (np.count_nonzero(wild), 6))
    X[rng.random(rounds) < 0.05] = 0.0
    Y = rng.standard_normal(rounds) * 10.0 ** rng.integers(-12, 13, rounds)
    return X, np.where(rng.random(rounds) < 0.3, X @ np.full(6, 1 / 6), Y)


@pytest.mark.parametrize(
    ("rounds", "parameters"),
    [
        (100_000, {}),
        (20_000, {"rule": "rda", "eta": 10.0}),
        (20_000, {"loss": "eps_insensitive", "feasible": CappedSimplex(0.3), "delta": 1e-300}),
        (2_000, {"matrix": "full"}),
        (2_000, {"matrix": "full", "rule": "rda", "eta": 3.0}),
    ],
    ids=str,
)
def test_no_data_can_drive_it_off_the_simplex(rounds: int, parameters: dict[str, Any]) -> None:
    learner = AdaGrad(6, **parameters)
    W = np.array([learner.update(x, y) for x, y in zip(*adversarial(rounds, 1), strict=True)])
    assert np.isfinite(W).all()
    assert W.min() >= 0.0
    assert np.abs(W.sum(axis=1) - 1.0).max() <= 1e-12
    assert all(np.isfinite(v) for v in learner.diagnostics().values())
    assert np.ptp(W, axis=0).max() > 0.01, "nothing was learnt at all"


def test_a_gradient_that_cannot_be_squared_is_refused_and_changes_nothing() -> None:
    learner = AdaGrad(2, eta=1e70, feasible=RealSpace(), start=[1e70, 0.0])
    with pytest.raises(InputError, match="too large to be squared"):
        learner.update([1e49, 1e49], 0.0)
    assert learner.weights.tolist() == [1e70, 0.0]
    assert learner.H.tolist() == [1e-8, 1e-8]


# ------------------------------------------------------------------ manners


def test_defaults_suit_daily_returns() -> None:
    assert AdaGrad(30).params() == {
        "loss": "squared",
        "eps": 1e-4,
        "rule": "cmd",
        "matrix": "diagonal",
        "eta": 0.05,
        "delta": 1e-8,
        "regulariser": "none",
        "lam": None,
        "groups": None,
        "strongly_convex": False,
        "feasible": {"kind": "simplex", "total": 1.0},
        "start": None,
    }
    assert AdaGrad(50, loss="eps_insensitive").eta == 0.01


def test_a_round_without_a_gradient_moves_no_digit() -> None:
    learner = AdaGrad(4, loss="eps_insensitive", eps=0.01, start=[0.1, 0.2, 0.3, 0.4])
    w = learner.weights
    assert learner.update([0.01, 0.02, -0.01, 0.0], 0.005) is w
    assert AdaGrad(4, start=[0.1, 0.2, 0.3, 0.4]).update(np.zeros(4), 0.5).tolist() == [0.1, 0.2, 0.3, 0.4]


def test_step_sizes_are_those_of_assets_with_a_gradient() -> None:
    learner = AdaGrad(3, eta=0.5, delta=0.0, feasible=RealSpace())
    assert learner.diagnostics() == {"loss": 0.0, "prediction": 0.0, "step_min": 0.0, "step_median": 0.0, "step_max": 0.0}
    learner.update([1.0, 4.0, 0.0], -1.0)
    assert learner.diagnostics() == {"loss": 0.5, "prediction": 0.0, "step_min": 0.125, "step_median": 0.3125, "step_max": 0.5}


@pytest.mark.parametrize("matrix", ["diagonal", "full"])
def test_an_asset_that_leaves_takes_its_gradients_with_it(matrix: str) -> None:
    """What is left is the metric of the gradients of the others, as if the one that left had had none."""
    X, Y = market(4, 20, seed=3)
    learner = AdaGrad(4, matrix=matrix, eta=0.1)
    G = Played(learner, X, Y).G
    learner.restrict(np.array([True, True, True, False]))
    assert learner.H[3] == learner.delta
    if matrix == "diagonal":
        np.testing.assert_allclose(learner.H[:3], learner.delta + np.linalg.norm(G[:, :3], axis=0), rtol=1e-12)
    else:
        S = learner._root
        assert S is not None
        assert not S[3].any()
        np.testing.assert_allclose(S[:3, :3] @ S[:3, :3], G[:, :3].T @ G[:, :3], rtol=0, atol=1e-13 * (G**2).sum())


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "absolute"},
        {"eps": -1.0},
        {"rule": "sgd"},
        {"matrix": "dense"},
        {"eta": 0.0},
        {"eta": np.inf},
        {"delta": -1e-9},
        {"delta": 0.0},
        {"delta": 0.0, "feasible": L1Ball()},
        {"regulariser": "l2", "lam": 0.1},
        {"regulariser": "l1"},
        {"lam": 0.1},
        {"regulariser": "l1l2", "lam": 0.1, "feasible": RealSpace()},
        {"groups": [[0]]},
        {"matrix": "full", "feasible": Box()},
        {"matrix": "full", "feasible": RealSpace(), "regulariser": "l1", "lam": 0.1},
        {"feasible": GroupedSimplex([[0, 1]])},
        {"strongly_convex": True},
        {"strongly_convex": True, "eta": 1.0, "rule": "rda"},
        {"strongly_convex": True, "eta": 1.0, "matrix": "full"},
        {"feasible": "simplex"},
        {"start": [0.5, 0.6, 0.7]},
    ],
    ids=str,
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        AdaGrad(3, **wrong)


@pytest.mark.parametrize("y", [0.0, 0.5, 2.0])
def test_the_hinge_loss_wants_labels(y: float) -> None:
    with pytest.raises(InputError, match=r"\+1 or -1"):
        AdaGrad(2, loss="hinge").update([0.1, 0.2], y)


def test_groups_survive_json() -> None:
    learner = AdaGrad(3, feasible=RealSpace(), regulariser="l1l2", lam=0.1, groups=((0, 2), (1,)))
    assert learner.params()["groups"] == [[0, 2], [1]]
    assert AdaGrad.from_state(learner.state_dict()).groups == [[0, 2], [1]]
