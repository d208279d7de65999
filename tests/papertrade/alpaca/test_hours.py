"""An order that is due at an open is never sent after it, and the broker's clock says when that is."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.papertrade.alpaca.market import broker, closes, evening, market, next_session, open_account, step
from tests.papertrade.harness import books_balance, events, orders
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker
from tracker_strategies.papertrade.errors import StaleDataError
from tracker_strategies.papertrade.live.watching import MAX_SKEW, watch
from tracker_strategies.papertrade.views.status import status_of

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


def posts(alpaca):
    return [entry for entry in alpaca.state["log"] if entry[:2] == ["POST", "/v2/orders"]]


@pytest.mark.parametrize(
    ("moment", "opened", "sent"),
    [
        ("2024-05-06T20:01:00+00:00", False, True),
        ("2024-05-07T13:29:00+00:00", False, True),
        ("2024-05-07T13:30:00+00:00", True, False),
        ("2024-05-07T13:31:00+00:00", False, False),  # the broker has not opened yet; our calendar says that it should
        ("2024-05-07T19:00:00+00:00", True, False),
    ],
)
def test_orders_for_an_open_are_sent_before_it_or_not_at_all(folder, alpaca, moment, opened, sent):
    account = open_account(folder / "a", alpaca)
    alpaca.steer("set", open=opened)
    alpaca.at(moment)
    result = step(account, 4)
    assert len(posts(alpaca)) == (6 if sent else 0)
    if not sent:
        assert result.decision == "missed"
        assert any("2024-05-06 was missed" in m and "Orders are never sent late" in m for m in result.messages)
        assert any("missed" in alarm for alarm in status_of(account).alarms)
    step(account, 4)
    evening(alpaca, 5)
    assert step(account, 5).decision == "act"  # decided anew
    books_balance(account)


def test_a_market_that_is_still_open_after_its_close_is_waited_for(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    alpaca.steer("set", open=True)
    alpaca.at("2024-05-06T20:01:00+00:00")
    result = step(account, 4)
    assert (result.sent, result.early, posts(alpaca)) == (0, True, [])
    assert "2024-05-06 has not closed yet" in result.waits
    evening(alpaca, 4)
    assert step(account, 4).sent == 6


def test_a_bar_from_the_future_sends_nothing(folder, alpaca):
    """By the clock of the data alone the session is over; the broker knows better, in its morning and while it trades."""
    account = open_account(folder / "a", alpaca, clock="data")
    for moment in ("2024-05-06T12:00:00+00:00", "2024-05-06T15:00:00+00:00"):
        alpaca.at(moment)
        alpaca.steer("set", open="15:00" in moment)
        assert (step(account, 4).early, posts(alpaca)) == (True, [])
    evening(alpaca, 4)
    assert step(account, 4).sent == 6


def test_a_broker_that_opens_next_on_another_day_gets_nothing(folder, alpaca):
    """Our calendar knows of a session tomorrow, the broker of none: one of them is wrong about the open that is due."""
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    alpaca.steer("set", holiday="2024-05-07")
    result = step(account, 4)
    assert (result.decision, posts(alpaca)) == ("missed", [])
    assert "the broker's next open is 2024-05-08" in result.messages[-1]


def test_an_open_in_the_middle_of_a_batch_stops_the_rest(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)

    class Slow(AlpacaBroker):
        def submit(self, ticket):
            report = super().submit(ticket)
            if len(posts(alpaca)) == 2:
                alpaca.steer("open", prices=closes(5))
                alpaca.at("2024-05-07T13:30:01+00:00")
            return report

    slow = Slow("k", "s", alpaca.url, pause=lambda seconds: None)
    slow._line = broker(alpaca)._line
    result = PaperAccount(account.folder, broker=slow, pause=lambda seconds: None).step(market(4))
    assert result.sent == 2
    assert "was not carried out in full" in result.messages[-1]
    assert [o["status"] for o in orders(account)] == ["open", "open", *["unsent"] * 4]
    evening(alpaca, 5)
    assert step(account, 5).decision == "act"
    books_balance(account)


def test_a_halt_between_two_attempts_to_send_one_order_stops_it(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    calm = PaperAccount(account.folder, pause=lambda seconds: account.halt("enough"))
    alpaca.steer("set", faults=["POST drop_before"])
    result = calm.step(market(4))
    assert (result.sent, len(posts(alpaca))) == (0, 1)
    assert "halted: enough" in result.waits
    account.resume()
    assert step(account, 4).sent == 6


@pytest.mark.parametrize("moment", ["2024-05-08T13:31:00+00:00", "2024-05-08T19:59:00+00:00", "2024-05-08T20:00:00+00:00"])
def test_the_second_half_may_follow_until_the_close_of_the_day_and_not_after(folder, alpaca, moment):
    account = open_account(folder / "a", alpaca, strategy="pa")
    evening(alpaca, 4)
    step(account, 4)
    next_session(alpaca, 5)
    evening(alpaca, 5)
    step(account, 5)
    buys = len(orders(account, "session = '2024-05-07' and size > 0"))
    alpaca.steer("open", prices=closes(6))
    alpaca.at(moment)
    before = len(posts(alpaca))
    if "20:00" in moment:
        with pytest.raises(StaleDataError, match="session 2024-05-08 of XNYS has already closed"):
            step(account, 5)
        assert len(posts(alpaca)) == before
    else:
        assert step(account, 5).sent == buys == len(posts(alpaca)) - before
    evening(alpaca, 6)
    assert step(account, 6).decision == "act"
    ends = {o["status"] for o in orders(account, "session = '2024-05-07' and size > 0")}
    assert ends == ({"unsent"} if "20:00" in moment else {"filled"})
    books_balance(account)


def test_sells_that_were_late_take_their_buys_with_them(folder, alpaca):
    account = open_account(folder / "a", alpaca, strategy="pa")
    evening(alpaca, 4)
    step(account, 4)
    next_session(alpaca, 5)
    evening(alpaca, 5)
    account.halt("not tonight")
    step(account, 5)
    account.resume()
    alpaca.steer("open", prices=closes(6))
    alpaca.at("2024-05-08T15:00:00+00:00")
    before = len(posts(alpaca))
    assert step(account, 5).decision == "missed"
    assert len(posts(alpaca)) == before
    assert not orders(account, "session = '2024-05-07' and status != 'unsent'")


# -- the opening auction ----------


def test_the_opening_auction_has_hours_of_its_own(folder, alpaca):
    account = open_account(folder / "a", alpaca, params={"lot": 1.0}, time_in_force="opg")
    evening(alpaca, 4)  # 16:30 in New York
    early = step(account, 4)
    assert (early.sent, early.early) == (0, True)
    assert "from 19:00 New York time" in early.waits
    alpaca.at("2024-05-06T23:01:00+00:00")
    assert step(account, 4).sent == 6
    assert {o["time_in_force"] for o in alpaca.state["orders"]} == {"opg"}
    assert all(float(o["qty"]).is_integer() for o in alpaca.state["orders"])


def test_the_opening_auction_is_missed_two_minutes_before_the_open(folder, alpaca):
    account = open_account(folder / "a", alpaca, params={"lot": 1.0}, time_in_force="opg")
    alpaca.at("2024-05-07T13:28:00+00:00")
    assert step(account, 4).decision == "missed"
    assert posts(alpaca) == []
    assert any("were accepted until 09:28 New York time" in text for text in events(account, "missed"))


def test_the_opening_auction_takes_whole_shares_only(folder, alpaca):
    with pytest.raises(ParameterError, match="needs broker='alpaca' and whole shares"):
        open_account(folder / "a", alpaca, time_in_force="opg")


# -- a wrong clock ----------


@pytest.mark.parametrize("wrong", [timedelta(hours=1), timedelta(hours=-1), timedelta(days=400)], ids=str)
def test_a_watch_with_a_wrong_clock_decides_nothing_and_says_why(folder, alpaca, wrong):
    market(4).to_frame().to_csv(folder / "prices.csv")
    account = open_account(folder / "a", alpaca, source=str(folder / "prices.csv"))
    evening(alpaca, 4)
    said, complaints = [], []
    here = datetime(2024, 5, 6, 20, 30, tzinfo=UTC) + wrong
    watch(account, said.append, complaints.append, time_of_day=lambda: here, pause=lambda s: pytest.fail("slept"), rounds=1)
    assert not said
    assert posts(alpaca) == []
    assert complaints[0].startswith("ClockError: this computer's clock is")
    assert ("ahead of" if wrong > timedelta() else "behind") in complaints[0]
    near = here - wrong + MAX_SKEW / 2
    watch(account, said.append, complaints.append, time_of_day=lambda: near, rounds=1)
    assert said[0].sent == 6


@pytest.mark.parametrize("wrong", [timedelta(hours=1), timedelta(hours=-30), timedelta(days=400)], ids=str)
def test_a_step_goes_by_the_brokers_clock_whatever_ours_says(folder, alpaca, wrong):
    account = open_account(folder / "a", alpaca)
    alpaca.at("2024-05-06T19:30:00+00:00")  # the session still trades
    here = datetime(2024, 5, 6, 19, 30, tzinfo=UTC) + wrong
    stepped = PaperAccount(account.folder, clock=lambda: here, pause=lambda seconds: None).step(market(4))
    assert stepped.session == ""
    evening(alpaca, 4)
    assert PaperAccount(account.folder, clock=lambda: here, pause=lambda seconds: None).step(market(4)).sent == 6
