"""The broker at Alpaca's, through alpaca-py's own client: orders, refusals, trouble and nonsense, and the stream."""

import contextlib
import json
import threading
import time
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.papertrade.alpaca import facts
from tests.papertrade.alpaca.books import TROUBLE, Account
from tests.papertrade.alpaca.market import broker
from tests.papertrade.alpaca.server import KEY, SECRET
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint
from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker
from tracker_strategies.papertrade.brokers.base import Report, Status, Ticket
from tracker_strategies.papertrade.errors import (
    BrokerError,
    BrokerKeysError,
    BrokerUnavailableError,
    DuplicateOrderError,
    OrderRefusedError,
)

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


def test_orders_holdings_and_the_clock(alpaca):
    there = broker(alpaca)
    assert there.holdings().cash == 100_000.0
    report = there.submit(Ticket("c1", "AAA", 10.123456789, 50.0))
    assert (report.status, report.filled, report.size) == (Status.OPEN, 0.0, 10.123456789)
    assert [r.cid for r in there.open_orders()] == ["c1"]
    alpaca.steer("open", part=0.5)
    assert there.reports(["c1", "never"])["c1"].status is Status.PARTIAL
    alpaca.steer("close")
    done = there.reports(["c1"])["c1"]
    assert (done.status, done.reason) == (Status.CANCELLED, "expired")
    assert there.holdings().sizes == {"AAA": done.filled}
    alpaca.at("2024-05-06T16:31:00-04:00")
    assert there.hours().now == datetime(2024, 5, 6, 20, 31, tzinfo=UTC)


def test_refusals_are_told_apart(alpaca):
    there = broker(alpaca)
    there.submit(Ticket("c1", "AAA", 1.0, 50.0))
    for error, ticket in (
        (DuplicateOrderError, Ticket("c1", "AAA", 1.0, 50.0)),
        (OrderRefusedError, Ticket("c2", "AAA", 1e6, 50.0)),
        (OrderRefusedError, Ticket("c3", "BBB", -1.0, 50.0)),
        (OrderRefusedError, Ticket("c4", "NONE", 1.0, 50.0)),
        (OrderRefusedError, Ticket("c5", "AAA", 1.0, 50.0, due="close")),
    ):
        with pytest.raises(error):
            there.submit(ticket)
    with pytest.raises(BrokerKeysError, match="APCA_API_KEY_ID"):
        AlpacaBroker("wrong", "keys", alpaca.url, pause=lambda seconds: None).holdings()


def test_more_orders_than_a_page_are_found(alpaca, monkeypatch):
    monkeypatch.setattr("tracker_strategies.papertrade.brokers.alpaca.PAGE", 7)
    monkeypatch.setattr("tracker_strategies.papertrade.brokers.alpaca.PAGES", 2)
    there = broker(alpaca)
    cids = [f"c{i}" for i in range(30)]
    for cid in cids:
        there.submit(Ticket(cid, "CCC", 1.0, 8.0))
    assert set(there.reports(cids)) == set(cids)
    assert len(there.open_orders()) == 30


@pytest.mark.parametrize("trouble", TROUBLE)
def test_reading_goes_on_after_any_trouble(alpaca, trouble):
    alpaca.steer("set", faults=[trouble] * 3)
    assert broker(alpaca).holdings().cash == 100_000.0


@pytest.mark.parametrize("trouble", TROUBLE)
def test_an_order_without_a_usable_answer_is_never_called_refused(alpaca, trouble):
    alpaca.steer("set", faults=[trouble])
    with pytest.raises(BrokerUnavailableError):
        broker(alpaca).submit(Ticket("c1", "AAA", 1.0, 50.0))


_ACCOUNT = Account(1.0, {"AAA": 1.0})
_ACCOUNT.positions["AAA"] = 1.0
ANSWERS = {id(facts.ACCOUNT): _ACCOUNT.account(), id(facts.POSITION): _ACCOUNT.position("AAA"), id(facts.CLOCK): _ACCOUNT.clock()}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*facts.ORDER, *facts.ERROR, "x"]), inner, max_size=6)
    ),
    max_leaves=10,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_arrives_becomes_an_error_with_a_name(alpaca, monkeypatch, data):
    """Random bytes, random JSON, and real answers with a field replaced by nonsense."""
    monkeypatch.setattr(endpoint, "PAUSES", ())
    alpaca.steer("set", canned=[])
    with contextlib.suppress(DuplicateOrderError):
        broker(alpaca).submit(Ticket("c1", "AAA", 1.0, 50.0))
    schema = data.draw(st.sampled_from([facts.ORDER, facts.ACCOUNT, facts.POSITION, facts.CLOCK]))
    real = alpaca.state["orders"][0] if schema is facts.ORDER else ANSWERS[id(schema)]
    mangled = {**real, data.draw(st.sampled_from(list(schema))): data.draw(JSON)}
    body = data.draw(
        st.binary(max_size=60).map(lambda b: b.decode("latin-1"))
        | JSON.map(json.dumps)
        | st.just(json.dumps(mangled))
        | st.just(json.dumps([mangled]))
    )
    status = data.draw(st.sampled_from([200, 200, 200, 204, 302, 400, 401, 403, 404, 422, 429, 500, 503]))
    alpaca.steer("set", canned=[status, body.encode("latin-1", "replace").decode("latin-1")])
    there = broker(alpaca)
    for question in (
        lambda: there.submit(Ticket("c1", "AAA", 1.0, 50.0)),
        lambda: there.reports(["c1"]),
        there.open_orders,
        there.holdings,
        there.hours,
        lambda: there.cancel(Report("c1", "AAA", 1.0, Status.OPEN, broker_id="7b08df51-c1ac-453c-99f9-323a5f075f0d")),
    ):
        with contextlib.suppress(BrokerError):
            question()
    alpaca.steer("set", canned=[])


def test_the_stream_tells_of_a_fill_at_once(alpaca):
    there = broker(alpaca)
    there.submit(Ticket("c1", "AAA", 1.0, 50.0))
    opening = threading.Timer(0.5, lambda: alpaca.steer("open"))
    opening.start()
    begin = time.monotonic()
    assert there.listen(20.0)
    assert time.monotonic() - begin < 10.0
    assert there.reports(["c1"])["c1"].status is Status.FILLED


def test_a_stream_that_cannot_be_reached_or_stays_silent_only_takes_its_time(alpaca):
    assert not broker(alpaca).listen(0.3)
    assert not AlpacaBroker("wrong", "keys", alpaca.url).listen(0.3)
    assert not AlpacaBroker(KEY, SECRET, "http://127.0.0.1:9").listen(0.3)
