"""Wrappers in every order: the result keeps every limit and drifts as it should, or the combination is refused with a way out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.wrappers.halfway import Halfway
from tracker_strategies.algorithms import (
    AROW,
    PA,
    RDA,
    AdaGrad,
    CappedSimplex,
    ConstantWeights,
    DiscountedVAW,
    FeasibleSet,
    Holdings,
    LeastSquares,
    OnlineAlgorithm,
    Simplex,
    Tilted,
    Vote,
)
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing.composition import (
    CHAINS,
    IDENTITIES,
    SETS,
    WRAPPERS,
    Chain,
    N,
    check_chain,
    check_composition,
    is_refused,
)
from tracker_strategies.testing.rounds import assert_on_simplex, fingerprint, market

LEARNERS: dict[str, Callable[[int, FeasibleSet], OnlineAlgorithm]] = {
    "passive": lambda n, W: PA(n, eps=1.0, feasible=W),
    "aggressive": lambda n, W: PA(n, eps=0.0, feasible=W),
    "regression": lambda n, W: DiscountedVAW(n, gamma=0.95, lam=1e-4, feasible=W),
}


WITH_ONES_OWN = WRAPPERS | {"Halfway": lambda n, a: Halfway(n, learner=a)}
LONGER: list[Chain] = [chain for k in range(4) for chain in itertools.product(WITH_ONES_OWN, repeat=k)]
"""Chains of the project's wrappers and of one without a rank."""


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_combination_keeps_every_limit_or_is_refused_with_a_way_out(
    make: Callable[[int, FeasibleSet], OnlineAlgorithm],
) -> None:
    check_composition(make)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CHAINS), st.sampled_from(list(SETS)), st.integers(0, 10**6))
def test_limits_hold_on_any_stream(chain: Chain, limits: str, seed: int) -> None:
    check_chain(chain, limits, LEARNERS["aggressive"](N, SETS[limits]), seed)


@pytest.mark.parametrize("limits", SETS)
def test_a_wrapper_without_a_rank_goes_everywhere_but_into_holdings(limits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WRAPPERS, "Halfway", WITH_ONES_OWN["Halfway"])
    monkeypatch.setitem(IDENTITIES, "Halfway", lambda n, a: Halfway(n, learner=a, pace=1.0))
    for chain in LONGER:
        if "Halfway" in chain:
            check_chain(chain, limits, LEARNERS["aggressive"](N, SETS[limits]))


def test_what_breaks_a_limit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tilted, "_shape", lambda self, turn, wish: np.eye(N)[0])
    with pytest.raises(AssertionError, match=r"Tilted of PA on CappedSimplex: .* is outside of the set after round 1"):
        check_chain(("Tilted",), "CappedSimplex", PA(N, feasible=SETS["CappedSimplex"]))
    with pytest.raises(AssertionError, match="Tilted with nothing to do, at place 0, moves weights"):
        check_chain((), "Simplex", PA(N))
    monkeypatch.setattr(Tilted, "_check", classmethod(lambda cls, learner: None))
    with pytest.raises(AssertionError, match=r"Tilted of Tilted of PA on Simplex .* is not refused"):
        check_chain(("Tilted", "Tilted"), "Simplex", PA(N))


# ------------------------------------------------------------------ order


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (lambda: Vote(2, members=[Tilted(2, learner=PA(2))]), "Tilted(n, learner=Vote(n, members=[..., ...]))"),
        (
            lambda: Vote(2, members=[Halfway(2, learner=Vote(2, members=[PA(2)]))]),
            "keep one of them: Vote(n, members=[..., ...])",
        ),
        (lambda: Tilted(2, learner=Tilted(2, learner=PA(2))), "keep one of them: Tilted(n, learner=...)"),
        (lambda: Holdings(2, learner=Holdings(2, learner=PA(2))), "keep one of them: Holdings(n, learner=...)"),
        (
            lambda: Vote(2, members=[Halfway(2, learner=Tilted(2, learner=PA(2)))]),
            "Vote goes inside Tilted, not around it: Tilted(n, learner=Vote(n, members=[..., ...]))",
        ),
    ],
)
def test_a_wrong_order_is_refused_with_the_right_one(wrong: Callable[[], OnlineAlgorithm], right: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(right)):
        wrong()


