"""Mistakes around a PaperStore: each is named before the first session is delivered."""

from types import SimpleNamespace

import backtrader as bt
import pytest

from tests.markets import ordinary_feeds
from tests.papertrade.harness import events, market, open_account, orders
from tests.papertrade.live.order_by_order import Drawn
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.papertrade import PaperStore
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.live.mistakes import _check_params
from tracker_strategies.strategies import APASTracker, PATracker


def set_up(folder, strategy=PATracker, params=None, account_params=None, **cerebro_options):
    panel = market()
    account = open_account(folder / "a", panel, "pa", account_params)
    store = PaperStore(account, panel=lambda: panel.rows(0, 4), poll=0.0, sessions=1)
    cerebro = bt.Cerebro(stdstats=False, **cerebro_options)
    cerebro.setbroker(store.getbroker())
    if strategy is not None:
        cerebro.addstrategy(strategy, **(params or {}))
    return cerebro, store, account


def refused(cerebro, account, match):
    class Ears(bt.Analyzer):
        bars = 0

        def next(self):
            type(self).bars += 1

    cerebro.addanalyzer(Ears)
    with pytest.raises(PaperError, match=match):
        cerebro.run()
    assert Ears.bars == 0
    assert not orders(account)


def foreign(cerebro):
    cerebro.adddata(ordinary_feeds(market())[0], name="VIX")


@pytest.mark.parametrize("strategy", [PATracker, Drawn])
@pytest.mark.parametrize("first", [True, False], ids=["before the store", "after it"])
def test_a_feed_of_ones_own(folder, strategy, first):
    cerebro, store, account = set_up(folder, strategy)
    if first:
        foreign(cerebro)
    store.add_to(cerebro)
    if not first:
        foreign(cerebro)
    refused(cerebro, account, "the feed 'VIX' does not belong to the account")


def test_a_resampled_feed(folder):
    cerebro, store, account = set_up(folder)
    feeds = store.add_to(cerebro)
    cerebro.resampledata(feeds[0], timeframe=bt.TimeFrame.Weeks, name="weeks")
    refused(cerebro, account, "the feed 'weeks' does not belong to the account")


@pytest.mark.parametrize("strategy", [PATracker, None], ids=["two", "none"])
def test_not_one_strategy(folder, strategy):
    cerebro, store, account = set_up(folder, strategy)
    store.add_to(cerebro)
    if strategy is not None:
        cerebro.addstrategy(Drawn)
    refused(cerebro, account, "runs exactly one strategy, but cerebro has " + ("PATracker, Drawn" if strategy else "none"))


def test_a_forgotten_broker(folder):
    cerebro, store, account = set_up(folder)
    cerebro.setbroker(bt.brokers.BackBroker())
    store.add_to(cerebro)
    refused(cerebro, account, r"trades on BackBroker, not on the paper account.*setbroker")


def test_forgotten_feeds(folder):
    cerebro, _, account = set_up(folder)
    for feed in ordinary_feeds(market()):
        cerebro.adddata(feed)
    refused(cerebro, account, r"store.add_to\(cerebro\)")


def test_an_unknown_name(folder):
    _, store, _ = set_up(folder)
    with pytest.raises(UniverseError, match=r"no asset named 'XYZ'; it has INDEX, S0, S1"):
        store.getdata("XYZ")


@pytest.mark.parametrize("cpus", [1, 2])
def test_optimisation(folder, cpus):
    cerebro, store, account = set_up(folder, None, maxcpus=cpus)
    store.add_to(cerebro)
    cerebro.optstrategy(PATracker, eps=[1e-4, 1e-3])
    with pytest.raises(PaperError, match="optstrategy runs a strategy many times"):
        cerebro.run()
    assert not orders(account)


def test_an_account_for_another_strategy(folder):
    cerebro, store, account = set_up(folder, APASTracker)
    store.add_to(cerebro)
    refused(cerebro, account, r"opened for pa \(PATracker\), cerebro runs APASTracker")


