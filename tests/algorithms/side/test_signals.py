"""What the user brings: a signal in each round, functions of their own."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from tracker_strategies.algorithms import APAS, PAS, AlphaSignal, NegativeLogReturn, Round, Simplex, SwitchingCost, UserDefined
from tracker_strategies.errors import InputError, ParameterError


def test_the_signal_of_a_round_moves_the_weights_towards_it() -> None:
    learner, x = PAS(3, side=AlphaSignal(), lam=0.1), np.zeros(3)
    w = learner.update(x, 0.0, signal=[0.3, 0.0, -0.3])
    np.testing.assert_allclose(w, [1 / 3 + 0.03, 1 / 3, 1 / 3 - 0.03], rtol=0, atol=1e-15)


def test_a_missing_useless_or_broken_signal_is_refused_and_changes_nothing() -> None:
    reader, deaf = APAS(3, side=NegativeLogReturn() + AlphaSignal()), APAS(3)
    x = [0.01, -0.01, 0.0]
    before = (reader.state_dict(), deaf.state_dict())
    for attempt in (
        lambda: reader.update(x, 0.01),
        lambda: reader.update(x, 0.01, signal=[1.0, 2.0]),
        lambda: reader.update(x, 0.01, signal=[1.0, np.nan, 0.0]),
        lambda: reader.update(x, 0.01, signal="abc"),
        lambda: deaf.update(x, 0.01, signal=[1.0, 2.0, 3.0]),
    ):
        with pytest.raises(InputError):
            attempt()
    assert (reader.state_dict(), deaf.state_dict()) == before
    reader.update(x, 0.01, signal=[1.0, np.nan, 0.0], observed=[True, False, True])
    assert APAS(3, side=AlphaSignal(optional=True)).update(x, 0.01).sum() == pytest.approx(1.0)


def test_a_gradient_alone_is_enough() -> None:
    rng = np.random.default_rng(3)
    x, w = 0.02 * rng.standard_normal(8), rng.dirichlet(np.ones(8))
    mine = UserDefined(lambda z, at: -at.x / (1 + at.x @ z))
    at, v = Round(x, w), w + 0.01 * rng.standard_normal(8)
    np.testing.assert_allclose(
        mine.prox(v, 0.1, Simplex(), at), NegativeLogReturn().prox(v, 0.1, Simplex(), at), rtol=0, atol=1e-9
    )
    both = mine + SwitchingCost(0.01)
    exact = NegativeLogReturn() + SwitchingCost(0.01)
    np.testing.assert_allclose(both.prox(v, 0.1, Simplex(), at), exact.prox(v, 0.1, Simplex(), at), rtol=0, atol=1e-9)
    with pytest.raises(ParameterError, match="has no function for its value"):
        mine.value(w, at)
    with pytest.raises(InputError, match="gradient"):
        UserDefined(lambda z, at: np.full(3, np.nan)).prox(v, 0.1, Simplex(), at)


def quadratic_gradient(w: np.ndarray, at: Round) -> np.ndarray:
    return 2.0 * w


def test_learners_with_functions_can_be_copied_and_restored_by_hand() -> None:
    learner = PAS(3, side=0.5 * UserDefined(quadratic_gradient), lam=0.1)
    x, y = [0.01, -0.01, 0.02], 0.01
    learner.update(x, y)
    for twin in (
        learner.clone(),
        copy.deepcopy(learner),
        pickle.loads(pickle.dumps(learner)),
        PAS.from_state(learner.state_dict(), side=learner.side),
    ):
        np.testing.assert_array_equal(twin.update(x, y), learner.clone().update(x, y))
    with pytest.raises(ParameterError, match="pass the term again"):
        PAS.from_state(learner.state_dict())
