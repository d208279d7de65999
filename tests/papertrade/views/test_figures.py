"""The figures of a paper account are those of a backtest: the same entry, the same year, and no deposit is a gain."""

import json

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel
from tests.papertrade.harness import COSTS, at_the_broker, books_balance, market, open_account, step_through
from tracker_strategies.analysis.pages.words import minus
from tracker_strategies.cli.accounts.commands import show_report
from tracker_strategies.papertrade.brokers.base import PARTLY, SHORT_OF_CASH
from tracker_strategies.papertrade.errors import ReconcileError, RiskError
from tracker_strategies.papertrade.views.gap import gap_words, unfilled
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of
from tracker_strategies.runner import backtest


@pytest.mark.parametrize(
    "params", [{}, {"fill": "close"}, {"lot": 1.0}, {"entry_turnover": 0.3}, {"rebalance": 3}], ids=lambda p: str(p)
)
def test_a_paper_account_is_scored_from_the_bar_its_backtest_is(folder, params):
    panel = market(n_bars=16)
    account = open_account(folder / "a", panel, "pa", params)
    step_through(account, panel)
    report, own = report_of(account), backtest(panel, "pa", params, costs=COSTS)
    assert report.paper.entry == report.backtest.entry == own.entry
    assert own.metrics()["n_bars"] > 0
    for record in (report.paper, report.backtest):
        assert record.metrics() == pytest.approx(own.metrics(), rel=1e-8, abs=1e-12)


def test_an_account_that_began_late_counts_from_its_own_entry(folder):
    panel = market(n_bars=16)
    account = open_account(folder / "a", panel, start=str(panel.dates[6])[:10])
    step_through(account, panel)
    report = report_of(account)
    for record in (report.paper, report.backtest):
        m = record.metrics()
        assert (m["n_bars"], m["entry_bars"]) == (8, 1)
    assert report.paper.metrics() == pytest.approx(report.backtest.metrics(), rel=1e-9, abs=1e-12)
    assert report.backtest.metrics()["n_holdings"] > 1.0  # counted from its own first session on


@pytest.mark.parametrize("missing", [0, 3, 6, 9, 13], ids=lambda row: f"bar {row}")
def test_one_missing_level_of_the_index_spoils_no_report(folder, missing):
    base = market(n_bars=14)
    seen = np.ones((14, 1), dtype=bool)
    seen[missing] = False
    bars = {kind: getattr(base, kind) for kind in ("open", "high", "low")}
    panel = MarketPanel(base.dates, base.symbols, base.close, base.targets, base.target_close, target_seen=seen, **bars)
    account = open_account(folder / "a", panel, start=str(panel.dates[5])[:10])
    for k in range(6, 15):
        if k == missing + 1:
            with pytest.raises(RiskError, match="no level"):
                step_through(account, panel, start=k, stop=k)
        else:
            step_through(account, panel, start=k, stop=k)
    report = report_of(account)
    _, y = report.paper.scored()
    assert (y != 0.0).all()
    assert len(y) == report.paper.metrics()["n_bars"] > 0
    np.testing.assert_allclose(y, report.backtest.scored()[1][-len(y) :], rtol=1e-12)
    assert status_of(account).index_since_start != 0.0


def test_money_that_came_in_at_the_broker_is_no_gain_of_the_account(folder):
    panel = market(n_bars=14)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=6)
    at_the_broker(account, "update account set cash = cash + 1e6")
    account.adopt()
    waiting = status_of(account)
    assert waiting.value > 1.9e6
    assert abs(waiting.since_start) < 0.2
    step_through(account, panel, start=7)
    books_balance(account)
    record = report_of(account).paper
    assert record.flow[np.flatnonzero(record.flow)] == pytest.approx([1e6], rel=1e-9)
    (row,) = np.flatnonzero(record.flow)
    assert record.returns[row - 1] == pytest.approx((record.value[row] - record.flow[row]) / record.value[row - 1] - 1.0)
    assert np.abs(record.returns).max() < 0.1
    status = status_of(account)
    assert status.since_start == pytest.approx(
        np.prod(1.0 + record.returns) * record.value[0] / account.config.cash - 1.0, rel=1e-9
    )
    assert status.last_change == pytest.approx(record.returns[-1], rel=1e-9)


