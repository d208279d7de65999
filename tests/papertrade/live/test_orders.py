"""Orders of every type, one by one: what a strategy orders, what is sent and what is filled agree."""

import sqlite3
from datetime import timedelta

import backtrader as bt
import numpy as np
import pytest

from tests.papertrade.harness import books_balance, events, in_a_process, orders, state
from tests.papertrade.live.order_by_order import KINDS, Drawn, case, market, new_account, paper, stock
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount, PaperStore, RiskLimits
from tracker_strategies.papertrade.views.report import report_of

E = bt.Order
COSTS = CostModel(bps=5, min_fee=0.5)


@pytest.mark.parametrize("cash", [1e6, 6e3], ids=["rich", "short of cash"])
@pytest.mark.parametrize("seed", range(5))
def test_random_strategies_are_told_what_backtraders_broker_tells(folder, seed, cash):
    assert case(folder / "a", seed, cash=cash, costs=COSTS) == []


@pytest.mark.parametrize("kind", [k for k in KINDS if k != "cancel"])
def test_each_type_by_itself(folder, kind):
    assert case(folder / "a", 7, kinds=(kind, kind, "cancel"), costs=COSTS) == []


def test_a_run_in_pieces_is_the_same_run(folder):
    panel = market(3)
    whole = paper(new_account(folder / "whole", panel, COSTS), panel, sessions=20, seed=3)
    account = new_account(folder / "pieces", panel, COSTS)
    for begin, sessions in ((1, 4), (4, 3), (7, 6)):
        paper(PaperAccount(account.folder), panel, begin=begin, sessions=sessions, seed=3)
    run = paper(PaperAccount(account.folder), panel, begin=13, sessions=7, seed=3)
    assert run.diary == whole.diary
    assert run.broker.getvalue() == whole.broker.getvalue()
    same = ("cid", "size", "due", "status", "filled", "average")
    assert [[o[k] for k in same] for o in orders(account)] == [
        [o[k] for k in same] for o in orders(PaperAccount(folder / "whole"))
    ]


class Planned(Drawn):
    """Does what `plan` says on a bar (from 1): a function of the strategy."""

    params = (("plan", {}),)

    def next(self):
        if len(self) in self.p.plan:
            self.p.plan[len(self)](self, self.getdatabyname("S0"))


def told(run, n):
    return [entry[2] for entry in run.diary if entry[1] == n]


def run_plan(folder, plan, *, panel=None, sessions=6, begin=1, costs=COSTS, **options):
    panel = market(11) if panel is None else panel
    account = new_account(folder / "a", panel, costs, **options)
    return paper(account, panel, Planned, sessions=sessions, begin=begin, plan=plan), account


def test_a_limit_that_is_never_reached_waits_and_is_sent_for_every_session(folder):
    half = {1: lambda s, d: s.keep(s.buy(d, size=10, exectype=E.Limit, price=d.close[0] / 2))}
    run, account = run_plan(folder, half)
    assert told(run, 0) == ["Submitted", "Accepted"]
    assert run.made[0].alive()
    assert {o["reason"] for o in orders(account, "status = 'cancelled'")} == {"its price was not reached"}
    assert len(orders(account)) == 6
    assert run.broker.getposition(run.getdatabyname("S0")).size == 0.0
    books_balance(account)


def test_a_bracket_beside_a_position_sells_only_when_its_parent_has_bought(folder):
    def bracket(s, d):
        s.keep(*s.buy_bracket(d, size=10, exectype=E.Market, stopprice=d.close[0] * 0.5, limitprice=d.close[0] * 2))

    run, account = run_plan(folder, {1: lambda s, d: s.keep(s.buy(d, size=20)), 3: bracket})
    assert [o.getstatusname() for o in run.made] == ["Completed", "Completed", "Accepted", "Accepted"]
    assert run.broker.getposition(run.getdatabyname("S0")).size == 30.0
    books_balance(account)


def test_without_the_check_at_submission_orders_are_sent_all_the_same(folder):
    class Unchecked(Planned):
        def start(self):
            self.broker.set_checksubmit(False)

    panel = market(11)
    account = new_account(folder / "a", panel, COSTS)
    plan = {1: lambda s, d: s.keep(s.buy(d, size=10)), 2: lambda s, d: s.keep(s.buy(d, size=1.5e6 / d.close[0]))}
    run = paper(account, panel, Unchecked, sessions=5, plan=plan)
    assert [o.getstatusname() for o in run.made] == ["Completed", "Margin"]


