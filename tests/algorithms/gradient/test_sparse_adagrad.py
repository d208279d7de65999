"""Lazy evaluation: the numbers of AdaGrad at the cost of what an instance holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import AdaGrad, Box, FeasibleSet, RealSpace, Simplex, SparseAdaGrad
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import exact

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=60, deadline=None)
SETS = [RealSpace(), Box(-0.3, 0.4), Box(0.05, 0.5), Box(np.linspace(-1.0, 0.0, 30), 0.5)]
REGULARISERS: list[dict[str, Any]] = [{}, {"regulariser": "l1", "lam": 0.01}, {"regulariser": "l2sq", "lam": 0.05}]


def instances(seed: int, d: int, rounds: int, loss: str) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Positions, values and targets; a few entries each, at times none, and most coordinates long out of sight."""
    rng = np.random.default_rng(seed)
    w, made = rng.standard_normal(d), []
    for _ in range(rounds):
        index = np.sort(rng.choice(d, int(rng.integers(0, 4)), replace=False))
        values = rng.standard_normal(index.size)
        y = float(w[index] @ values + 0.1 * rng.standard_normal())
        made.append((index, values, float(np.copysign(1.0, y)) if loss == "hinge" else y))
    return made


def dense(index: np.ndarray, values: np.ndarray, d: int) -> np.ndarray:
    x = np.zeros(d)
    x[index] = values
    return x


@common
@given(
    seeds,
    st.sampled_from(["cmd", "rda"]),
    st.sampled_from(["squared", "eps_insensitive", "hinge"]),
    st.sampled_from(SETS),
    st.sampled_from(REGULARISERS),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
)
def test_the_numbers_are_those_of_the_dense_algorithm(
    seed: int, rule: str, loss: str, W: FeasibleSet, phi: dict[str, Any], delta: float, moved: bool
) -> None:
    d = 30
    start = W.project(np.random.default_rng(seed).standard_normal(d)) if moved else None
    parameters = {"rule": rule, "loss": loss, "eta": 0.3, "delta": delta, "feasible": W, "start": start, **phi}
    lazy, eager = SparseAdaGrad(d, **parameters), AdaGrad(d, **parameters)
    for index, values, y in instances(seed, d, 60, loss):
        before = lazy.predict(index, values)
        lost = lazy.update(index, values, y)
        w = eager.update(dense(index, values, d), y)
        assert before == pytest.approx(eager.diagnostics()["prediction"], abs=1e-12)
        assert lost == pytest.approx(eager.diagnostics()["loss"], abs=1e-12)
        np.testing.assert_allclose(lazy.weights, w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(lazy.H, eager.H, rtol=1e-12)


def test_only_the_coordinates_of_the_instance_are_written() -> None:
    """That is what makes a round independent of the dimension."""
    learner = SparseAdaGrad(1_000, regulariser="l1", lam=1e-3, start=np.ones(1_000))
    for index, values, y in instances(0, 1_000, 50, "hinge"):
        before = {name: getattr(learner, name).copy() for name in ("_value", "_sum2", "_last")}
        learner.update(index, values, y)
        for name, old in before.items():
            written = np.flatnonzero(getattr(learner, name) != old)
            assert np.isin(written, index).all()


@pytest.mark.parametrize("phi", REGULARISERS, ids=str)
@pytest.mark.parametrize("rule", ["cmd", "rda"])
def test_a_copy_continues_bit_by_bit(rule: str, phi: dict[str, Any]) -> None:
    made = instances(1, 20, 80, "squared")
    learner = SparseAdaGrad(20, loss="squared", rule=rule, eta=0.2, **phi)
    for instance in made[:40]:
        learner.update(*instance)
    stored = json.loads(json.dumps(learner.state_dict(), allow_nan=False))
    copies = [learner.clone(), SparseAdaGrad.from_state(stored)]
    expected = [learner.update(*instance) for instance in made[40:]]
    for other in copies:
        assert [other.update(*instance) for instance in made[40:]] == expected
        np.testing.assert_array_equal(other.weights, learner.weights)


@pytest.mark.parametrize(
    "bad",
    [
        ([0, 0], [1.0, 1.0], 1.0),
        ([2, 1], [1.0, 1.0], 1.0),
        ([-1], [1.0], 1.0),
        ([5], [1.0], 1.0),
        ([0.5], [1.0], 1.0),
        ([True], [1.0], 1.0),
        ([[0]], [1.0], 1.0),
        ([0, 1], [1.0], 1.0),
        ([0], [np.nan], 1.0),
        ([0], [np.inf], 1.0),
        ([0], [1e60], 1.0),
        ([0], ["1"], 1.0),
        ([0], [1.0], 0.5),
        ([0], [1.0], None),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:overflow encountered in dot")
def test_an_instance_that_cannot_be_used_changes_nothing(bad: tuple[Any, Any, Any]) -> None:
    learner = SparseAdaGrad(5, regulariser="l1", lam=0.01)
    learner.update([1, 3], [1.0, -2.0], 1.0)
    before = exact(learner.state_dict())
    with pytest.raises(InputError):
        learner.update(*bad)
    assert exact(learner.state_dict()) == before


def test_an_empty_instance_is_a_round() -> None:
    learner = SparseAdaGrad(3, loss="squared", regulariser="l1", lam=0.1, delta=1.0, start=[0.5, 0.0, 0.0])
    assert learner.update([], [], 1.0) == 0.5
    assert learner.weights.tolist() == [0.4, 0.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"feasible": Simplex()},
        {"regulariser": "l2", "lam": 1.0},
        {"regulariser": "l1"},
        {"rule": "sgd"},
        {"loss": "absolute"},
        {"eta": 0.0},
        {"delta": -1.0},
        {"start": [0.0]},
    ],
    ids=str,
)
def test_parameters_outside_their_domain(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        SparseAdaGrad(3, **wrong)
