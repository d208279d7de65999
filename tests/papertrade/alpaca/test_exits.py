"""Whatever the broker says, the exits stay open: fills that cannot be, splits and new tickers that only one side has booked."""

import pytest
from typer.testing import CliRunner

from tests.papertrade.alpaca.market import NAMES, closes, evening, market, next_session, open_account, step
from tests.papertrade.harness import books_balance, events, orders
from tracker_strategies.cli.accounts.asking import app
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import ExitError, ReconcileError
from tracker_strategies.papertrade.views.status import status_of

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")

LIES = ("more", "far more", "rounded", "rounded up", "back", "half", "negative", "free", "late")


def held(alpaca):
    return {name: size for name, size in alpaca.state["positions"].items() if abs(size) > 1e-5}


def invested(folder, alpaca, **options):
    """An account whose first orders have filled, in the evening of the session after."""
    account = open_account(folder / "a", alpaca, **options)
    evening(alpaca, 4)
    step(account, 4)
    next_session(alpaca, 5)
    evening(alpaca, 5)
    return PaperAccount(account.folder, pause=lambda seconds: None)


def command(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "300"})


# -- fills that cannot be ----------


@pytest.mark.parametrize("part", [1.0, 0.5], ids=["filled", "half filled"])
@pytest.mark.parametrize("lie", LIES)
def test_no_report_of_a_fill_locks_an_exit(folder, alpaca, lie, part):
    """A quarter fills, then more, and the broker tells nonsense about it. Each exit works at once, and at the end the account
    is flat at the broker and in the books."""
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    step(account, 4)
    alpaca.steer("open", prices=closes(5), part=0.25)
    alpaca.at("2024-05-07T14:00:00+00:00")
    step(account, 4)
    alpaca.steer("open", prices=closes(5), part=part)
    alpaca.steer("set", lies={"": lie})
    assert account.halt("the broker lies", cancel_open_orders=True) == (0 if part == 1.0 else 6)
    account.adopt()
    sizes = {name: size for name, size in zip(NAMES, _sizes(account), strict=True) if size}
    assert sizes == pytest.approx(held(alpaca), abs=1e-8)
    alpaca.steer("open")
    assert account.flatten().sent == 6
    alpaca.steer("set", lies={})
    if lie == "back":  # an order that it called open again was over
        account.adopt()
    step(account, 4)
    assert held(alpaca) == {}
    assert account.adopt() == []
    assert _sizes(account) == pytest.approx([0.0] * 6, abs=1e-5)
    if lie in ("far more", "back", "negative", "free") or (part == 1.0 and lie in ("more", "half")):
        assert events(account, "unexplained")
        assert any("unexplained" in alarm for alarm in status_of(account).alarms)


def _sizes(account):
    with account.journal(readonly=True) as journal:
        return [row[0] for row in journal.rows("select size from positions order by symbol")]


@pytest.mark.parametrize("lie", ["more", "rounded", "rounded up"])
def test_a_broker_that_rounds_its_reports_is_no_reason_to_stop(folder, alpaca, lie):
    """The positions are what counts: they agree, or differ by less than a cent."""
    account = invested(folder, alpaca)
    alpaca.steer("set", lies={"": lie})
    assert step(account, 5).decision == "act"
    next_session(alpaca, 6)
    evening(alpaca, 6)
    assert step(account, 6).decision == "act"
    books_balance(account)


def test_positions_that_a_broker_keeps_with_six_decimals_are_followed(folder, alpaca):
    account = invested(folder, alpaca)
    alpaca.steer("set", positions={**held(alpaca), "DDD": held(alpaca)["DDD"] + 9e-7}, lies={"": "rounded"})
    assert step(account, 5).decision == "act"
    assert any("rounding at the broker" in text for text in events(account, "adopt"))


