"""The order in which feeds are added changes nothing: ties and draws go by symbol."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import MarketPanel
from tests.markets import ordinary_feeds, random_panel
from tracker_strategies.algorithms import AlphaSignal, Linear, NegativeLogReturn, SwitchingCost
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES, EnsembleTracker
from tracker_strategies.strategies.feeds import order_by_symbol
from tracker_strategies.strategies.registry import default_params
from tracker_strategies.testing import check_strategy

NAMES = ("MSFT", "AAPL", "ZTS", "BRK.B", "a", "GE", "T", "AA", "C", "XOM")

LIMITS: dict[str, dict[str, Any]] = {
    "no limit": {},
    "max_names": {"max_names": 3},
    "max_weight": {"max_weight": 0.3},
    "cost_aware": {"cost_aware": 5.0},
    "holdings": {"coordinates": "shares"},
    "weights": {"coordinates": "weights"},
    "few names in holdings": {"max_names": 3, "coordinates": "shares"},
    "few names at a cost": {"max_names": 3, "cost_aware": 5.0},
    "caps in holdings": {"max_weight": 0.3, "coordinates": "shares"},
}


def market(seed: int, *, gaps: bool, n_bars: int = 80) -> MarketPanel:
    """Stocks, two of which move alike, with names in no order."""
    panel = random_panel(n_bars, len(NAMES), seed, gaps=gaps)
    close = panel.close.copy()
    close[:, 5] = 2.0 * close[:, 8]
    return dataclasses.replace(panel, symbols=NAMES, close=close)


def in_order(panel: MarketPanel, order: np.ndarray) -> MarketPanel:
    return dataclasses.replace(panel, symbols=tuple(panel.symbols[i] for i in order), close=panel.close[:, order])


def assert_same_but_for_the_order(panel: MarketPanel, strategy: Any, params: dict[str, Any], order: np.ndarray, run: Any) -> None:
    one, other = run(panel, strategy, params), run(in_order(panel, order), strategy, params)
    rounding = 0.0 if one.breaches is None else 1e-9  # the value of an account is a sum in the order of the feeds
    np.testing.assert_allclose(other.decisions, one.decisions[:, order], rtol=0, atol=rounding)
    np.testing.assert_allclose(other.value, one.value, rtol=1e-9)
    np.testing.assert_allclose(other.weights, one.weights[:, order], rtol=0, atol=1e-9)


#: SLAIT's other starts are drawn name by name: one drawn start shows an order, eight take as long as all other strategies.
WAYS = {"slait": [({"starts": 2}, "", ()), ({}, " with all its starts", pytest.mark.slow)]}
CASES = [
    pytest.param(cls, limits, own, id=f"{cls.alias_name}-{limits}{more}", marks=marks)
    for cls in STRATEGIES
    for own, more, marks in WAYS.get(cls.alias_name, [({}, "", ())])
    for limits, params in LIMITS.items()
    if set(params) <= set(default_params(cls)) and not (cls.alias_name.endswith("ensemble") and limits == "weights")
]


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
@pytest.mark.parametrize(("strategy", "limits", "own"), CASES)
def test_every_strategy_decides_the_same_whatever_the_order_of_the_feeds(
    strategy: Any, limits: str, own: dict[str, Any], gaps: bool
) -> None:
    check_strategy(strategy, market(7, gaps=gaps), LIMITS[limits] | own, only=["feed_order"])


@settings(max_examples=40, deadline=None)
@given(
    strategy=st.sampled_from(STRATEGIES),
    seed=st.integers(0, 10**6),
    order=st.permutations(range(len(NAMES))),
    limits=st.sampled_from(["no limit", "max_names", "cost_aware", "holdings"]),
    gaps=st.booleans(),
)
def test_any_order(strategy: Any, seed: int, order: list[int], limits: str, gaps: bool) -> None:
    assert_same_but_for_the_order(market(seed, gaps=gaps, n_bars=50), strategy, LIMITS[limits], np.array(order), replay)


@pytest.mark.parametrize("name", ["adaptive-lasso", "ensemble", "random-portfolio", "slait", "pa"])
def test_cerebro_as_well(name: str) -> None:
    panel, order = market(3, gaps=True), np.arange(len(NAMES))[::-1]
    for params in ({}, {"max_names": 3}):
        assert_same_but_for_the_order(panel, name, params, order, backtest)
        np.testing.assert_array_equal(backtest(panel, name, params).decisions, replay(panel, name, params).decisions)


def test_feeds_of_backtrader_added_in_any_order() -> None:
    import backtrader as bt

    from tracker_strategies import HoldingsAnalyzer, TrackingAnalyzer, record_of

    panel, found = market(5, gaps=False, n_bars=60), []
    for turned in (False, True):
        cerebro = bt.Cerebro(stdstats=False)
        index, *assets = ordinary_feeds(panel)
        for feed in (index, *(reversed(assets) if turned else assets)):
            cerebro.adddata(feed, name=feed.p.name)
        cerebro.addstrategy(EnsembleTracker, max_names=4)
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
        found.append(record_of(cerebro.run()[0]))
    assert found[1].symbols == found[0].symbols[::-1]
    # The value of an account is a sum in the order of the feeds, and a mandate looks at shares of it.
    np.testing.assert_allclose(found[1].decisions, found[0].decisions[:, ::-1], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[1].decisions > 0.0, found[0].decisions[:, ::-1] > 0.0)
    np.testing.assert_allclose(found[1].value, found[0].value, rtol=1e-12)


def test_ties_go_to_the_first_symbols_of_the_alphabet() -> None:
    decisions = replay(market(0, gaps=False), "equal-weight", {"max_names": 3}).decisions
    held = sorted(NAMES[i] for i in np.flatnonzero(decisions[0]))  # later they go by how well they track
    assert held == sorted(NAMES)[:3] == ["AA", "AAPL", "BRK.B"]


def test_signals_and_sectors_follow_their_symbols() -> None:
    panel, order = market(2, gaps=True), np.random.default_rng(4).permutation(len(NAMES))
    wish = {name: float(len(name)) - 2.0 for name in NAMES}
    records = []
    for each in (panel, in_order(panel, order)):
        view = np.array([wish[name] for name in each.symbols])
        params = {"side": "signal", "signal": lambda bar, view=view: view, "lam": 0.05}
        params |= {"sectors": {"AAPL": "tech", "MSFT": "tech", "GE": "old", "T": "old"}, "max_sector": 0.2, "unmapped": "free"}
        records.append(replay(each, "pas", params | {"max_weight": 0.4}))
    np.testing.assert_allclose(records[1].decisions, records[0].decisions[:, order], rtol=0, atol=1e-12)
    for decisions in (records[0].decisions[:, [NAMES.index("AAPL"), NAMES.index("MSFT")]], records[0].decisions[:, [5, 6]]):
        assert decisions.sum(axis=1).max() <= 0.2 + 1e-9


def test_a_budget_is_kept_alike() -> None:
    panel, order = market(6, gaps=True), np.arange(len(NAMES))[::-1]
    for name in ("apas", "tilted-ensemble"):
        assert_same_but_for_the_order(panel, name, {"max_tracking_error": "20%", "lam": 5.0}, order, replay)


def test_what_is_given_by_position_stays_in_the_order_of_the_feeds() -> None:
    panel = market(1, gaps=False)
    wanted = np.arange(1.0, 11.0) / 55.0
    for weights in (wanted.tolist(), dict(zip(NAMES, wanted, strict=True))):
        np.testing.assert_allclose(replay(panel, "constant-weight", {"weights": weights}).decisions[-1], wanted, atol=1e-15)
    costs = np.zeros(len(NAMES))
    costs[2] = 1.0  # nobody wants the third feed, ZTS
    for side in (Linear(costs), NegativeLogReturn() + Linear(costs)):
        decisions = replay(panel, "pas", {"side": side, "lam": 10.0, "eps": 1.0}).decisions
        assert decisions[-1, 2] == 0.0 < decisions[-1].max()
        assert decisions[0, 2] > 0.0


def test_side_information_that_knows_no_positions_goes_by_symbol_too() -> None:
    panel, order = market(8, gaps=False), np.arange(len(NAMES))[::-1]
    side = NegativeLogReturn() + 0.5 * SwitchingCost(0.01) + AlphaSignal(0.1, optional=True)
    assert_same_but_for_the_order(panel, "pas", {"side": side, "max_names": 3}, order, replay)


def test_sorted_symbols_need_no_reordering() -> None:
    assert order_by_symbol(("AA", "AAPL", "B", "a")) is None
    assert order_by_symbol(("B", "a", "AA")).tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("seed", "gaps", "order"),
    [
        (671489, False, [8, 4, 0, 1, 6, 2, 5, 7, 9, 3]),
        (240614, True, [7, 4, 6, 2, 1, 9, 3, 0, 5, 8]),
        (471155, True, [3, 0, 2, 8, 9, 5, 4, 7, 6, 1]),
    ],
)
def test_of_two_names_that_move_alike_the_symbol_decides_and_not_rounding(seed: int, gaps: bool, order: list[int]) -> None:
    panel = market(seed, gaps=gaps, n_bars=50)
    assert_same_but_for_the_order(panel, EnsembleTracker, LIMITS["max_names"], np.array(order), replay)
