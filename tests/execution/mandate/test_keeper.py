"""What a mandate promises of a single decision, whatever is held and wished for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.account import AccountState, Decided
from tracker_strategies.execution.mandate.fills import FillGuard
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.rebalancer import Rebalancer

EXACT = 1e-9
MANY = settings(max_examples=200, deadline=None)
FREE = CostModel()
COSTS = [FREE, CostModel(bps=20), CostModel(bps=5, slippage_bps=10), CostModel(per_share=0.005, bps=1)]
SECTORS = ("one", "two", "three")


class Case(NamedTuple):
    """An account, a wish, and a market that the keeper has seen."""

    seed: int
    wish: np.ndarray
    sizes: np.ndarray
    prices: np.ndarray
    cash: float
    costs: CostModel

    @property
    def symbols(self) -> tuple[str, ...]:
        return tuple(f"S{i}" for i in range(len(self.wish)))

    @property
    def sectors(self) -> dict[str, str]:
        return {symbol: SECTORS[i % 3] for i, symbol in enumerate(self.symbols)}

    @property
    def account(self) -> AccountState:
        return AccountState.of(self.sizes, self.prices, self.cash, None, None)

    def keeper(self, entered: bool = True, **limits: Any) -> Keeper:
        keeper = Keeper(Mandate(**limits), self.symbols)
        rng = np.random.default_rng(self.seed)
        for x in 0.01 * rng.standard_normal((30, len(self.wish))) + 0.01 * rng.standard_normal((30, 1)):
            keeper.learn(x, float(x.mean()), self.wish)
        keeper.entered = entered
        return keeper

    def decide(self, entered: bool = True, **limits: Any) -> Decided:
        return self.keeper(entered, **limits).decide(self.wish, self.account, self.costs, None)

    def after(self, decided: Decided, keep: float = 0.0, lot: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
        """Trades, shares and cash, filled at the prices of the decision."""
        deltas = decided.trades(self.account, Rebalancer(self.costs, lot), keep)
        return deltas, self.sizes + deltas, self.cash + self.costs.cash_flow(deltas, self.prices)


@st.composite
def cases(draw: Any, costs: Sequence[CostModel] = (FREE,)) -> Case:
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(3, 12))
    wish = rng.dirichlet(np.full(n, draw(st.sampled_from([0.3, 1.0, 20.0]))))
    wish[rng.random(n) < 0.2] = 0.0
    assume(wish.any())
    wish /= wish.sum()
    prices = np.exp(rng.uniform(1.0, 5.0, n))
    held = rng.dirichlet(np.full(n, 1.0)) * draw(st.sampled_from([0.0, 0.9, 0.99]))
    if draw(st.booleans()) and held.any():  # near the wish
        held = wish * np.exp(0.05 * rng.standard_normal(n))
        held *= 0.99 / held.sum()
    return Case(seed, wish, 1e6 * held / prices, prices, 1e6 * (1.0 - float(held.sum())), draw(st.sampled_from(costs)))


@MANY
@given(cases())
def test_a_wish_within_the_limits_comes_back_bit_for_bit(case: Case) -> None:
    decided = case.decide(max_weight=1.0, sectors=case.sectors, max_sector=1.0, max_names=12, max_turnover=2.0)
    assert (decided.weights == case.wish).all()


@MANY
@given(cases())
def test_what_is_held_already_sends_no_order(case: Case) -> None:
    assume(case.sizes.any())
    held = case.account.held
    wish = held / held.sum()
    cash = 1.0 - held.sum()
    keeper = case.keeper(min_cash=cash, max_weight=1.0)
    decided = keeper.decide(wish, case.account, FREE, None)
    assert (case.after(decided, cash)[0] == 0.0).all()


@MANY
@given(cases(COSTS), st.sampled_from([0.01, 0.2]))
def test_all_limits_hold_together_and_the_rest_is_invested(case: Case, cash: float) -> None:
    n = len(case.wish)
    limits = {"max_weight": 1.5 / n, "sectors": case.sectors, "max_sector": 0.5, "min_sector": {"two": 0.2}, "min_cash": cash}
    decided = case.decide(**limits, must_hold={"S0": 0.05})
    w = decided.weights
    assert w.sum() == pytest.approx(1.0 - cash, abs=1e-12)
    assert w.min() >= 0.0
    assert w.max() <= 1.5 / n + EXACT
    assert w[0] >= 0.05 - EXACT
    sums = [sum(w[i] for i in range(n) if i % 3 == k) for k in range(3)]
    assert max(sums) <= 0.5 + EXACT
    assert sums[1] >= 0.2 - EXACT
    _, held, left = case.after(decided, cash)
    worth = left + held @ case.prices
    assert left / worth == pytest.approx(cash, abs=EXACT)  # of what is left after the costs
    after, paid = held * case.prices / worth, 1.0 - worth / case.account.value
    np.testing.assert_allclose(after, w, rtol=0, atol=EXACT + paid)
    assert (after[decided.moved] <= w[decided.moved] + EXACT).all()
    np.testing.assert_array_equal(held[~decided.moved], case.sizes[~decided.moved])


@MANY
@given(cases())
def test_excluded_names_are_sold_and_frozen_ones_left_alone(case: Case) -> None:
    assume(case.account.held[1] < 0.9)
    decided = case.decide(exclude=["S0"], freeze=["S1"])
    deltas, held, _ = case.after(decided)
    assert decided.weights[0] == held[0] == 0.0
    assert deltas[1] == 0.0
    assert decided.weights[1] == pytest.approx(case.account.held[1], abs=1e-15)
    assert decided.weights.sum() == pytest.approx(1.0, abs=1e-12)


@MANY
@given(cases())
def test_only_these_names_are_held(case: Case) -> None:
    decided = case.decide(only=["S0", "S2"])
    assert set(np.flatnonzero(decided.weights)) <= {0, 2}
    assert decided.weights.sum() == pytest.approx(1.0, abs=1e-12)


@MANY
@given(cases(), st.integers(1, 4), st.sampled_from([0.0, 0.02, 0.1]))
def test_few_names_of_at_least_some_weight(case: Case, most: int, least: float) -> None:
    limits: dict[str, Any] = {"max_names": most} | ({"min_weight": least} if least else {})
    w = case.decide(**limits).weights
    held = w[w > 0.0]
    assert 1 <= len(held) <= most
    assert held.min() >= least - EXACT
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (case.after(case.decide(**limits))[1][w == 0.0] == 0.0).all()  # nothing of what is sold out remains


# -- bands ----------


@MANY
@given(cases(), st.sampled_from([0.002, 0.02, 0.2]))
def test_a_band_leaves_small_gaps_alone_and_no_cash_idle(case: Case, band: float) -> None:
    w, held, wish = case.decide(band=band).weights, case.account.held, case.wish
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    near = (np.abs(wish - held) < band) & (wish > 0.0)
    moved = near & (w != held)
    # What is unspent goes to names below their target, at most up to it; what is overspent comes from those above.
    low, high = np.minimum(held, wish), np.maximum(held, wish)
    assert (w >= low - 1e-15).all()
    assert (w <= high + 1e-15).all()
    assert (w[~near] == wish[~near]).sum() >= (~near).sum() - 1
    between = (w != held) & (w != wish)
    assert between.sum() <= 1  # in as few names as possible: all but one are left alone or at their target
    if moved.any() and (near & ~moved).any():  # the furthest first
        gap = (wish - held) * np.sign((wish - held)[moved].sum())
        assert gap[moved].min() >= gap[near & ~moved].max() - 1e-15


def test_a_band_gives_way_to_a_cap() -> None:
    case = Case(0, np.full(4, 0.25), np.array([30.0, 24.0, 23.0, 23.0]), np.ones(4), 0.0, FREE)
    assert case.decide(band=0.2).weights.tolist() == [0.3, 0.24, 0.23, 0.23]
    w = case.decide(band=0.2, max_weight=0.26).weights
    assert w.max() <= 0.26 + EXACT
    assert w.sum() == pytest.approx(1.0, abs=1e-12)


# -- turnover ----------


@MANY
@given(cases(COSTS), st.sampled_from([0.01, 0.1, 0.7]))
def test_turnover_is_kept_at_the_prices_of_the_fill(case: Case, limit: float) -> None:
    decided = case.decide(max_turnover=limit)
    deltas, held, left = case.after(decided)
    _, traded, _ = case.costs.outcome(deltas, case.prices)
    assert traded <= limit * case.account.value * (1.0 + EXACT)
    assert left >= 0.0
    assert held.min() >= -1e-9
    wanted = np.abs(case.wish - case.account.held).sum()
    if case.costs.free and wanted > limit:
        assert traded >= 0.999 * limit * case.account.value  # as much as is allowed


@MANY
@given(cases())
def test_the_entry_is_not_counted_and_has_a_limit_of_its_own(case: Case) -> None:
    np.testing.assert_array_equal(case.decide(entered=False, max_turnover=0.01).weights, case.wish)
    limited = case.decide(entered=False, entry_turnover=0.05)
    assert np.abs(case.after(limited)[0]) @ case.prices <= 0.05 * case.account.value * (1.0 + EXACT)


# -- whole lots ----------


@MANY
@given(cases([FREE, CostModel(bps=10)]), st.sampled_from([1.0, 10.0]))
def test_whole_lots_within_the_cap_and_the_cash(case: Case, lot: float) -> None:
    cap = 2.0 / len(case.wish)
    sizes = np.floor(case.sizes / lot) * lot
    case = case._replace(sizes=sizes, cash=1e6 - float(sizes @ case.prices))
    decided = case.decide(lot=lot, max_weight=cap)
    _, held, left = case.after(decided, lot=lot)
    np.testing.assert_array_equal(held / lot, np.round(held / lot))
    np.testing.assert_allclose(decided.weights, held * case.prices / case.account.value, rtol=0, atol=1e-12)
    assert decided.weights.max() <= cap + EXACT
    assert left >= 0.0
    dearest = lot * case.prices.max() / case.account.value
    assert 1.0 - decided.weights.sum() <= 2.0 * dearest + 0.002  # the account is spent


# -- at the fill ----------


def test_a_sell_that_does_not_happen_takes_the_buy_with_it_that_was_to_have_its_place() -> None:
    guard, rebalancer, prices = FillGuard(((None, 2),)), Rebalancer(), np.ones(4)
    account = AccountState.of(np.array([5.0, 5.0, 0.0, 0.0]), prices, 1.0, None, None)
    planned = np.array([-5.0, 0.0, 4.0, 2.0])
    np.testing.assert_array_equal(guard.kept(planned, account, None, rebalancer), [-5.0, 0.0, 4.0, 0.0])
    halted = np.where([False, True, True, True], planned, 0.0)
    np.testing.assert_array_equal(guard.kept(halted, account, None, rebalancer), np.zeros(4))
    part = np.array([-4.0, 0.0, 4.0, 0.0])  # what remains of it holds the place
    np.testing.assert_array_equal(guard.kept(part, account, None, rebalancer), [-4.0, 0.0, 0.0, 0.0])
    more = np.array([0.0, 3.0, 0.0, 0.0])
    assert guard.kept(more, account, None, rebalancer) is more


def test_the_turnover_holds_where_prices_have_moved_and_what_leaves_goes_first() -> None:
    account = AccountState.of(np.array([10.0, 40.0, 50.0]), np.array([1.2, 1.0, 1.0]), 0.0, None, None)
    kept = FillGuard().kept(np.array([-10.0, 30.0, -20.0]), account, 0.3, Rebalancer())
    assert kept[0] == -10.0
    assert np.abs(kept) @ account.prices == pytest.approx(0.3 * account.value, rel=1e-9)
    assert kept[1] / 30.0 == pytest.approx(kept[2] / -20.0, rel=1e-12)