def test_a_wrapper_copies_its_learner_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copies: list[PA] = []
    monkeypatch.setattr(PA, "fresh", lambda self: copies.append(OnlineAlgorithm.fresh(self)) or copies[-1])
    for wrap in (lambda a: Holdings(3, learner=a), lambda a: Vote(3, members=[a]), lambda a: Tilted(3, learner=a)):
        copies.clear()
        wrap(PA(3))
        assert len(copies) == 1


# ------------------------------------------------------------------ drift

STILL = (
    WRAPPERS
    | {name: IDENTITIES[name] for name in ("Tilted", "Budgeted")}
    | {"Halfway": lambda n, a: Halfway(n, learner=a, pace=1.0)}
)


@pytest.mark.parametrize("chain", [c for c in LONGER if c[-1:] == ("Holdings",) and not is_refused(c)], ids="-".join)
def test_a_passive_learner_in_holdings_drifts_through_every_wrapper(chain: tuple[str, ...]) -> None:
    for make in (lambda n: PA(n, eps=1.0), ConstantWeights, lambda n: AdaGrad(n)):
        learner = make(2)
        for name in reversed(chain):
            learner = STILL[name](2, learner)
        np.testing.assert_allclose(learner.update([0.1, 0.0], 0.05), [0.55 / 1.05, 0.5 / 1.05], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in WITH_ONES_OWN if name != "Holdings"])
def test_holdings_around_a_wrapper_tells_the_right_order(name: str) -> None:
    wrapper = WITH_ONES_OWN[name](2, PA(2))
    inside = r"Holdings\(n, learner=\.\.\.\)"
    way_out = rf"{name}\(n, (learner={inside}(, plain=\.\.\.)?|members=\[{inside}, \.\.\.\])\)"
    with pytest.raises(ParameterError, match=way_out):
        Holdings(2, learner=wrapper)


def test_a_wrapper_of_ones_own_is_recognised() -> None:
    class Twice(OnlineAlgorithm):
        def __init__(self, n_assets: int) -> None:
            super().__init__(n_assets, feasible=Simplex())
            self._pair = [PA(n_assets), PA(n_assets, eps=0.0)]

        def _learn(self, *_: Any) -> np.ndarray:
            raise NotImplementedError

    with pytest.raises(ParameterError, match="Twice"):
        Holdings(3, learner=Twice(3))


@pytest.mark.parametrize("learner", [AdaGrad(3, rule="rda"), RDA(3, eta=1.0), AROW(3)], ids=lambda a: type(a).__name__)
def test_learners_that_do_not_go_on_from_what_they_hold_are_refused(learner: OnlineAlgorithm) -> None:
    with pytest.raises(ParameterError, match="drift"):
        Holdings(3, learner=learner)


def test_what_prices_carry_over_a_cap_is_brought_back() -> None:
    learner = Holdings(4, learner=PA(4, eps=1.0, feasible=CappedSimplex(0.25)))
    np.testing.assert_allclose(learner.update([0.1, 0.0, 0.0, 0.0], 0.0), np.full(4, 0.25), atol=1e-15)
    learner = Holdings(4, learner=PA(4, eps=1.0, feasible=CappedSimplex(0.26)))
    w = learner.update([0.1, 0.0, -0.1, 0.0], 0.0)
    assert w[0] == pytest.approx(0.26, abs=1e-15)
    assert w[2] < w[1] == w[3] < w[0]


