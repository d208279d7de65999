"""Trackers over New York and Tokyo, through cerebro: nothing is learned from a holiday, and nothing from tomorrow."""

from dataclasses import replace
from itertools import pairwise

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import Market, MarketPanel, MultiIndexData, join_markets
from tracker_strategies import backtest
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.strategies import STRATEGIES, PATracker
from tracker_strategies.testing.lookahead import check_no_lookahead

NY_HOLIDAYS = pd.DatetimeIndex(["2024-01-15", "2024-02-19", "2024-03-29"])
TOKYO_HOLIDAYS = pd.DatetimeIndex(["2024-01-08", "2024-02-12", "2024-02-23", "2024-03-20"])
PLACES = {"NY": ("America/New_York", "16:00", NY_HOLIDAYS, "SPX"), "TOKYO": ("Asia/Tokyo", "15:30", TOKYO_HOLIDAYS, "NKY")}


def frames(seed=0, n_assets=3):
    """Random walks on the sessions of each market, over the start of summer time in New York."""
    rng = np.random.default_rng(seed)
    found = {}
    for place, (_, _, holidays, target) in PLACES.items():
        days = pd.bdate_range("2024-01-04", "2024-03-29").drop(holidays)
        walk = 100.0 * np.exp((rng.standard_normal((len(days), n_assets)) * 0.02).cumsum(axis=0))
        assets = pd.DataFrame(walk, index=days, columns=[f"{place}{i}" for i in range(n_assets)])
        found[place] = assets.assign(**{target: assets.mean(axis=1)})
    return found


def markets(tables):
    return {place: Market(tables[place], target, zone, close) for place, (zone, close, _, target) in PLACES.items()}


def by_date(tables):
    """What a user would do without this package: join the tables on their dates."""
    return MarketPanel.from_frame(pd.concat(tables.values(), axis=1, sort=True), ["SPX", "NKY"], gaps="freeze")


def scrambled(tables, moment, seed=1):
    """The same tables up to a moment; every close after it is another."""
    rng = np.random.default_rng(seed)
    other = {}
    for place, market in markets(tables).items():
        later = market.closes_at(tables[place].index.to_numpy(dtype="datetime64[D]")) > moment
        factor = np.exp(rng.standard_normal(tables[place].shape) * 0.1)
        other[place] = tables[place] * np.where(later[:, None], factor, 1.0)
    return other


def leaks(join, decision, strategy="pa", fill="next_open"):
    """Dates on which a decision, order or value changes although only prices from after the decision did."""
    tables, found = frames(), []
    truth = backtest(join(tables), strategy, {"fill": fill})
    moments = markets(tables)[decision].closes_at(truth.dates.astype("datetime64[D]"))
    for row in range(10, len(moments) - 2, 7):
        other = backtest(join(scrambled(tables, moments[row])), strategy, {"fill": fill})
        until = truth.dates[row]
        orders = [run.orders[run.orders["date"] <= until].reset_index(drop=True) for run in (truth, other)]
        same = np.array_equal(truth.decisions[: row + 1], other.decisions[: row + 1])
        if not (same and np.array_equal(truth.value[: row + 1], other.value[: row + 1]) and orders[0].equals(orders[1])):
            found.append(until)
    return found


@pytest.mark.parametrize("decision", PLACES)
def test_no_decision_depends_on_a_close_that_lies_ahead(decision):
    assert leaks(lambda tables: join_markets(markets(tables), decision=decision), decision) == []


def test_a_join_on_dates_would_let_tokyo_see_new_yorks_close_of_the_evening():
    """The check is not blind: with New York deciding a join on dates is right, with Tokyo deciding it leaks on every date."""
    assert leaks(by_date, "NY") == []
    assert len(leaks(by_date, "TOKYO")) >= 5


@pytest.mark.parametrize("decision", PLACES)
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_no_strategy_looks_ahead_on_a_panel_of_two_markets(strategy, decision):
    panel = join_markets(markets(frames()), decision=decision)
    check_no_lookahead(strategy, panel, cuts=(0.3, 0.7), costs=CostModel(bps=5))


