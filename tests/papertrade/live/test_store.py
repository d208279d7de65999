"""Store, broker and feeds in one long cerebro: the same account as one step per session."""

import backtrader as bt
import numpy as np
import pytest

from datafeeds import load_sample
from tests.markets import random_panel
from tests.papertrade.harness import COSTS, books_balance, decided_weights, open_account, orders, step_through, values
from tests.papertrade.live.order_by_order import Grows
from tests.papertrade.market.test_several_markets import TARGETS, by_date
from tracker_strategies import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.papertrade import PaperAccount, PaperStore, RiskLimits
from tracker_strategies.papertrade.errors import BadBarError, BrokerError, BrokerUnavailableError
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import APASTracker, BuyAndHold, PATracker
from tracker_strategies.strategies.registry import load_strategy

LIVING = {"listing_warmup": 3, "delist_after": 4}


def market(gaps=False):
    return random_panel(n_bars=16, n_assets=5, seed=51, ohlc=True, gaps=gaps)


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


def replayed(folder, rows=30, start="2022-12-20", **options):
    load_sample().rows(-rows, None).to_frame().to_csv(folder / "prices.csv")
    return PaperAccount.create(folder / "a", "pa", str(folder / "prices.csv"), replay=start, **options)


def run_store(account, strategy=PATracker, **options):
    store = PaperStore(account, poll=0.0, **options)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(listening(strategy))
    return cerebro.run()[0]


def kinds(account):
    with account.journal(readonly=True) as journal:
        return [row[0] for row in journal.rows("select kind from decisions order by session")]


@pytest.mark.parametrize("clock", ["data", "replay"])
def test_so_many_sessions_are_so_many_after_a_restart_too(folder, clock):
    if clock == "replay":
        account = replayed(folder)
        for done in (2, 4, 6):
            run_store(PaperAccount(account.folder), sessions=2)
            assert len(values(account)) == len(kinds(account)) == done
        return
    panel = market()
    account = open_account(folder / "a", panel)
    for done in (2, 4, 6):
        store = PaperStore(account, panel=Grows(account, panel, max(done - 2, 1)), poll=0.0, sessions=2)
        cerebro = bt.Cerebro(stdstats=False)
        cerebro.setbroker(store.getbroker())
        store.add_to(cerebro)
        cerebro.addstrategy(PATracker)
        cerebro.run()
        assert len(values(account)) == len(kinds(account)) == done


def test_a_session_whose_rebalance_is_refused_does_not_end_recorded_history(folder):
    account = replayed(folder, limits=RiskLimits(max_turnover=0.5))
    run = run_store(account)
    assert kinds(account) == ["refused"] * 6
    assert sum("max_turnover=0.5" in text for who, text in run.states if who == "store") == 6


def test_a_refused_session_is_decided_anew_after_a_restart(folder):
    account = replayed(folder, limits=RiskLimits(max_turnover=0.5))
    run_store(account, sessions=2)
    account.change_limits({"max_turnover": 2.0})
    run_store(PaperAccount(account.folder), sessions=1)
    assert kinds(account) == ["refused", "act", "act"]
    books_balance(account)


def test_a_halted_account_ends_recorded_history_where_it_is_and_goes_on_there(folder):
    account = replayed(folder)
    run_store(account, sessions=2)
    account.halt("to look at it")
    run = run_store(PaperAccount(account.folder))
    assert len(values(account)) == 3
    assert kinds(account) == ["act", "act"]
    assert any("halted (to look at it" in text for _, text in run.states)
    account.resume()
    run_store(PaperAccount(account.folder))
    assert kinds(account) == ["act"] * 6


def test_what_recorded_history_cannot_mend_ends_the_run_by_name(folder):
    frame = load_sample().rows(-30, None).to_frame()
    frame.iloc[-2, 3] *= 10.0
    frame.to_csv(folder / "prices.csv")
    account = PaperAccount.create(folder / "a", "pa", str(folder / "prices.csv"), replay="2022-12-20")
    with pytest.raises(BadBarError, match="max_move"):
        run_store(account)
    assert kinds(account) == ["act"] * 4


@pytest.mark.parametrize("strategy", ["pa", "multi-index"])
def test_three_markets_with_holidays_in_one_long_process(folder, strategy):
    panel = by_date()
    account = open_account(folder / "a", panel, strategy, targets=TARGETS)
    run = live(account, panel, load_strategy(strategy))
    record = backtest(panel, strategy, {}, costs=COSTS)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    assert len(run.bars) == panel.n_bars
    books_balance(account)


def test_orders_outlive_a_broker_that_cannot_be_reached_for_a_while(folder):
    panel = market()
    account = open_account(folder / "a", panel, faults={"disconnect": 0.6, "seed": 3})
    run = live(account, panel, PATracker, sessions=8)
    books_balance(account)
    assert len(kinds(account)) == 8
    done = [status for _, status, _ in run.heard]
    assert done.count("Submitted") == sum(done.count(s) for s in ("Completed", "Canceled", "Rejected")) > 20
    assert not orders(account, "status in ('open', 'partial') and session < (select max(session) from decisions)")


def test_in_recorded_history_only_what_may_mend_itself_is_tried_again(folder):
    """A broker's file that is damaged stays damaged: waiting for it would never end."""
    panel = market()
    account = open_account(folder / "a", panel, start=None, replay=str(panel.dates[3])[:10])
    store = PaperStore(account, panel=lambda: panel, poll=0.0)
    store._complain(BrokerUnavailableError("down for a moment"))
    with pytest.raises(BrokerError, match="damaged"):
        store._complain(BrokerError("damaged"))
