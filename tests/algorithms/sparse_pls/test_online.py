"""Incremental sparse PLS: the printed recursions, agreement with the whole sample, changing universes, one portfolio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.numerics.test_simplex_qp import assert_optimal
from tests.algorithms.sparse_pls.test_batch import groups
from tracker_strategies.algorithms import SparsePLS
from tracker_strategies.algorithms.regression import SelfTuning, beta_to_portfolio
from tracker_strategies.algorithms.sparse_pls import FactorCount, sparsify
from tracker_strategies.algorithms.sparse_pls.batch import sparse_pls
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market, run, without

SEEDS = st.integers(0, 2**32 - 1)
PLAIN = {"standardise": False, "deflate": "sparse", "loyalty": 0.0, "mapping": "project", "warm_up": 1}
"""The algorithm of the paper."""


def stream(seed: int, T: int = 40, p: int = 9, q: int = 2, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = scale * (rng.standard_normal((T, p)) + rng.standard_normal((T, 1)))
    return X, X @ rng.standard_normal((p, q)) + scale * 0.3 * rng.standard_normal((T, q))


def literally(
    X: np.ndarray, Y: np.ndarray, *, R: int, theta: int, alpha: float, lam: Any, loading: str, q_space: str
) -> list[Any]:
    """The recursions as they are written, with H formed and every sum rebuilt in each round."""
    T, p = X.shape
    U, beta = np.eye(p)[:, :R], np.zeros((p, Y.shape[1]))
    lams: list[float] = []
    sq2 = se2 = sv2 = 0.0
    C = np.zeros((p, p))
    P = np.eye(p) / 1e-8
    found = []
    for t in range(T):
        x, y = X[t], Y[t]
        predicted = x @ beta
        if isinstance(lam, SelfTuning):
            e2 = ((y - predicted) ** 2).mean()
            s = x @ U
            q = s @ np.linalg.solve(U.T @ C @ U + 1e-8 * np.eye(R), s) if q_space == "latent" else x @ P @ x
            q = min(q, lam.q_cap)
            sq2, se2, sv2 = (m * v + (1 - m) * n for m, v, n in ((lam.a, sq2, q**2), (lam.a, se2, e2), (lam.b, sv2, e2)))
            e, v = se2**0.5, sv2**0.5
            lams.append(lam.lam_max if e <= lam.guard * v else min(max(sq2**0.5 * v / (e - v), lam.lam_min), lam.lam_max))
        else:
            lams.append(lam)
        P = np.linalg.inv(lams[-1] * np.linalg.inv(P) + np.outer(x, x))
        weights = np.array([np.prod(lams[s + 1 :]) for s in range(t + 1)])
        C = (X[: t + 1] * weights[:, None]).T @ X[: t + 1]
        M = (X[: t + 1] * weights[:, None]).T @ Y[: t + 1]
        H = alpha * C + (1.0 - alpha) * M @ M.T
        new = np.zeros((p, R))
        for r in range(R):
            a = H @ U[:, r]
            for k in range(r):
                a = a - new[:, k] * (new[:, k] @ a)
            new[:, r] = sparsify(a / np.linalg.norm(a), theta)[0]
        U = new
        if loading == "recursive":
            W = np.linalg.lstsq(U.T @ C @ U, U.T @ M, rcond=None)[0]
        else:
            s = x @ U
            W = np.outer(s, y) / (s @ s)
        beta = U @ W
        found.append((predicted, lams[-1], U, beta))
    return found


@settings(max_examples=25, deadline=None)
@given(
    SEEDS,
    st.integers(1, 3),
    st.integers(1, 4),  # dense factors would leave nothing but rounding for a second one in the first round
    st.sampled_from([0.0, 1e-5, 0.3, 1.0]),
    st.sampled_from([1.0, 0.95, SelfTuning(lam_min=0.01), SelfTuning(0.3, 0.95, 0.5, 0.99, 1.0, 3.0)]),
    st.sampled_from(["recursive", "instant"]),
    st.sampled_from(["latent", "input"]),
)
def test_the_recursions_are_the_printed_ones(
    seed: int, R: int, theta: int, alpha: float, lam: Any, loading: str, q_space: str
) -> None:
    X, Y = stream(seed, T=25)
    options = {"theta": theta, "alpha": alpha, "loading": loading, "q_space": q_space}
    learner = SparsePLS(9, n_targets=2, n_factors=R, forgetting=lam, **options, **PLAIN)
    for x, y, (predicted, factor, U, beta) in zip(X, Y, literally(X, Y, R=R, lam=lam, **options), strict=True):
        scale = 1.0 + np.abs(beta).max()
        np.testing.assert_allclose(learner.forecast(x), predicted, rtol=0, atol=1e-5 * scale * np.abs(x).sum())
        learner.update(x, y)
        assert learner.diagnostics()["lambda"] == pytest.approx(factor, abs=1e-5)
        np.testing.assert_allclose(learner.factors, U, rtol=0, atol=1e-5)
        np.testing.assert_allclose(learner.coefficients, beta, rtol=0, atol=1e-5 * scale)


def test_on_stationary_data_it_agrees_with_the_whole_sample() -> None:
    for seed in range(3):
        X, y = groups(seed, rounds=300)
        learner = SparsePLS(30, theta=10, n_factors=1, forgetting=1.0, **PLAIN)
        run(learner, X, y)
        fit = sparse_pls(X, y, n_factors=1, theta=10)
        u = learner.factors[:, 0]
        np.testing.assert_allclose(u * np.sign(u[np.abs(u).argmax()]), fit.U[:, 0], atol=1e-3)
        np.testing.assert_allclose(learner.coefficients, fit.beta, atol=1e-3 * np.abs(fit.beta).max())


def test_each_factor_has_exactly_theta_names_and_they_may_differ() -> None:
    X, Y = stream(1, T=60, p=20)
    for deflate in ("sparse", "residual"):
        learner = SparsePLS(20, n_targets=2, theta=4, n_factors=3, deflate=deflate)
        for x, y in zip(X, Y, strict=True):
            learner.update(x, y)
            assert (np.count_nonzero(learner.factors, axis=0) == 4).all()
        assert np.count_nonzero(learner.coefficients.any(axis=1)) > 4


def test_a_second_factor_explains_what_the_first_leaves() -> None:
    """Residual deflation: the second factor goes for the other driver, not for more names of the first."""
    rng = np.random.default_rng(2)
    F = rng.standard_normal((300, 2))
    X = np.repeat(F, 10, axis=1) + 0.3 * rng.standard_normal((300, 20))
    y = 2.0 * F[:, 0] + F[:, 1]
    found = {}
    for deflate in ("sparse", "residual"):
        learner = SparsePLS(20, theta=5, n_factors=2, deflate=deflate, forgetting=1.0)
        run(learner, X, y)
        found[deflate] = set(np.flatnonzero(learner.factors[:, 1]))
    assert found["residual"] <= set(range(10, 20))
    assert found["sparse"] & set(range(10))


def test_standardised_selection_does_not_depend_on_units() -> None:
    X, Y = stream(3, T=80, p=12)
    units = np.array([0.01, 100.0] * 6)
    wild = run(SparsePLS(12, n_targets=2, theta=3, mapping="normalise"), X, Y)
    assert wild.shape == (80, 12)
    a, b = SparsePLS(12, n_targets=2, theta=3, n_factors=2), SparsePLS(12, n_targets=2, theta=3, n_factors=2)
    for x, y in zip(X, Y, strict=True):
        a.update(0.01 * x, 0.01 * y)
        b.update(100.0 * x, [0.01 * y[0], 100.0 * y[1]])
    np.testing.assert_array_equal(a.factors != 0.0, b.factors != 0.0)
    plain = [SparsePLS(12, n_targets=2, theta=3, n_factors=1, standardise=False) for _ in range(2)]
    run(plain[0], X, Y)
    run(plain[1], X * units, Y)
    assert set(np.flatnonzero(plain[1].factors)) <= set(range(1, 12, 2)), "covariances favour the most volatile names"
    assert set(np.flatnonzero(plain[0].factors)) != set(np.flatnonzero(plain[1].factors))


# ------------------------------------------------------------------ self-tuning and the number of factors


def test_forgetting_drops_at_a_change_and_recovers() -> None:
    X, y = groups(4, rounds=300)
    y[150:] = 10.0 * X[150:, 20:30].mean(axis=1)
    learner = SparsePLS(30, theta=10, n_factors=1, forgetting=SelfTuning(lam_min=0.05), **PLAIN)
    factors = []
    for x, target in zip(X, y, strict=True):
        learner.update(x, target)
        factors.append(learner.diagnostics()["lambda"])
    assert np.median(factors[50:150]) == 0.999
    assert min(factors[150:155]) < 0.6
    assert np.median(factors[200:]) == 0.999
    assert set(np.flatnonzero(learner.factors)) == set(range(20, 30))


def test_the_number_of_factors_follows_the_data() -> None:
    """Two drivers from round 150 on, seen by six targets."""
    rng = np.random.default_rng(5)
    F = rng.standard_normal((400, 2))
    F[:150, 1] = 0.0
    X = np.repeat(F, 10, axis=1) + 0.2 * rng.standard_normal((400, 20))
    Y = F @ rng.standard_normal((2, 6)) * 3.0 + 0.5 * rng.standard_normal((400, 6))
    learner = SparsePLS(20, n_targets=6, theta=10, n_factors=1, adapt_factors=FactorCount(3), forgetting=0.95, **PLAIN)
    counts = []
    for x, y in zip(X, Y, strict=True):
        learner.update(x, y)
        said = learner.diagnostics()
        counts.append(said["factors"])
        assert 0.0 < said["ratio_less"] <= 1.02
        assert 0.0 < said["ratio_more"] <= 1.0
    assert np.mean(counts[100:150]) < 1.2
    assert np.mean(counts[250:]) > 1.8


def test_more_factors_than_names_are_never_needed() -> None:
    X, Y = stream(6, p=2, q=2)
    learner = SparsePLS(2, n_targets=2, n_factors=1, adapt_factors=True)
    run(learner, X, Y)
    assert 1 <= learner.diagnostics()["factors"] <= 2


# ------------------------------------------------------------------ several targets, one portfolio


def test_target_weights_decide_whom_to_follow() -> None:
    rng = np.random.default_rng(7)
    X = 0.01 * rng.standard_normal((200, 10))
    Y = np.column_stack((X[:, :3].mean(axis=1), X[:, 5:8].mean(axis=1)))
    for omega, names in (([1.0, 1e-9], {0, 1, 2}), ([1e-9, 1.0], {5, 6, 7}), (None, {0, 1, 2, 5, 6, 7})):
        learner = SparsePLS(10, n_targets=2, omega=omega, theta=3, n_factors=2)
        w = run(learner, X, Y)[-1]
        assert set(np.flatnonzero(w > 0.02)) == names


def test_the_refit_is_the_discounted_least_squares_portfolio_of_its_names() -> None:
    X, Y = stream(8, T=60, p=15, scale=0.01)
    learner = SparsePLS(15, n_targets=2, omega=[3.0, 1.0], theta=5, n_factors=2, forgetting=0.97, ridge=0.0, warm_up=1)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        w = learner.update(x, y)
        support = np.flatnonzero(learner.coefficients.any(axis=1))
        assert set(np.flatnonzero(w)) <= set(support)
        if t > 20:  # enough rounds for one answer
            discount = 0.97 ** np.arange(t, -1, -1.0)
            A = (X[: t + 1] * discount[:, None]).T @ X[: t + 1]
            m = (X[: t + 1] * discount[:, None]).T @ Y[: t + 1] @ [0.75, 0.25]
            assert_optimal(A[np.ix_(support, support)], m[support], w[support])


@pytest.mark.parametrize("mapping", ["refit", "project", "normalise", "cash"])
def test_at_most_so_many_names_are_held(mapping: str) -> None:
    X, Y = stream(9, T=60, p=20, scale=0.01)
    learner = SparsePLS(20, n_targets=2, theta=6, max_names=4, mapping=mapping)
    W = run(learner, X, Y)
    assert (np.count_nonzero(W[19:], axis=1) <= 4).all()
    assert (W.sum(axis=1) <= 1.0 + 1e-12).all()
    if mapping in ("project", "normalise", "cash") and mapping != "cash":
        np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)


def test_loyalty_saves_exchanges_of_names_that_are_as_good_as_each_other() -> None:
    X, y = market(60, 250)
    entered = {}
    for loyalty in (0.0, 0.3):
        W = run(SparsePLS(60, theta=8, max_names=10, loyalty=loyalty), X, y)
        held = W[50:] > 0.0
        entered[loyalty] = int(np.count_nonzero(held[1:] & ~held[:-1]))
    assert entered[0.3] < 0.5 * entered[0.0]


def test_the_other_maps_are_those_of_the_coefficients() -> None:
    X, Y = stream(10, T=50, p=12, scale=0.01)
    for mapping in ("project", "normalise", "cash"):
        learner = SparsePLS(12, n_targets=2, omega=[1.0, 2.0], theta=4, mapping=mapping)
        for x, y in zip(X, Y, strict=True):
            before = learner.weights
            w = learner.update(x, y)
        np.testing.assert_allclose(w, beta_to_portfolio(learner.coefficients, mapping, [1.0, 2.0], before), atol=1e-14)


def test_nothing_moves_before_the_warm_up() -> None:
    X, Y = stream(11, T=12, p=6, q=1, scale=0.01)
    W = run(SparsePLS(6, theta=2, warm_up=10), X, Y)
    np.testing.assert_array_equal(W[:9], np.full((9, 6), 1.0 / 6.0))
    assert not np.array_equal(W[9], W[8])


def test_equal_names_are_told_apart_by_their_order() -> None:
    """Two pairs of twins: of each pair the first is taken, whatever the order of the others."""
    rng = np.random.default_rng(12)
    base = 0.01 * rng.standard_normal((80, 3))
    y = base @ [0.6, 0.4, 0.0]
    X = base[:, [0, 0, 1, 1, 2]]
    for order, taken in (([0, 1, 2, 3, 4], {0, 2}), ([3, 1, 4, 0, 2], {0, 1})):
        learner = SparsePLS(5, theta=1, n_factors=2)
        run(learner, X[:, order], y)
        assert set(np.flatnonzero(learner.coefficients)) == taken


# ------------------------------------------------------------------ changing universes


def test_forgetting_a_name_is_exact() -> None:
    """After a name left, all is as if it had never been there; when it comes back it starts cold."""
    X, Y = stream(13, T=60, p=6, scale=0.01)
    everybody = SparsePLS(6, n_targets=2, theta=3, n_factors=2)
    others = SparsePLS(5, n_targets=2, theta=3, n_factors=2)
    run(everybody, X[:30], Y[:30])
    run(others, X[:30, 1:], Y[:30])
    everybody.restrict(without(0))
    for state in ("_B", "_M", "_missing"):
        assert np.isfinite(getattr(everybody, state)).all()
    np.testing.assert_allclose(everybody._moments()[1:, 1:], others._moments(), atol=1e-18)
    assert not everybody._moments()[0].any()
    U, C = everybody.factors, everybody._moments()
    np.testing.assert_allclose(everybody.coefficients, U @ np.linalg.solve(U.T @ C @ U, U.T @ everybody._M.T), atol=1e-9)
    W = run(everybody, X[30:50], Y[30:50], active=without(0))
    expected = run(others, X[30:50, 1:], Y[30:50])
    np.testing.assert_allclose(W[5:, 1:], expected[5:], atol=1e-9)  # power iteration forgets where it came from
    assert (W[:, 0] == 0.0).all()
    run(everybody, X[50:], Y[50:])
    moments = everybody._moments()
    discount = 0.998 ** np.arange(8, -1, -1.0)  # a newcomer is seen from its second round on
    assert moments[0, 0] == pytest.approx(float(discount @ X[51:, 0] ** 2), rel=1e-12)


def test_columns_of_the_factors_stay_those_of_the_moments() -> None:
    X, Y = stream(14, T=80, p=8, scale=0.01)
    rng = np.random.default_rng(15)
    learner = SparsePLS(8, n_targets=2, theta=3, n_factors=2, forgetting=SelfTuning(lam_min=0.2))
    for x, y in zip(X, Y, strict=True):
        active = rng.random(8) < 0.85
        active[:4] = True
        learner.update(x, y, active=active, observed=rng.random(8) < 0.9)
        C = learner._moments()
        for names, K in zip(learner._names, learner._K, strict=True):
            np.testing.assert_allclose(learner._c * K, C[names], rtol=1e-9, atol=1e-20)


def test_a_name_with_holidays_keeps_its_size() -> None:
    """Half of its returns unseen: its variance counts as if all had been seen, and it can still be selected."""
    rng = np.random.default_rng(16)
    X = 0.01 * rng.standard_normal((400, 5))
    y = X[:, 2]
    learner = SparsePLS(5, theta=1, n_factors=1, forgetting=1.0, ridge=0.0)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        learner.update(x, target, observed=without(2, n=5) if t % 2 else np.ones(5, dtype=bool))
    assert np.flatnonzero(learner.factors).tolist() == [2]
    scale = learner._gap_scale()
    assert scale is not None
    np.testing.assert_allclose(scale**2, [1.0, 1.0, 2.0, 1.0, 1.0], rtol=1e-12)
    seen = X[::2, 2] ** 2
    assert learner._moments()[2, 2] * scale[2] ** 2 == pytest.approx(400 * seen.mean(), rel=1e-12)


def test_frozen_names_count_towards_the_limit_and_towards_the_target() -> None:
    X, Y = stream(17, T=60, p=8, q=1, scale=0.01)
    learner = SparsePLS(8, theta=4, n_factors=2, max_names=3)
    W = run(learner, X[:50], Y[:50])
    held = int(W[-1].argmax())
    w = learner.update(X[50], Y[50], observed=without(held, n=8))
    assert w[held] == W[-1, held]
    assert np.count_nonzero(w) <= 3
    assert w.sum() == pytest.approx(1.0, abs=1e-12)


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"theta": 7}, "theta must be at most the number of assets, 6, got 7"),
        ({"theta": 0}, "theta"),
        ({"max_names": 7}, "max_names must be at most the number of assets, 6, got 7"),
        ({"max_names": 0}, "max_names"),
        ({"n_factors": 7}, "n_factors must be at most the number of assets"),
        ({"n_factors": 4, "adapt_factors": FactorCount(3)}, "max_factors"),
        ({"adapt_factors": "yes"}, "adapt_factors"),
        ({"adapt_factors": FactorCount(h=-1.0)}, "h must be"),
        ({"alpha": 2.0}, "alpha"),
        ({"forgetting": 0.0}, "forgetting"),
        ({"forgetting": 1.1}, "forgetting"),
        ({"forgetting": "other"}, "forgetting"),
        ({"forgetting": SelfTuning(0.9, 0.5)}, "0 < a < b < 1"),
        ({"forgetting": SelfTuning(lam_min=0.9, lam_max=0.8)}, "lam_min"),
        ({"forgetting": [0.5] * 7}, "6 numbers"),
        ({"loading": "both"}, "loading"),
        ({"deflate": "dense"}, "deflate"),
        ({"mapping": "round"}, "mapping"),
        ({"q_space": "outer"}, "q_space"),
        ({"omega": [1.0, 0.0]}, "omega"),
        ({"omega": [1.0]}, "omega"),
        ({"n_targets": 0}, "n_targets"),
        ({"ridge": -1.0}, "ridge"),
        ({"loyalty": -0.1}, "loyalty"),
        ({"warm_up": 0}, "warm_up"),
        ({"delta0": 0.0}, "delta0"),
    ],
)
def test_bad_parameters_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        SparsePLS(6, **({"n_targets": 2} | change))


def test_targets_must_be_as_many_as_announced() -> None:
    learner = SparsePLS(3, n_targets=2)
    for bad in (0.01, [0.01], [0.01, 0.02, 0.03], [0.01, np.nan], [[0.01, 0.02]]):
        with pytest.raises(InputError, match="y"):
            learner.update([0.01, 0.0, 0.0], bad)
    assert learner.diagnostics()["held"] == 3.0


def test_parameters_survive_a_round_trip_in_plain_form() -> None:
    rule = FactorCount(4, cool=2)
    learner = SparsePLS(5, forgetting=SelfTuning(lam_min=0.5), adapt_factors=rule, n_factors=2)
    params = {k: list(v) if isinstance(v, tuple) else v for k, v in learner.params().items()}  # as JSON gives them back
    again = SparsePLS(5, **params)
    assert again.forgetting == SelfTuning(lam_min=0.5)
    assert again.adapt_factors == rule
