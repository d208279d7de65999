"""A paper account that is stepped session by session ends where one backtest over the same bars ends.

Every strategy does so in tests/testing/test_strategies.py.
"""

import subprocess
import sys

import numpy as np
import pytest

from datafeeds import load_sample
from tests.markets import random_panel
from tests.papertrade.harness import COSTS, books_balance, decided_weights, in_a_process, open_account, step_through, values
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.runner import backtest

LIVING = {"listing_warmup": 3, "delist_after": 4}


def assert_parity(account, panel, strategy, params, costs=COSTS):
    record = backtest(panel, strategy, params, costs=costs)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    books_balance(account)


def test_parity_on_a_complete_market(folder):
    panel = random_panel(n_bars=30, n_assets=6, seed=2, ohlc=True)
    account = open_account(folder / "a", panel, "apas", verify_every=11)
    step_through(account, panel)
    assert_parity(account, panel, "apas", {})


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
    frame = load_sample().rows(-7, None).to_frame()
    path, place = folder / "prices.csv", folder / "a"
    run = [sys.executable, "-m", "tracker_strategies", "paper"]
    frame.iloc[:4].to_csv(path)
    subprocess.run(
        [*run, "init", place, "pa", "--data", path, "--cost-bps", "5", "--param", "eps=0.0003"], check=True, capture_output=True
    )
    for rows in range(4, len(frame) + 1):
        frame.iloc[:rows].to_csv(path)
        subprocess.run([*run, "step", place], check=True, capture_output=True)
    report = report_of(PaperAccount(place))
    np.testing.assert_allclose(report.paper.value, report.backtest.value, rtol=1e-9)
    assert len(report.paper.value) == 4
    assert report.gap["weights_gap"] <= 1e-12
    books_balance(PaperAccount(place))


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


@pytest.mark.parametrize("every", [1, 1000], ids=["replays", "checkpoints"])
def test_parity_holds_for_weights_of_the_index_that_come_with_time_and_for_few_names(folder, every):
    panel = random_panel(n_bars=24, n_assets=5, seed=4)
    weights = dict(zip(panel.symbols, (5.0, 4.0, 3.0, 2.0, 1.0), strict=True))
    params = {"prior_weights": {str(panel.dates[8].astype("datetime64[D]")): weights}, "max_names": 3, "fill": "close"}
    account = open_account(folder / "account", panel, "ensemble", params, verify_every=every)
    said = step_through(account, panel)
    assert {result.way for result in said[1:]} == {"replay" if every == 1 else "checkpoint"}
    assert_parity(account, panel, "ensemble", params)