@pytest.mark.parametrize(
    ("order", "reason"),
    [
        (lambda s, d: s.sell(d, size=10), "long only: 0 S0 are held"),
        (lambda s, d: s.buy(s.getdatabyname("INDEX"), size=1), "INDEX is an index and cannot be traded"),
        (lambda s, d: s.buy(d, size=1, exectype=E.Limit, price=-3.0), "positive prices"),
        (lambda s, d: s.buy(d, size=float("nan")), "needs a size"),
        (lambda s, d: s.buy(d, size=1, exectype=E.Historical, price=5.0), "Historical orders are not supported"),
    ],
    ids=["short", "index", "price", "size", "type"],
)
def test_what_an_account_cannot_work_is_rejected_at_the_order(folder, order, reason):
    run, account = run_plan(folder, {2: lambda s, d: s.keep(order(s, d))})
    assert run.made[0].getstatusname() == "Rejected"
    assert told(run, 0) == (["Rejected"] if run.made[0].exectype != E.Historical else [])  # of those backtrader never tells
    assert reason in run.made[0].info.reason
    assert any(reason in text for text in run.told)
    assert [text for text in events(account, "rejected") if reason in text]
    assert not orders(account)


def test_a_sell_that_is_reached_without_shares_is_rejected_by_name(folder):
    run, account = run_plan(folder, {1: lambda s, d: s.keep(s.sell(d, size=10, exectype=E.Stop, price=d.close[0] * 2))})
    assert told(run, 0) == ["Submitted", "Accepted", "Rejected"]
    assert "long only" in run.made[0].info.reason
    books_balance(account)


def test_a_bracket_of_which_one_order_is_rejected_is_rejected_as_a_whole(folder):
    def bracket(s, d):
        main = s.buy(d, size=5, transmit=False)
        stop = s.sell(d, size=5, exectype=E.Stop, price=float("nan"), parent=main, transmit=False)
        s.keep(main, stop, s.sell(d, size=5, exectype=E.Limit, price=d.close[0] * 2, parent=main))

    run, account = run_plan(folder, {1: bracket})
    assert [o.getstatusname() for o in run.made] == ["Rejected"] * 3
    assert not orders(account)


def test_before_the_account_begins_orders_are_rejected_with_its_date(folder):
    panel = market(11)
    plan = {2: lambda s, d: s.keep(s.buy(d, size=5)), 9: lambda s, d: s.keep(s.buy(d, size=7))}
    run, _ = run_plan(folder, plan, panel=panel, sessions=4, begin=8, start=str(panel.dates[7])[:10])
    assert [o.getstatusname() for o in run.made] == ["Rejected", "Completed"]
    assert f"begins on {str(panel.dates[7])[:10]}" in run.made[0].info.reason


def test_a_refused_night_rejects_its_orders_and_the_run_goes_on(folder):
    plan = {2: lambda s, d: s.keep(s.buy(d, size=5000)), 4: lambda s, d: s.keep(s.buy(d, size=2))}
    run, account = run_plan(folder, plan, limits=RiskLimits(max_order_value=1000.0))
    assert [o.getstatusname() for o in run.made] == ["Rejected", "Completed"]
    assert "max_order_value=1000" in run.made[0].info.reason
    again = paper(PaperAccount(account.folder), market(11), Planned, begin=6, sessions=2, plan=plan)
    assert again.diary == run.diary


def test_a_limit_is_never_filled_beyond_its_price_and_slippage_is_paid_elsewhere(folder):
    panel, costs = market(11), CostModel(slippage_bps=30)
    price = float(panel.open[1, 0]) * 1.0005
    plan = {
        1: lambda s, d: s.keep(
            s.buy(d, size=10, exectype=E.Limit, price=price),
            s.buy(d, size=10),
            s.buy(d, size=10, exectype=E.Stop, price=price / 2),
        )
    }
    run, _ = run_plan(folder, plan, panel=panel, costs=costs)
    open_ = float(panel.open[1, 0])
    assert [o.executed.price for o in run.made] == pytest.approx([price, open_ * 1.003, open_ * 1.003])


def test_an_order_that_waits_is_carried_over_a_split(folder):
    panel = market(11)
    (folder / "actions.csv").write_text(f"date,symbol,kind,value\n{str(panel.dates[3])[:10]},S0,split,4\n")
    raw = {k: getattr(panel, k).copy() for k in ("close", "open", "high", "low")}
    for values in raw.values():
        values[3:, 0] /= 4.0
    split = type(panel)(panel.dates, panel.symbols, raw.pop("close"), panel.targets, panel.target_close, **raw)
    low = float(panel.low[2:8, 0].min()) * 1.001
    plan = {2: lambda s, d: s.keep(s.buy(d, size=10, exectype=E.Limit, price=low))}
    adjusted = stock(panel, COSTS, 1e6, Planned, plan=plan)
    options = {"panel": split, "actions": str(folder / "actions.csv"), "sessions": 9}
    run, account = run_plan(folder, plan, **options)
    assert run.diary == adjusted.diary[: len(run.diary)]
    assert run.made[0].getstatusname() == "Completed"
    books_balance(account)


