"""Fills respect what was traded: no order beyond its share of a bar's volume, impact by the square-root law, alike everywhere."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel, open_source, synthetic_market
from tests.markets import SHARED, ordinary_feeds
from tracker_strategies import Account, orders_for
from tracker_strategies.analysis.analyzers import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.pages.words import why_unscored
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import record_of
from tracker_strategies.analysis.runfolder import read_run, write_run
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.volume.depth import Depth, PanelDepth
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.registry import load_strategy
from tracker_strategies.testing.strategy import check_lookahead, check_paper

COSTS = CostModel(bps=5, slippage_bps=2)
BOTH = {"max_participation": 0.1, "impact": "sqrt"}


def market(seed: int = 3, n_bars: int = 90, **events: Any) -> MarketPanel:
    """Eight names whose shares worth some millions change hands per day."""
    return synthetic_market(n_assets=8, n_bars=n_bars, seed=seed, ohlc=True, **events)


def with_feeds(panel: MarketPanel, strategy: str, params: dict[str, Any], cash: float) -> RunRecord:
    """A run on backtrader's own feeds."""
    cerebro = bt.Cerebro(stdstats=False)
    for feed in ordinary_feeds(panel):
        cerebro.adddata(feed)
    cerebro.broker.setcash(cash)
    charge(cerebro.broker, COSTS)
    cerebro.addstrategy(load_strategy(strategy), **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    (run,) = cerebro.run()
    return record_of(run)


def us40() -> MarketPanel:
    """Forty real names with their volumes, or a skip that says why."""
    path = SHARED / "data" / "us40_ohlcv_2016_2020_daily_LONG.csv.gz"
    if not path.exists():
        pytest.skip("forty real names with volume are not here: ../shared/data is absent")
    return open_source(str(path), ("INDEX",))


def volumes_of(record: RunRecord, panel: MarketPanel) -> np.ndarray:
    rows = np.searchsorted(panel.dates, record.orders["date"].to_numpy())
    assert panel.volume is not None
    return panel.volume[rows, [panel.symbols.index(name) for name in record.orders["symbol"]]]


# -- one market, every way to run ----------


@pytest.mark.parametrize("seed", range(4))
def test_basket_ordinary_broker_replay_and_plain_feeds_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    panel = market(seed, halts=5, late_listings=1, delistings=seed % 2)
    params = {
        "max_participation": float(rng.uniform(0.01, 0.3)),
        "impact": rng.choice([None, "sqrt"]) if seed else "sqrt",
        "unfilled": str(rng.choice(["carry", "drop"])),
        "rebalance": int(rng.choice([1, 7])),
        "fill": str(rng.choice(["next_open", "open", "close"])) if seed else "next_open",
        "max_names": [None, 4][seed % 2],
        "listing_warmup": 3,
        "delist_after": 4,
    }
    cash = float(10 ** rng.uniform(6, 9))
    truth = replay(panel, "pa", params, costs=COSTS, cash=cash)
    assert truth.unfilled is not None
    assert truth.unfilled.sum() > 0.0
    for other in (
        backtest(panel, "pa", params, costs=COSTS, cash=cash),
        backtest(panel, "pa", params | {"broker": "ordinary"}, costs=COSTS, cash=cash),
        with_feeds(panel, "pa", params, cash),
    ):
        assert other.unfilled is not None
        np.testing.assert_allclose(other.value, truth.value, rtol=1e-9)
        np.testing.assert_allclose(other.cost, truth.cost, atol=1e-9 * cash)
        np.testing.assert_allclose(other.unfilled, truth.unfilled, atol=1e-8)
    assert other.metrics()["unfilled"] == pytest.approx(truth.metrics()["unfilled"], abs=1e-8)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_paper_account_earns_what_the_backtest_does(fill: str) -> None:
    panel = market(5, n_bars=40, halts=3, late_listings=1)
    assert panel.volume is not None
    small = replace(panel, volume=panel.volume * 0.001)
    check_paper(load_strategy("pa"), small, {**BOTH, "rebalance": 9, "max_names": 4, "fill": fill})


def test_no_fill_depends_on_data_after_its_bar() -> None:
    check_lookahead(load_strategy("pa"), market(1, n_bars=40), {**BOTH, "rebalance": 3})


# -- participation ----------


@pytest.mark.parametrize("fill", ["next_open", "open"])
def test_no_order_fills_beyond_its_share_of_the_bar_that_fills(fill: str) -> None:
    panel = market()
    record = backtest(panel, "equal-weight", {"max_participation": 0.1, "fill": fill}, cash=1e9)
    filled = record.orders["size"].abs().to_numpy()
    assert (filled <= 0.1 * volumes_of(record, panel) * (1 + 1e-12)).all()
    assert (filled == 0.1 * volumes_of(record, panel)).mean() > 0.5
    assert record.metrics()["unfilled"] > 0.5


def test_accounts_of_any_size_are_alike_only_without_volume() -> None:
    panel = market()
    plain = [replay(panel, "equal-weight", {}, cash=cash).metrics()["te_rms"] for cash in (1e6, 1e13)]
    assert plain[0] == pytest.approx(plain[1])
    small, large = (replay(panel, "equal-weight", BOTH, cash=cash) for cash in (1e4, 1e13))
    assert small.weights[-1].sum() > 0.999
    assert large.weights[-1].sum() < 1e-3
    assert large.metrics()["unfilled"] > 0.999
    impact_only = replay(panel, "equal-weight", {"impact": "sqrt"}, cash=1e13)
    assert impact_only.weights[-1].sum() < 0.01


def test_the_rest_is_carried_until_it_is_filled_or_dropped() -> None:
    panel = market(n_bars=120)
    asked = {"max_participation": 0.1, "rebalance": "once"}
    carried, dropped = (backtest(panel, "equal-weight", asked | {"unfilled": what}, cash=2e6) for what in ("carry", "drop"))
    assert dropped.orders["date"].nunique() == 1
    assert carried.orders["date"].nunique() > 3
    # Carried to the end, the shares are those that one decision asked for, as far as its cash reaches at the prices of by then.
    free = backtest(panel, "equal-weight", {"rebalance": "once"}, cash=2e6)
    wanted, got = (run.orders.groupby("symbol")["size"].sum() for run in (free, carried))
    np.testing.assert_allclose(got, wanted, rtol=0.1)
    assert dropped.weights[-1].sum() < 0.95 < 0.99 < carried.weights[-1].sum()


def test_lots_stay_whole_and_a_sell_that_does_not_fill_keeps_its_slot() -> None:
    panel = market(2, n_bars=80)
    record = backtest(panel, "pa", {"max_participation": 0.02, "max_names": 3, "lot": 10, "rebalance": 5}, cash=2e7)
    assert (record.orders["size"] % 10 == 0).all()
    assert ((record.weights > 0).sum(axis=1) <= 3).all()
    assert record.metrics()["unfilled"] > 0.1


def test_an_account_that_the_market_kept_from_its_target_is_told_so() -> None:
    panel = market()
    for run in (backtest, replay):
        large = run(panel, "equal-weight", {"max_participation": 0.1}, cash=1e13)
        assert large.metrics()["n_bars"] == 0
        assert re.match(r"because the market did not take (99\.\d+|100) % .*give it less cash", why_unscored(large))
        young = run(panel.rows(0, 5), "equal-weight", {"impact": "sqrt"}, cash=1e4)
        assert not len(young.orders)
        assert "there are too few sessions to estimate the impact of an order: give more bars" in why_unscored(young)


def test_cash_never_goes_below_zero() -> None:
    for seed in range(3):
        record = backtest(market(seed), "pa", {**BOTH, "impact_coefficient": 3.0}, cash=1e8, costs=COSTS)
        assert (record.weights.sum(axis=1) <= 1 + 1e-9).all()


# -- impact ----------


def test_impact_is_the_square_root_law_of_the_twenty_sessions_before() -> None:
    panel = market()
    record = backtest(panel, "equal-weight", {"impact": "sqrt", "impact_coefficient": 0.7, "rebalance": 30}, cash=1e7)
    frame = pd.DataFrame(panel.close, columns=list(panel.symbols))
    sigma = frame.pct_change(fill_method=None).rolling(20).std().shift(1)
    usual = pd.DataFrame(panel.volume, columns=list(panel.symbols)).rolling(20).mean().shift(1)
    checked = 0
    for order in record.orders.itertuples():
        row, i = int(np.searchsorted(panel.dates, order.date.to_datetime64())), panel.symbols.index(order.symbol)
        if row < 21:
            continue
        assert panel.open is not None
        bps = 1e4 * (order.price / panel.open[row, i] - 1.0) * np.sign(order.size)
        law = 0.7 * 1e4 * sigma.iloc[row, i] * math.sqrt(abs(order.size) / usual.iloc[row, i])
        assert bps == pytest.approx(law, rel=1e-6)
        checked += 1
    assert checked > 10


def test_cost_grows_with_the_account_and_with_the_coefficient() -> None:
    panel = market()
    costs = [replay(panel, "pa", {"impact": "sqrt"}, cash=cash).metrics()["cost_bps"] for cash in (1e4, 1e6, 1e8)]
    assert costs[0] < costs[1] < costs[2]
    double = replay(panel, "pa", {"impact": "sqrt", "impact_coefficient": 2.0}, cash=1e4).metrics()["cost_bps"]
    assert double == pytest.approx(2 * costs[0], rel=0.01)


def test_a_day_means_the_same_for_bars_of_every_length() -> None:
    days = market(n_bars=60)
    assert days.volume is not None
    assert days.open is not None
    # Each day in two bars: the morning ends at the open of the day's second half, with a third of the volume.
    noon = 0.5 * (days.open + days.close)
    split = lambda a, b: np.stack([a, b], axis=1).reshape(2 * days.n_bars, -1)  # noqa: E731
    halves = MarketPanel(
        split(days.dates[:, None] + np.timedelta64(12, "h"), days.dates[:, None] + np.timedelta64(16, "h")).ravel(),
        days.symbols,
        split(noon, days.close),
        days.targets,
        split(days.target_close, days.target_close),
        volume=split(days.volume / 3, 2 * days.volume / 3),
    )
    whole, parts = PanelDepth(days), PanelDepth(halves)
    for day in range(25, 60, 7):
        for row in (2 * day, 2 * day + 1):
            np.testing.assert_allclose(parts.at(row).usual, whole.at(day).usual)
            np.testing.assert_allclose(parts.at(row).volatility, whole.at(day).volatility)
        np.testing.assert_allclose(parts.at(2 * day).volume, days.volume[day] / 3)


def test_weeks_are_scaled_to_days() -> None:
    days = market(n_bars=400)
    assert days.volume is not None
    weekly = MarketPanel(
        days.dates[0] + np.arange(80) * np.timedelta64(7, "D"),
        days.symbols,
        days.close[4::5],
        days.targets,
        days.target_close[4::5],
        volume=days.volume.reshape(80, 5, -1).sum(axis=1),
    )
    ratio = [PanelDepth(weekly).at(t).usual / PanelDepth(days).at(5 * t).usual for t in range(20, 80, 3)]
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.1)
    ratio = [PanelDepth(weekly).at(t).volatility / PanelDepth(days).at(5 * t).volatility for t in range(20, 80, 3)]
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.15)


