"""Money that is paid in and taken out: booked with the fills, invested in proportion, and never a return."""

from itertools import pairwise

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import random_panel
from tracker_strategies.analysis import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.recording import record_of
from tracker_strategies.errors import AccountError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.holdings.flows import flows_of
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import PATracker
from tracker_strategies.testing.lookahead import check_no_lookahead

PANEL = random_panel(60, 5, seed=4, ohlc=True)
GAPS = random_panel(60, 5, seed=4, ohlc=True, gaps=True)
DAYS = [str(day.astype("datetime64[D]")) for day in PANEL.dates]
FLOWS = {DAYS[7]: 5e5, DAYS[20]: -2e5, DAYS[33]: 1e5}
WAYS = {
    "replay": lambda panel, name, params, **more: replay(panel, name, params, **more),
    "basket broker": lambda panel, name, params, **more: backtest(panel, name, params, **more),
    "ordinary broker": lambda panel, name, params, **more: backtest(panel, name, {**params, "broker": "ordinary"}, **more),
}
COSTS = CostModel(bps=5, slippage_bps=2)


@pytest.mark.parametrize("fill", ["next_open", "close", "open"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("params", [{}, {"rebalance": 7}, {"max_weight": 0.4, "min_cash": 0.02}], ids=str)
def test_a_flow_changes_no_return(way, fill, params):
    chosen = {"fill": fill, **params}
    without, run = backtest(PANEL, "ensemble", chosen), WAYS[way](PANEL, "ensemble", {**chosen, "cash_flows": FLOWS})
    assert run.flow.sum() == pytest.approx(4e5)
    np.testing.assert_allclose(run.returns, without.returns, rtol=0, atol=1e-12)
    for key in ("te_rms", "te_centred", "tracking_difference", "excess_log_return"):
        assert run.metrics()[key] == pytest.approx(without.metrics()[key], abs=1e-12)
    late = fill == "close"  # fills at a close are booked on the bar after
    assert [DAYS[i - late] for i in np.flatnonzero(run.flow)] == list(FLOWS)
    assert run.value[-1] == pytest.approx(without.value[-1] + 4e5, rel=0.1)


def test_many_contributions_change_no_return_either():
    long = random_panel(400, 4, seed=9, ohlc=True)
    without, run = (replay(long, "pa", {"coordinates": "shares", **more}) for more in ({}, {"cash_flows": "1000/week"}))
    assert np.count_nonzero(run.flow) > 50
    assert run.metrics()["tracking_difference"] == pytest.approx(without.metrics()["tracking_difference"], abs=1e-12)
    assert run.metrics()["te_rms"] == pytest.approx(without.metrics()["te_rms"], abs=1e-12)


@pytest.mark.parametrize("fill", ["next_open", "close", "open"])
@pytest.mark.parametrize("panel", [PANEL, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize("params", [{}, {"lot": 1, "max_weight": 0.5}, {"rebalance": "monthly"}], ids=str)
def test_replay_and_both_brokers_agree_with_costs_lots_and_halts(fill, panel, params):
    chosen = {"fill": fill, "cash_flows": FLOWS, **params}
    truth, *others = (way(panel, "pa", chosen, costs=COSTS) for way in WAYS.values())
    assert np.count_nonzero(truth.flow) == 3
    for other in others:
        np.testing.assert_allclose(other.value, truth.value, rtol=1e-9)
        np.testing.assert_allclose(other.flow, truth.flow)
        np.testing.assert_allclose(other.returns, truth.returns, rtol=0, atol=1e-9)
    for run in (truth, *others):
        assert (run.weights.sum(axis=1) <= 1.0 + 1e-12).all()  # cash never below zero


def test_shares_stay_whole():
    orders = backtest(PANEL, "pa", {"lot": 10, "cash_flows": FLOWS}).orders
    assert (orders["size"] % 10 == 0).all()
    assert orders["date"].isin([np.datetime64(day) for day in FLOWS]).any()


@pytest.mark.parametrize("fill", ["next_open", "close", "open"])
def test_no_flow_is_known_before_its_decision(fill):
    later = {**FLOWS, DAYS[45]: 9e5}
    one, other = (backtest(PANEL, "pa", {"fill": fill, "cash_flows": flows}, costs=COSTS) for flows in (FLOWS, later))
    np.testing.assert_array_equal(one.value[:45], other.value[:45])
    assert one.value[46] != other.value[46]
    check_no_lookahead("pa", PANEL, {"fill": fill, "cash_flows": FLOWS}, costs=COSTS)


@pytest.mark.parametrize("fill", ["next_open", "close", "open"])
@pytest.mark.parametrize("way", WAYS)
def test_a_withdrawal_larger_than_the_account_is_refused_with_its_date(way, fill):
    with pytest.raises(AccountError, match=rf"the withdrawal of 5,000,000\.00 on {DAYS[9]} is larger than the account, which is"):
        WAYS[way](PANEL, "pa", {"fill": fill, "cash_flows": {DAYS[9]: -5e6}})


def test_a_flow_of_a_holiday_is_booked_on_the_next_bar_and_several_are_added_up():
    flows = flows_of({"2024-03-02": 100.0, "2024-03-03": 50.0, "2024-03-04": -20.0})
    assert flows.due("2024-03-01", "2024-03-04") == 130.0
    assert flows.due("2024-03-04", "2024-03-05") == 0.0


def test_contributions_come_on_the_first_bar_of_a_period():
    for text, dates, expected in (
        ("1000/month", ("2024-01-31", "2024-02-01", "2024-02-02", "2024-04-01"), (1000.0, 0.0, 2000.0)),
        ("-50/week", ("2024-03-01", "2024-03-04", "2024-03-08", "2024-03-11"), (-50.0, 0.0, -50.0)),
        ("10/quarter", ("2024-03-28", "2024-04-02", "2024-05-01", "2024-07-01"), (10.0, 0.0, 10.0)),
        ("10/year", ("2023-12-29", "2024-01-02", "2024-12-31", "2025-01-02"), (10.0, 0.0, 10.0)),
    ):
        flows = flows_of(text)
        assert tuple(flows.due(a, b) for a, b in pairwise(dates)) == expected
        assert flows_of(flows.plain()) == flows


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({DAYS[0]: 100.0}, "starting cash; add it to --cash"),
        ({"someday": 1.0}, "'someday': 1.0; each entry must be a date and an amount"),
        ({DAYS[5]: "much"}, "each entry must be a date and an amount"),
        ({}, "is empty; it must be"),
        ("1000/fortnight", "not a contribution; write an amount and one of week, month, quarter, year"),
        ("nowhere.csv", "cannot be read"),
        (7, "must be a mapping of date to amount"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(given, words):
    for engine in (replay, backtest):
        with pytest.raises(ParameterError, match=words):
            engine(PANEL, "pa", {"cash_flows": given})


def run_in_cerebro(strategy, **params):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.broker.setcash(1_000_000.0)
    cerebro.addstrategy(strategy, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    (run,) = cerebro.run()
    return run


def test_add_cash_in_a_cerebro_of_ones_own_is_booked_where_backtrader_books_it():
    """The night in cash is a real drag, beside a flow that the tracker knows, which is none."""

    class Saver(PATracker):
        def next(self):
            super().next()
            if len(self) == 20:
                self.broker.add_cash(300_000.0)

    plain, drag, both = (
        record_of(run_in_cerebro(cls, cash_flows=flows)) for cls, flows in ((PATracker, None), (Saver, None), (Saver, FLOWS))
    )
    assert np.flatnonzero(drag.flow).tolist() == [20]
    np.testing.assert_allclose(drag.returns[:20], plain.returns[:20], rtol=0, atol=1e-12)
    assert np.abs(drag.returns[20] - plain.returns[20]) > 1e-6
    assert both.flow[20] == 300_000.0 - 200_000.0
    np.testing.assert_allclose(both.returns[:20], plain.returns[:20], rtol=0, atol=1e-12)


def test_the_fund_of_the_broker_does_not_take_a_flow_for_a_gain():
    plain, run = (run_in_cerebro(PATracker, cash_flows=flows).broker for flows in (None, FLOWS))
    assert run.fundvalue == pytest.approx(plain.fundvalue, rel=1e-12)


def test_a_tracker_with_a_part_of_the_account_gets_its_own_flows():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.broker.setcash(1_000_000.0)
    for flows in (FLOWS, None):
        cerebro.addstrategy(PATracker, capital=0.5, cash_flows=flows)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    one, other = (run.analyzers.tracking for run in cerebro.run())
    assert one.flow.sum() == pytest.approx(4e5)
    assert other.flow is None
    assert one.get_analysis()["te_rms"] == pytest.approx(other.get_analysis()["te_rms"], abs=1e-10)


def test_code_that_takes_out_more_than_there_is_ends_the_run_with_the_date():
    class Spender(PATracker):
        def next(self):
            super().next()
            if len(self) == 20:
                self.broker.add_cash(-3_000_000.0)

    with pytest.raises(AccountError, match=rf"on {DAYS[20]} withdrawals and losses had used up the account"):
        run_in_cerebro(Spender)