def test_weeks_are_annualised_as_weeks(folder):
    panel = market(n_bars=10)
    dates = pd.date_range("2020-01-03", periods=10, freq="W-FRI").to_numpy()
    panel = MarketPanel(dates, panel.symbols, panel.close, panel.targets, panel.target_close, open=panel.open)
    account = open_account(folder / "a", panel)
    step_through(account, panel)
    assert report_of(account).paper.periods_per_year == 52.0


def test_an_account_that_cannot_buy_says_so_in_words_and_in_valid_json(folder, capsys):
    panel = market(n_bars=8)
    account = open_account(folder / "a", panel, "pa", faults={"reject": 1.0})
    step_through(account, panel)
    show_report(str(account.folder), out=None, as_json=True)
    told = json.loads(capsys.readouterr().out, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    assert (told["paper"]["n_bars"], told["paper"]["te_rms"]) == (0, None)
    show_report(str(account.folder), out=str(folder / "out"), as_json=False)
    assert "no bar is scored, because the account never bought anything" in " ".join(capsys.readouterr().out.split())
    assert json.loads((folder / "out" / "report.json").read_text())["paper"]["te_rms"] is None


def test_a_report_of_an_account_that_waits_for_a_person(folder):
    """The bars of a session are in, and the account differs from the broker's: there is no balance yet."""
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=6)
    before = report_of(account).paper.value.tolist()
    at_the_broker(account, "update positions set size = size + 7.77 where ticker = 'S1'")
    with pytest.raises(ReconcileError):
        account.step(panel.rows(0, 7))
    assert report_of(account).paper.value.tolist() == before
    account.adopt()
    assert report_of(account).paper.value.tolist() == before


def test_the_page_of_an_account_says_what_the_terminal_says(folder, capsys):
    panel = market(n_bars=40)
    account = open_account(folder / "a", panel, "pa", faults={"reject": 0.3, "seed": 1})
    step_through(account, panel)
    report = report_of(account)
    show_report(str(account.folder), out=str(folder / "out"), as_json=False)
    said = " ".join(capsys.readouterr().out.split())
    page = (folder / "out" / "tearsheet.html").read_text(encoding="utf-8")
    assert report.gap["missed_orders"] > 0
    for words in gap_words(report.gap):
        assert words in said
        assert minus(words) in page
    assert "Against its own backtest" in page
    assert "Against baselines" not in page


def test_one_of_a_thing_is_no_plural_and_nothing_has_no_sign():
    gap = dict.fromkeys(("shortfall", "shortfall_bps", "traded", "fees", "missed", "cut", "weights_gap"), -1e-9)
    gap |= {"missed_orders": 1.0, "missed_sessions": 1.0, "cut_orders": 1.0, "divergences": 1.0, "value_gap": -1e-9}
    words = " ".join(gap_words(gap))
    for said in (
        "1 order failed",
        "1 session missed",
        "1 order partly",
        "1 divergence.",
        "fill 0.00, 0.00 bp",
        "backtest +0.0000%",
    ):
        assert said in words


def test_orders_that_a_backtest_would_not_fill_either_are_no_failures(folder):
    panel = market(n_bars=40)
    account = open_account(folder / "a", panel, "pa")
    step_through(account, panel)
    gap = report_of(account).gap
    assert (gap["missed_orders"], gap["missed"]) == (0.0, 0.0)
    assert gap_words(gap)[1].startswith("0 orders failed (worth 0)")
    order = {"status": "cancelled", "wanted": 10.0, "filled": 4.0, "price": 5.0}
    found = unfilled([{**order, "reason": SHORT_OF_CASH}, {**order, "reason": PARTLY}, {**order, "reason": "", "filled": 10.0}])
    assert found == {"missed": 30.0, "missed_orders": 1.0, "cut": 30.0, "cut_orders": 1.0}
