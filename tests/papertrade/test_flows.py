"""Money that is paid into and out of a paper account: booked once with the fills of its date, invested, and never a return."""

import contextlib
import dataclasses
import itertools
import shutil

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import (
    COSTS,
    books_balance,
    changed,
    contents,
    day,
    decided_weights,
    events,
    in_a_process,
    open_account,
    orders,
    state,
    step_through,
    values,
)
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import FlowError, ReconcileError, RiskError
from tracker_strategies.papertrade.views.exporting import tables_of
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of
from tracker_strategies.runner import backtest

PANEL = random_panel(n_bars=22, n_assets=5, seed=4, ohlc=True)
GAPS = random_panel(n_bars=22, n_assets=5, seed=4, ohlc=True, gaps=True)
FLOWS = {day(PANEL, 5): 5e5, day(PANEL, 9): -2e5, day(PANEL, 14): 3e6, day(PANEL, 15): -3e5, "each": "1000/week"}
LIVING = {"listing_warmup": 3, "delist_after": 4}
_TRANSFERS = "select session, amount from cash where kind = 'transfer' order by id"


def paid(account):
    """What was paid in and out, by session: one payment on each."""
    with account.journal(readonly=True) as journal:
        rows = [tuple(row) for row in journal.rows(_TRANSFERS)]
    assert len(dict(rows)) == len(rows), f"paid twice on a session: {rows}"
    return dict(rows)


def killed_at_each_transition(account, panel, rows):
    """Number, copy of the account, and whether its step got through: one for each transition at which the step was killed."""
    for point in itertools.count(1):
        tried = account.folder.parent / "tried"
        shutil.rmtree(tried, ignore_errors=True)
        shutil.copytree(account.folder, tried)
        work = PaperAccount(tried)
        through = in_a_process(lambda work=work: work.step(panel.rows(0, rows)), kill_at=point)
        yield point, work, through
        if through:
            return


@pytest.mark.parametrize("panel", [PANEL, GAPS], ids=["whole", "gaps"])
@pytest.mark.parametrize(
    ("params", "costs"),
    [
        ({}, CostModel()),
        ({"fill": "close"}, COSTS),
        ({"rebalance": 7}, CostModel(per_share=0.01, min_fee=5.0)),
        ({"lot": 10.0}, COSTS),
        ({"fill": "close", "lot": 1.0, "rebalance": "monthly"}, COSTS),
        ({"max_turnover": 0.05, "max_weight": 0.4, "min_cash": 0.02}, COSTS),
    ],
    ids=str,
)
def test_an_account_with_flows_ends_where_the_backtest_with_them_ends(folder, panel, params, costs):
    chosen = {**LIVING, **params, "cash_flows": FLOWS}
    account = open_account(folder / "a", panel, "pa", chosen, costs=costs, verify_every=6)
    step_through(account, panel)
    record = backtest(panel, "pa", chosen, costs=costs)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    books_balance(account)
    assert list(paid(account).values()) == [amount for amount in record.flow.tolist() if amount]
    report, status = report_of(account), status_of(account)
    np.testing.assert_allclose(report.paper.returns, record.returns, atol=1e-12, rtol=0)
    whole = ("turnover", "cost_bps") if panel is PANEL else ()  # the account counts what is booked out as sold
    for key in ("te_rms", "tracking_difference", "excess_log_return", "final_value", *whole):
        assert report.paper.metrics()[key] == pytest.approx(record.metrics()[key], rel=1e-9), key
        assert report.backtest.metrics()[key] == pytest.approx(record.metrics()[key], rel=1e-9), key
    assert abs(report.gap["value_gap"]) < 1e-12
    assert status.since_start == pytest.approx(record.growth[-1] / record.growth[0] - 1.0, abs=1e-12)
    assert status.last_change == pytest.approx(record.returns[-1], abs=1e-12)


