"""PAS and APAS: the threshold stays in its domain, every branch of its derivative, its regret, and scaling with the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vector_ops.apas import follow, make_apas
from tests.vector_ops.bounds import threshold_regret
from tracker_strategies.algorithms import APAS, PA, PAS, AlphaSignal, Constant, NegativeLogReturn, RealSpace, Simplex
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.rounds import market, run

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 0.0},
        {"lam": -1.0},
        {"nu": 0.0},
        {"nu": -1e-4},
        {"nu": 1e-3},
        {"nu": 2e-3},
        {"D": 1e-4},
        {"eps": 0.9e-4},
        {"eps": 1.1e-3},
        {"eps": np.nan},
        {"G": 0.0},
        {"G": -1.0},
        {"G_mode": "guess"},
        {"variant": "PA-II", "C": 0.0},
        {"scale": True},
        {"side": None},
    ],
    ids=str,
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        APAS(3, **wrong)


@common
@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]))
def test_without_side_information_pas_is_pa(seed: int, variant: str) -> None:
    X, Y = market(5, 30, seed=seed)
    for side, lam in ((Constant(2.0), 0.3), (NegativeLogReturn(), 1e-13)):
        pas = PAS(5, side=side, lam=lam, eps=2e-4, variant=variant)
        np.testing.assert_allclose(run(pas, X, Y), run(PA(5, eps=2e-4, variant=variant), X, Y), rtol=0, atol=1e-12)


@common
@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]), st.sampled_from([1e-3, 1e-1]))
def test_invariants_of_the_threshold(seed: int, variant: str, lam: float) -> None:
    X, Y = market(5, 40, seed=seed)
    X[7] = 0.0
    learner = APAS(5, lam=lam, variant=variant)
    for x, y in zip(X, Y, strict=True):
        before = learner.diagnostics()
        learner.update(x, y)
        after = learner.diagnostics()
        error = abs(after["prediction"] - y)
        assert 1e-4 <= after["eps"] <= 1e-3
        assert after["G"] >= max(before["G"], abs(after["g_tilde"]))
        if error < 1e-4 or not x.any():
            assert after["eps"] == before["eps"]
        if before["eps"] >= error:
            assert after["eps"] <= before["eps"]


@common
@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]))
def test_the_derivative_is_that_of_the_envelope(seed: int, variant: str) -> None:
    """g is the derivative of f_t at eps_t, by central differences on PAS with neighbouring thresholds."""
    rng = np.random.default_rng(seed)
    x, y, w1 = 0.02 * rng.standard_normal(4), float(0.05 * rng.standard_normal()), rng.dirichlet(np.ones(4))
    eps, lam, step = 5e-4, 0.05, 1e-7
    settings_ = {"lam": lam, "variant": variant, "start": w1}
    found = follow(APAS(4, eps=eps, **settings_), [x], [y])
    if abs(abs(float(w1 @ x) - y) - eps) < 1e-4:
        return
    up, down = (follow(PAS(4, eps=e, **settings_), [x], [y])["f"][0] for e in (eps + step, eps - step))
    g = found["g"][0] if found["err"][0] > eps else 0.0
    assert (up - down) / (2 * step) == pytest.approx(g, rel=1e-4, abs=1e-5)


def sequence(seed: int, least: float, variant: str) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Rounds in R^3 whose errors are at least `least`, with h_t(w) = c_t.w; the targets are chosen along the way."""
    rng = np.random.default_rng(seed)
    X, c = rng.standard_normal((40, 3)), 0.3 * rng.standard_normal((40, 3))
    params = {"lam": 0.2, "nu": 0.5, "D": 1.0, "eps1": 0.75, "variant": variant, "C": 2.0, "W": {"kind": "Rn"}, "G_mode": "fixed"}
    gamma = 0.25 if variant == "PA-II" else 0.0
    params["G"] = float((np.abs((c * X).sum(axis=1)) / ((X**2).sum(axis=1) + gamma)).max())
    learner = make_apas(params, np.zeros(3), AlphaSignal())
    Y = np.zeros(40)
    for t in range(40):
        Y[t] = float(learner.weights @ X[t]) + rng.choice([-1.0, 1.0]) * rng.uniform(least, 3.0)
        learner.update(X[t], Y[t], signal=-c[t])
    return params, X, Y, c


