"""An account at Alpaca's, session by session: sells before buys, partial fills, storms of trouble, and keys that stay secret."""

import os
import signal
import threading
from datetime import UTC, datetime

import pytest

from tests.papertrade.alpaca.books import TROUBLE
from tests.papertrade.alpaca.market import SESSIONS, broker, closes, evening, market, next_session, open_account, step
from tests.papertrade.alpaca.server import KEY, SECRET
from tests.papertrade.harness import books_balance, events, in_a_process, orders
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint
from tracker_strategies.papertrade.errors import BrokerKeysError, BrokerUnavailableError, StaleDataError
from tracker_strategies.papertrade.live.watching import watch
from tracker_strategies.papertrade.market.calendars import trading_calendar

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


def test_watch_sends_the_buys_as_soon_as_the_sells_have_filled(folder, alpaca):
    account = open_account(folder / "a", alpaca, strategy="pa", source=str(folder / "prices.csv"))
    evening(alpaca, 4)
    step(account, 4)
    next_session(alpaca, 5)
    evening(alpaca, 5)
    market(5).to_frame().to_csv(folder / "prices.csv")
    waiting = step(account, 5)
    assert any("wait until" in m for m in waiting.messages)
    alpaca.at("2024-05-08T13:33:00+00:00")  # the market is open, but the sells have not filled yet
    running = PaperAccount(account.folder, pause=lambda seconds: None)
    opening = threading.Timer(0.5, lambda: alpaca.steer("open", prices=closes(6)))
    opening.start()
    said, complaints = [], []
    moment = datetime(2024, 5, 8, 13, 33, tzinfo=UTC)
    watch(
        running, said.append, complaints.append, time_of_day=lambda: moment, pause=lambda seconds: pytest.fail("slept"), rounds=2
    )
    assert [r.sent > 0 for r in said] == [False, True]
    assert not complaints


def test_a_rebalance_at_the_broker_sells_first_and_buys_when_the_sells_have_filled(folder, alpaca):
    account = open_account(folder / "a", alpaca, strategy="pa")
    evening(alpaca, 4)
    first = step(account, 4)
    assert (first.decision, first.sent) == ("act", 6)  # nothing to sell: the buys go at once, sized with a reserve
    next_session(alpaca, 5)
    evening(alpaca, 5)
    second = step(account, 5)
    sells = [o for o in orders(account, "session = '2024-05-07'") if o["size"] < 0]
    buys = [o for o in orders(account, "session = '2024-05-07'") if o["size"] > 0]
    assert sells
    assert buys
    assert second.sent == len(sells)
    assert f"{len(buys)} buys wait until {len(sells)} sells have filled" in second.messages
    assert step(account, 5).sent == 0
    alpaca.steer("open", prices=closes(6))
    alpaca.at("2024-05-08T13:35:00+00:00")
    assert step(account, 5).sent == len(buys)
    evening(alpaca, 6)
    step(account, 6)
    placed = alpaca.state["orders"]
    assert len(placed) == len({o["client_order_id"] for o in placed})
    assert all(o["status"] == "filled" for o in placed if not o["client_order_id"].startswith("test-20240508"))
    assert alpaca.state["cash"] >= 0.0
    books_balance(account)