def test_an_account_that_learns_before_it_begins_counts_its_contributions_from_its_first_session(folder):
    start = 10
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": "1000/week"}, start=day(PANEL, start))
    step_through(account, PANEL, start=start + 1)
    assert min(paid(account)) > day(PANEL, start)
    report = report_of(account)
    np.testing.assert_allclose(report.paper.value, report.backtest.value, rtol=1e-9)
    np.testing.assert_allclose(report.paper.returns, report.backtest.returns, atol=1e-12, rtol=0)


def test_sessions_that_come_all_at_once_are_paid_each_on_its_own(folder):
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": FLOWS})
    step_through(account, PANEL, stop=4)
    result = account.step(PANEL)
    assert paid(account)[day(PANEL, 14)] == 3e6
    assert any(message.endswith("3,000,000.00 paid in and invested") for message in result.messages)
    report = report_of(account)
    assert report.paper.metrics()["te_rms"] < 0.05
    books_balance(account)


def test_a_deposit_is_no_gain_and_a_withdrawal_no_loss_whatever_the_market_does_on_that_day(folder):
    """Prices fall by a fifth after a deposit of ten times the account was invested: the account has lost a fifth, not more."""
    close, opens, level = PANEL.close[:8].copy(), PANEL.open[:8].copy(), PANEL.target_close[:8].copy()
    close[5:] *= 0.8
    opens[6:] *= 0.8
    level[5:] *= 0.8
    low, high = np.minimum(close, opens), np.maximum(close, opens)
    panel = MarketPanel(PANEL.dates[:8], PANEL.symbols, close, PANEL.targets, level, open=opens, high=high, low=low)
    for amount in (1e7, -9e5):
        account = open_account(folder / f"{amount:g}", panel, "pa", {"cash_flows": {day(panel, 5): amount}}, costs=CostModel())
        step_through(account, panel)
        quiet = open_account(folder / f"quiet {amount:g}", panel, "pa", costs=CostModel())
        step_through(quiet, panel)
        assert not events(account, "refused")
        assert paid(account) == {day(panel, 5): amount}
        assert status_of(account).since_start == pytest.approx(status_of(quiet).since_start, abs=1e-12)
    close = np.where(np.arange(8)[:, None] == 5, close * 0.8, close)
    crash = dataclasses.replace(panel, close=close, low=np.minimum(low, close))
    account = open_account(folder / "crash", crash, "pa", {"cash_flows": {day(panel, 5): 1e7}})
    with pytest.raises(RiskError, match=r"max_daily_loss=0\.25: the account lost 3[0-9]\.[0-9]%"):
        step_through(account, crash)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_kill_at_every_single_transition_pays_each_flow_once(folder, fill):
    params = {**LIVING, "fill": fill, "cash_flows": FLOWS, "lot": 1.0}
    account = open_account(folder / "a", GAPS, "pa", params)
    step_through(account, GAPS, stop=5)
    points, told = 0, []
    for k in (6, 7, 10, 11):
        before, tried = folder / "before", folder / "tried"
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(account.folder, before)
        step_through(account, GAPS, start=k, stop=k)
        wanted, point = state(account), 1
        while True:
            shutil.rmtree(tried, ignore_errors=True)
            shutil.copytree(before, tried)
            work = PaperAccount(tried)
            if in_a_process(lambda work=work, k=k: work.step(GAPS.rows(0, k)), kill_at=point, told=told):
                break
            PaperAccount(tried).step(GAPS.rows(0, k))
            assert state(PaperAccount(tried)) == wanted, f"killed at point {point} of session {k}"
            point += 1
        points += point
        step_through(account, GAPS, start=k + 1, stop={7: 9}.get(k, k))
    assert points > 50
    for moment in (
        "before commit of payment on",
        "after commit of payment on",
        "after commit of payment made",
        "after the market",
    ):
        assert any(name.startswith(moment) for name in told), moment
    assert len(paid(account)) == len([1 for amount in backtest(GAPS.rows(0, 11), "pa", params, costs=COSTS).flow if amount])


