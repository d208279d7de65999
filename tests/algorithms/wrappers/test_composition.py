"""Wrappers in every order: the result keeps every limit and drifts as it should, or the combination is refused with a way out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import (
    AROW,
    PA,
    RDA,
    AdaGrad,
    CappedSimplex,
    ConstantWeights,
    CostAware,
    DiscountedVAW,
    FeasibleSet,
    Holdings,
    LeastSquares,
    OnlineAlgorithm,
    Simplex,
    Tilted,
    TopNames,
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
from tracker_strategies.testing.rounds import fingerprint, market

LEARNERS: dict[str, Callable[[int, FeasibleSet], OnlineAlgorithm]] = {
    "passive": lambda n, W: PA(n, eps=1.0, feasible=W),
    "aggressive": lambda n, W: PA(n, eps=0.0, feasible=W),
    "regression": lambda n, W: DiscountedVAW(n, gamma=0.95, lam=1e-4, feasible=W),
}


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_combination_keeps_every_limit_or_is_refused_with_a_way_out(
    make: Callable[[int, FeasibleSet], OnlineAlgorithm],
) -> None:
    check_composition(make)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(CHAINS), st.sampled_from(list(SETS)), st.integers(0, 10**6))
def test_limits_hold_on_any_stream(chain: Chain, limits: str, seed: int) -> None:
    check_chain(chain, limits, LEARNERS["aggressive"](N, SETS[limits]), seed)


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
            lambda: Vote(2, members=[CostAware(2, learner=Vote(2, members=[PA(2)]))]),
            "keep one of them: Vote(n, members=[..., ...])",
        ),
        (lambda: Tilted(2, learner=Tilted(2, learner=PA(2))), "keep one of them: Tilted(n, learner=...)"),
        (lambda: Holdings(2, learner=Holdings(2, learner=PA(2))), "keep one of them: Holdings(n, learner=...)"),
        (
            lambda: Tilted(2, learner=TopNames(2, learner=PA(2), max_names=1)),
            "TopNames(n, learner=Tilted(n, learner=...), max_names=1)",
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

STILL = WRAPPERS | {name: IDENTITIES[name] for name in ("Tilted", "Budgeted")}


@pytest.mark.parametrize("chain", [c for c in CHAINS if c[-1:] == ("Holdings",) and not is_refused(c, False)], ids="-".join)
def test_a_passive_learner_in_holdings_drifts_through_every_wrapper(chain: tuple[str, ...]) -> None:
    for make in (lambda n: PA(n, eps=1.0), ConstantWeights, lambda n: AdaGrad(n)):
        learner = make(2)
        for name in reversed(chain):
            learner = STILL[name](2, learner)
        np.testing.assert_allclose(learner.update([0.1, 0.0], 0.05), [0.55 / 1.05, 0.5 / 1.05], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in WRAPPERS if name != "Holdings"])
def test_holdings_around_a_wrapper_tells_the_right_order(name: str) -> None:
    wrapper = WRAPPERS[name](2, PA(2))
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


def test_a_limit_on_one_member_of_a_vote_is_enough_to_refuse() -> None:
    vote = Vote(4, members=[PA(4), PA(4, feasible=CappedSimplex(0.4))])
    for make in (TopNames, CostAware):
        with pytest.raises(ParameterError, match="CappedSimplex"):
            make(4, learner=vote)


# ------------------------------------------------------------------ learners that know something already


def trained(learner: OnlineAlgorithm) -> OnlineAlgorithm:
    learner.run(*market(4, 20))
    return learner


@pytest.mark.parametrize("name", WRAPPERS)
@pytest.mark.parametrize(
    "make", [lambda: PA(4), lambda: LeastSquares(4, gamma=[1.0, 0.9]), lambda: ConstantWeights(4)], ids=["PA", "LS", "constant"]
)
def test_a_learner_that_has_learned_is_refused_and_left_as_it_is(name: str, make: Callable[[], OnlineAlgorithm]) -> None:
    learner = trained(make())
    before = fingerprint(learner)
    with pytest.raises(ParameterError, match=r"learned from 20 rounds already.*fresh\(\)"):
        WRAPPERS[name](4, learner)
    assert fingerprint(learner) == before
    WRAPPERS[name](4, learner.fresh())


@pytest.mark.parametrize("name", [name for name in WRAPPERS if name not in ("Holdings", "TopNames")])
def test_so_is_a_wrapper_that_has_learned(name: str) -> None:
    with pytest.raises(ParameterError, match="CostAware has learned"):
        WRAPPERS[name](4, trained(CostAware(4, learner=PA(4))))


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_learner_that_was_restricted_is_refused(name: str) -> None:
    learner = PA(4)
    learner.restrict([True, True, True, False])
    with pytest.raises(ParameterError, match=r"restricted.*fresh\(\)"):
        WRAPPERS[name](4, learner)


# ------------------------------------------------------------------ few names


def test_names_that_cannot_be_traded_fill_the_limit_without_dust() -> None:
    learner = TopNames(5, learner=PA(5, eps=0.0), max_names=2)
    rng = np.random.default_rng(0)
    for _ in range(200):
        held = learner.weights > 0.0
        learner.update(0.02 * rng.standard_normal(5), 0.01 * rng.standard_normal())
        held = learner.weights > 0.0
        w = learner.update(0.02 * rng.standard_normal(5), 0.01, observed=~held)
        np.testing.assert_array_equal(w, np.where(held, w, 0.0))
        assert np.count_nonzero(w) <= 2


def test_nothing_moves_while_nobody_is_seen() -> None:
    learner = TopNames(5, learner=PA(5, eps=0.0), max_names=2)
    learner.update([0.05, 0.0, 0.0, -0.05, 0.0], 0.05)
    learner.update([0.0, -0.05, 0.05, 0.0, 0.0], 0.05, observed=[False, True, True, True, True])
    before = learner.weights
    for _ in range(3):
        np.testing.assert_array_equal(learner.update(np.zeros(5), 0.01, observed=np.zeros(5, dtype=bool)), before)
