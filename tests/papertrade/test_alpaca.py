"""The account at Alpaca's, through alpaca-py's own client and a server on this computer that speaks Alpaca's API."""

import contextlib
import json
import os
import signal
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datafeeds import MarketPanel
from tests.papertrade import alpaca_facts as facts
from tests.papertrade.alpaca_server import KEY, SECRET, TROUBLE, Account, serving
from tests.papertrade.harness import books_balance, events, in_a_process, orders
from tracker_strategies.papertrade import PaperAccount, endpoint
from tracker_strategies.papertrade.alpaca import AlpacaBroker
from tracker_strategies.papertrade.broker import Report, Status, Ticket
from tracker_strategies.papertrade.clocks import trading_calendar
from tracker_strategies.papertrade.errors import (
    BrokerError,
    BrokerKeysError,
    BrokerUnavailableError,
    DuplicateOrderError,
    OrderRefusedError,
    StaleDataError,
)
from tracker_strategies.papertrade.watch import watch

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")

SESSIONS = pd.DatetimeIndex(["2024-05-01", "2024-05-02", "2024-05-03", "2024-05-06", "2024-05-07", "2024-05-08", "2024-05-09"])
NAMES = ("AAA", "BBB", "CCC", "DDD", "EEE", "FFF")


def market(n=None, seed=1):
    rng = np.random.default_rng(seed)
    walk = rng.standard_normal((len(SESSIONS), len(NAMES))) * 0.003
    walk[4:, 0] += 0.05  # so that there is something to sell
    close = np.array([50.0, 120.0, 8.0, 300.0, 20.0, 75.0]) * np.exp(walk.cumsum(axis=0))
    index = close @ np.array([3.0, 1.0, 20.0, 0.5, 8.0, 2.0])
    return MarketPanel(SESSIONS[:n], NAMES, close[:n].round(2), ("INDEX",), index[:n, None])


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.setenv(endpoint.KEY, KEY)
    monkeypatch.setenv(endpoint.SECRET, SECRET)
    monkeypatch.setattr(endpoint, "TIMEOUT", (1.0, 0.3))


@pytest.fixture
def alpaca():
    with serving(prices=dict(zip(NAMES, market().close[3], strict=True))) as server:
        yield server


def broker(alpaca):
    return AlpacaBroker(KEY, SECRET, alpaca.url, pause=lambda seconds: None)


def open_account(place, alpaca, start=3, strategy="equal-weight", source="memory", **options):
    return PaperAccount.create(
        place, strategy, source, panel=market(start + 1), broker="alpaca", url=alpaca.url, name="test", **options
    )


def step(account, n, **options):
    return PaperAccount(account.folder, pause=lambda seconds: None).step(market(n), **options)


def closes(n):
    return dict(zip(NAMES, market().close[n - 1].tolist(), strict=True))


def next_session(alpaca, n, part=1.0):
    """The market opens, trades at the closes of session n, and closes again; then it is evening."""
    alpaca.steer("open", prices=closes(n), part=part)
    day = SESSIONS[n - 1].date()
    alpaca.at(f"{day}T19:59:00+00:00")


def evening(alpaca, n):
    alpaca.steer("close")
    alpaca.at(f"{SESSIONS[n - 1].date()}T20:30:00+00:00")


# -- the server itself ----------


def test_the_server_answers_as_the_published_document_says(alpaca):
    import requests

    headers = {"APCA-API-KEY-ID": KEY, "APCA-API-SECRET-KEY": SECRET}

    def get(path, **query):
        return requests.get(f"{alpaca.url}/v2/{path}", params=query, headers=headers, timeout=5)

    order = {"symbol": "AAA", "qty": 1.5, "side": "buy", "type": "market", "time_in_force": "day", "client_order_id": "one"}
    placed = requests.post(f"{alpaca.url}/v2/orders", json=order, headers=headers, timeout=5)
    assert placed.status_code == 200
    assert facts.complaints(placed.json(), facts.ORDER) == []
    twice = requests.post(f"{alpaca.url}/v2/orders", json=order, headers=headers, timeout=5)
    wrong = requests.post(
        f"{alpaca.url}/v2/orders", json={**order, "symbol": "NONE", "client_order_id": "two"}, headers=headers, timeout=5
    )
    poor = requests.post(
        f"{alpaca.url}/v2/orders", json={**order, "qty": 1e6, "client_order_id": "3"}, headers=headers, timeout=5
    )
    long = requests.post(f"{alpaca.url}/v2/orders", json={**order, "client_order_id": "x" * 129}, headers=headers, timeout=5)
    for answer in (
        twice,
        wrong,
        poor,
        long,
        get("orders:by_client_order_id", client_order_id="none"),
        requests.get(f"{alpaca.url}/v2/account", timeout=5),
    ):
        content = {k: v for k, v in answer.json().items() if k in facts.ERROR}
        assert facts.complaints(content, facts.ERROR) == []
        assert content["code"] in facts.ERROR_CODES[answer.status_code]
    alpaca.steer("open", part=0.5)
    for path, schema in (("account", facts.ACCOUNT), ("clock", facts.CLOCK)):
        assert facts.complaints(get(path).json(), schema) == []
    (held,) = get("positions").json()
    assert facts.complaints(held, facts.POSITION) == []
    assert facts.complaints(get("orders", status="all").json()[0], facts.ORDER) == []
    assert get("orders", status="all").json()[0]["status"] == "partially_filled"
    alpaca.steer("close")
    assert get("orders", status="closed").json()[0]["status"] == "expired"


# -- the broker ----------


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
    assert there.time().isoformat() == "2024-05-06T16:31:00-04:00"


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
    monkeypatch.setattr("tracker_strategies.papertrade.alpaca.PAGE", 7)
    monkeypatch.setattr("tracker_strategies.papertrade.alpaca.PAGES", 2)
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
        there.time,
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


# -- the account ----------


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
    with pytest.raises(StaleDataError, match="2024-05-07 has closed"):
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