def test_a_partial_fill_is_booked_in_increments_and_the_rest_expires(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    step(account, 4)
    for part in (0.25, 0.5, 0.75):
        alpaca.steer("open", prices=closes(5), part=part)
        alpaca.at("2024-05-07T14:00:00+00:00")
        step(account, 4)
    with account.journal(readonly=True) as journal:
        assert journal.one("select count(*) from fills") == 18
    evening(alpaca, 5)
    step(account, 5)
    assert {o["status"] for o in orders(account, "session = '2024-05-06'")} == {"cancelled"}
    assert len(events(account, "cancelled")) == 6
    books_balance(account)


def test_refused_orders_are_reported_and_bought_at_the_next_session(folder, alpaca):
    account = open_account(folder / "a", alpaca, strategy="buy-and-hold")
    evening(alpaca, 4)
    alpaca.steer("set", rules={"BBB": "whole", "CCC": "inactive"})
    result = step(account, 4)
    assert (result.sent, result.refused) == (4, 2)
    assert [e for e in events(account, "rejected") if "not fractionable" in e]
    next_session(alpaca, 5)
    evening(alpaca, 5)
    alpaca.steer("set", rules={})
    # buy-and-hold trades once, but what was refused is still owed
    assert step(account, 5).decision == "act"
    assert {o["symbol"] for o in orders(account, "session = '2024-05-07'") if o["size"] > 0} >= {"BBB", "CCC"}
    books_balance(account)


def test_buys_shrink_to_what_the_sells_really_brought(folder, alpaca):
    account = open_account(folder / "a", alpaca, strategy="pa")
    evening(alpaca, 4)
    step(account, 4)
    next_session(alpaca, 5)
    evening(alpaca, 5)
    step(account, 5)
    sold = {o["symbol"] for o in orders(account, "session = '2024-05-07' and size < 0")}
    lower = {name: price * (0.5 if name in sold else 1.0) for name, price in closes(5).items()}
    alpaca.steer("open", prices=lower)
    alpaca.at("2024-05-08T13:35:00+00:00")
    result = step(account, 5)
    assert (result.refused, result.waits) == (0, "")
    assert len(events(account, "scaled")) == 2  # the reserve of the first day, and the shortfall of this one
    buys = orders(account, "session = '2024-05-07' and size > 0")
    share = [o["size"] / o["wanted"] for o in buys]
    assert max(share) < 0.95
    assert max(share) - min(share) < 1e-6  # all by one factor
    assert alpaca.state["cash"] >= 0.0


def test_an_order_that_outlives_its_session_is_cancelled(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    step(account, 4)
    alpaca.steer("set", rules={"AAA": "halted"})
    alpaca.steer("open", prices=closes(5))
    alpaca.at("2024-05-07T20:30:00+00:00")  # the broker has forgotten to let it expire
    step(account, 5)
    (halted,) = orders(account, "session = '2024-05-06' and symbol = 'AAA'")
    assert (halted["status"], halted["filled"]) == ("cancelled", 0.0)
    assert [o["status"] for o in alpaca.state["orders"] if o["client_order_id"] == halted["cid"]] == ["canceled"]


@pytest.mark.parametrize("trouble", TROUBLE)
def test_every_trouble_ends_with_each_order_placed_once(folder, alpaca, trouble):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    # the answers to clock, account, positions, orders and to every second order are bad
    alpaca.steer("set", faults=[trouble, "", trouble, trouble, "", "", "", trouble, "", trouble, trouble, "", "", trouble])
    step(account, 4)
    step(account, 4)
    assert sorted(o["client_order_id"] for o in alpaca.state["orders"]) == sorted(o["cid"] for o in orders(account))
    assert {o["status"] for o in orders(account)} == {"open"}


def test_a_storm_of_trouble_and_kills(folder, alpaca):
    """A fifth of all answers is bad, and every step is killed at each of its transitions in turn until one gets through."""
    account = open_account(folder / "a", alpaca, strategy="pa")
    trading_calendar("XNYS")  # once, before the processes part
    ends = 0

    def struggle(n):
        def attempt():
            try:
                step(account, n)
            except BrokerUnavailableError:
                os.kill(os.getpid(), signal.SIGKILL)  # gave up: as good as killed

        point = 1
        while not in_a_process(attempt, kill_at=point):
            point += 1
        return point - 1

    for n in range(4, len(SESSIONS) + 1):
        evening(alpaca, n)
        alpaca.steer("rate", rate=0.2, seed=n)
        ends += struggle(n)
        if n < len(SESSIONS):
            alpaca.steer("open", prices=closes(n + 1))
            alpaca.at(f"{SESSIONS[n].date()}T14:00:00+00:00")
            ends += struggle(n)
        alpaca.steer("rate", rate=0.0, seed=0)
        step(account, n)
    placed = [o["client_order_id"] for o in alpaca.state["orders"]]
    assert ends > 30
    assert len(placed) == len(set(placed))
    assert sorted(placed) == sorted(o["cid"] for o in orders(account, "broker_id != ''"))
    others = orders(account, "broker_id = ''")
    assert all(o["status"] == "rejected" or (o["session"] == "2024-05-09" and o["size"] > 0) for o in others)  # buys that wait
    intended = {o["cid"]: round(o["size"], 9) for o in orders(account)}
    assert all(
        intended[o["client_order_id"]] == (1 if o["side"] == "buy" else -1) * float(o["qty"]) for o in alpaca.state["orders"]
    )
    books_balance(account)


def test_nothing_is_sent_late_for_a_session_that_has_passed(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 5)
    with pytest.raises(StaleDataError, match="session 2024-05-07 of XNYS has already closed"):
        step(account, 4)
    assert alpaca.state["orders"] == []


def test_the_brokers_clock_counts_when_ours_is_wrong(folder, alpaca):
    """The computer's own clock says 2026 or whatever it likes: what happened is what the broker says."""
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    assert step(account, 4).sent == 6


def test_keys_never_reach_the_disk_or_a_message(folder, alpaca, capfd):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    alpaca.steer("set", faults=["html", "drop_before", "500", "truncated_after"])
    step(account, 4)
    os.environ[endpoint.KEY] = wrong = "PKWRONGWRONGWRONG"
    with pytest.raises(BrokerKeysError) as refused:
        step(account, 4)
    out = "".join(capfd.readouterr()) + str(refused.value) + repr(broker(alpaca))
    for path in account.folder.iterdir():
        out += path.read_bytes().decode("latin-1")
    for secret in (KEY, SECRET, wrong):
        assert secret not in out