def test_a_name_without_a_past_is_not_traded_where_the_price_depends_on_it() -> None:
    panel = market(4, late_listings=2)
    record = backtest(panel, "equal-weight", {"impact": "sqrt", "listing_warmup": 1}, cash=1e6)
    first = record.orders.groupby("symbol")["date"].min()
    for i, name in enumerate(panel.symbols):
        begins = int(np.flatnonzero(panel.has_bar[:, i])[0])
        assert first[name] >= panel.dates[begins + 6]


def test_a_plan_pays_for_its_own_impact() -> None:
    depth = Depth(np.full(3, 1e6), np.full(3, 1e6), np.full(3, 0.02))
    rebalancer = Liquidity(impact="sqrt").priced(Rebalancer(CostModel(bps=5)), depth, ahead=True)
    prices = np.array([10.0, 20.0, 30.0])
    for cash in (1e3, 1e6, 1e9):
        plan = rebalancer.plan(np.array([0.5, 0.3, 0.2]), np.zeros(3), prices, cash)
        left = cash + rebalancer.costs.cash_flow(plan, prices)
        assert 0.0 <= left <= 1e-10 * cash
        np.testing.assert_allclose(plan * prices / (plan @ prices), [0.5, 0.3, 0.2])


# -- beside a user's own settings ----------