@common
@given(seeds, st.sampled_from(["PA", "PA-II"]))
def test_theorem_2_holds_when_no_step_is_longer_than_the_one_before(seed: int, variant: str) -> None:
    params, X, Y, c = sequence(seed, 1.0, variant)  # errors >= D: eta_t = D sqrt(D)/(G sqrt(nu t)) decreases
    found = threshold_regret(params, X, Y, c, np.zeros(3))
    assert found["lhs"] <= found["rhs"]


def test_theorem_2_fails_as_printed() -> None:
    """Errors 1.01, 1.01, 2 with slopes +1, +1, -1: steps at large errors are twice as long, and the regret grows linearly."""
    params = {"lam": 0.25, "nu": 1.0, "D": 2.0, "eps1": 1.0, "G": 1.0, "G_mode": "fixed", "variant": "PA", "W": {"kind": "Rn"}}
    excess = []
    for rounds in (300, 600, 1200):
        c = np.tile([-1.0, -1.0, 1.0], rounds // 3)[:, None]
        learner = APAS(1, side=AlphaSignal(), lam=0.25, nu=1.0, D=2.0, eps=1.0, G_mode="fixed", feasible=RealSpace(), start=[0.0])
        Y = np.zeros(rounds)
        for t in range(rounds):
            Y[t] = float(learner.weights[0]) + (1.01 if t % 3 < 2 else 2.0)
            learner.update([1.0], Y[t], signal=-c[t])
        found = threshold_regret(params, np.ones((rounds, 1)), Y, c, [0.0])
        assert found["best_eps"] == 2.0
        excess.append(found["lhs"] / rounds)
    assert found["violated"]
    assert excess == pytest.approx([excess[-1]] * 3, rel=0.25)


# ------------------------------------------------------------------ other frequencies


@pytest.mark.parametrize("factor", [0.05, 1.0, 2.2])
def test_automatic_scale_follows_the_frequency_of_the_data(factor: float) -> None:
    """The same market at another scale: with scale="auto" as many rounds are passive; without it the share changes."""
    X, Y = market(20, 400, seed=3)
    passive = []
    for scale in (1.0, factor):
        learner = PAS(20, side=Constant(), eps=1e-3, scale="auto")
        losses = []
        for x, y in zip(scale * X, scale * Y, strict=True):
            learner.update(x, y)
            losses.append(learner.diagnostics()["loss"])
        passive.append(np.mean(np.array(losses) == 0.0))
    assert 0.0 < passive[0] < 1.0
    assert passive[1] == passive[0]


def test_automatic_scale_is_causal_and_forgets_a_spike() -> None:
    X, Y = market(10, 300, seed=4)
    scrambled = X.copy()
    scrambled[200:] = 3.0 * X[100:200]
    first, second = (run(APAS(10, scale="auto"), data, Y) for data in (X, scrambled))
    np.testing.assert_array_equal(first[:200], second[:200])
    spiked = X.copy()
    spiked[150] *= 50.0
    calm, shocked = APAS(10, scale="auto"), APAS(10, scale="auto")
    run(calm, X, Y)
    run(shocked, spiked, Y)
    assert shocked._variance <= 1.1 * calm._variance


def test_the_default_trade_off_is_one_over_the_number_of_assets() -> None:
    X, Y = market(4, 10, seed=5)
    np.testing.assert_array_equal(run(APAS(4), X, Y), run(APAS(4, lam=0.25), X, Y))
    assert APAS(4).feasible.kind == Simplex.kind
