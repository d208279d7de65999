"""Side information: every proximal step is optimal, whatever the term and the set; signals, sums, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import (
    APAS,
    PAS,
    AlphaSignal,
    Box,
    CappedSimplex,
    Constant,
    FeasibleSet,
    GroupedSimplex,
    GroupLasso,
    Hyperplane,
    L1Ball,
    Linear,
    NegativeLogReturn,
    Quadratic,
    RealSpace,
    Round,
    SideInformation,
    Simplex,
    Sum,
    SwitchingCost,
    UserDefined,
    WeightedL1,
)
from tracker_strategies.algorithms.numerics import kinks
from tracker_strategies.algorithms.numerics.log_prox import log_return_root, log_return_simplex
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.algorithms.side import side_from_dict
from tracker_strategies.algorithms.side.convex_approximation import sca
from tracker_strategies.errors import InputError, ParameterError

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)
N = 6

SETS: dict[str, FeasibleSet] = {
    "simplex": Simplex(),
    "capped": CappedSimplex(0.4),
    "grouped": GroupedSimplex([[0, 1], [2, 3, 4]], [0.1, 0.2], [0.3, 0.6]),
    "l1": L1Ball(0.9),
    "hyperplane": Hyperplane([1.0, 2.0, -1.0, 0.5, 1.0, 1.0], 0.7),
    "box": Box(-0.1, 0.3),
    "Rn": RealSpace(),
}


def terms(rng: np.random.Generator) -> dict[str, SideInformation]:
    return {
        "log": NegativeLogReturn(2.0),
        "switching": SwitchingCost(0.3),
        "drifted": SwitchingCost(0.3, against="drifted"),
        "l1": WeightedL1(rng.uniform(0, 1, N)),
        "group": GroupLasso([[0, 1, 2], [4, 5]], [0.4, 0.7]),
        "linear": Linear(rng.standard_normal(N)),
        "alpha": AlphaSignal(0.5),
        "quadratic": Quadratic(1.5),
        "log + switching + l1": NegativeLogReturn() + SwitchingCost(0.2) + WeightedL1(rng.uniform(0, 0.4, N)),
        "two references": SwitchingCost(0.2) + SwitchingCost(0.1, rng.dirichlet(np.ones(N))) + WeightedL1(0.05),
        "two returns": NegativeLogReturn() + NegativeLogReturn(0.5, 0.1 * rng.standard_normal(N)),
        "group + switching": GroupLasso([[0, 1, 2], [4, 5]], [0.4, 0.7]) + SwitchingCost(0.1),
        "all": Sum(
            [NegativeLogReturn(), SwitchingCost(0.1), Quadratic(0.5, rng.dirichlet(np.ones(N))), AlphaSignal(), Constant(3.0)]
        ),
    }


NAMES = list(terms(np.random.default_rng(0)))


def case(seed: int) -> tuple[dict[str, SideInformation], np.ndarray, Round, np.random.Generator]:
    rng = np.random.default_rng(seed)
    at = Round(0.05 * rng.standard_normal(N), rng.dirichlet(np.full(N, 0.7)), rng.standard_normal(N))
    return terms(rng), at.w + 0.3 * rng.standard_normal(N), at, rng


@settings(max_examples=5, deadline=None)
@given(seeds)
@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", NAMES)
def test_no_point_of_the_set_is_better(name: str, kind: str, seed: int) -> None:
    made, v, at, rng = case(seed)
    h, W, lam = made[name], SETS[kind], float(10.0 ** rng.uniform(-2, 0))
    w = h.prox(v, lam, W, at)
    assert W.contains(w)

    def objective(z: np.ndarray) -> float:
        return h.value(z, at) + float(((z - v) ** 2).sum()) / (2.0 * lam)

    best = objective(w)
    tolerance = 1e-9 if "group" in name or "two returns" in name else 1e-13
    for size in (1e-6, 1e-3, 0.1):
        for z in w + size * rng.standard_normal((12, N)):
            assert objective(W.project(z)) >= best - tolerance * max(1.0, abs(best))


@common
@given(seeds)
def test_the_exact_step_of_the_log_return_and_algorithm_2_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    lam, x = float(10.0 ** rng.uniform(-4, 0)), 0.03 * rng.standard_normal(n)
    w = rng.dirichlet(np.full(n, 0.5))
    v = w + 10.0 ** rng.uniform(-4, 1) * rng.standard_normal(n)
    at = Round(x, w)
    exact = NegativeLogReturn().prox(v, lam, Simplex(), at)
    np.testing.assert_allclose(
        exact, sca(lambda z: -x / (1 + x @ z), v, lam, Simplex().project, w, tol=1e-15), rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(exact, log_return_root(Simplex().project, v, lam, x, w), rtol=0, atol=1e-13)


@common
@given(seeds, st.sampled_from([3, 50, 700]))
def test_the_exact_step_satisfies_its_optimality_conditions_to_rounding(seed: int, n: int) -> None:
    """w = [v + (lam/s) x - theta]_+ with s = 1 + x.w and sum w = 1."""
    rng = np.random.default_rng(seed)
    lam, x, w = float(10.0 ** rng.uniform(-3, 0)), 0.02 * rng.standard_normal(n), rng.dirichlet(np.ones(n))
    v = w + 0.02 * rng.standard_normal(n) / n
    got = log_return_simplex(v, lam, x, 1.0, w)
    z = v + lam * x / (1.0 + float(x @ got))
    theta = (z - got)[got > 0]
    assert np.ptp(theta) <= 1e-15
    assert (z[got == 0] <= theta.min() + 1e-15).all()
    assert abs(got.sum() - 1.0) <= 1e-14


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("name", ["switching", "two references", "log + switching + l1"])
def test_sorted_breakpoints_and_newton_agree(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(10):
        made, v, at, _ = case(seed)
        by_newton = made[name].prox(v, 0.3, SETS[kind], at)
        with monkeypatch.context() as patch:
            patch.setattr(kinks, "MAX_NEWTON", 0)
            np.testing.assert_allclose(made[name].prox(v, 0.3, SETS[kind], at), by_newton, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "wrong", [{"rho": 0.0}, {"rho": 1.0}, {"gamma": 0.0}, {"gamma": 1.5}, {"tol": -1.0}, {"max_iter": 0}], ids=str
)
def test_steps_of_algorithm_2_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        sca(lambda w: w, np.ones(2), 0.1, Simplex().project, np.full(2, 0.5), **wrong)


@common
@given(seeds, st.floats(0.1, 300.0))
def test_steep_side_information_is_solved_too(seed: int, steep: float) -> None:
    """Where lam times the curvature is beyond 1, the printed steps swing for ever between two wrong answers."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((6, 6))
    A = A @ A.T
    A *= steep / np.linalg.eigvalsh(A)[-1]
    v = rng.standard_normal(6)
    exact, _ = solve_simplex_qp(A + np.eye(6), v)
    got = UserDefined(lambda w, at: A @ w).prox(v, 1.0, Simplex(), Round(np.zeros(6), np.full(6, 1 / 6)))
    np.testing.assert_allclose(got, exact, rtol=0, atol=1e-7)