def test_slippage_of_the_broker_is_paid_on_top() -> None:
    panel = market(n_bars=50)
    runs = [backtest(panel, "equal-weight", BOTH | {"rebalance": 20}, cash=1e6, costs=CostModel(slippage_bps=b)) for b in (0, 30)]
    first = [run.orders.iloc[0] for run in runs]
    assert first[1].price / first[0].price == pytest.approx(1.003, abs=1e-4)


def test_a_filler_on_the_broker_and_limits_of_the_tracker_are_refused_together() -> None:
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(market(n_bars=30)).add_to(cerebro)
    cerebro.broker.set_filler(bt.broker.fillers.FixedBarPerc(perc=10))
    cerebro.addstrategy(load_strategy("pa"), max_participation=0.1)
    with pytest.raises(ParameterError, match=r"volume filler \(FixedBarPerc\)"):
        cerebro.run()


# -- refusals ----------


def test_data_without_volume_are_refused_by_name(tmp_path: Path) -> None:
    panel = replace(market(n_bars=30), volume=None)
    for run in (replay, backtest):
        with pytest.raises(DataError, match=r"S000 has no volume in .*column volume"):
            run(panel, "pa", {"max_participation": 0.1})
    with pytest.raises(DataError, match="has no volume"):
        with_feeds(panel, "pa", {"impact": "sqrt"}, 1e6)
    with pytest.raises(DataError, match="has no volume"):
        PaperAccount.create(
            tmp_path / "account", "pa", "memory", {"impact": "sqrt"}, panel=panel, targets=panel.targets, start="2015-01-20"
        )
    full = market(n_bars=30)
    assert full.volume is not None
    silent = full.volume.copy()
    silent[:, 3] = 0.0
    with pytest.raises(DataError, match="S003 has no volume"):
        replay(replace(full, volume=silent), "pa", BOTH)