def test_after_a_payment_the_broker_holds_what_the_books_hold_to_the_last_bit(folder):
    """A rest of rounding would be a position of its own, which takes a place among the names that may be held."""
    panel = random_panel(n_bars=16, n_assets=6, seed=503833, ohlc=True)
    params = {**LIVING, "max_names": 4, "cash_flows": {day(panel, 5): -9.5e5, day(panel, 7): 5e6, day(panel, 12): 5e6}}
    costs = CostModel(per_share=0.01, min_fee=200.0, slippage_bps=3.0)
    account = open_account(folder / "a", panel, "pa", params, costs=costs)
    account.change_limits(dict.fromkeys(("max_missing", "max_daily_loss", "max_turnover"), "none"))
    for k in range(1, 17):
        account.step(panel.rows(0, k))
        with account.journal(readonly=True) as journal, account.broker() as broker:
            books = dict(tuple(row) for row in journal.rows("select symbol, size from positions where size != 0"))
            assert broker.holdings().sizes == books, k
    assert len(paid(account)) == 3
    assert not [order["reason"] for order in orders(account) if order["status"] == "rejected"]
    np.testing.assert_allclose(values(account), backtest(panel, "pa", params, costs=costs).value, rtol=1e-9)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_change_of_the_schedule_in_the_middle_of_a_payment_is_kept_or_refused(folder, fill):
    date, last = day(PANEL, 5), 6 + (fill == "close")
    account = open_account(folder / "a", PANEL, "pa", {"fill": fill, "cash_flows": {date: -2e5}})
    step_through(account, PANEL, stop=last - 1)
    answers = set()
    for point, work, through in killed_at_each_transition(account, PANEL, last):
        if through:
            break
        wanted = [-2e5]
        with contextlib.suppress(FlowError):
            work.change_flows({date: None})
            wanted = []
        work.step(PANEL.rows(0, last))
        assert list(paid(work).values()) == wanted, point
        answers.add(len(wanted))
    assert answers == {0, 1}


@pytest.mark.parametrize(("fill", "amount"), [("next_open", 1e6), ("next_open", -2e5), ("close", 1e6)])
def test_a_halt_in_the_middle_of_a_payment_stops_its_orders_unless_the_broker_has_filled_them(folder, fill, amount):
    last = 6 + (fill == "close")
    account = open_account(folder / "a", PANEL, "pa", {"fill": fill, "cash_flows": {day(PANEL, 5): amount}})
    step_through(account, PANEL, stop=last - 1)
    filled = set()
    for point, work, through in killed_at_each_transition(account, PANEL, last):
        if through:
            break
        with work.broker() as broker:
            made = broker.has_had(day(PANEL, last - 1))
        work.halt("looking into it")
        if amount < 0.0 and not made:
            with pytest.raises(FlowError, match="needs shares to be sold, and the account is halted"):
                work.step(PANEL.rows(0, last))
        else:
            work.step(PANEL.rows(0, last))
            assert list(paid(work).values()) == [amount]
        assert bool(orders(work, "due = 'flow'")) is made, point
        books_balance(work)
        filled.add(made)
    assert filled == {False, True}


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_an_account_that_is_adopted_in_the_middle_of_a_payment_books_it_once_as_the_payment_that_it_is(folder, fill):
    last = 6 + (fill == "close")
    account = open_account(folder / "a", PANEL, "pa", {"fill": fill, "cash_flows": {day(PANEL, 5): 1e6}})
    step_through(account, PANEL, stop=last - 1)
    shutil.copytree(account.folder, folder / "quiet")
    quiet = PaperAccount(folder / "quiet")
    step_through(quiet, PANEL, start=last, stop=9)
    for point, work, _ in killed_at_each_transition(account, PANEL, last):
        with work.broker() as broker:
            made = broker.has_had(day(PANEL, last - 1))
        work.adopt()
        assert list(paid(work).values()) == [1e6] * made, point
        step_through(work, PANEL, start=last, stop=9)
        assert paid(work) == paid(quiet), point
        np.testing.assert_allclose(values(work), values(quiet), rtol=1e-12)
        assert status_of(work).since_start == pytest.approx(status_of(quiet).since_start, abs=1e-12)
        books_balance(work)


