"""Fees that differ by name or market: what the mandate's table says is what every engine plans with and charges."""

import json

import backtrader as bt
import numpy as np
import pytest

from datafeeds import SingleIndexData
from tests.markets import random_panel
from tests.papertrade.harness import books_balance, decided_weights, folder, open_account, step_through, values
from tracker_strategies import Account, orders_for
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.named_costs import fees_in_words, named
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import PATracker

__all__ = ["folder"]

PANEL = random_panel(n_bars=22, n_assets=5, seed=4, ohlc=True)
GAPS = random_panel(n_bars=22, n_assets=5, seed=4, ohlc=True, gaps=True)
GENERAL = CostModel(bps=5, slippage_bps=2)
FEES = {
    "shares": {"S1": {"bps": 40.0}, "S3": {"bps": 0.0, "per_share": 0.05}},
    "least fees": {
        "S2": {"min_fee": 30.0},
        "far": {"names": ["S3", "S4"], "bps": 1.0, "min_fee": 10.0},
        "S4": {"per_share": 0.1},
    },
    "a pattern": {"*": {"bps": 3.0}, "S[12]": {"bps": 25.0, "per_share": 0.01}},
}


@pytest.mark.parametrize("fees", FEES)
@pytest.mark.parametrize("panel", [PANEL, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"fill": "close"},
        {"fill": "open"},
        {"lot": 1.0},
        {"max_weight": 0.4, "lot": 10.0},
        {"max_turnover": 0.1, "min_cash": 0.02},
    ],
    ids=str,
)
def test_replay_and_both_brokers_charge_the_same(params, panel, fees):
    chosen = {**params, "fees": FEES[fees]}
    truth = replay(panel, "pa", chosen, costs=GENERAL, orders=True)
    for more in ({}, {"broker": "ordinary"}):
        run = backtest(panel, "pa", {**chosen, **more}, costs=GENERAL)
        np.testing.assert_allclose(run.value, truth.value, rtol=1e-9)
        np.testing.assert_allclose(run.cost, truth.cost, rtol=1e-6, atol=1e-6)
        assert (run.weights.sum(axis=1) <= 1.0 + 1e-12).all()
        for order in run.orders.to_dict("records"):
            assert order["commission"] == pytest.approx(by_hand(fees, order), rel=1e-9), order


def by_hand(fees, order):
    """The fee of an order as the table says it."""
    name, value, size = order["symbol"], abs(order["size"]) * order["price"], abs(order["size"])
    if fees == "shares":
        return {"S1": 40e-4 * value, "S3": 0.05 * size}.get(name, 5e-4 * value)
    if fees == "a pattern":
        return 25e-4 * value + 0.01 * size if name in ("S1", "S2") else 3e-4 * value
    if name == "S2":
        return max(5e-4 * value, 30.0)
    return {"S3": max(1e-4 * value, 10.0), "S4": max(1e-4 * value + 0.1 * size, 10.0)}.get(name, 5e-4 * value)


@pytest.mark.parametrize("fees", FEES)
@pytest.mark.parametrize("params", [{}, {"fill": "close"}, {"lot": 1.0, "rebalance": 3}], ids=str)
def test_a_paper_account_charges_what_the_backtest_charges(folder, params, fees):
    chosen = {"listing_warmup": 3, "delist_after": 4, **params, "fees": FEES[fees]}
    account = open_account(folder / "a", GAPS, "pa", chosen, costs=GENERAL, verify_every=7)
    said = step_through(account, GAPS)
    assert {"checkpoint", "replay"} == {result.way for result in said}
    record = backtest(GAPS, "pa", chosen, costs=GENERAL)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    books_balance(account)
    report = report_of(account)
    np.testing.assert_allclose(report.backtest.value, record.value, rtol=1e-9)
    assert report.gap["fees"] == pytest.approx(record.orders["commission"].sum(), rel=1e-9)


@pytest.mark.parametrize("fees", FEES)
@pytest.mark.parametrize("lot", [0.0, 1.0])
def test_the_order_list_estimates_what_a_backtest_pays(fees, lot):
    flat = random_panel(n_bars=22, n_assets=5, seed=4)
    plan = orders_for(flat, "pa", Account(1e6), {"fees": FEES[fees], "lot": lot}, costs=CostModel(bps=5))
    for order in plan.table.to_dict("records"):
        told = {"symbol": order["symbol"], "size": order["qty"], "price": order["est_price"]}
        assert order["est_cost"] == pytest.approx(by_hand(fees, told), rel=1e-9)
    assert plan.figures["cash_after"] >= 0.0


def test_no_fees_by_name_change_nothing():
    truth = replay(PANEL, "pa", {}, costs=GENERAL)
    np.testing.assert_array_equal(replay(PANEL, "pa", {"fees": None}, costs=GENERAL).value, truth.value)
    same = {"fees": {"S*": {"bps": 5.0}}}
    for run in (replay(PANEL, "pa", same, costs=GENERAL), backtest(PANEL, "pa", same, costs=GENERAL)):
        np.testing.assert_allclose(run.value, truth.value, rtol=1e-9)


