"""The VAW forecasters: what they compute, what they promise, and the portfolio that they lead to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vector_ops.registry import PROJECT_ROOT
from tracker_strategies.algorithms import VAW, CappedSimplex, DiscountedVAW, RealSpace, Simplex
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market

RN = RealSpace()


def stream(d: int, T: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((T, d)) * np.exp(rng.standard_normal(d))
    return X, X @ rng.standard_normal(d) + 0.3 * rng.standard_normal(T)


def ridge(X: np.ndarray, Y: np.ndarray, gamma: float, lam: float, prior: np.ndarray | None = None) -> np.ndarray:
    """Discounted ridge regression towards a prior, solved from scratch."""
    T, d = X.shape
    prior = np.zeros(d) if prior is None else prior
    weights = gamma ** np.arange(T - 1, -1, -1)
    sigma = gamma**T * lam * np.eye(d) + (X * weights[:, None]).T @ X
    return np.linalg.solve(sigma, (X * weights[:, None]).T @ Y + gamma**T * lam * prior)


def losses(learner: DiscountedVAW, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Half the squared errors of the forecasts, and the hints that went into them."""
    out = []
    for x, y in zip(X, Y, strict=True):
        learner.update(x, y)
        out.append([learner.diagnostics()["loss"], learner.diagnostics()["hint"]])
    return np.array(out)


# ------------------------------------------------------------------ what it computes

problems = st.fixed_dictionaries(
    {
        "d": st.integers(1, 8),
        "T": st.integers(1, 60),
        "seed": st.integers(0, 10_000),
        "lam": st.floats(1e-3, 1e2),
        "gamma": st.sampled_from([1.0, 0.999, 0.95, 0.8]),
    }
)


@given(problems)
@settings(max_examples=60, deadline=None)
def test_vaw_is_the_regularised_least_squares_problem_with_the_new_observation_in_it(p: dict[str, Any]) -> None:
    """gamma = 1, no hint: w_t minimises lam/2 |w|^2 + sum_{s<t} l_s(w) + (x_t.w)^2/2."""
    X, Y = stream(p["d"], p["T"], p["seed"])
    learner = VAW(p["d"], lam=p["lam"], prior=None)
    learner.run(X[:-1], Y[:-1])
    padded = np.append(Y[:-1], 0.0)
    expected = ridge(X, padded, 1.0, p["lam"])
    np.testing.assert_allclose(learner.improper_weights(X[-1]), expected, rtol=1e-9, atol=1e-9)
    assert learner.forecast(X[-1]) == pytest.approx(float(expected @ X[-1]), rel=1e-9, abs=1e-9)


@given(problems)
@settings(max_examples=60, deadline=None)
def test_the_weights_are_the_discounted_ridge_regression_towards_the_prior(p: dict[str, Any]) -> None:
    X, Y = stream(p["d"], p["T"], p["seed"])
    prior = np.random.default_rng(p["seed"]).dirichlet(np.ones(p["d"]))
    learner = DiscountedVAW(p["d"], gamma=p["gamma"], lam=p["lam"], prior=prior, feasible=RN)
    np.testing.assert_array_equal(learner.weights, prior)
    learner.run(X, Y)
    np.testing.assert_allclose(learner.weights, ridge(X, Y, p["gamma"], p["lam"], prior), rtol=1e-9, atol=1e-9)


@given(problems, st.sampled_from(["zero", "last", "self"]))
@settings(max_examples=30, deadline=None)
def test_the_forecast_is_the_return_of_the_improper_weights(p: dict[str, Any], hint: str) -> None:
    X, Y = stream(p["d"], p["T"], p["seed"])
    learner = DiscountedVAW(p["d"], gamma=p["gamma"], lam=p["lam"], hint=hint)
    for x, y in zip(X, Y, strict=True):
        before = learner.state_dict()
        forecast = learner.forecast(x)
        assert forecast == pytest.approx(float(learner.improper_weights(x) @ x), rel=1e-9, abs=1e-9)
        assert repr(learner.state_dict()) == repr(before), "a forecast is no round"
        learner.update(x, y)
        assert learner.diagnostics()["forecast"] == forecast


