"""People who step in: trades by hand, flatten, and the switch. The books stay right, and orders are never sent late."""

import pytest

from tests.papertrade.harness import books_balance, day, events, market, open_account, orders, step_through, values
from tracker_strategies.errors import OutputError
from tracker_strategies.papertrade import PaperAccount, SimulatedBroker
from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.errors import DuplicateOrderError, OrderRefusedError, ReconcileError

# -- 14: disk full, read-only, corrupt, older: see test_journal ----------


# -- 15: somebody else trades ----------


def manual(account):
    config = account.config
    return SimulatedBroker(account.folder / "broker.db", config.cash, config.costs)


def test_a_trade_by_hand_stops_the_account_until_it_is_adopted(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    there = manual(account)
    there.submit(Ticket("by-hand", "S1", -100.0, 1.0, due="settle"))
    there.close()
    with pytest.raises(ReconcileError, match=r"S1: the journal has .* the broker 0.*tracker paper adopt"):
        step_through(account, panel, start=5, stop=5)
    assert not orders(account, f"session = '{day(panel, 4)}'")
    changes = account.adopt()
    assert any(c.startswith("S1") for c in changes)
    assert any(c.startswith("cash") for c in changes)
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"
    step_through(account, panel, start=6)
    assert len(events(account, "adopt")) == 1
    with account.journal(readonly=True) as journal:
        assert journal.check() == "ok"


def test_an_order_by_hand_is_found_and_cancelled_when_adopted(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    there = manual(account)
    there.submit(Ticket("by-hand", "S1", 5.0, 1.0))
    with pytest.raises(ReconcileError, match=r"an open order that this account did not send: \+5 S1 \(by-hand\)"):
        step_through(account, panel, start=4, stop=4)
    assert any("by-hand" in c for c in account.adopt())
    assert "by-hand" not in {r.cid for r in there.open_orders()}
    there.close()
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"
    books_balance(account)


def test_flatten_sells_everything_once_and_halts(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    result = account.flatten()
    assert (result.decision, result.sent) == ("flatten", 4)
    assert account.flatten().sent == 4  # asked twice: the first orders are cancelled, not doubled
    results = step_through(account, panel, start=5)
    assert all("halted (flattened by hand" in r.messages[-1] for r in results)
    with account.broker() as broker:
        assert broker.holdings().sizes == {}
    books_balance(account)
    account.resume()
    longer = market()
    assert PaperAccount(account.folder).step(longer).decision == "act"


# -- 18: the switch ----------


def test_a_halt_before_the_decision_decides_nothing_and_keeps_the_books(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    account.halt("looking into it")
    (result,) = step_through(account, panel, start=5, stop=5)
    assert result.taken
    assert not result.decision
    assert "looking into it" in result.messages[-1]
    assert "tracker paper resume" in result.messages[-1]
    assert len(values(account)) == 5  # fills of the day before are booked
    account.resume()
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"


def test_a_halt_between_two_orders_stops_the_rest_until_it_is_lifted(folder):
    panel = market()
    account = open_account(folder / "a", panel)

    class Watched:
        def __init__(self, broker):
            self.__dict__["inner"], self.__dict__["count"] = broker, 0

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def submit(self, ticket):
            self.__dict__["count"] += 1
            if self.count == 2:
                account.halt("in the middle")
            return self.inner.submit(ticket)

    with account.broker() as broker:
        result = PaperAccount(account.folder, broker=Watched(broker)).step(panel.rows(0, 1))
    assert result.sent == 2
    assert any("halted: in the middle" in m for m in result.messages)
    assert [o["status"] for o in orders(account)] == ["open", "open", "intent", "intent"]
    assert step_through(account, panel, stop=1)[0].sent == 0
    account.resume()
    assert step_through(account, panel, stop=1)[0].sent == 2
    assert {o["status"] for o in orders(account)} == {"open"}


def test_orders_that_a_halt_kept_back_are_not_sent_late(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=3)
    assert account.halt("stop", cancel_open_orders=True) == len(orders(account, f"session = '{day(panel, 2)}'"))
    account.resume()
    step_through(account, panel, start=4, stop=4)
    assert {o["status"] for o in orders(account, f"session = '{day(panel, 2)}'")} == {"cancelled"}
    books_balance(account)


def test_an_order_for_an_open_that_has_been_is_refused_by_the_simulated_broker(folder):
    """It lives by sessions: what was decided before the last of them is late, unless it is there already."""
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    there = manual(account)
    late = f"too late: decided on {day(panel, 2)} for the next open, but session {day(panel, 3)} is already over"
    with pytest.raises(OrderRefusedError, match=late):
        there.submit(Ticket("late", "S1", 1.0, 1.0, session=day(panel, 2)))
    first = orders(account)[0]
    with pytest.raises(DuplicateOrderError):
        there.submit(Ticket(first["cid"], "S1", first["size"], 1.0, session=first["session"]))
    assert there.submit(Ticket("in-time", "S1", 1.0, 1.0, session=day(panel, 3))).status == "open"
    there.close()


def test_a_halt_needs_nothing_but_the_folder(folder):
    """No journal, no account, a switch that somebody else has set: it is halted all the same."""
    PaperAccount(folder, check=False).halt("fire")
    assert "fire" in PaperAccount(folder, check=False).halt_switch.reason()
    (folder / "b" / "HALT").mkdir(parents=True)
    PaperAccount(folder / "b", check=False).halt("fire")
    assert PaperAccount(folder / "b", check=False).halt_switch.reason()
    with pytest.raises(OutputError, match="create a file of that name by hand"):
        PaperAccount(folder / "nowhere", check=False).halt("fire")


def test_a_halt_in_recorded_history_loses_no_session(folder):
    panel = market()
    account = open_account(folder / "a", panel, replay=day(panel, 0), start=None)
    account.step(panel)
    account.halt("looking into it")
    for _ in range(3):
        assert "nothing is decided" in account.step(panel).messages[-1]
    account.resume()
    assert account.step(panel).session == day(panel, 1)
    with account.journal(readonly=True) as journal:
        assert journal.rows("select kind from decisions where kind != 'act'") == []
