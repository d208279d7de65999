"""An account that begins with holdings: both columns of its report are scored on the same bars."""

import warnings

import pytest

from tests.markets import random_panel
from tests.papertrade.harness import day, open_account, step_through
from tracker_strategies import Account
from tracker_strategies.papertrade.views.report import report_of

PANEL = random_panel(n_bars=22, n_assets=5, seed=4, ohlc=True)


@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("cash", [0.0, 2e5])
@pytest.mark.parametrize("start", [0, 10])
def test_paper_and_backtest_are_scored_on_the_same_bars(folder, start, cash, fill):
    held = Account(cash, {name: 8e5 / 2.0 / PANEL.close[start, i] for i, name in enumerate(PANEL.symbols[:2])})
    account = open_account(folder / "a", PANEL, "pa", {"fill": fill}, start=day(PANEL, start), holdings=held)
    step_through(account, PANEL, start=start + 1)
    report = report_of(account)
    assert report.paper.entry == report.backtest.entry
    for key in ("te_rms", "tracking_difference", "n_bars"):
        assert report.paper.metrics()[key] == pytest.approx(report.backtest.metrics()[key], rel=1e-9), key


def test_shares_without_cash_have_a_report_without_a_warning(folder):
    held = Account(0.0, {name: 5e5 / PANEL.close[10, i] for i, name in enumerate(PANEL.symbols[:2])})
    account = open_account(folder / "a", PANEL, "pa", start=day(PANEL, 10), holdings=held)
    step_through(account, PANEL, start=11)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = report_of(account)
    assert report.gap["value_gap"] == pytest.approx(0.0, abs=1e-9)