@pytest.mark.parametrize(
    ("fees", "words"),
    [
        ({"S1": {"bps": -1}}, "fees of S1: bps must be a finite number >= 0, got -1"),
        ({"S1": {"min_fee": "much"}}, "fees of S1: min_fee"),
        ({"S1": {"bps": 6000}}, "leaves nothing to invest"),
        ({"S1": {"cost": 1}}, "not 'cost'"),
        ({"S1": {}}, "have the keys bps, per_share, min_fee"),
        ({"S1": 5}, "have the keys bps, per_share, min_fee"),
        (5, "must be a mapping such as"),
        ({"S9": {"bps": 1}}, "no name 'S9' in the data"),
        ({"X*": {"bps": 1}}, r"no name 'X\*' in the data"),
        ({"tokyo": {"names": ["S1", "S11"], "bps": 1}}, "fees of 'tokyo': no name 'S11' in the data; did you mean 'S1'"),
        ({"S[12]": {"bps": 1}, "S?": {"bps": 2}}, r"'S1' stands under 'S\[12\]' and under 'S\?'; keep one"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(fees, words):
    for engine in (replay, backtest):
        with pytest.raises(ParameterError, match=words):
            engine(PANEL, "pa", {"fees": fees})


def test_a_mandate_keeps_its_fees_in_file_and_as_plain_values(tmp_path):
    (tmp_path / "m.toml").write_text('max_weight = 0.5\n[fees.S1]\nbps = 40\n[fees.far]\nnames = ["S3"]\nmin_fee = 10\n')
    mandate = Mandate.read(tmp_path / "m.toml")
    assert mandate.fees == {"S1": {"bps": 40.0}, "far": {"min_fee": 10.0, "names": ["S3"]}}
    assert Mandate.of(json.loads(json.dumps(mandate.told()))) == mandate
    assert Mandate(fees=mandate.fees).is_free
    assert Mandate(fees={"*": {"bps": 1}}).plain()["fees"] == {"*": {"bps": 1.0}}
    run = backtest(PANEL, "pa", {"mandate": str(tmp_path / "m.toml")}, costs=GENERAL)
    truth = replay(PANEL, "pa", {"fees": mandate.fees, "max_weight": 0.5}, costs=GENERAL)
    np.testing.assert_allclose(run.value, truth.value, rtol=1e-9)


def test_a_caption_says_what_names_pay():
    assert fees_in_words(Mandate(fees=FEES["least fees"]).fees) == (
        " (S2 at least 30 per order; far 1 bp, at least 10 per order; S4 0.1 per share)"
    )
    many = {f"S{i}": {"bps": 1.0} for i in range(5)}
    assert fees_in_words(many).endswith("and 2 more)")
    assert named(GENERAL, None, PANEL.symbols) is GENERAL


# -- several runs, several trackers ----------


def _values(chosen, capital=None):
    """What a cerebro is worth after one run for each of these fees, with one broker."""
    cerebro = bt.Cerebro()
    SingleIndexData(GAPS).add_to(cerebro)
    charge(cerebro.broker, GENERAL)
    cerebro.addanalyzer(Worth, _name="worth")
    cerebro.optstrategy(PATracker, fees=chosen, capital=capital)
    return [run[0].analyzers.worth.rets.value for run in cerebro.run(maxcpus=1)]


class Worth(bt.Analyzer):
    def stop(self):
        self.rets.value = self.strategy.broker.getvalue()


def test_fees_of_one_run_are_not_those_of_the_next():
    dear, dearer = {"*": {"bps": 50}}, {"*": {"bps": 90}}
    alone = [_values([fees])[0] for fees in (dear, None, dearer)]
    assert _values([dear, None, dearer]) == alone
    assert len(set(alone)) == 3


@pytest.mark.parametrize("fill", ["next_open", "close", "open"])
@pytest.mark.parametrize("first", [True, False])
def test_fees_that_one_tracker_names_are_those_of_the_account(fill, first):
    """Whichever of two trackers comes first, both plan with what the broker charges: no order is refused, no cash is short."""
    cerebro = bt.Cerebro()
    SingleIndexData(GAPS).add_to(cerebro)
    charge(cerebro.broker, GENERAL)
    for named_here in (first, not first):
        cerebro.addstrategy(PATracker, fill=fill, capital=0.5, fees={"*": {"bps": 60}} if named_here else None)
    cerebro.addanalyzer(Refused, _name="refused")
    for strategy in cerebro.run():
        assert strategy.analyzers.refused.rets.count == 0
        assert strategy.analyzers.refused.rets.least > -1e-3


class Refused(bt.Analyzer):
    def start(self):
        self.rets.count, self.rets.least = 0, float("inf")

    def notify_order(self, order):
        self.rets.count += order.status in (order.Margin, order.Rejected)

    def next(self):
        self.rets.least = min(self.rets.least, self.strategy.route.part.cash)
