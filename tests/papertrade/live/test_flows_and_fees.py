"""Payments and fees by name in a cerebro of one's own: the account does what one step per session does, and its analyzers too."""

import numpy as np
import pytest

from tests.markets import random_panel
from tests.papertrade.harness import COSTS, books_balance, day, decided_weights, open_account, step_through, values
from tests.papertrade.live.test_store import LIVING, live
from tests.papertrade.test_flows import paid
from tests.papertrade.test_interventions import manual
from tracker_strategies import Account
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import PATracker

PANEL = random_panel(n_bars=16, n_assets=5, seed=51, ohlc=True)
FLOWS = {day(PANEL, 4): 5e5, day(PANEL, 8): -2e5, "each": "1000/week"}
FEES = {"S1": {"bps": 1.0}, "*": {"bps": 9.0, "min_fee": 3.0}}


@pytest.mark.parametrize("params", [{}, {"fill": "close"}, {"rebalance": 5, "lot": 10.0}], ids=str)
def test_flows_and_fees_by_name_are_those_of_one_step_per_session(folder, params):
    chosen = {**params, "cash_flows": FLOWS, "fees": FEES}
    stepped = open_account(folder / "stepped", PANEL, "pa", chosen)
    step_through(stepped, PANEL)
    running = open_account(folder / "running", PANEL, "pa", chosen)
    run = live(running, PANEL, PATracker, running.config.params, analyzers=True)
    record = backtest(PANEL, "pa", chosen, costs=COSTS)
    assert paid(running) == paid(stepped)
    assert len(paid(running)) == 4
    np.testing.assert_allclose(decided_weights(running), record.decisions, atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(running), record.value, rtol=1e-9)
    np.testing.assert_allclose(values(running), values(stepped), rtol=1e-12)
    books_balance(running)
    told = run.analyzers.tracking.get_analysis()
    for key in ("te_rms", "tracking_difference"):
        assert told[key] == pytest.approx(record.metrics()[key], rel=1e-9), key
    fund = run.broker.get_fundvalue() / 100.0
    assert fund * record.value[0] == pytest.approx(record.value[0] * np.prod(1.0 + record.returns), rel=1e-9)


def test_a_process_that_was_stopped_pays_nothing_twice_and_keeps_what_was_changed(folder):
    chosen = {**LIVING, "cash_flows": FLOWS}
    stepped = open_account(folder / "stepped", PANEL, "pa", chosen)
    account = open_account(folder / "running", PANEL, "pa", chosen)
    live(account, PANEL, PATracker, account.config.params, sessions=6)
    step_through(stepped, PANEL, stop=6)
    for one in (stepped, PaperAccount(account.folder)):
        one.change_flows({day(PANEL, 8): None, day(PANEL, 11): 7e5, "each": None})
    step_through(stepped, PANEL, start=7)
    live(PaperAccount(account.folder), PANEL, PATracker, account.config.params, begin=6)
    assert paid(account) == paid(stepped)
    assert paid(account)[day(PANEL, 11)] == 7e5
    np.testing.assert_allclose(values(account), values(stepped), rtol=1e-9)
    books_balance(account)


def test_money_taken_over_from_the_broker_is_no_return_either(folder):
    account = open_account(folder / "a", PANEL, "pa")
    step_through(account, PANEL, stop=6)
    there = manual(account)
    there.submit(Ticket("by-hand", "S1", -100.0, 1.0, due="settle"))
    there.close()
    account.adopt()
    run = live(account, PANEL, PATracker, begin=6, analyzers=True)
    assert any(abs(amount) > 100.0 for amount in paid(account).values())
    report = report_of(account)
    assert run.analyzers.tracking.get_analysis()["te_rms"] == pytest.approx(report.paper.metrics()["te_rms"], rel=1e-9)


def test_what_a_cerebro_cannot_pay_is_refused_by_name(folder):
    class Generous(PATracker):
        def next(self):
            super().next()
            if len(self) == 3:
                self.broker.add_cash(500.0)

    account = open_account(folder / "a", PANEL, "pa")
    with pytest.raises(PaperError, match=r"add_cash\(500\) has no effect on a paper account.* tracker paper flows .* DATE=500"):
        live(account, PANEL, Generous)
    account = open_account(folder / "b", PANEL, "pa", {"cash_flows": FLOWS})
    with pytest.raises(PaperError, match=r"opened with parameters that differ from cerebro's .*: cash_flows"):
        live(account, PANEL, PATracker, {"cash_flows": FLOWS})


def test_an_account_that_begins_with_shares_and_no_cash_runs_in_a_cerebro(folder):
    held = Account(0.0, {name: 5e5 / PANEL.close[0, i] for i, name in enumerate(PANEL.symbols[:2])})
    stepped, running = (open_account(folder / place, PANEL, "pa", holdings=held) for place in ("stepped", "running"))
    step_through(stepped, PANEL)
    run = live(running, PANEL, PATracker, analyzers=True)
    np.testing.assert_allclose(values(running), values(stepped), rtol=1e-12)
    told = run.analyzers.tracking.get_analysis()
    assert told["te_rms"] == pytest.approx(report_of(stepped).paper.metrics()["te_rms"], rel=1e-9)
    assert run.broker.get_fundvalue() == pytest.approx(100.0 * values(running)[-1] / values(running)[0], rel=1e-9)