def test_a_halted_name_fills_when_it_trades_again(folder):
    panel = market(11)
    parts = {k: getattr(panel, k).copy() for k in ("close", "open", "high", "low")}
    for values in parts.values():
        values[2:4, 0] = np.nan
    halted = type(panel)(panel.dates, panel.symbols, parts.pop("close"), panel.targets, panel.target_close, **parts)
    run, _ = run_plan(folder, {2: lambda s, d: s.keep(s.buy(d, size=10))}, panel=halted, limits=RiskLimits(max_missing=None))
    assert run.made[0].executed.price == pytest.approx(float(panel.open[4, 0]))
    assert bt.num2date(run.made[0].executed.dt).date().isoformat() == str(panel.dates[4])[:10]


def test_faults_of_the_broker_leave_no_order_without_an_end(folder):
    panel = market(5)
    faults = {"reject": 0.15, "partial": 0.3, "delay": 0.2, "duplicate": 0.2, "seed": 1}
    account = new_account(folder / "a", panel, COSTS, faults=faults)
    run = paper(account, panel, sessions=20, seed=5, kinds=("market", "limit", "stop"))
    with sqlite3.connect(account.folder / "broker.db") as db:
        there = {row[0]: row[1] for row in db.execute("select cid, filled from orders")}
    for n, order in enumerate(run.made):
        mine = [o for o in orders(account) if o["cid"].endswith(f"-{order.key}")]
        assert sum(o["filled"] for o in mine) == pytest.approx(order.executed.size)
        assert sum(there.get(o["cid"], 0.0) for o in mine) == pytest.approx(order.executed.size)
        assert ["", *told(run, n)][-1] in ("", "Completed", "Canceled", "Rejected", "Expired", "Partial", "Accepted")
        if not order.alive():
            assert not [o for o in mine if o["status"] in ("intent", "open", "partial")]
    statuses = {entry[2] for entry in run.diary}
    assert {"Partial", "Completed", "Rejected"} <= statuses
    books_balance(account)


def test_time_is_over_when_backtrader_says_so(folder):
    def limited(s, d):
        s.keep(
            s.buy(d, size=1, exectype=E.Limit, price=d.close[0] / 2, valid=timedelta(days=2)),
            s.buy(d, size=1, exectype=E.Limit, price=d.close[0] / 2, valid=d.datetime.date(0) + timedelta(days=1)),
            s.buy(d, size=1, exectype=E.Limit, price=d.close[0] / 2, valid=E.DAY),
        )

    run, _ = run_plan(folder, {1: limited})
    other = stock(market(11).rows(0, 6), COSTS, 1e6, Planned, plan={1: limited})
    assert run.diary == other.diary
    assert {o.getstatusname() for o in run.made} == {"Expired"}


@pytest.mark.parametrize("every", [7, 23])
def test_a_process_that_is_killed_again_and_again_ends_where_a_quiet_one_ends(folder, every):
    panel = market(3)
    quiet = new_account(folder / "quiet", panel, COSTS)
    paper(quiet, panel, sessions=7, seed=3)
    account = new_account(folder / "killed", panel, COSTS)
    kills, told = 0, []

    def work():
        with account.journal(readonly=True) as journal:
            done, known = journal.one("select count(*) from decisions"), journal.one("select count(*) from bars")
        if done < 7:
            paper(PaperAccount(account.folder), panel, begin=max(known, 1), sessions=7 - done, seed=3)
        else:
            PaperStore(account, panel=lambda: panel.rows(0, 7))  # killed between the last decision and its orders

    while not in_a_process(work, kill_at=every + kills % 5, told=told):
        kills += 1
        assert kills < 200
    work()
    assert kills > 3
    mine, theirs = state(account), state(quiet)
    for part in ("orders", "fills", "balances", "decisions", "positions"):
        assert mine["journal"][part] == theirs["journal"][part], part
    assert mine["broker"] == theirs["broker"]


def test_a_report_does_not_call_missed_what_was_not_due(folder):
    plan = {1: lambda s, d: s.keep(s.buy(d, size=10), s.buy(d, size=10, exectype=E.Limit, price=d.close[0] / 2))}
    _, account = run_plan(folder, plan)
    report = report_of(account)
    assert (report.gap["missed_orders"], report.gap["missed"]) == (0, 0)