def test_an_account_that_is_flattened_in_the_middle_of_a_payment_can_go_on(folder):
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": FLOWS})
    step_through(account, PANEL, stop=5)
    flow = backtest(PANEL.rows(0, 11), "pa", {"cash_flows": FLOWS}).flow.tolist()
    wanted = {day(PANEL, row): amount for row, amount in enumerate(flow) if amount}
    for point, work, through in killed_at_each_transition(account, PANEL, 6):
        with work.broker() as broker:
            over = broker.has_had(day(PANEL, 5))
        work.flatten()
        assert (wanted[day(PANEL, 5)] in paid(work).values()) is over, point
        work.resume()
        for k in range(6, 12):
            with contextlib.suppress(ReconcileError):
                work.step(PANEL.rows(0, k))
                continue
            # The broker was a session ahead of the books, so it was all sold past them.
            assert (over, through, k) == (True, False, 7), point
            work.adopt()
            work.step(PANEL.rows(0, k))
        books_balance(work)
        assert {session: amount for session, amount in paid(work).items() if session in wanted} == wanted, point
        with work.broker() as broker, work.journal(readonly=True) as journal:
            assert broker.holdings().cash == pytest.approx(float(journal.meta("cash")), abs=1e-6)
    assert point > 10


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_withdrawal_larger_than_the_account_is_refused_with_its_date_until_the_schedule_changes(folder, fill):
    date = day(PANEL, 6)
    account = open_account(folder / "a", PANEL, "pa", {"fill": fill, "cash_flows": {date: -5e6, day(PANEL, 9): 1e4}})
    step_through(account, PANEL, stop=6)
    last = 7 + (fill == "close")
    words = rf"the withdrawal of 5,000,000\.00 on {date} is larger than the account, which is worth .*tracker paper flows"
    for _ in range(2):
        with pytest.raises(FlowError, match=words):
            account.step(PANEL.rows(0, last))
    assert not paid(account)
    shutil.copytree(account.folder, folder / "b")
    PaperAccount(folder / "b").flatten()  # the exits work all the same
    account.change_flows({date: -10.0})
    step_through(account, PANEL, start=last)
    assert list(paid(account).values()) == [-10.0, 1e4]


def test_a_withdrawal_that_needs_a_halted_name_is_refused_with_its_date_and_leaves_nothing_behind(folder):
    panel = changed(PANEL, slice(6, 9), slice(0, 4), np.nan)
    account = open_account(folder / "a", panel, "buy-and-hold", {"cash_flows": {day(panel, 6): -9e5}}, limits=None)
    account.change_limits({"max_missing": "none"})
    step_through(account, panel, stop=6)
    before = contents(account.folder / "broker.db")
    with pytest.raises(FlowError, match=rf"the withdrawal of 900,000\.00 on {day(panel, 6)} cannot be paid"):
        account.step(panel.rows(0, 7))
    assert contents(account.folder / "broker.db") == before
    assert not paid(account)


def test_limits_hold_for_the_orders_of_a_payment(folder):
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": {day(PANEL, 5): 4e6}})
    step_through(account, PANEL, stop=5)
    account.change_limits({"max_order_value": 300_000})
    with pytest.raises(FlowError, match=r"paid in on .*max_order_value=300000.*tracker paper limits"):
        account.step(PANEL.rows(0, 6))
    assert not paid(account)
    account.change_limits({"max_order_value": "none"})
    step_through(account, PANEL, start=6)
    np.testing.assert_allclose(
        values(account), backtest(PANEL, "pa", {"cash_flows": {day(PANEL, 5): 4e6}}, costs=COSTS).value, rtol=1e-9
    )


