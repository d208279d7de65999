"""SLAIT: the objective never increases, the published data, and the rolling learner."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.markets import real_market
from tests.vector_ops.registry import PROJECT_ROOT
from tracker_strategies.algorithms import SLAIT
from tracker_strategies.algorithms.passive_aggressive import slait
from tracker_strategies.algorithms.passive_aggressive.batch_slait import MEASURES, SlaitProblem, several_starts
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import assert_on_simplex, market, run, without

DATA = PROJECT_ROOT.parent / "shared" / "data" / "sp500_2010_daily_RETURNS.csv.gz"


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MEASURES), st.booleans(), st.sampled_from([0.3, 1.0]))
def test_the_objective_never_increases(seed: int, measure: str, accelerate: bool, u: float) -> None:
    X, r = market(8, 30, seed=seed)
    result = slait(X, r, lam=1e-6, u=u, measure=measure, accelerate=accelerate, huber=5e-4, starts=2)
    for values in result.objective:
        assert (np.diff(values) <= 1e-14 * abs(values[0])).all()
    assert_on_simplex(result.w)
    assert result.w.max() <= u + 1e-12
    assert result.iterations <= 1000


def test_a_higher_price_buys_fewer_assets() -> None:
    X, r = market(40, 120, seed=1)
    held = [np.count_nonzero(slait(X, r, lam=lam).w) for lam in (1e-9, 1e-6, 1e-4)]
    assert held[0] > held[1] > held[2] >= 1


def test_wide_tails_are_no_tails() -> None:
    X, r = market(10, 60, seed=2)
    for measure in ("ete", "dr"):
        np.testing.assert_array_equal(slait(X, r, measure="h" + measure, huber=1e3).w, slait(X, r, measure=measure).w)


def test_linear_tails_are_robust() -> None:
    rng = np.random.default_rng(3)
    X = 0.01 * rng.standard_normal((80, 6))
    w = np.array([0.5, 0.3, 0.2, 0.0, 0.0, 0.0])
    r = X @ w
    r[::20] += 0.3
    error = {measure: np.abs(slait(X, r, lam=1e-9, measure=measure, huber=1e-4).w - w).max() for measure in ("ete", "hete")}
    assert error["hete"] < 0.1 * error["ete"]


@pytest.mark.skipif(not DATA.exists(), reason="the shared returns of 2010 are not here: ../shared/data")
@pytest.mark.parametrize(("measure", "lam", "low", "high"), [("ete", 1e-7, 14.0, 16.5), ("dr", 2e-8, 17.0, 18.0)])
def test_the_sp500_of_2010(measure: str, lam: float, low: float, high: float) -> None:
    """Out-of-sample RMS in basis points and number of assets, u = 0.5, first half of the year for training.

    The problem is not convex and the extrapolation amplifies rounding: perturbed in the last digit, the data lead to neighbouring
    optima. So a handful of fits is judged by its median.
    """
    with gzip.open(DATA, "rt") as file:
        names = file.readline().strip().split(",")[1:]
        values = np.array([[float(v) for v in line.strip().split(",")[1:]] for line in file])
    index = names.index("INDEX")
    r, X = values[:, index], np.delete(values, index, axis=1)
    rng = np.random.default_rng(0)
    rms, held = [], []
    for noise in (0.0, 1e-15, 1e-15, 1e-15, 1e-15):
        moved = X[:126] * (1.0 + noise * rng.standard_normal(X[:126].shape))
        result = slait(moved, r[:126], lam=lam, u=0.5, measure=measure, starts=1)
        assert all((np.diff(v) <= 1e-14 * abs(v[0])).all() for v in result.objective)
        rms.append(1e4 * float(np.sqrt(((X[-126:] @ result.w - r[-126:]) ** 2).mean())))
        held.append(np.count_nonzero(result.w))
    assert low <= np.median(rms) <= high, rms
    assert 36 <= np.median(held) <= 50, held


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 0.0},
        {"lam": -1e-7},
        {"u": 0.1},
        {"u": -1.0},
        {"measure": "rms"},
        {"huber": 0.0},
        {"max_iter": 0},
        {"p": 0.0},
        {"starts": 0},
        {"starts": 2.5},
        {"seed": -1},
        {"seed": "x"},
    ],
    ids=str,
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    X, r = market(4, 10)
    with pytest.raises(ParameterError):
        slait(X, r, **wrong)
    if "p" not in wrong:
        with pytest.raises(ParameterError):
            SLAIT(4, **wrong)


def test_bad_data() -> None:
    X, r = market(4, 10)
    for bad in (X[0], X[:, :0], np.where(X > 0.01, np.nan, X)):
        with pytest.raises(InputError):
            slait(bad, r)
    with pytest.raises(InputError):
        slait(X, r[:-1])
    for wrong in ({"window": 1}, {"every": 0}, {"window": 2.5}):
        with pytest.raises(ParameterError):
            SLAIT(4, **wrong)


# ------------------------------------------------------------------ several starts


def rugged() -> tuple[np.ndarray, np.ndarray]:
    """Fewer rounds than names: many optima side by side."""
    return market(60, 40, seed=8)


def test_one_start_is_the_iteration_of_the_paper() -> None:
    X, r = market(12, 50, seed=7)
    found = slait(X, r, p=[1e-2, 1e-4], accelerate=False, starts=1)
    problem = SlaitProblem(X, r, lam=1e-7, caps=np.ones(12), u=1.0, measure="ete")
    w = np.full(12, 1.0 / 12.0)
    for p, values in zip([1e-2, 1e-4], found.objective, strict=True):
        for value in values[1:]:
            w = problem.step(w, p)
            assert problem.objective(w, p) == value
    np.testing.assert_allclose(found.w, np.where(w > 1e-9, w, 0.0), atol=1e-12)
    assert found.values.shape == (1,)
    assert found.spread == 0.0


def test_the_best_start_is_kept_and_the_spread_is_told() -> None:
    X, r = rugged()
    found = slait(X, r)
    problem = SlaitProblem(X, r, lam=1e-7, caps=np.ones(60), u=1.0, measure="ete")
    assert found.values.shape == (8,)
    assert problem.objective(found.w, 1e-7) == pytest.approx(found.values.min(), rel=1e-12)
    assert found.values.min() < found.values[0] <= slait(X, r, starts=1).values[0]
    assert found.spread == found.values.max() / found.values.min() - 1.0 > 0.01


def test_fitting_its_names_again_gains_nothing_more() -> None:
    X, r = rugged()
    found = slait(X, r)
    names = np.flatnonzero(found.w)
    alone = slait(X[:, names], r, starts=1)
    problem = SlaitProblem(X, r, lam=1e-7, caps=np.ones(60), u=1.0, measure="ete")
    assert alone.values[0] >= (1.0 - 1e-9) * problem.objective(found.w, 1e-7)


@pytest.mark.parametrize("measure", MEASURES)
def test_caps_hold_in_every_fit(measure: str) -> None:
    X, r = rugged()
    w = slait(X, r, lam=1e-5, u=0.08, measure=measure, starts=4).w
    assert_on_simplex(w)
    assert w.max() <= 0.08 + 1e-12


def test_a_fit_that_runs_out_of_iterations_goes_on_once() -> None:
    """One return of +94,600 %, an error in a price, makes every step tiny."""
    X, r = rugged()
    X[3, 7] = 946.0
    short, found = slait(X, r, starts=1, max_iter=50), slait(X, r, starts=2, max_iter=50)
    assert short.iterations == 50
    assert found.values[0] < short.values[0]


def test_more_starts_are_those_of_before_and_others() -> None:
    X, r = rugged()
    few, many = (slait(X, r, starts=k, seed=3).values for k in (4, 7))
    np.testing.assert_array_equal(many[:4], few)


def test_a_seed_is_a_set_of_starts() -> None:
    X, r = rugged()
    a, again = (slait(X, r, starts=3, seed=1) for _ in range(2))
    np.testing.assert_array_equal(a.values, again.values)
    np.testing.assert_array_equal(a.w, again.w)
    w = np.full(60, 1.0 / 60.0)
    one, other = (several_starts(w, X, 3, seed) for seed in (1, 2))
    np.testing.assert_array_equal(one[0], other[0])
    assert all((v != u).all() for v, u in zip(one[1:], other[1:], strict=True))


def test_the_moves_of_the_starts_go_with_the_names() -> None:
    X, _ = rugged()
    order = np.random.default_rng(0).permutation(60)
    w = np.full(60, 1.0 / 60.0)
    for one, other in zip(several_starts(w, X, 5, 0), several_starts(w, X[:, order], 5, 0), strict=True):
        np.testing.assert_array_equal(other, one[order])


def test_eight_starts_come_near_the_best_of_forty() -> None:
    panel = real_market("orlib_sp100_98_weekly")
    X, levels = panel.returns[-100:], panel.target_close[-101:, 0]
    r = levels[1:] / levels[:-1] - 1.0
    starts = several_starts(np.full(98, 1.0 / 98.0), X, 40, 1000)
    best = min(slait(X, r, start=start, starts=1).values[0] for start in starts)
    assert np.median([slait(X, r, seed=seed).values.min() for seed in range(5)]) <= 1.03 * best


def test_the_learner_tells_the_spread_of_its_last_fit() -> None:
    X, r = rugged()
    learner = SLAIT(60, window=40, every=40)
    assert learner.diagnostics()["spread"] == 0.0
    learner.run(X, r)
    assert learner.diagnostics()["spread"] == slait(X, r).spread > 0.0
    twin = SLAIT.from_state(learner.state_dict())
    assert twin.diagnostics() == learner.diagnostics()
    alone = SLAIT(60, window=40, every=40, starts=1)
    alone.run(X, r)
    assert alone.diagnostics()["spread"] == 0.0


# ------------------------------------------------------------------ rolling


def test_a_fit_of_the_learner_is_the_batch_fit_of_its_window() -> None:
    X, r = market(7, 43, seed=4)
    learner = SLAIT(7, window=20, every=10, lam=1e-6, u=0.4)
    W = run(learner, X, r)
    for t in (10, 20, 30, 40):
        window = slice(max(0, t - 20), t)
        np.testing.assert_array_equal(W[t - 1], slait(X[window], r[window], lam=1e-6, u=0.4).w)
        np.testing.assert_array_equal(W[t - 1], W[min(t + 2, 42)])
    assert learner.diagnostics()["fits"] == 4.0


@pytest.mark.parametrize("accelerate", [True, False])
def test_the_learner_continues_where_it_was_stored(accelerate: bool) -> None:
    X, r = market(6, 60, seed=5)
    learner = SLAIT(6, window=15, every=4, accelerate=accelerate)
    run(learner, X[:30], r[:30])
    twin = SLAIT.from_state(learner.state_dict())
    np.testing.assert_array_equal(run(twin, X[30:], r[30:]), run(learner, X[30:], r[30:]))


def test_newcomers_wait_for_a_history_and_frozen_assets_are_worked_around() -> None:
    X, r = market(6, 80, seed=6)
    learner = SLAIT(6, window=10, every=2, lam=1e-9)
    learner.restrict(without(2))
    run(learner, X[:20], r[:20], active=without(2))
    entered = run(learner, X[20:40], X[20:40, 2])  # the index is the newcomer now
    assert (entered[:7, 2] == 0.0).all()
    assert entered[-1, 2] > 0.9
    before = learner.weights
    for x, y in zip(X[40:60], r[40:60], strict=True):
        w = learner.update(x, y, observed=without(2))
        assert w[2] == before[2]
        assert_on_simplex(w)
