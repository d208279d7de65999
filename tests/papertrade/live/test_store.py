"""Store, broker and feeds in one long cerebro: the same account as one step per session."""

import backtrader as bt
import numpy as np
import pytest

from datafeeds import load_sample
from tests.markets import random_panel
from tests.papertrade.harness import books_balance, decided_weights, open_account, orders, step_through, values
from tracker_strategies import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.papertrade import PaperAccount, PaperStore, RiskLimits
from tracker_strategies.strategies import APASTracker, BuyAndHold, PATracker

LIVING = {"listing_warmup": 3, "delist_after": 4}


def market(gaps=False):
    return random_panel(n_bars=16, n_assets=5, seed=51, ohlc=True, gaps=gaps)


class Grows:
    """A market that has one more session whenever the account has taken all of it in."""

    def __init__(self, account, panel, begin):
        self.account, self.panel, self.rows = account, panel, begin

    def __call__(self):
        with self.account.journal(readonly=True) as journal:
            known = journal.one("select count(*) from bars")
            decided = journal.one("select max(session) from decisions") == journal.one("select max(session) from bars")
        if known == self.rows and decided:
            self.rows = min(self.rows + 1, self.panel.n_bars)
        return self.panel.rows(0, self.rows)


def listening(cls):
    class Listening(cls):
        def __init__(self):
            self.heard, self.states, self.bars = [], [], []
            super().__init__()

        def notify_order(self, order):
            self.heard.append((order.data._name, order.getstatusname(), order.executed.size))

        def notify_data(self, data, status, *args, **kwargs):
            self.states.append((data._name, data._getstatusname(status)))

        def notify_store(self, message, *args, **kwargs):
            self.states.append(("store", message))

        def next(self):
            self.bars.append(self.datas[0].datetime.date(0))
            super().next()

    return Listening


def live(account, panel, strategy, params=None, begin=1, sessions=None, analyzers=False):
    nights = panel.n_bars - (begin if begin > 1 else 0)  # a session that was decided before has had its night
    store = PaperStore(account, panel=Grows(account, panel, begin), poll=0.0, sessions=sessions or nights)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(listening(strategy), **(params or {}))
    if analyzers:
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
        cerebro.addanalyzer(bt.analyzers.TradeAnalyzer, _name="trades")
    return cerebro.run()[0]


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "names come, pause and go"])
@pytest.mark.parametrize("strategy", [PATracker, APASTracker, BuyAndHold], ids=lambda s: s.alias_name)
def test_one_long_process_does_what_one_step_per_session_does(folder, strategy, gaps):
    panel = market(gaps)
    stepped = open_account(folder / "stepped", panel, strategy.alias_name, LIVING)
    step_through(stepped, panel)
    running = open_account(folder / "running", panel, strategy.alias_name, LIVING)
    run = live(running, panel, strategy, LIVING)
    np.testing.assert_allclose(decided_weights(running), decided_weights(stepped), atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(running), values(stepped), rtol=1e-9)
    assert [str(d) for d in run.bars] == [str(d)[:10] for d in panel.dates]  # once per session
    books_balance(running)


def test_fill_mode_close_in_a_long_process(folder):
    panel, params = market(), {"fill": "close"}
    stepped = open_account(folder / "stepped", panel, "pa", params)
    step_through(stepped, panel)
    running = open_account(folder / "running", panel, "pa", params)
    live(running, panel, PATracker, params)
    np.testing.assert_allclose(values(running), values(stepped), rtol=1e-9)


def test_notifications_in_backtraders_words(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=8)
    run = live(account, panel, PATracker, begin=8, analyzers=True)
    assert run.states.count(("INDEX", "DELAYED")) == run.states.count(("INDEX", "LIVE")) == 1
    assert run.states.index(("INDEX", "DELAYED")) < run.states.index(("INDEX", "LIVE"))
    heard = [status for _, status, _ in run.heard]
    assert set(heard) <= {"Submitted", "Accepted", "Completed", "Partial", "Canceled"}
    assert heard.count("Completed") > 50
    assert heard.count("Submitted") == len(orders(account, f"session < '{str(panel.dates[-1])[:10]}'"))
    assert run.analyzers.trades.get_analysis()["total"]["total"] > 0
    assert run.analyzers.tracking.get_analysis()["n_bars"] == panel.n_bars - 2  # bought on the second bar


def test_a_process_that_was_stopped_goes_on_where_it_was(folder):
    panel = market()
    stepped = open_account(folder / "stepped", panel)
    step_through(stepped, panel)
    account = open_account(folder / "a", panel)
    live(account, panel, PATracker, sessions=5)
    live(PaperAccount(account.folder), panel, PATracker, begin=5, sessions=4)
    step_through(account, panel, start=10, stop=11)  # a step in between is no problem either
    live(PaperAccount(account.folder), panel, PATracker, begin=11)
    np.testing.assert_allclose(values(account), values(stepped), rtol=1e-9)
    assert len(orders(account)) == len(orders(stepped))


class Simple(bt.Strategy):
    """No tracker at all: buys ten shares of the first stock on every bar."""

    def __init__(self):
        self.done = []

    def next(self):
        self.buy(self.getdatabyname("S0"), size=10)

    def notify_order(self, order):
        if order.status == order.Completed:
            self.done.append((order.executed.size, order.executed.price))


def test_any_strategy_can_trade_the_account(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    store = PaperStore(account, panel=Grows(account, panel, 1), poll=0.0, sessions=8)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(Simple)
    (run,) = cerebro.run()
    assert [size for size, _ in run.done] == [10.0] * 7
    np.testing.assert_allclose([price for _, price in run.done], panel.open[1:8, 0] * 1.0002, rtol=1e-12)
    assert cerebro.broker.getposition(run.getdatabyname("S0")).size == 70.0
    assert abs(cerebro.broker.getvalue() - values(account)[-1]) < 1e-6


def test_a_refused_rebalance_is_a_rejected_order(folder):
    panel = market()
    account = open_account(folder / "a", panel, limits=RiskLimits(max_turnover=0.5))
    run = live(account, panel, PATracker, sessions=3)
    assert not orders(account)
    assert {status for _, status, _ in run.heard} == {"Submitted", "Rejected"}
    assert any("max_turnover=0.5" in text for who, text in run.states if who == "store")


def test_recorded_history_ends_by_itself(folder):
    load_sample().rows(-30, None).to_frame().to_csv(folder / "prices.csv")
    account = PaperAccount.create(folder / "a", "pa", str(folder / "prices.csv"), replay="2022-12-20")
    store = PaperStore(account, poll=0.0)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(PATracker)
    cerebro.run()
    assert len(values(account)) == 6
    assert len(decided_weights(account)) == 6
