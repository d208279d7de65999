"""Sets whose limits give way: those of their parents as long as the names of a round can keep them, the simplex where not."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import PA, CappedSimplex, FeasibleSet, GroupedSimplex, Holdings, Simplex, Vote
from tracker_strategies.algorithms.sets import YieldingCaps, YieldingGroups, feasible_from_dict
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.testing.rounds import assert_on_simplex, fingerprint, market, without

N = 6
UNEVEN = [0.5, 0.4, 0.3, 0.2, 0.2, 0.1]
GROUPS = [[0, 1, 2], [3, 4]]
PAIRS: list[tuple[FeasibleSet, FeasibleSet]] = [
    (YieldingCaps(0.25), CappedSimplex(0.25)),
    (YieldingCaps(UNEVEN), CappedSimplex(UNEVEN)),
    (YieldingGroups(GROUPS, upper=[0.4, 0.3]), GroupedSimplex(GROUPS, upper=[0.4, 0.3])),
    (YieldingGroups(GROUPS, [0.2, 0.1], [0.4, 0.3], UNEVEN[::-1]), GroupedSimplex(GROUPS, [0.2, 0.1], [0.4, 0.3], UNEVEN[::-1])),
]
each_pair = pytest.mark.parametrize(("W", "parent"), PAIRS, ids=lambda W: type(W).__name__)
masks = st.lists(st.sampled_from(["free", "fixed", "absent"]), min_size=N, max_size=N).filter(lambda names: "free" in names)


@each_pair
def test_the_projection_is_that_of_the_parent(W: FeasibleSet, parent: FeasibleSet) -> None:
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(W.start(N), parent.start(N))
    for scale in (0.01, 0.3, 5.0):
        y = scale * rng.standard_normal(N)
        np.testing.assert_array_equal(W.project(y), parent.project(y))
        assert W.contains(W.project(y))
    assert not W.contains(np.eye(N)[0])


@each_pair
@settings(max_examples=100, deadline=None)
@given(names=masks, seed=st.integers(0, 2**32 - 1))
def test_a_slice_is_that_of_the_parent_or_the_simplex_where_the_parent_has_none(
    W: FeasibleSet, parent: FeasibleSet, names: list[str], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    w, y = rng.dirichlet(np.ones(N)), rng.standard_normal(N)  # weights that prices may have carried over any limit
    free, fixed = (np.array([name == kind for name in names]) for kind in ("free", "fixed"))
    part = W.slice(free, fixed, w)
    try:
        expected = parent.slice(free, fixed, w)
    except InputError:
        assert type(part) is Simplex
        expected = Simplex().slice(free, fixed, w)
    np.testing.assert_array_equal(part.project(y[free]), expected.project(y[free]))
    assert w[fixed].sum() + part.project(y[free]).sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("W", "free", "fixed", "left"),
    [
        (YieldingCaps(0.25), without(0, 1, 2), [], 1.0),  # three names of at most 25 % each
        (YieldingCaps(0.25), without(0, 1, 2, 3), [0], 0.6),  # two such beside one that is halted at 40 %
        (YieldingGroups(GROUPS, upper=[0.4, 0.3]), without(5), [], 1.0),  # two sectors of at most 40 % and 30 %
        (YieldingGroups(GROUPS, lower=[0.0, 0.1]), without(3, 4), [], 1.0),  # a sector that must be held, and cannot
        (YieldingGroups(GROUPS, lower=[0.7, 0.0]), without(0, 1, 2), [0], 0.6),  # the same, halted below its floor
    ],
)
def test_limits_that_cannot_be_kept_in_a_round_give_way(W: FeasibleSet, free: np.ndarray, fixed: list[int], left: float) -> None:
    w, halted = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.2]), np.isin(np.arange(N), fixed)
    part = W.slice(free, halted, w)
    assert isinstance(part, Simplex)
    assert part.total == pytest.approx(left, abs=1e-15)


@pytest.mark.parametrize("W", [YieldingCaps(0.2), YieldingGroups([[0, 1, 2]], upper=0.9)], ids=lambda W: type(W).__name__)
def test_limits_that_all_names_together_cannot_keep_are_refused_all_the_same(W: FeasibleSet) -> None:
    with pytest.raises(ParameterError):
        PA(3, feasible=W)


@pytest.mark.parametrize("wrap", [lambda a: a, lambda a: Holdings(N, learner=a), lambda a: Vote(N, members=[a])])
@each_pair
def test_a_learner_goes_on_where_its_limits_give_way_and_keeps_them_again_after(
    W: FeasibleSet, parent: FeasibleSet, wrap
) -> None:
    X, Y = market(N, 60, seed=3)
    learner, strict = wrap(PA(N, eps=0.0, feasible=W)), wrap(PA(N, eps=0.0, feasible=parent))
    np.testing.assert_array_equal(learner.run(X[:20], Y[:20]), strict.run(X[:20], Y[:20]))
    few = without(0, 1, 2, 5)
    with pytest.raises(InputError):
        strict.update(X[20], Y[20], active=few)
    for x, y in zip(X[20:30], Y[20:30], strict=True):
        w = learner.update(x, y, active=few)
        assert_on_simplex(w)
        assert not w[~few].any()
    assert not W.contains(w, 1e-6)
    for w in learner.run(X[30:], Y[30:])[3:]:
        assert W.contains(w, 1e-12)


@each_pair
def test_a_description_survives_json(W: FeasibleSet, parent: FeasibleSet) -> None:
    again = feasible_from_dict(json.loads(json.dumps(W.to_dict(), allow_nan=False)))
    assert type(again) is type(W)
    assert W.to_dict() == again.to_dict() == parent.to_dict() | {"kind": W.kind}
    y = np.random.default_rng(1).standard_normal(N)
    np.testing.assert_array_equal(again.project(y), W.project(y))


@each_pair
def test_a_state_is_read_back(W: FeasibleSet, parent: FeasibleSet) -> None:
    X, Y = market(N, 40, seed=4)
    learner = Holdings(N, learner=PA(N, eps=0.0, feasible=W))
    learner.run(X[:20], Y[:20])
    again = Holdings.from_state(json.loads(json.dumps(learner.state_dict(), allow_nan=False)))
    assert type(again.feasible) is type(W)
    np.testing.assert_array_equal(again.run(X[20:], Y[20:]), learner.run(X[20:], Y[20:]))
    assert fingerprint(again) == fingerprint(learner)


@each_pair
def test_a_state_is_read_where_nothing_else_was_loaded(W: FeasibleSet, parent: FeasibleSet) -> None:
    learner = PA(N, feasible=W)
    code = "import json, sys; from tracker_strategies.algorithms import PA; print(PA.from_state(json.load(sys.stdin)))"
    run = [sys.executable, "-c", code]
    printed = subprocess.run(run, input=json.dumps(learner.state_dict()), capture_output=True, text=True, check=True).stdout
    assert printed.strip() == repr(learner)
