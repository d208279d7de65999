"""A paper account that is stepped session by session ends where one backtest over the same bars ends."""

import subprocess
import sys

import numpy as np
import pytest

from datafeeds import load_sample
from tests.markets import random_panel
from tests.papertrade.harness import COSTS, books_balance, decided_weights, in_a_process, open_account, step_through, values
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES

LIVING = {"listing_warmup": 3, "delist_after": 4}


def assert_parity(account, panel, strategy, params, costs=COSTS):
    record = backtest(panel, strategy, params, costs=costs)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    books_balance(account)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "names come, pause and go"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: s.alias_name)
def test_every_strategy_decides_and_earns_what_its_backtest_does(folder, strategy, gaps):
    panel = random_panel(n_bars=30, n_assets=5, seed=3, ohlc=True, gaps=gaps)
    account = open_account(folder / "a", panel, strategy.alias_name, LIVING, verify_every=11)
    ways = [result.way for result in step_through(account, panel)]
    assert {"replay", "checkpoint"} == set(ways)
    assert_parity(account, panel, strategy, LIVING)


@pytest.mark.parametrize(
    "params",
    [
        {"fill": "close"},
        {"rebalance": 5},
        {"rebalance": "weekly", "band": 0.01},
        {"lot": 1.0},
        {"max_turnover": 0.05},
        {"fill": "close", "lot": 1.0, "rebalance": "monthly"},
    ],
    ids=lambda p: ", ".join(f"{k}={v}" for k, v in p.items()),
)
def test_parity_holds_for_every_way_to_trade(folder, params):
    panel = random_panel(n_bars=25, n_assets=6, seed=4, ohlc=True, gaps=True)
    account = open_account(folder / "a", panel, "pa", {**LIVING, **params}, verify_every=9)
    step_through(account, panel)
    assert_parity(account, panel, "pa", {**LIVING, **params})


@pytest.mark.parametrize(
    "costs", [CostModel(), CostModel(per_share=0.01, min_fee=1.0), CostModel(bps=50, slippage_bps=30)], ids=str
)
def test_parity_holds_for_every_cost_model(folder, costs):
    panel = random_panel(n_bars=20, n_assets=4, seed=5, ohlc=True)
    account = open_account(folder / "a", panel, "apas", costs=costs)
    step_through(account, panel)
    assert_parity(account, panel, "apas", {}, costs)


def test_parity_holds_when_every_step_is_a_process_of_its_own(folder):
    panel = random_panel(n_bars=12, n_assets=5, seed=6, ohlc=True)
    account = open_account(folder / "a", panel)
    for k in range(1, panel.n_bars + 1):
        assert in_a_process(lambda k=k: PaperAccount(account.folder).step(panel.rows(0, k)))
    assert_parity(account, panel, "pa", {})


def test_parity_holds_for_the_command_on_a_file_that_grows(folder):
    panel = load_sample().rows(-6, None)
    frame = panel.to_frame()
    path = folder / "prices.csv"
    run = [sys.executable, "-m", "tracker_strategies.papertrade"]
    for k in range(2, panel.n_bars + 1):
        frame.iloc[:k].to_csv(path)
        if k == 2:
            start = str(frame.index[0].date())
            options = ["--data", str(path), "--cost-bps", "5", "--start", start, "--param", "eps=0.0003"]
            subprocess.run([*run, "init", str(folder / "a"), "pa", *options], check=True, capture_output=True)
        subprocess.run([*run, "step", str(folder / "a")], check=True, capture_output=True)
    account = PaperAccount(folder / "a")
    # The first two rows came together, and only the newest may act: the account begins one bar later than the data.
    record = backtest(panel.rows(1, None), "equal-weight", costs=CostModel(bps=5))
    assert len(values(account)) == panel.n_bars
    assert values(account)[1] == record.value[0]
    books_balance(account)


def test_bars_before_the_first_session_are_learned_from_but_not_traded_on(folder):
    panel = random_panel(n_bars=40, n_assets=5, seed=7, ohlc=True)
    account = open_account(folder / "a", panel, "pa", start=str(panel.dates[25])[:10], verify_every=6)
    step_through(account, panel, start=26)
    full = backtest(panel, "pa", {}, costs=COSTS)
    np.testing.assert_allclose(decided_weights(account), full.decisions[25:], atol=1e-12, rtol=0)
    assert values(account)[0] == 1e6
    books_balance(account)


@pytest.mark.parametrize("rebalance", ["once", "yearly", 7])
def test_the_first_session_trades_whatever_the_schedule_says(folder, rebalance):
    panel = random_panel(n_bars=30, n_assets=5, seed=8, ohlc=True)
    account = open_account(folder / "a", panel, "equal-weight", {"rebalance": rebalance}, start=str(panel.dates[25])[:10])
    assert step_through(account, panel, start=26, stop=26)[0].sent == 5
    assert step_through(account, panel, start=27, stop=27)[0].decision == "idle"
