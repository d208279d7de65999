"""A BasketBroker is backtrader's broker for everybody who is no tracker: every order type, every setting, value by value."""

from __future__ import annotations

from functools import cache

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from tests.differential.random_strategy import RandomStrategy
from tests.differential.side_by_side import MODES, PANEL, STOCK, assert_same, cerebro_with, seeds, some_slow
from tests.markets import random_panel
from tracker_strategies.execution.basket.broker import BasketBroker, host

SETTINGS = {
    "as it is": lambda b: None,
    "little cash": lambda b: b.setcash(2_000.0),
    "cheat on close": lambda b: b.set_coc(True),
    "cheat on open": lambda b: b.set_coo(True),
    "no check": lambda b: b.set_checksubmit(False),
    "end of session": lambda b: b.set_eosbar(True),
    "no cash from shorts": lambda b: b.set_shortcash(False),
    "fund": lambda b: b.set_fundmode(True),
    "interest apart": lambda b: b.set_int2pnl(False),
    "commission": lambda b: b.setcommission(commission=0.002),
    "commission per share": lambda b: b.setcommission(commission=0.05, commtype=bt.CommInfoBase.COMM_FIXED, stocklike=True),
    "leverage": lambda b: b.setcommission(commission=0.001, leverage=4.0),
    "interest": lambda b: b.setcommission(interest=0.05, interest_long=True),
    "interest on shorts": lambda b: b.setcommission(interest=0.07),
    "futures": lambda b: b.setcommission(commission=2.0, margin=50.0, mult=3.0),
    "futures, automatic margin": lambda b: b.setcommission(commission=2.0, automargin=0.4, mult=2.0, stocklike=False),
    "multiplier": lambda b: b.setcommission(commission=0.001, mult=2.0, stocklike=True),
    "one name apart": lambda b: b.setcommission(commission=0.01, name="S1"),
    "slippage": lambda b: b.set_slippage_perc(0.002),
    "slippage beyond the bar": lambda b: b.set_slippage_perc(0.02, slip_open=True, slip_out=True),
    "slippage, unmatched": lambda b: b.set_slippage_perc(0.02, slip_match=False, slip_limit=False),
    "fixed slippage": lambda b: b.set_slippage_fixed(0.2),
    "filler by size": lambda b: b.set_filler(bt.fillers.FixedSize(size=3)),
    "filler by bar": lambda b: b.set_filler(bt.fillers.FixedBarPerc(perc=50.0)),
}

SEEDS = seeds(6)


@cache
def market(seed):
    return random_panel(n_bars=50, n_assets=4, seed=seed, ohlc=True, gaps=seed % 3 == 2)


def log(kind, broker, setting, seed, **mode):
    cerebro = cerebro_with(kind, market(seed), **mode)
    cerebro.setbroker(broker)
    broker.setcash(20_000.0)
    SETTINGS[setting](broker)
    cerebro.addstrategy(RandomStrategy, seed=seed)
    cerebro.addstrategy(RandomStrategy, seed=seed + 1000, busy=0.2)
    return [(s.log, s.broker.getvalue(), s.broker.getcash()) for s in cerebro.run()]


def own_kind():
    class Own(bt.brokers.BackBroker):
        def get_value(self, datas=None, mkt=False, lever=False):
            return super().get_value(datas, mkt, lever)

        getvalue = get_value

    return Own()


BROKERS = {
    "BasketBroker": BasketBroker,
    "a broker turned into one": lambda: host(bt.brokers.BackBroker()),
    "a user's broker turned into one": lambda: host(own_kind()),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("seed", some_slow(SEEDS, 3))
def test_ordinary_strategies_fare_as_with_backtraders_broker(setting, seed):
    theirs = log(STOCK, bt.brokers.BackBroker(), setting, seed)
    assert any(entry[0] == "order" for entry in theirs[0][0])
    assert_same(log(STOCK, BasketBroker(), setting, seed), theirs, "BasketBroker")
    assert_same(log(PANEL, bt.brokers.BackBroker(), setting, seed), theirs, "panel feeds")
    assert_same(log(PANEL, BasketBroker(), setting, seed), theirs, "both")


@pytest.mark.parametrize("broker", BROKERS)
def test_every_way_to_a_basket_broker(broker):
    for seed in SEEDS[:3]:
        assert_same(log(PANEL, BROKERS[broker](), "commission", seed), log(STOCK, bt.brokers.BackBroker(), "commission", seed))


@pytest.mark.parametrize("mode", [*MODES, {"cheat_on_open": True}, {"quicknotify": True}, {"tradehistory": True}], ids=str)
def test_every_mode_of_cerebro(mode):
    for seed in SEEDS[:2]:  # without gaps: backtrader's short buffers cannot pause
        seed = 3 * (seed // 3)
        theirs = log(STOCK, bt.brokers.BackBroker(), "commission", seed, **mode)
        assert_same(log(PANEL, BasketBroker(), "commission", seed, **mode), theirs)


def extra_feed(every):
    """A feed of another origin with a calendar of its own: weekends too, or one bar per week."""
    rng = np.random.default_rng(5)
    days = pd.date_range("2019-12-28", "2020-03-20", freq=every)
    close = 50.0 * np.exp(0.01 * rng.standard_normal(len(days)).cumsum())
    bars = {"open": close, "high": close * 1.01, "low": close * 0.99, "close": close, "volume": 1.0, "openinterest": 0.0}
    return bt.feeds.PandasData(dataname=pd.DataFrame(bars, index=days), name="EXTRA")


COMPANY = {
    "a daily feed with weekends": lambda c: c.adddata(extra_feed("D"), name="EXTRA"),
    "a weekly feed": lambda c: c.adddata(extra_feed("W-WED"), name="EXTRA"),
    "a resampled feed": lambda c: c.resampledata(c.datas[1], timeframe=bt.TimeFrame.Weeks, name="WEEKLY"),
    "both": lambda c: [
        c.adddata(extra_feed("D"), name="EXTRA"),
        c.resampledata(c.datas[2], timeframe=bt.TimeFrame.Weeks, name="WEEKLY"),
    ],
}


@pytest.mark.parametrize("company", COMPANY)
@pytest.mark.parametrize("mode", [{}, {"runonce": False}, {"preload": False}, {"exactbars": -1}], ids=str)
def test_panel_feeds_in_company_of_other_feeds(company, mode):
    def run(kind, broker, seed):
        cerebro = cerebro_with(kind, market(seed), **mode)
        COMPANY[company](cerebro)
        cerebro.setbroker(broker)
        broker.setcash(20_000.0)
        cerebro.addstrategy(RandomStrategy, seed=seed)
        return cerebro.run()[0].log

    for seed in SEEDS[:4]:
        if mode.get("preload") is False and company in ("a resampled feed", "both") and seed % 3 == 2:
            continue  # backtrader counts the bars of a clone wrong while its feed has not begun
        assert_same(run(PANEL, BasketBroker(), seed), run(STOCK, bt.brokers.BackBroker(), seed))
