"""What a mandate promises of a whole run: turnover at the fills, the entry, cures, cash that is spent, whole shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel, real_market
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest

EXACT = 1e-9
PANEL = random_panel(60, 9, seed=7, ohlc=True)
LIVING = random_panel(60, 9, seed=8, ohlc=True, gaps=True)
RULES = {"listing_warmup": 3, "delist_after": 4}
COSTS = CostModel(bps=10, slippage_bps=5)


def traded(panel: MarketPanel, record: RunRecord, cash: float = 1e6) -> list[tuple[int, float]]:
    """(row, value bought and sold at fill prices over the account's value at quoted prices just before) of every batch of fills,
    from the order log alone.
    """
    orders = record.orders
    sizes, found = pd.Series(0.0, panel.symbols), []
    opens = panel.close if record.params["fill"] == "close" or panel.open is None else panel.open
    quotes, closes = (pd.DataFrame(prices, columns=panel.symbols) for prices in (opens, panel.close))
    known = closes.ffill()
    for date, batch in orders.groupby("date", sort=True):
        row = int(np.searchsorted(panel.dates, np.datetime64(date)))
        quoted = quotes.iloc[row].fillna(known.iloc[max(row - 1, 0)])
        worth = cash + float((sizes[sizes > 0.0] * quoted[sizes > 0.0]).sum())
        found.append((row, float(batch["value"].abs().sum()) / worth))
        sizes = sizes.add(batch.set_index("symbol")["size"], fill_value=0.0)
        cash -= float((batch["size"] * batch["price"]).sum() + batch["commission"].sum())
    return found


@pytest.mark.parametrize("costs", [CostModel(), COSTS], ids=["free", "costs"])
@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
@pytest.mark.parametrize("name", ["pa", "random-portfolio", "adagrad"])
def test_turnover_is_kept_at_the_fills_and_the_entry_is_not_counted(name: str, fill: str, costs: CostModel) -> None:
    record = backtest(PANEL, name, {"max_turnover": 0.03, "fill": fill}, costs=costs)
    (_, entry), *later = traded(PANEL, record)
    assert entry > 0.9
    assert max(share for _, share in later) <= 0.03 * (1.0 + EXACT)
    assert max(share for _, share in later) > 0.028  # it binds


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_the_entry_has_a_turnover_of_its_own(fill: str) -> None:
    record = backtest(PANEL, "pa", {"entry_turnover": 0.15, "fill": fill}, costs=COSTS)
    invested = record.weights.sum(axis=1)
    there = int((invested > 0.95).argmax())
    batches = traded(PANEL, record)
    assert max(share for row, share in batches if row < there) <= 0.15 * (1.0 + EXACT)
    assert 6 <= sum(row < there + 1 for row, _ in batches) <= 8
    assert (invested[there + 1 :] > 0.98).all()


@pytest.mark.parametrize("params", [{"max_turnover": 0.02}, {"entry_turnover": 0.1}], ids=str)
def test_what_is_bought_once_gets_invested_all_the_same(params: dict[str, Any]) -> None:
    record = replay(PANEL, "buy-and-hold", params)
    assert record.weights[-1].sum() > 0.95


@pytest.mark.parametrize("panel", [PANEL, LIVING], ids=["complete", "living"])
@pytest.mark.parametrize("name", ["ensemble", "pa", "sparse-pls", "buy-and-hold"])
def test_names_that_are_excluded_frozen_or_must_be_held(name: str, panel: MarketPanel) -> None:
    record = backtest(panel, name, RULES | {"exclude": ["S4", "S5"], "freeze": ["S6"], "must_hold": {"S7": 0.2}})
    assert record.decisions is not None
    assert not record.decisions[:, [4, 5, 6]].any()  # frozen, and not held at the start: never held
    assert not set(record.orders["symbol"]) & {"S4", "S5", "S6"}
    assert record.decisions[:, 7].min() >= 0.2 - EXACT
    only = replay(panel, name, RULES | {"only": ["S0", "S7", "S8"]})
    assert only.decisions is not None
    assert not only.decisions[:, 1:7].any()
    np.testing.assert_allclose(only.decisions.sum(axis=1), 1.0, rtol=0, atol=EXACT)


def test_a_name_that_is_excluded_is_not_seen_by_the_learner() -> None:
    close = PANEL.close.copy()
    close[:, 4] = close[::-1, 4]
    other = MarketPanel(PANEL.dates, PANEL.symbols, close, PANEL.targets, PANEL.target_close)
    plain = MarketPanel(PANEL.dates, PANEL.symbols, PANEL.close, PANEL.targets, PANEL.target_close)
    for name in ("ensemble", "pa"):
        one, two = (replay(panel, name, {"exclude": ["S4"]}) for panel in (plain, other))
        np.testing.assert_array_equal(one.decisions, two.decisions)


@pytest.mark.parametrize("costs", [CostModel(), COSTS], ids=["free", "costs"])
def test_least_cash_is_kept_and_no_more_of_it(costs: CostModel) -> None:
    record = backtest(PANEL, "pa", {"min_cash": "2%", "fill": "close"}, costs=costs)
    assert record.decisions is not None
    np.testing.assert_allclose(record.decisions.sum(axis=1), 0.98, rtol=0, atol=1e-12)
    sizes, cash = np.zeros(PANEL.n_assets), 1e6
    place = {symbol: i for i, symbol in enumerate(PANEL.symbols)}
    for date, batch in record.orders.groupby("date", sort=True):
        np.add.at(sizes, batch["symbol"].map(place).to_numpy(), batch["size"].to_numpy())
        cash -= float((batch["size"] * batch["price"]).sum() + batch["commission"].sum())
        worth = cash + float(sizes @ PANEL.close[np.searchsorted(PANEL.dates, np.datetime64(date))])
        assert cash / worth == pytest.approx(0.02, abs=EXACT)


def test_headroom_is_left_for_prices() -> None:
    limits = {"max_weight": 0.2, "min_cash": 0.02, "rebalance": 5, "fill": "close"}
    tight, roomy = (replay(PANEL, "pa", limits | more) for more in ({}, {"headroom": 0.05}))
    assert roomy.decisions is not None
    assert roomy.decisions.max() == pytest.approx(0.19, abs=EXACT)
    np.testing.assert_allclose(roomy.decisions.sum(axis=1), 1.0 - 0.021, rtol=0, atol=EXACT)
    assert roomy.metrics()["breaches_passive"] < 0.5 * tight.metrics()["breaches_passive"]


def test_a_cure_on_the_next_bar_is_the_smallest_trade_and_nothing_else_is_traded() -> None:
    limits = {"max_weight": 0.13, "rebalance": "once", "fill": "close"}
    drifting, cured = (replay(PANEL, "equal-weight", limits | {"cure": cure}) for cure in ("schedule", "bar"))
    assert (drifting.turnover[2:] == 0.0).all()
    over = cured.weights.max(axis=1) > 0.13 + EXACT
    assert over.any()
    # Booked on the bar after: as much is sold as is above the cap, and the same is bought.
    for t in np.flatnonzero(over[1:-1]) + 1:
        above = np.maximum(cured.weights[t] - 0.13, 0.0).sum()
        assert cured.turnover[t + 1] == pytest.approx(2.0 * above, rel=1e-6)
    assert (cured.turnover[2:][~over[1:-1]] == 0.0).all()
    assert cured.metrics()["breaches_active"] == 0


@pytest.mark.parametrize("name", ["pa", "ensemble", "equal-weight", "multiplicative-pa", "adagrad"])
@pytest.mark.parametrize("limits", [{}, {"max_names": 5}, {"max_weight": 0.2}], ids=str)
def test_minding_costs_does_not_add_to_the_trading(name: str, limits: dict[str, Any]) -> None:
    plain, mindful = (replay(PANEL, name, limits | more).metrics() for more in ({}, {"cost_aware": 20.0}))
    assert mindful["turnover"] <= 1.01 * plain["turnover"]


# -- whole shares ----------


@pytest.mark.parametrize(
    ("market", "rows", "most"), [("nasdaq100_2019_2020_daily", None, 20e-4), ("sp500_2015_2020_daily", 260, 13e-4)]
)
def test_ten_thousand_dollars_in_whole_shares_are_spent_and_track(market: str, rows: int | None, most: float) -> None:
    panel = real_market(market, gaps="freeze")
    panel = panel if rows is None else panel.rows(0, rows)
    record = replay(panel, "ensemble", {"lot": 1, "fill": "close"}, cash=10_000.0)
    cash, m = 1.0 - record.part.weights[1:].sum(axis=1), record.metrics()
    assert np.median(cash) <= 0.01
    assert cash.max() <= 0.03
    assert cash.min() >= 0.0
    assert m["te_rms"] <= most
    assert m["turnover"] <= 0.03
    shares = record.weights[1:] * record.value[1:, None] / panel.close[1:]
    np.testing.assert_allclose(shares, np.round(shares), rtol=0, atol=1e-6)


def test_a_larger_account_in_whole_shares_is_nearly_one_of_fractions() -> None:
    panel = real_market("nasdaq100_2019_2020_daily", gaps="freeze")
    whole, parts = (replay(panel, "ensemble", {"fill": "close"} | lot, cash=100_000.0).metrics() for lot in ({"lot": 1}, {}))
    assert whole["te_rms"] <= 1.1 * parts["te_rms"]
    assert whole["turnover"] <= 1.5 * parts["turnover"]


def test_lots_of_a_hundred_with_a_hundred_times_the_cash_are_the_same_in_hundreds() -> None:
    one, hundred = (replay(PANEL, "pa", {"lot": lot}, cash=5000.0 * lot) for lot in (1, 100))
    np.testing.assert_array_equal(one.weights > 0.0, hundred.weights > 0.0)
    np.testing.assert_allclose(hundred.weights, one.weights, rtol=0, atol=1e-12)
    assert np.count_nonzero(one.weights) > 0
