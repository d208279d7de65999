"""Money paid in or taken out is no return: figures of an account with flows are those of one without."""

import math
from importlib.util import find_spec

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import ordinary_feeds, random_panel
from tracker_strategies import HoldingsAnalyzer, PATracker, TrackingAnalyzer, read_run, record_of, tearsheet
from tracker_strategies.analysis.metrics import time_weighted
from tracker_strategies.analysis.runfolder import write_run

PANEL = random_panel(70, 5, seed=31, ohlc=True)
#: Bars at whose close money is moved: it is booked after the fills of the next.
FLOWS = {0: 2e5, 7: 5e5, 8: -3e5, 30: 1e6, 31: 1e6, 50: -9e5, 68: 4e5}
SAME = ("te_rms", "te_centred", "mdte", "tracking_difference", "excess_log_return", "n_bars", "n_holdings", "entry_bars")
MODES = [{}, {"runonce": False}, {"preload": False, "runonce": False}, {"exactbars": 1}, {"exactbars": -1}]


class WithFlows(PATracker):
    """A tracker whose owner pays in and takes out."""

    params = (("flows", None),)

    def next(self):
        super().next()
        moved = (self.p.flows or {}).get(len(self) - 1)
        if moved:
            self.broker.add_cash(moved)


def run(flows, *, feeds="panel", fundmode=False, params=None, **options):
    cerebro = bt.Cerebro(stdstats=False, **options)
    if feeds == "panel":
        IndexData(PANEL).add_to(cerebro)
    else:
        for feed in ordinary_feeds(PANEL):
            cerebro.adddata(feed)
    cerebro.broker.setcash(1e6)
    cerebro.broker.set_fundmode(fundmode)
    cerebro.addstrategy(WithFlows, **{"fill": "close", "flows": flows, **(params or {})})
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    return cerebro.run()[0]


@pytest.fixture(scope="module")
def still():
    return run(None)


@pytest.mark.parametrize("fundmode", [False, True])
@pytest.mark.parametrize("mode", MODES, ids=lambda m: str(m) or "default")
@pytest.mark.parametrize(("feeds", "broker"), [("panel", "basket"), ("panel", "ordinary"), ("ordinary", "ordinary")])
def test_figures_are_those_of_the_account_without_flows(still, feeds, broker, mode, fundmode):
    moved = run(FLOWS, feeds=feeds, fundmode=fundmode, params={"broker": broker}, **mode)
    record, expected = record_of(moved), record_of(still)
    booked = np.zeros(70)
    booked[[t + 1 for t in FLOWS]] = list(FLOWS.values())
    np.testing.assert_allclose(record.flow, booked, atol=1e-6)
    np.testing.assert_allclose(record.returns, expected.returns, atol=1e-12)
    for key in SAME:
        assert record.metrics()[key] == pytest.approx(expected.metrics()[key], abs=1e-12), key
    said = {**moved.analyzers.tracking.get_analysis(), **moved.analyzers.holdings.get_analysis()}
    assert said == pytest.approx(record.metrics(), rel=1e-12)
    assert record.value[-1] > 1.5 * expected.value[-1]


def test_counted_as_return_the_same_flows_are_hundreds_of_basis_points(still):
    value = record_of(run(FLOWS)).value
    y = PANEL.target_close[1:, 0] / PANEL.target_close[:-1, 0] - 1.0
    assert math.sqrt(np.mean((value[1:] / value[:-1] - 1.0 - y) ** 2)) > 0.03
    assert record_of(still).metrics()["te_rms"] < 0.01


def test_a_bar_with_a_flow_returns_what_was_there_before_it_earned():
    record = record_of(run({20: 1e6}, params={"fill": "next_open"}))
    V, t = record.value, 21
    assert record.flow[t] == pytest.approx(1e6, rel=1e-12)
    assert record.returns[t - 1] == pytest.approx((V[t] - 1e6) / V[t - 1] - 1.0, rel=1e-12)
    # backtrader's fund value counts the money as if it had been there when the bar began.
    fund = V[t] / (V[t - 1] + 1e6) - 1.0
    assert abs(fund - record.returns[t - 1]) > 1e-4
    np.testing.assert_allclose(time_weighted(V, record.flow)[t - 1], record.returns[t - 1] + 1.0)


def test_trades_and_costs_are_measured_by_the_account_that_made_them():
    record = record_of(run({20: 1e6}))
    # The deposit is booked on bar 21 and invested at its close: half of the account then.
    assert record.turnover[22] == pytest.approx(1e6 / record.value[21], abs=0.15)
    assert record.weights[22].sum() == pytest.approx(1.0, abs=1e-9)


def test_money_moved_while_the_account_is_being_entered_is_no_return_of_the_entry():
    moved, still = (record_of(run(f, params={"entry_turnover": 0.2})).metrics() for f in ({0: 1e6}, None))
    quiet = record_of(run({0: 1e6}, params={"entry_turnover": 0.2}))
    y = PANEL.target_close[1:, 0] / PANEL.target_close[:-1, 0] - 1.0
    row = quiet.entry.row
    assert moved["entry_active_return"] == pytest.approx(np.prod(1.0 + quiet.returns[:row]) - np.prod(1.0 + y[:row]), abs=1e-12)
    assert abs(moved["entry_active_return"]) < 0.2
    assert still["entry_bars"] <= moved["entry_bars"]


def test_flows_come_back_from_a_run_folder(tmp_path):
    record = record_of(run(FLOWS))
    back = read_run(write_run(record, tmp_path / "run", PANEL), whole=True)
    np.testing.assert_array_equal(back.flow, record.flow)
    assert back.metrics() == record.metrics()


@pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")
def test_the_tear_sheet_and_its_quantstats_part_show_no_flow_as_a_gain(still, tmp_path):
    from tests.analysis.pages.test_quantstats_page import table_rows

    with_flows, without = (
        tearsheet(r, tmp_path / f"{i}.html").read_text(encoding="utf-8") for i, r in enumerate((run(FLOWS), still))
    )
    parts = [table_rows(page.split('id="quantstats"')[1]) for page in (with_flows, without)]
    for row in ("Cumulative Return", "Volatility (ann.)", "Max Drawdown", "Sharpe"):
        assert parts[0][row] == parts[1][row]
    assert "paid in +1,900,000" in with_flows
    assert "; paid in" not in without


def test_cash_that_is_booked_early_counts_where_the_value_shows_it():
    """Asking for the value of one feed, as order_target_percent does, makes the broker book waiting cash at once."""

    class Asking(WithFlows):
        def next(self):
            super().next()
            self.broker.getvalue([self.assets[0]])

    def returns(strategy):
        cerebro = bt.Cerebro(stdstats=False)
        IndexData(PANEL).add_to(cerebro)
        deposits = {bar: amount for bar, amount in FLOWS.items() if amount > 0.0}  # a withdrawal would come out of the fills
        cerebro.addstrategy(strategy, fill="close", flows=deposits)
        cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
        return cerebro.run()[0].analyzers.tracking.get_analysis()

    assert returns(Asking) == pytest.approx(returns(WithFlows), rel=1e-9)