def test_side_information_that_never_settles_is_refused() -> None:
    with pytest.raises(InputError, match="does not converge"):
        sca(lambda w: -9.0 * w, np.array([0.1, -0.1]), 1.0, lambda z: z, np.array([0.5, 0.5]), max_iter=5)


@pytest.mark.parametrize("x", [[1e6, 0.0, 0.0], [-1.0, 0.5, 0.0], [-1.0, -1.0, -0.999], [1e40, 1e40, -1.0], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("lam", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_extreme_returns_and_trade_offs(x: list[float], lam: float, scale: float) -> None:
    scale = scale if min(x) == 0.0 or max(x) > 0.0 else 1.0  # else only weights next to ruin would do, nearer than rounding
    v = scale * np.array([0.2, 0.5, 0.4])
    w = NegativeLogReturn().prox(v, lam, Simplex(), Round(np.array(x), np.full(3, 1.0 / 3.0)))
    assert w.min() >= 0.0
    assert abs(w.sum() - 1.0) <= 1e-12
    assert 1.0 + w @ np.array(x) > 0.0


def test_equal_prices_of_holding_change_nothing_on_the_simplex() -> None:
    v, at = np.array([0.5, 0.9, -0.2]), Round(np.zeros(3), np.full(3, 1 / 3))
    np.testing.assert_allclose(WeightedL1(2.0).prox(v, 0.7, Simplex(), at), Simplex().project(v), rtol=0, atol=1e-15)


def test_switching_cost_prices_real_turnover() -> None:
    at = Round(np.array([0.1, -0.1]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(at.drifted(), [0.55, 0.45])
    assert SwitchingCost(1.0, against="drifted").value(np.array([0.55, 0.45]), at) == pytest.approx(0.0)
    held = SwitchingCost(10.0, against="drifted").prox(at.w, 1.0, Simplex(), at)
    np.testing.assert_array_equal(held, at.drifted())
    with pytest.raises(InputError, match="lost everything"):
        SwitchingCost(1.0, against="drifted").prox(at.w, 1.0, Simplex(), Round(np.array([-1.0, -1.0]), at.w))


def test_a_learner_with_a_large_switching_cost_never_trades() -> None:
    learner = PAS(3, side=SwitchingCost(1e3, against="drifted"), lam=1.0, eps=0.0)
    rng = np.random.default_rng(0)
    for x in 0.02 * rng.standard_normal((20, 3)):
        held = learner.weights * (1 + x) / (1 + learner.weights @ x)
        np.testing.assert_allclose(learner.update(x, 0.05), held, rtol=0, atol=1e-15)


# ------------------------------------------------------------------ algebra, storage, bad input


@pytest.mark.parametrize("name", NAMES)
def test_terms_scale_slice_and_survive_storage(name: str) -> None:
    made, v, at, _ = case(5)
    h = made[name]
    again = side_from_dict(h.to_dict())
    assert repr(again) == repr(h)
    assert again.value(at.w, at) == h.value(at.w, at)
    assert (3.0 * h).value(v, at) == pytest.approx(3.0 * h.value(v, at))
    np.testing.assert_allclose((3.0 * h).gradient(v, at), 3.0 * h.gradient(v, at))
    free = np.array([True, False, True, True, False, True])
    part = Round(at.x[free], at.w[free], None if at.signal is None else at.signal[free])
    assert h.slice(free).prox(v[free], 0.1, Simplex(), part).shape == (4,)


@pytest.mark.parametrize("name", [n for n in NAMES if "group" not in n])
def test_gradients_are_those_of_the_values(name: str) -> None:
    made, v, at, _ = case(6)
    h = made[name]
    for i in range(N):
        step = np.eye(N)[i] * 1e-6
        assert (h.value(v + step, at) - h.value(v - step, at)) / 2e-6 == pytest.approx(h.gradient(v, at)[i], abs=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NegativeLogReturn(-1.0),
        lambda: SwitchingCost(-0.1),
        lambda: SwitchingCost(0.1, against="yesterday"),
        lambda: WeightedL1([0.1, -0.2]),
        lambda: GroupLasso([[0, 1], [1, 2]]),
        lambda: GroupLasso([[0, 1], []]),
        lambda: GroupLasso([[0], [1]], [1.0]),
        lambda: GroupLasso([[-1]]),
        lambda: Linear([np.nan]),
        lambda: Quadratic(np.inf),
        lambda: UserDefined("gradient"),
        lambda: -1.0 * SwitchingCost(0.1),
        lambda: Sum([1.0]),
        lambda: side_from_dict({"term": "magic"}),
        lambda: side_from_dict({"term": "switching", "price": 1.0}),
        lambda: PAS(3, side="log"),
        lambda: PAS(3, side=WeightedL1([0.1, 0.2])),
        lambda: PAS(3, side=GroupLasso([[0, 3]])),
        lambda: PAS(3, lam=0.0),
        lambda: PAS(3, lam=-1e-3),
        lambda: PAS(3, lam=np.nan),
        lambda: PAS(3, eps=-1e-9),
        lambda: PAS(3, scale="weekly"),
        lambda: PAS(3, variant="PA", C=1.0),
    ],
)
def test_parameters_outside_their_domain(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()


@pytest.mark.parametrize("learner", [PAS(3), APAS(3), APAS(3, side=NegativeLogReturn() + SwitchingCost(0.1))], ids=repr)
@pytest.mark.parametrize("x", [[-1.5, 0.0, 0.0], [-1.0, -1.0, -1.0], [-2.0, -2.0, -2.0], [0.0, 0.0, -1e9]])
def test_a_loss_of_more_than_everything_is_refused_and_changes_nothing(learner: Any, x: list[float]) -> None:
    before = learner.state_dict()
    with pytest.raises(InputError, match="100 %"):
        learner.update(x, 0.01)
    assert learner.state_dict() == before


def test_no_portfolio_with_a_positive_return_is_refused_on_other_sets_too() -> None:
    at = Round(np.array([-3.0, -3.0]), np.array([0.5, 0.5]))
    with pytest.raises(InputError, match="no allowed portfolio"):
        NegativeLogReturn().prox(at.w, 1.0, Hyperplane(), at)