class Diary(PATracker):
    """Writes down what its learner is taught."""

    def __init__(self):
        super().__init__()
        self.lessons = []
        learn = self.algorithm.update

        def update(x, y, **masks):
            self.lessons.append((self.bar.date, x, y, masks.get("observed")))
            return learn(x, y, **masks)

        self.algorithm.update = update


@pytest.mark.parametrize("decision", PLACES)
def test_holidays_teach_no_zero_returns(decision):
    tables = frames()
    data = MultiIndexData.from_markets(markets(tables), decision=decision)
    cerebro = bt.Cerebro(stdstats=False)
    data.add_to(cerebro)
    cerebro.addstrategy(Diary)
    (run,) = cerebro.run()
    panel = data.panel
    common = np.flatnonzero(panel.target_seen.all(axis=1))
    holidays = np.flatnonzero(~panel.target_seen.all(axis=1))
    assert len(holidays) >= 5
    dates = [lesson[0] for lesson in run.lessons]
    assert dates == list(panel.dates[common[1:]])  # a lesson for every date that all targets share, none for a holiday
    for (before, now), (_, x, y, seen) in zip(pairwise(common), run.lessons, strict=True):
        growth = panel.target_close[now] / panel.target_close[before] - 1.0
        assert y == pytest.approx(growth.mean(), rel=1e-12)
        assert (growth != 0.0).all()
        there = panel.has_bar[[before, now]].all(axis=0)
        np.testing.assert_array_equal(np.ones(6, dtype=bool) if seen is None else seen, there)
        np.testing.assert_allclose(x[there], panel.close[now, there] / panel.close[before, there] - 1.0, rtol=1e-12)
        assert (x[there] != 0.0).all()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_every_strategy_trades_each_market_on_its_sessions_only(strategy):
    panel = join_markets(markets(frames()))
    record = backtest(panel, strategy, costs=CostModel(bps=5))
    assert np.isfinite(record.value).all()
    for i, symbol in enumerate(panel.symbols):
        traded = record.orders.loc[record.orders["symbol"] == symbol, "date"].to_numpy()
        assert np.isin(traded, panel.dates[panel.has_bar[:, i]]).all()
    assert set(record.orders["symbol"]) == set(panel.symbols)


def test_who_has_closed_before_the_decision_cannot_fill_at_that_close():
    tables = frames()
    panel = join_markets(markets(tables))
    assert panel.at_decision.tolist() == [True] * 3 + [False] * 3
    for run in (backtest, replay):
        with pytest.raises(ParameterError, match=r"fill='close' is not possible for TOKYO0 \(names concerned: 3\)"):
            run(panel, "pa", {"fill": "close"})
        with pytest.raises(ParameterError, match="next_open"):
            run(panel.rows(5, 30), "equal-weight", {"fill": "close"})
    cerebro = bt.Cerebro(stdstats=False)
    MultiIndexData(panel).add_to(cerebro)
    cerebro.addstrategy(PATracker, fill="close", assets="TOKYO1,NY0")
    with pytest.raises(ParameterError, match="TOKYO1"):
        cerebro.run()


def test_names_of_the_decision_market_may_fill_at_its_close():
    tables = frames()
    targets_only = {**tables, "TOKYO": tables["TOKYO"][["NKY"]]}
    panel = join_markets(markets(targets_only))
    assert panel.at_decision is None
    assert np.isfinite(backtest(panel, "pa", {"fill": "close"}).value).all()
    cerebro = bt.Cerebro(stdstats=False)
    MultiIndexData(join_markets(markets(tables))).add_to(cerebro)
    cerebro.addstrategy(PATracker, fill="close", assets="NY0,NY2")
    assert cerebro.run()[0].symbols == ("NY0", "NY2")
    # Markets that close at the same instant are as good as one.
    noon = {place: replace(market, timezone="UTC", close="12:00") for place, market in markets(tables).items()}
    assert join_markets(noon).at_decision is None