def test_a_halted_account_books_a_payment_and_sends_nothing(folder):
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": {day(PANEL, 5): 1e5}})
    step_through(account, PANEL, stop=5)
    account.halt("looking into it")
    messages = account.step(PANEL.rows(0, 6)).messages
    assert any("100,000.00 paid in and kept in cash" in message for message in messages)
    assert not orders(account, "due = 'flow'")
    account.resume()
    step_through(account, PANEL, start=7, stop=8)
    assert status_of(account).cash < 5_000.0  # invested by the next decision
    books_balance(account)


def test_a_withdrawal_from_a_halted_account_is_paid_before_the_orders_that_wait(folder):
    """Buys that wait get what is left; a withdrawal that needs shares to be sold is refused until the account goes on."""
    account = open_account(folder / "a", PANEL, "pa", {"cash_flows": {day(PANEL, 1): -2e5}})
    step_through(account, PANEL, stop=1)
    account.halt("looking into it")
    step_through(account, PANEL, start=2, stop=3)
    assert paid(account) == {day(PANEL, 1): -2e5}
    assert 0.0 <= status_of(account).cash < 1.0
    assert values(account)[1] == pytest.approx(8e5, rel=0.1)
    books_balance(account)
    flows = {day(PANEL, 5): 1e6, day(PANEL, 7): -2e5}
    account = open_account(folder / "b", PANEL, "pa", {"fill": "close", "cash_flows": flows})
    step_through(account, PANEL, stop=6)
    account.halt("kept in cash")
    account.step(PANEL.rows(0, 7))
    account.resume()
    account.step(PANEL.rows(0, 8))  # the decision buys with all of it
    account.halt("again")
    account.step(PANEL.rows(0, 9))
    assert paid(account) == {day(PANEL, 6): 1e6, day(PANEL, 8): -2e5}
    assert 0.0 <= status_of(account).cash < 1.0
    books_balance(account)
    account = open_account(folder / "c", PANEL, "pa", {"cash_flows": {day(PANEL, 5): -2e5}})
    step_through(account, PANEL, stop=5)
    account.halt("looking into it")
    for _ in range(2):
        with pytest.raises(FlowError, match=rf"200,000\.00 on {day(PANEL, 5)} needs shares to be sold.*tracker paper resume"):
            account.step(PANEL.rows(0, 6))
    assert not paid(account)
    account.resume()
    account.step(PANEL.rows(0, 6))
    assert paid(account) == {day(PANEL, 5): -2e5}
    assert orders(account, "due = 'flow'")


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_split_on_the_day_of_a_payment_changes_nothing(folder, fill):
    (folder / "actions.csv").write_text(f"date,symbol,kind,value\n{day(PANEL, 5)},S1,split,4\n")
    bars = {k: getattr(PANEL, k).copy() for k in ("close", "open", "high", "low")}
    for prices in bars.values():
        prices[5:, 1] /= 4.0
    panel = MarketPanel(PANEL.dates, PANEL.symbols, bars.pop("close"), PANEL.targets, PANEL.target_close, **bars)
    for flows in ({day(PANEL, 5): 1e5}, {day(PANEL, 4): 1e5, day(PANEL, 5): -1e5, day(PANEL, 6): 2e5}):
        place, params = folder / str(len(flows)), {"fill": fill, "cash_flows": flows}
        account = open_account(place, panel, "pa", params, actions=str(folder / "actions.csv"))
        step_through(account, panel)
        np.testing.assert_allclose(values(account), backtest(PANEL, "pa", params, costs=COSTS).value, rtol=1e-9)


