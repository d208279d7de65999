"""AdaGrad: nothing in the data can break it; its defaults, its parameters and its manners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.algorithms.gradient.adagrad_runs import Played
from tracker_strategies.algorithms import AdaGrad, Box, CappedSimplex, GroupedSimplex, L1Ball, RealSpace
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import market

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