def test_the_hint_moves_the_forecast_and_not_the_portfolio() -> None:
    X, Y = market(5, 80)
    found = {hint: DiscountedVAW(5, hint=hint) for hint in ("zero", "last", "self")}
    portfolios = [learner.run(X, Y) for learner in found.values()]
    np.testing.assert_array_equal(portfolios[0], portfolios[1])
    np.testing.assert_array_equal(portfolios[0], portfolios[2])
    assert len({learner.forecast(X[0]) for learner in found.values()}) == 3


def test_weights_and_forecast_are_causal() -> None:
    """What comes after a round changes nothing before; the forecast may use the x of its own round, the weights may not."""
    X, Y = market(4, 30)
    other_X, other_Y = X.copy(), Y.copy()
    other_X[20:], other_Y[20:] = 3.0 * X[20:], -Y[20:]
    a, b = DiscountedVAW(4, hint="self").run(X, Y), DiscountedVAW(4, hint="self").run(other_X, other_Y)
    np.testing.assert_array_equal(a[:21], b[:21])
    assert not np.array_equal(a[21], b[21])


def test_without_data_the_weights_are_the_prior() -> None:
    prior = np.array([0.7, 0.2, 0.1])
    learner = VAW(3, lam=1e9, prior=prior)
    X, Y = market(3, 10)
    np.testing.assert_allclose(learner.run(X, Y), np.tile(prior, (11, 1)), atol=1e-9)
    with pytest.raises(ParameterError, match="prior"):
        VAW(3, prior="equal")
    with pytest.raises(ParameterError, match="prior"):
        VAW(3, prior=[0.5, 0.5])


def test_discounting_follows_a_change_and_vaw_does_not() -> None:
    rng = np.random.default_rng(3)
    X = 0.01 * rng.standard_normal((1200, 4))
    Y = np.where(np.arange(1200) < 800, X[:, 0], X[:, 1])
    vaw, discounted = VAW(4, lam=1e-3).run(X, Y)[-1], DiscountedVAW(4, gamma=0.98, lam=1e-3).run(X, Y)[-1]
    assert discounted[1] > 0.99
    assert 0.5 < vaw[0] < 0.8


def test_the_portfolio_lies_in_its_set() -> None:
    X, Y = market(6, 200)
    assert DiscountedVAW(6, lam=1e-4, feasible=CappedSimplex(0.3)).run(X, Y).max() <= 0.3 + 1e-12
    free = DiscountedVAW(6, lam=1e-4, feasible=RN).run(X, Y)
    projected = DiscountedVAW(6, lam=1e-4).run(X, Y)
    np.testing.assert_array_equal(projected[1:], [Simplex().project(v) for v in free[1:]])