@pytest.mark.parametrize("fill", ["next_open", "close"])
@pytest.mark.parametrize("later", [1.0, 1.3, 0.7])
@pytest.mark.parametrize("back", [6, 8])
def test_a_payment_while_a_name_is_halted_does_not_know_where_it_comes_back(folder, fill, later, back):
    halted = changed(PANEL, slice(5, back), 1, np.nan)
    bars = {name: getattr(halted, name).copy() for name in ("close", "open", "high", "low")}
    for prices in bars.values():
        prices[back:, 1] *= later
    panel = MarketPanel(PANEL.dates, PANEL.symbols, bars.pop("close"), PANEL.targets, PANEL.target_close, **bars)
    params = {"fill": fill, "cash_flows": {day(panel, back - 1): 1e6}}
    account = open_account(folder / "a", panel, "buy-and-hold", params)
    account.change_limits(dict.fromkeys(("max_missing", "max_daily_loss", "max_turnover", "max_move"), "none"))
    step_through(account, panel)
    np.testing.assert_allclose(values(account), backtest(panel, "buy-and-hold", params, costs=COSTS).value, rtol=1e-9)


@pytest.mark.parametrize("ratio", [4.0, 0.25])
def test_a_payment_at_the_close_before_a_split_is_measured_in_the_shares_after_it(folder, ratio):
    """Neither the limits of its orders nor their shortfall depend on the split."""
    (folder / "actions.csv").write_text(f"date,symbol,kind,value\n{day(PANEL, 5)},S1,split,{ratio}\n")
    bars = {k: getattr(PANEL, k).copy() for k in ("close", "open", "high", "low")}
    for prices in bars.values():
        prices[5:, 1] /= ratio
    panel = MarketPanel(PANEL.dates, PANEL.symbols, bars.pop("close"), PANEL.targets, PANEL.target_close, **bars)
    params = {"fill": "close", "cash_flows": {day(PANEL, 4): 1e6}}
    account = open_account(folder / "a", panel, "buy-and-hold", params, actions=str(folder / "actions.csv"))
    step_through(account, panel, stop=5)
    account.change_limits({"max_order_value": 190_000})
    with pytest.raises(FlowError, match=r"max_order_value=190000: S0, S1, S2, S3 \(up to 205,"):
        account.step(panel.rows(0, 6))
    account.change_limits({"max_order_value": 250_000})
    account.step(panel.rows(0, 6))
    for order in orders(account, "due = 'flow'"):
        assert order["price"] == pytest.approx(order["average"], rel=3e-3), order["symbol"]


def test_the_schedule_is_shown_and_changed_on_dates_to_come(folder):
    account = open_account(folder / "a", PANEL, "pa")
    assert account.flows() is None
    step_through(account, PANEL, stop=4)
    account.change_flows({day(PANEL, 6): 1e5, day(PANEL, 7): -1e4, "each": "1000/week"})
    account.change_flows({day(PANEL, 7): None, "each": None, day(PANEL, 8): 5.0})
    flows = account.flows()
    assert (flows.days, flows.amounts, flows.each) == ((day(PANEL, 6), day(PANEL, 8)), (1e5, 5.0), 0.0)
    step_through(account, PANEL, start=5)
    assert paid(account) == {day(PANEL, 6): 1e5, day(PANEL, 8): 5.0}
    assert set(tables_of(account)["orders"]["due"]) == {"open", "flow"}
    for given, words in (({day(PANEL, 3): 5.0}, "name a date after"), ({"each": "5/fortnight"}, "is not a contribution")):
        with pytest.raises((FlowError, ParameterError), match=words):
            account.change_flows(given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"cash_flows": {day(PANEL, 0): 5.0}}, "starting cash"),
        ({"cash_flows": {day(PANEL, 4): 5.0}, "max_participation": 0.1}, "flows and max_participation cannot be combined"),
        ({"cash_flows": "5/fortnight"}, "is not a contribution"),
    ],
    ids=str,
)
def test_what_cannot_be_booked_is_refused_before_there_is_an_account(folder, given, words):
    with pytest.raises(ParameterError, match=words):
        open_account(folder / "a", dataclasses.replace(PANEL, volume=np.full(PANEL.close.shape, 1e9)), "pa", given)
    assert not (folder / "a").exists()