@pytest.mark.parametrize(
    ("account_params", "params"),
    [({"eps": 1e-3}, {}), ({}, {"eps": 1e-3}), ({"max_weight": 0.5}, {}), ({"rebalance": 3}, {"rebalance": 5})],
    ids=str,
)
def test_other_parameters(folder, account_params, params):
    cerebro, store, account = set_up(folder, PATracker, params, account_params)
    store.add_to(cerebro)
    refused(cerebro, account, f"parameters that differ from cerebro's PATracker: {next(iter(account_params | params))}")


@pytest.mark.parametrize(
    "params", [{}, {"eps": 1e-3}, {"max_weight": "50%", "max_names": 3}, {"rebalance": 5, "lot": 1}, {"margin": "2%"}], ids=str
)
def test_the_accounts_own_parameters_are_right_however_they_are_written(folder, params):
    for k, given in enumerate((params, None)):
        cerebro, store, account = set_up(folder / str(k), None, None, params)
        cerebro.addstrategy(PATracker, **(account.config.params if given is None else given))
        store.add_to(cerebro)
        cerebro.run()
        assert account.step(market().rows(0, 4)).decision == ""  # decided already


@pytest.mark.parametrize(
    ("opened", "given"),
    [
        ({"lot": 0.0}, {"lot": 0.0}),  # as accounts of 0.1.0 have it: a limit that says nothing
        ({"lot": 0.0}, {}),
        ({"sectors": {"S0": "a", "S1": "b"}}, {"sectors": {"S1": "b", "S0": "a"}}),
    ],
    ids=str,
)
def test_parameters_of_an_older_account_are_its_own(opened, given):
    config = SimpleNamespace(params=opened, symbols=("S0", "S1"), start="2020-01-02")
    _check_params(config, PATracker, PATracker, given)
    with pytest.raises(PaperError, match=r"parameters that differ from cerebro's PATracker: lot"):
        _check_params(config, PATracker, PATracker, {**given, "lot": 1.0})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda b: b.setcash(5.0), "its own starting cash"),
        (lambda b: b.add_cash(5.0), "its own starting cash"),
        (lambda b: b.setcommission(0.1), "costs are fixed"),
        (lambda b: b.set_slippage_perc(0.1), "costs are fixed"),
        (lambda b: b.set_slippage_fixed(0.1), "slip_fixed"),
        (lambda b: b.set_coc(True), "cheat-on-close"),
        (lambda b: b.set_filler(bt.fillers.FixedSize(size=1)), "the market, not a filler"),
    ],
    ids=["cash", "more cash", "commission", "slippage", "fixed slippage", "cheat", "filler"],
)
def test_settings_of_the_broker_that_an_account_cannot_keep(folder, change, match):
    cerebro, store, account = set_up(folder)
    store.add_to(cerebro)
    change(cerebro.broker)
    refused(cerebro, account, match)


@pytest.mark.parametrize("option", ["cheat_on_open", "oldsync"])
def test_modes_of_cerebro_that_do_not_work(folder, option):
    cerebro, store, account = set_up(folder, **{option: True})
    store.add_to(cerebro)
    refused(cerebro, account, option)


def test_a_second_run_of_the_same_store(folder):
    cerebro, store, _ = set_up(folder)
    store.add_to(cerebro)
    cerebro.run()
    with pytest.raises(PaperError, match="for one run; make another one"):
        cerebro.run()


def test_sessions_is_a_count(folder):
    _, _, account = set_up(folder)
    with pytest.raises(ParameterError, match="sessions"):
        PaperStore(account, sessions=0)


def test_another_strategy_than_a_tracker_is_said_to_trade_the_account(folder):
    cerebro, store, account = set_up(folder, Drawn)
    store.add_to(cerebro)
    (run,) = cerebro.run()
    for told in (run.told, events(account, "strategy")):
        assert any("opened for pa; Drawn trades it now" in text for text in told)