def test_a_fill_that_goes_back_is_not_booked_back(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    step(account, 4)
    alpaca.steer("open", prices=closes(5), part=0.5)
    alpaca.at("2024-05-07T14:00:00+00:00")
    step(account, 4)
    alpaca.steer("set", lies={"": "back"})
    for _ in range(2):  # the positions are what they were: nothing is wrong with the account
        step(account, 4)
    assert len(events(account, "unexplained")) == 6  # each said once
    alpaca.steer("set", lies={})
    alpaca.steer("open", prices=closes(5))
    evening(alpaca, 5)
    assert step(account, 5).decision == "act"
    books_balance(account)


def test_an_order_that_fills_after_it_was_called_cancelled_is_booked_late(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    step(account, 4)
    alpaca.steer("set", lies={"AAA": "late"})
    next_session(alpaca, 5)
    evening(alpaca, 5)
    with pytest.raises(ReconcileError, match=r"AAA: the journal has 0 shares"):
        step(account, 5)
    alpaca.steer("set", lies={})
    assert step(account, 5).decision == "act"  # asked again, the broker tells the truth
    assert not events(account, "adopt")
    books_balance(account)


# -- splits and new tickers ----------


def split_market(n, row=6):
    """The market in which DDD is split 4:1 between two sessions: raw prices, as a file has them."""
    panel = market(n)
    close = panel.close.copy()
    close[row - 1 :, 3] /= 4.0
    return type(panel)(panel.dates, panel.symbols, close, panel.targets, panel.target_close)


def split_step(account, n):
    return PaperAccount(account.folder, pause=lambda seconds: None).step(split_market(n))


@pytest.mark.parametrize("way", ["nothing", "adopt", "file"])
def test_a_split_at_the_broker_is_named_never_traded_on_and_applied_once(folder, alpaca, way):
    actions = folder / "actions.csv"
    account = invested(folder, alpaca, actions=str(actions))
    size = held(alpaca)["DDD"]
    alpaca.steer("split", name="DDD", ratio=4.0)
    for _ in range(2):
        with pytest.raises(ReconcileError, match=r"DDD: .* this looks like a 4:1 split.*Nothing is traded until this is clear"):
            split_step(account, 5)
    if way == "adopt":
        assert any("4:1 split" in change for change in account.adopt())
        with pytest.raises(ReconcileError, match="4:1 split"):
            split_step(account, 5)
    assert not orders(account, "session = '2024-05-07'")
    if way != "adopt":
        actions.write_text("date,symbol,kind,value\n2024-05-08,DDD,split,4\n")
    alpaca.steer("open", prices=dict(zip(NAMES, split_market(7).close[5].tolist(), strict=True)))
    evening(alpaca, 6)
    result = split_step(account, 6)
    assert result.decision == "act"
    assert any("DDD 4:1 split on 2024-05-08" in m for m in result.messages)
    (order,) = orders(account, "session = '2024-05-08' and symbol = 'DDD'") or [{"size": 0.0}]
    assert abs(order["size"]) < 0.1 * size  # a rebalance of an equal weight, not of four times the money
    assert _sizes(account)[3] == pytest.approx(4.0 * size)
    assert len(events(account, "action")) == 1
    with account.journal(readonly=True) as journal:
        values = [row[0] for row in journal.rows("select value from balances order by session")]
    assert max(values) / min(values) < 1.1


def test_a_split_in_the_file_before_the_broker_has_it_is_waited_for(folder, alpaca):
    actions = folder / "actions.csv"
    account = invested(folder, alpaca, actions=str(actions))
    step(account, 5)
    actions.write_text("date,symbol,kind,value\n2024-05-08,DDD,split,4\n")
    evening(alpaca, 6)
    with pytest.raises(ReconcileError, match="this looks like a 1:4 split"):
        split_step(account, 6)
    account.adopt()
    alpaca.steer("split", name="DDD", ratio=4.0)
    assert split_step(account, 6).decision == "act"
    alpaca.steer("set", positions={**held(alpaca), "DDD": 1.5 * held(alpaca)["DDD"] + 3.0})
    with pytest.raises(ReconcileError, match="DDD: the journal has"):  # what was confirmed is over
        split_step(account, 6)


def test_four_times_the_shares_may_also_be_shares(folder, alpaca):
    account = invested(folder, alpaca)
    size = held(alpaca)["DDD"]
    alpaca.steer("split", name="DDD", ratio=4.0)
    with pytest.raises(ReconcileError, match="adopt --as-shares"):
        step(account, 5)
    assert any(c.startswith("DDD: the journal has") for c in account.adopt(as_shares=True))
    assert step(account, 5).decision == "act"
    assert _sizes(account)[3] == pytest.approx(4.0 * size)


def test_a_new_ticker_at_the_broker_is_followed_when_it_is_adopted(folder, alpaca):
    account = invested(folder, alpaca)
    size = held(alpaca)["CCC"]
    alpaca.steer("rename", old="CCC", new="NEW")
    with pytest.raises(ReconcileError, match=r"CCC: .* as many of NEW at the broker: this looks like a ticker change"):
        step(account, 5)
    assert any("NEW" in change for change in account.adopt())
    assert step(account, 5).decision == "act"
    assert _sizes(account)[2] == pytest.approx(size)
    assert not orders(account, f"session = '2024-05-07' and symbol = 'CCC' and abs(size) > {size / 2}")
    alpaca.steer("open", prices={n: p for n, p in closes(6).items() if n != "CCC"} | {"NEW": closes(6)["CCC"]})
    evening(alpaca, 6)
    assert step(account, 6).decision == "act"
    placed = {o["symbol"] for o in alpaca.state["orders"] if o["client_order_id"].startswith("test-20240508")}
    assert "CCC" not in placed
    books_balance(account)


@pytest.mark.parametrize("change", ["split", "rename", "both"])
def test_flatten_sells_what_the_broker_has(folder, alpaca, change):
    """Whatever it is called and however often it was split; and a split that shows later is not applied to what is left."""
    account = invested(folder, alpaca, actions=str(folder / "actions.csv"))
    if change != "rename":
        alpaca.steer("split", name="DDD", ratio=4.0)
    if change != "split":
        alpaca.steer("rename", old="CCC", new="NEW")
    assert account.flatten().sent == 6
    if change != "rename":
        (folder / "actions.csv").write_text("date,symbol,kind,value\n2024-05-08,DDD,split,4\n")
    prices = {n: p for n, p in closes(6).items() if n != "CCC"} | {"NEW": closes(6)["CCC"], "CCC": closes(6)["CCC"]}
    if change != "rename":
        prices["DDD"] /= 4.0
    alpaca.steer("open", prices=prices)
    evening(alpaca, 6)
    PaperAccount(account.folder, pause=lambda seconds: None).step(split_market(6) if change != "rename" else market(6))
    assert held(alpaca) == {}
    assert _sizes(account) == [0.0] * 6
    books_balance(account)


def test_flatten_lists_what_is_not_its_own_and_fails_or_sells_it(folder, alpaca):
    account = invested(folder, alpaca)
    alpaca.steer("set", positions={**held(alpaca), "XYZ": 3.0}, prices={**closes(5), "XYZ": 10.0})
    with pytest.raises(ExitError, match=r"6 positions are being sold; these were not: 3 XYZ .*flatten --strangers"):
        account.flatten()
    assert account.flatten(strangers=True).sent == 7
    alpaca.steer("open", prices=closes(6))
    assert held(alpaca) == {}


def test_flatten_says_what_the_broker_does_not_sell(folder, alpaca):
    account = invested(folder, alpaca)
    alpaca.steer("set", rules={"BBB": "inactive"})
    with pytest.raises(ExitError, match=r"5 positions are being sold; these were not: [\d.]+ BBB .*not active"):
        account.flatten()
    alpaca.steer("set", rules={})
    assert account.flatten().sent == 6


@pytest.mark.parametrize("broken", ["GET /v2/orders", "GET /v2/clock"])
def test_flatten_needs_no_more_of_the_broker_than_positions_and_orders(folder, alpaca, broken):
    """Asking for orders fails for good: nothing can be booked, and everything is sold."""
    account = invested(folder, alpaca)
    alpaca.steer("set", broken=[broken])
    assert account.flatten().sent == 6
    alpaca.steer("set", broken=[])
    alpaca.steer("open", prices=closes(6))
    assert held(alpaca) == {}
    account.adopt()
    assert _sizes(account) == [0.0] * 6


def test_an_order_that_cannot_be_cancelled_stops_no_other(folder, alpaca):
    account = invested(folder, alpaca)
    step(account, 5)
    waiting = [o for o in alpaca.state["orders"] if o["status"] == "accepted"]
    alpaca.steer("set", broken=[f"DELETE /v2/orders/{waiting[0]['id']}"])
    with pytest.raises(ExitError, match=f"1 of {len(waiting)} orders could not be cancelled"):
        account.halt("fire", cancel_open_orders=True)
    assert [o["id"] for o in alpaca.state["orders"] if o["status"] == "accepted"] == [waiting[0]["id"]]
    with pytest.raises(ExitError, match=f"5 positions are being sold; these were not: .* {waiting[0]['symbol']} "):
        account.flatten()


# -- a journal that cannot be used ----------


@pytest.mark.parametrize("damage", ["cut", "newer", "gone", "locked"])
def test_halt_cancel_and_flatten_work_whatever_the_journal_is(folder, alpaca, damage, monkeypatch):
    import sqlite3

    account = invested(folder, alpaca)
    step(account, 5)
    waiting = [o for o in alpaca.state["orders"] if o["status"] == "accepted"]
    path = account.folder / "journal.db"
    keeper = None
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:3000])
        for other in path.parent.glob("journal.db-*"):
            other.unlink()
    elif damage == "newer":
        with sqlite3.connect(path) as db:
            db.execute("pragma user_version = 99")
    elif damage == "gone":
        path.unlink()
    else:
        from tracker_strategies.papertrade import account as accounts
        from tracker_strategies.papertrade.journal.lock_and_halt import account_lock

        monkeypatch.setattr(accounts, "LONGEST_STEP", 0.2)
        keeper = account_lock(account.folder)
        keeper.__enter__()
    done = command("halt", account.folder, "--reason", "fire")
    assert done.exit_code == 0
    assert "fire" in (account.folder / "HALT").read_text()
    done = command("halt", account.folder, "--cancel-open")
    assert (done.exit_code, f"{len(waiting)} open orders cancelled" in done.output) == (0, True)
    assert not [o for o in alpaca.state["orders"] if o["status"] == "accepted"]
    assert command("status", account.folder).exit_code == (0 if keeper else 1)
    done = command("flatten", account.folder, "--yes")
    assert (done.exit_code, "6 orders sent" in done.output) == (0, True), done.output
    if keeper:
        keeper.__exit__(None, None, None)
    alpaca.steer("open", prices=closes(6))
    assert held(alpaca) == {}
    if keeper:  # the books follow when they can
        assert account.adopt()
        evening(alpaca, 6)
        assert "halted" in step(account, 6).messages[-1]
        books = _sizes(account)
        assert books == [0.0] * 6
