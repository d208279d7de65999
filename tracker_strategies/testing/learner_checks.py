"""What every learner promises, as plain functions of a factory."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.errors import raises, require
from tracker_strategies.testing.rounds import FloatArray, Make, fingerprint, market, run


def check_shape_of_the_class(make: Make) -> None:
    """It has the shape of a learner: weights of n assets, update, predict, diagnostics as finite floats."""
    learner = make(5)
    require(learner.n_assets == 5)
    require(learner.weights.shape == (5,))
    require(learner.weights.dtype == np.float64)
    X, Y = market(5, 3)
    returned = learner.update(X[0], Y[0])
    np.testing.assert_array_equal(returned, learner.weights)
    require(abs(learner.predict(X[1]) - float(learner.weights @ X[1])) <= 1e-15, "predict(x) is not w.x")
    require(all(isinstance(v, float) and np.isfinite(v) for v in learner.diagnostics().values()))
    require(type(learner).__name__ in repr(learner))


def check_clone_is_independent(make: Make) -> None:
    """A copy, by whatever means, is equal and independent."""
    X, Y = market(6, 20, seed=1)
    learner = make.train()
    before = fingerprint(learner)
    for twin in (learner.clone(), copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        require(type(twin) is type(learner))
        require(fingerprint(twin) == before)
        run(twin, X, Y)
        require(fingerprint(learner) == before, "updating the clone changed the original")
    twin = learner.clone()
    kept = fingerprint(twin)
    run(learner, X, Y)
    require(fingerprint(twin) == kept, "updating the original changed the clone")


def check_many_rounds_at_once_equal_one_by_one(make: Make) -> None:
    """run(X, Y) equals update, round by round."""
    X, Y = market(6, 25, seed=2)
    one, other = make.trained(), make.trained()
    expected = np.vstack([one.weights, run(one, X, Y)])
    np.testing.assert_array_equal(other.run(X, Y), expected)
    require(fingerprint(other) == fingerprint(one))
    X[20, 3] = np.nan
    with raises(InputError):
        other.run(X, Y)
    with raises(InputError, "shape"):
        other.run(X[:, :5], Y)


def check_state_round_trip(make: Make) -> None:
    """A state taken in mid-stream, also through JSON and pickle, restores to a bit-equal continuation."""
    X, Y = market(6, 25, seed=2)
    active = np.array([True, True, False, True, True, True])
    for masks in ({}, {"active": active}):
        learner = make.trained()
        learner.update(X[0], Y[0], **masks)
        state = learner.state_dict()
        copies = [type(learner).from_state(state), type(learner).from_state(pickle.loads(pickle.dumps(state)))]
        if not any(isinstance(v, np.ndarray) for v in state["state"].values()):
            copies.append(type(learner).from_state(json.loads(json.dumps(state, allow_nan=False))))
        # The second half has no mask: whether an asset is a newcomer then is part of the state.
        half = len(X) // 2
        expected = [run(learner, X[1:half], Y[1:half], **masks), run(learner, X[half:], Y[half:])]
        for restored in copies:
            np.testing.assert_array_equal(run(restored, X[1:half], Y[1:half], **masks), expected[0])
            again = type(learner).from_state(restored.state_dict())
            np.testing.assert_array_equal(run(again, X[half:], Y[half:]), expected[1])
            run(restored, X[half:], Y[half:])
            require(fingerprint(restored) == fingerprint(learner))


def check_state_is_not_shared(make: Make) -> None:
    """Changing a state that was handed out changes nothing in the learner."""
    learner = make.trained()
    before = fingerprint(learner)
    state = learner.state_dict()
    for value in state["state"].values():
        if isinstance(value, list | np.ndarray) and len(value):
            value[0] = 99.0
    require(fingerprint(learner) == before)


def check_broken_state_is_refused(make: Make) -> None:
    """A state of another kind raises a ParameterError."""
    cls, state = type(make(3)), make.trained(3).state_dict()
    for broken in (
        {},
        {k: v for k, v in state.items() if k != "state"},
        state | {"algorithm": "Another"},
        state | {"version": 999},
        state | {"params": {"no_such_parameter": 1}},
        state | {"state": {k: v for k, v in state["state"].items() if k != "_w"}},
        state | {"n_assets": 4},
    ):
        with raises(ParameterError):
            cls.from_state(broken)


def check_inputs_are_neither_changed_nor_kept(make: Make) -> None:
    """Inputs are neither changed nor kept."""
    X, Y = market(6, 12, seed=3)
    learner, untouched = make.trained(), make.trained()
    active, observed = np.array([True] * 5 + [False]), np.array([False] + [True] * 5)
    for x, y in zip(X, Y, strict=True):
        given = [x.copy(), active.copy(), observed.copy()]
        learner.update(given[0], y, active=given[1], observed=given[2])
        np.testing.assert_array_equal(given[0], x)
        np.testing.assert_array_equal(given[1], active)
        np.testing.assert_array_equal(given[2], observed)
        for array in given:
            array[:] = 0
        untouched.update(x, y, active=active, observed=observed)
        require(fingerprint(learner) == fingerprint(untouched), "the learner kept a view of its input")


def check_weights_cannot_corrupt_the_state(make: Make) -> None:
    """Weights that were handed out are read-only and never change."""
    learner = make(4)
    history = [(w, w.copy()) for w in (learner.weights, *_run(learner, *market(4, 8)))]
    restricted = learner.clone()
    restricted.restrict(np.array([True, True, True, False]))
    for each in (make(4), learner, learner.clone(), restricted):
        before = fingerprint(each)
        with raises(ValueError, "read-only"):
            each.weights[0] = 5.0
        require(fingerprint(each) == before)
    for returned, as_it_was in history:
        np.testing.assert_array_equal(returned, as_it_was)


def _run(learner: OnlineAlgorithm, X: FloatArray, Y: FloatArray) -> list[FloatArray]:
    return [learner.update(x, y) for x, y in zip(X, Y, strict=True)]


def check_permuting_assets_permutes_weights(make: Make) -> None:
    """Permuting assets permutes weights."""
    X, Y = market(7, 40, seed=4)
    order = np.random.default_rng(5).permutation(7)
    np.testing.assert_allclose(run(make(7), X[:, order], Y), run(make(7), X, Y)[:, order], rtol=0, atol=1e-10)


def check_memory_does_not_grow(make: Make) -> None:
    """Memory does not grow with the rounds."""
    learner = make(5)
    X, Y = market(5, 400, seed=6)
    run(learner, X[:50], Y[:50])
    early = _footprint(learner)
    run(learner, X[50:], Y[50:])
    require(_footprint(learner) == early)


def _footprint(thing: Any) -> int:
    """Count array elements and entries of containers, however deep."""
    if isinstance(thing, np.ndarray):
        return thing.size if thing.base is None else _footprint(thing.base)
    if isinstance(thing, dict):
        return len(thing) + sum(_footprint(v) for v in thing.values())
    if isinstance(thing, list | tuple | set):
        return len(thing) + sum(_footprint(v) for v in thing)
    return _footprint(vars(thing)) if hasattr(thing, "__dict__") and not callable(thing) else 1


def check_universe_of_one(make: Make) -> None:
    """A universe of one asset works."""
    learner = make(1)
    for x, y in zip(*market(1, 30), strict=True):
        w = learner.update(x, y)
        require(w.shape == (1,))
        require(np.isfinite(w).all())
    if learner.feasible.portfolio:
        require(abs(w[0] - 1.0) <= 1e-12)


BAD_X = {
    "NaN": [0.01, np.nan, 0.0, 0.0, 0.0, 0.0],
    "inf": [0.01, np.inf, 0.0, 0.0, 0.0, 0.0],
    "-inf": [0.01, 0.0, 0.0, -np.inf, 0.0, 0.0],
    "too short": [0.01] * 5,
    "too long": [0.01] * 7,
    "a column": [[0.01]] * 6,
    "a number": 0.01,
    "text": ["0.01"] * 6,
    "complex": [0.01 + 1j] * 6,
    "None": None,
    "objects": [None] * 6,
    "truth values": [True] * 6,
    "ragged": [[0.01], [0.01, 0.02], 0, 0, 0, 0],
    "no return at all": [1e200] * 6,
}
BAD_Y = {
    "NaN": np.nan,
    "inf": np.inf,
    "-inf": -np.inf,
    "text": "0.01",
    "None": None,
    "two": np.array([0.01, 0.02]),
    "complex": 1j,
    "huge": 1e200,
}
BAD_MASKS = {
    "too short": [True] * 5,
    "integers": [1] * 6,
    "a number": True,
    "matrix": [[True] * 6],
}


def check_bad_input_changes_nothing(make: Make) -> None:
    """Bad input raises an InputError and changes nothing."""
    learner, (X, Y) = make.trained(), market(6, 10, seed=7)
    before, expected = fingerprint(learner), run(learner.clone(), X, Y)
    attempts: list[Callable[[], Any]] = []
    attempts += [partial(learner.update, bad, 0.01) for bad in BAD_X.values()]
    attempts += [partial(learner.predict, bad) for bad in BAD_X.values()]
    attempts += [partial(learner.update, X[0], bad) for bad in BAD_Y.values()]
    attempts += [partial(learner.update, X[0], 0.01, active=bad) for bad in BAD_MASKS.values()]
    attempts += [partial(learner.update, X[0], 0.01, observed=bad) for bad in BAD_MASKS.values()]
    attempts += [partial(learner.restrict, bad) for bad in BAD_MASKS.values()]
    attempts += [
        lambda: learner.restrict(np.zeros(6, dtype=bool)),
        lambda: learner.update(X[0], 0.01, active=np.zeros(6, dtype=bool)),
        lambda: learner.update(BAD_X["NaN"], 0.01, active=np.array([True, True, False, True, True, True])),
        lambda: learner.update(BAD_X["NaN"], 0.01, observed=np.array([True, True, False, True, True, True])),
        lambda: learner.update(X[0], np.nan, observed=np.array([True, True, False, True, True, True])),
    ]
    for number, attempt in enumerate(attempts):
        with np.errstate(over="ignore"), raises(InputError, what=f"bad input {number}"):
            attempt()
        require(fingerprint(learner) == before, f"attempt {number} changed the state")
    np.testing.assert_array_equal(run(learner, X, Y), expected)


def check_equivalent_input_gives_equal_weights(make: Make) -> None:
    """Lists, tuples, float32 and strided arrays give the same weights."""
    X, Y = market(5, 10, seed=8)
    X32 = X.astype(np.float32)
    expected = run(make(5), X32.astype(float), Y)
    forms: list[Callable[[FloatArray], Any]] = [list, tuple, lambda x: x, lambda x: np.repeat(x.astype(float), 2)[::2]]
    for form in forms:
        learner = make(5)
        np.testing.assert_allclose(
            [learner.update(form(x), np.float64(y)) for x, y in zip(X32, Y, strict=True)], expected, rtol=0, atol=1e-13
        )


def check_the_layout_of_the_input_changes_no_bit(make: Make) -> None:
    """The layout of the input in memory changes no bit of the result."""
    X, Y = market(23, 25, seed=9)
    expected = run(make(23), X, Y)
    rows = np.asfortranarray(X)
    wide = np.repeat(X, 3, axis=1)[:, ::3]
    backwards = np.ascontiguousarray(X[:, ::-1])[:, ::-1]
    table = np.zeros(X.shape, dtype=[("date", "i8"), ("close", "f8")])
    table["close"] = X
    for layout in (rows, wide, backwards, table["close"], X.astype(">f8")):
        one, many = make(23), make(23)
        np.testing.assert_array_equal(run(one, layout, Y), expected)
        np.testing.assert_array_equal(many.run(layout, Y)[1:], expected)
        require(fingerprint(one) == fingerprint(many))


def check_bad_number_of_assets(make: Make) -> None:
    """A bad number of assets raises a ParameterError."""
    learner = make(5)
    cls: Any = type(learner)
    given = list(inspect.signature(cls).parameters.values())[1:]
    needed = {each.name: getattr(learner, each.name) for each in given if each.default is each.empty}
    for bad in (0, -3, 2.5, True, "3", None):
        with raises(ParameterError, "" if needed else "n_assets"):
            cls(bad, **needed)