def test_constant_weights_in_holdings_are_bought_and_held() -> None:
    X, Y = market(4, 500, scale=0.03)
    start = np.array([0.1, 0.2, 0.3, 0.4])
    learner = Holdings(4, learner=ConstantWeights(4, start=start))
    shares = start * np.cumprod(1.0 + X, axis=0)
    np.testing.assert_allclose(learner.run(X, Y)[1:], shares / shares.sum(axis=1, keepdims=True), atol=1e-13)
    twin = Holdings.from_state(learner.state_dict())
    np.testing.assert_array_equal(twin.run(X, Y), learner.run(X, Y))


# ------------------------------------------------------------------ learners that know something already


def trained(learner: OnlineAlgorithm) -> OnlineAlgorithm:
    learner.run(*market(4, 20))
    return learner


@pytest.mark.parametrize("name", WITH_ONES_OWN)
@pytest.mark.parametrize(
    "make", [lambda: PA(4), lambda: LeastSquares(4, gamma=[1.0, 0.9]), lambda: ConstantWeights(4)], ids=["PA", "LS", "constant"]
)
def test_a_learner_that_has_learned_is_refused_and_left_as_it_is(name: str, make: Callable[[], OnlineAlgorithm]) -> None:
    learner = trained(make())
    before = fingerprint(learner)
    with pytest.raises(ParameterError, match=r"learned from 20 rounds already.*fresh\(\)"):
        WITH_ONES_OWN[name](4, learner)
    assert fingerprint(learner) == before
    WITH_ONES_OWN[name](4, learner.fresh())


@pytest.mark.parametrize("name", [name for name in WITH_ONES_OWN if name != "Holdings"])
def test_so_is_a_wrapper_that_has_learned(name: str) -> None:
    with pytest.raises(ParameterError, match="Halfway has learned"):
        WITH_ONES_OWN[name](4, trained(Halfway(4, learner=PA(4))))


@pytest.mark.parametrize("name", WITH_ONES_OWN)
def test_a_learner_that_was_restricted_is_refused(name: str) -> None:
    learner = PA(4)
    learner.restrict([True, True, True, False])
    with pytest.raises(ParameterError, match=r"restricted.*fresh\(\)"):
        WITH_ONES_OWN[name](4, learner)


# ------------------------------------------------------------------ weights of its own


def apart() -> Halfway:
    """A wrapper that holds something else than its learner, after a round in which a name was not seen."""
    learner = Halfway(5, learner=PA(5, eps=0.0))
    learner.update([0.05, 0.0, 0.0, -0.05, 0.0], 0.05)
    learner.update([0.0, -0.05, 0.05, 0.0, 0.0], 0.05, observed=[False, True, True, True, True])
    assert np.abs(learner.weights - learner._inner.weights).max() > 0.01
    return learner


def test_nothing_moves_while_nobody_is_seen() -> None:
    learner = apart()
    before = learner.weights
    for _ in range(3):
        np.testing.assert_array_equal(learner.update(np.zeros(5), 0.01, observed=np.zeros(5, dtype=bool)), before)


def test_names_that_cannot_be_traded_keep_the_weights_of_the_wrapper_and_not_those_inside() -> None:
    learner = apart()
    rng = np.random.default_rng(0)
    for _ in range(50):
        before, seen = learner.weights, rng.random(5) < 0.6
        w = learner.update(0.02 * rng.standard_normal(5), 0.01 * rng.standard_normal(), observed=seen)
        np.testing.assert_array_equal(w[~seen], before[~seen])
        assert_on_simplex(w)


def test_what_leaves_goes_to_the_others_inside_and_outside() -> None:
    learner, stay = apart(), np.array([True, True, False, True, True])
    assert learner.weights[2] > 0.0
    w = learner.restrict(stay)
    assert w[2] == learner._inner.weights[2] == 0.0
    for weights in (w, learner._inner.weights):
        assert_on_simplex(weights)
    assert np.abs(w - learner._inner.weights).max() > 0.01