def test_a_volume_below_zero_is_named() -> None:
    panel = market(n_bars=30)
    assert panel.volume is not None
    volume = panel.volume.copy()
    volume[3, 1] = -3.0
    with pytest.raises(
        DataError, match=rf"volume of {panel.symbols[1]} on {panel.day(3)} is -3; it must be a finite number >= 0"
    ):
        replace(panel, volume=volume)


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_participation": 0.0},
        {"max_participation": 1.5},
        {"max_participation": "much"},
        {"max_participation": 0.1, "unfilled": "keep"},
        {"impact": "linear"},
        {"impact": "sqrt", "impact_coefficient": -1.0},
        {"impact_coefficient": 2.0},
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    name = next(key for key in reversed(wrong))
    with pytest.raises(ParameterError, match=name):
        replay(market(n_bars=30), "pa", wrong)


def test_a_real_broker_has_a_market_of_its_own(tmp_path: Path) -> None:
    from tracker_strategies.papertrade.config import AccountConfig

    with pytest.raises(ParameterError, match="alpaca fills orders in a real market"):
        AccountConfig("a", "pa", "sample", ("INDEX",), ("A",), "2020-01-02", {"max_participation": 0.1}, broker="alpaca")


def test_a_list_of_orders_for_a_real_market_does_not_simulate_one() -> None:
    with pytest.raises(ParameterError, match="remove them for an order list"):
        orders_for(market(n_bars=30), "pa", Account(1e6), params={"max_participation": 0.1})


# -- results ----------


def test_the_folder_of_a_run_keeps_what_was_unfilled(tmp_path: Path) -> None:
    panel = market(n_bars=60)
    record = backtest(panel, "equal-weight", {"max_participation": "10%"}, cash=1e8)
    read = read_run(write_run(record, tmp_path / "run", panel), whole=True)
    assert read.unfilled is not None
    np.testing.assert_allclose(read.unfilled, record.unfilled)
    assert read.metrics()["unfilled"] == record.metrics()["unfilled"] > 0.0


def test_forty_real_names_take_a_million_and_not_ten_trillion() -> None:
    panel = us40().rows(0, 60)
    small, large = (replay(panel, "equal-weight", BOTH, cash=cash) for cash in (1e6, 1e13))
    assert small.metrics()["unfilled"] < 1e-3
    assert small.metrics()["cost_bps"] < 0.1
    assert large.weights[-1].sum() < 0.05