def test_a_year_of_the_sp_500() -> None:
    """The figures that the defaults rest on: basis points a day in the second half, against 16.5 for equal weights."""
    path = PROJECT_ROOT.parent / "shared" / "data" / "sp500_2010_daily_RETURNS.csv.gz"
    if not path.exists():
        pytest.skip("the S&P 500 of 2010 is not here: ../shared/data is absent")
    table = pd.read_csv(path, index_col=0).dropna(axis=1)
    Y, X = table.pop("INDEX").to_numpy(), table.to_numpy()
    T, n = X.shape

    def error(learner: DiscountedVAW) -> float:
        portfolio = learner.run(X, Y)[:-1]
        return 1e4 * float(np.sqrt((((portfolio * X).sum(axis=1) - Y)[T // 2 :] ** 2).mean()))

    for lam, gamma, figure in ((1e-2, 1.0, 8.7), (1e-2, 0.99, 8.7), (1e-1, 1.0, 10.2), (1e-1, 0.99, 9.2)):
        assert error(DiscountedVAW(n, lam=lam, gamma=gamma)) == pytest.approx(figure, abs=0.06)
    assert error(VAW(n, prior=None)) == pytest.approx(9.9, abs=0.06)


# ------------------------------------------------------------------ what it promises


@given(problems)
@settings(max_examples=40, deadline=None)
def test_theorem_2_1(p: dict[str, Any]) -> None:
    X, Y = stream(p["d"], p["T"], p["seed"])
    d, lam = p["d"], p["lam"]
    total = losses(VAW(d, lam=lam, prior=None), X, Y)[:, 0].sum()
    u = ridge(X, Y, 1.0, lam)
    regret = total - 0.5 * float(((Y - X @ u) ** 2).sum())
    bound = 0.5 * lam * float(u @ u) + 0.5 * d * float((Y**2).max()) * np.log1p(float((X**2).sum()) / (lam * d))
    assert regret <= bound * (1.0 + 1e-9)


@given(problems, st.sampled_from(["zero", "last", "self"]))
@settings(max_examples=40, deadline=None)
def test_theorem_3_1_against_comparators_that_move(p: dict[str, Any], hint: str) -> None:
    (X, Y), gamma, lam = stream(p["d"], p["T"], p["seed"]), p["gamma"], p["lam"]
    (T, d), rng = X.shape, np.random.default_rng(p["seed"])
    U = np.cumsum(0.3 * rng.standard_normal((T, d)), axis=0)
    found = losses(DiscountedVAW(d, gamma=gamma, lam=lam, hint=hint, prior=None), X, Y)
    off = (Y - found[:, 1]) ** 2

    def F(t: int, w: np.ndarray) -> float:
        return float(0.5 * gamma**t * lam * (w @ w) + 0.5 * (gamma ** np.arange(t - 1, -1, -1) * (Y[:t] - X[:t] @ w) ** 2).sum())

    regret = found[:, 0].sum() - 0.5 * float(((Y - (X * U).sum(axis=1)) ** 2).sum())
    weighted = float(gamma ** np.arange(T - 1, -1, -1) @ (X**2).sum(axis=1))
    bound = (
        0.5 * gamma * lam * float(U[0] @ U[0])
        + 0.5 * d * float(off.max()) * np.log1p(weighted / (lam * d))
        + gamma * sum(F(t, U[t]) - F(t, U[t - 1]) for t in range(1, T))
        + 0.5 * d * np.log(1.0 / gamma) * float(off.sum())
    )
    assert regret <= bound + 1e-9 * abs(bound)


@given(problems, st.sampled_from(["zero", "last"]))
@settings(max_examples=40, deadline=None)
def test_lemma_d_1_the_clipped_hint_is_never_far_off(p: dict[str, Any], yref: str) -> None:
    X, Y = stream(p["d"], p["T"], p["seed"])
    found = losses(DiscountedVAW(p["d"], gamma=p["gamma"], lam=p["lam"], hint="self", yref=yref, prior=None), X, Y)
    references = np.concatenate(([0.0], Y[:-1])) if yref == "last" else np.zeros_like(Y)
    M = np.maximum.accumulate(np.concatenate(([0.0], np.abs(Y - references))))
    squares = (Y - found[:, 1]) ** 2
    assert (squares <= np.minimum(4.0 * M[1:] ** 2, 2.0 * found[:, 0] + M[1:] ** 2 - M[:-1] ** 2) + 1e-9 * M[1:] ** 2).all()


# ------------------------------------------------------------------ several targets


def test_several_targets_share_the_matrix_and_are_otherwise_apart() -> None:
    X, y = market(5, 70)
    Y = np.column_stack([y, -0.5 * y, X[:, 2]])
    for rounds in (0, 5):
        options: dict[str, Any] = {"gamma": 0.97, "hint": "self", "lam": 1e-3, "feasible": RN, "dual_rounds": rounds}
        joint = DiscountedVAW(5, n_targets=3, omega=[2.0, 1.0, 1.0], **options)
        single = [DiscountedVAW(5, **options) for _ in range(3)]
        for x, row in zip(X, Y, strict=True):
            np.testing.assert_allclose(joint.forecast(x), [s.forecast(x) for s in single], rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(joint.improper_weights(x), [s.improper_weights(x) for s in single], rtol=1e-9, atol=1e-10)
            mean = np.array([0.5, 0.25, 0.25]) @ [s.update(x, target) for s, target in zip(single, row, strict=True)]
            np.testing.assert_allclose(joint.update(x, row), mean, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("bad", [[0.01, 0.02, 0.03], [0.01, np.nan], 0.01, [1e200, 0.0], "x"])
def test_bad_targets_are_refused(bad: Any) -> None:
    learner = VAW(2, n_targets=2)
    with pytest.raises(InputError, match="y "):
        learner.update([0.01, 0.02], bad)


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": 0.0},
        {"gamma": 1.1},
        {"lam": 0.0},
        {"hint": "next"},
        {"yref": "first"},
        {"floor": -1.0},
        {"n_targets": 0},
        {"omega": [0.0]},
        {"omega": [0.5, 0.5]},
        {"dual_rounds": -1},
        {"dual_rounds": False},
    ],
)
def test_bad_parameters_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        DiscountedVAW(3, **wrong)
