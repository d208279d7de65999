"""The line to the broker: no proxy between this computer and itself, no key in any message, no answer that never ends, and an
account that is told late is asked for again soon.
"""

import base64
import html
import json
import socket
import threading
from datetime import datetime, timedelta
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.papertrade.alpaca.market import broker, closes, market, open_account
from tests.papertrade.alpaca.server import KEY, SECRET
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint
from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.brokers.secret_texts import LETTERS, MASK, Mask, forms
from tracker_strategies.papertrade.errors import BrokerUnavailableError, OrderRefusedError
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.live.watching import AGAIN, DOUBTS, watch

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")

BOTH = f"{KEY}:{SECRET}"
WRITTEN = {
    "plain": SECRET,
    "upper case": SECRET.upper(),
    "lower case": SECRET.lower(),
    "percent": quote(SECRET, safe=""),
    "percent in lower case": quote(SECRET, safe="").lower(),
    "form": quote_plus(SECRET),
    "JSON": json.dumps({"is": SECRET}).replace("/", "\\/"),
    "HTML": html.escape(SECRET),
    "hexadecimal": SECRET.encode().hex(),
    "HEXADECIMAL": SECRET.encode().hex(":").upper(),
    "base64": base64.b64encode(SECRET.encode()).decode(),
    "url-safe base64": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "a header": "Basic " + base64.b64encode(BOTH.encode()).decode(),
    "base64 behind one byte": base64.b64encode(b"x" + SECRET.encode()).decode(),
    "base64 behind two bytes": base64.b64encode(b"xx" + SECRET.encode()).decode(),
    "two lines": SECRET[:11] + "\n  " + SECRET[11:],
}


MASKED = Mask((KEY, SECRET))
PARTS = {form[i : i + LETTERS] for key in (KEY, SECRET) for form in forms(key) for i in range(len(form) - LETTERS + 1)}


def shows(text):
    """Whether a text shows eight letters in a row of a key, in any form."""
    bare = "".join(text.split()).lower()
    return any(bare[i : i + LETTERS] in PARTS for i in range(len(bare) - LETTERS + 1))


# -- a proxy ----------


def test_this_computer_is_asked_without_the_proxy_of_the_environment(alpaca, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:  # nobody answers there
        for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        assert broker(alpaca).holdings().cash == 100_000.0
        localhost = alpaca.url.replace("127.0.0.1", "localhost")
        assert endpoint.make_client(localhost, KEY, SECRET)._session.trust_env is False
        proxy.settimeout(0.05)
        with pytest.raises(TimeoutError):
            proxy.accept()
    assert endpoint.make_client("", KEY, SECRET)._session.trust_env is True  # the world outside may need it


# -- keys ----------


@pytest.mark.parametrize("before", [0, 185, 195, 470])
def test_a_broker_that_repeats_the_keys_in_any_form_is_not_repeated(alpaca, before):
    """Also where the text is cut in the midst of a key."""
    there = broker(alpaca)
    for form, written in WRITTEN.items():
        text = "." * before + written + " and " + BOTH
        for status, body in ((422, json.dumps({"code": 42210000, "message": text})), (500, text), (200, text)):
            alpaca.steer("set", canned=[status, body])
            with pytest.raises((BrokerUnavailableError, OrderRefusedError)) as problem:
                there.submit(Ticket("c1", "AAA", 1.0, 50.0))
            assert not shows(str(problem.value)), (form, str(problem.value))


@given(st.text(max_size=40), st.sampled_from(sorted(WRITTEN)), st.text(max_size=40))
def test_what_is_around_a_key_stays(before, form, after):
    found = MASKED.clean(f"{before} ( {WRITTEN[form]} ) {after}")
    assert MASK in found
    assert not shows(found)
    if not shows(before) and not shows(after):
        assert found.startswith(" ".join(f"{before} (".split()))
        assert found.endswith(" ".join(f") {after}".split()))


# -- an answer that never ends ----------


class Dripping:
    """A server whose answers come byte by byte, for ever."""

    def __init__(self, first=b""):
        self._first, self._listener = first, socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._over = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection):
        with connection:
            try:
                connection.sendall(self._first)
                while not self._over.wait(0.02):
                    connection.sendall(b"a")
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._over.set()
        self._listener.close()


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nX-Long: ", HEAD], ids=["status", "header", "body"])
def test_a_dripping_answer_is_given_up(keys, monkeypatch, first):
    monkeypatch.setattr(endpoint, "WHOLE_ANSWER", 0.3)
    monkeypatch.setattr(endpoint, "WHOLE_QUESTION", 0.5)
    with Dripping(first) as server:
        waited = []
        there = endpoint.Line(endpoint.make_client(server.url, KEY, SECRET), (KEY, SECRET), waited.append)
        with pytest.raises(BrokerUnavailableError, match=r"order c1: no usable answer .*no whole answer within 0.3 seconds"):
            there.order("order c1", lambda client: client.get_account())
        with pytest.raises(BrokerUnavailableError, match="account: no usable answer"):
            there.read("account", lambda client: client.get_account())
        assert waited == list(endpoint.PAUSES[:1])  # two answers are all that is waited for


def test_the_account_is_free_after_an_answer_that_never_ended(alpaca, folder, monkeypatch):
    account = open_account(folder / "a", alpaca)
    monkeypatch.setattr(endpoint, "WHOLE_ANSWER", 1.0)
    monkeypatch.setattr(endpoint, "WHOLE_QUESTION", 0.1)
    with Dripping(HEAD) as server:
        dead = PaperAccount(account.folder, broker=broker(server))
        with pytest.raises(BrokerUnavailableError, match="no whole answer"):
            dead.step(market(4))
        alpaca.at("2024-05-06T20:30:00+00:00")
        assert PaperAccount(account.folder, broker=broker(alpaca)).step(market(4)).sent


# -- an account that is told late ----------


def test_positions_that_are_told_late_are_asked_for_again_in_minutes(alpaca, folder):
    path = folder / "prices.csv"
    market(4).to_frame().to_csv(path)
    account = open_account(folder / "a", alpaca, source=str(path), clock="wall")
    clock = [datetime.fromisoformat("2024-05-06T20:30:00+00:00")]

    def sleep(seconds):
        clock[0] += timedelta(seconds=seconds)
        alpaca.at(clock[0].isoformat())

    alpaca.at(clock[0].isoformat())
    account = PaperAccount(account.folder, clock=lambda: clock[0], pause=sleep)
    account.step()
    alpaca.steer("open", prices=closes(5))
    alpaca.steer("close")
    market(5).to_frame().to_csv(path)
    sleep(24 * 3600.0)
    right = alpaca.state["positions"]
    alpaca.steer("set", positions={**right, "AAA": 0.5 * right["AAA"]})  # as it was a moment ago
    begun, said, complaints = clock[0], [], []

    def pause(seconds):
        sleep(seconds)
        if clock[0] - begun > 2 * AGAIN:
            alpaca.steer("set", positions=right)

    watch(account, said.append, complaints.append, time_of_day=lambda: clock[0], pause=pause, rounds=4)
    assert [result.decision for result in said[:1]] == [Kind.ACT]
    assert clock[0] - begun < timedelta(hours=25)
    assert 2 <= len(complaints) <= 3
    assert all("ReconcileError" in words for words in complaints)


def test_an_account_that_stays_another_is_left_to_a_person(alpaca, folder):
    path = folder / "prices.csv"
    market(4).to_frame().to_csv(path)
    account = open_account(folder / "a", alpaca, source=str(path), clock="wall")
    clock = [datetime.fromisoformat("2024-05-06T20:30:00+00:00")]

    def pause(seconds):
        clock[0] += timedelta(seconds=seconds)
        alpaca.at(clock[0].isoformat())

    alpaca.at(clock[0].isoformat())
    alpaca.steer("set", positions={"AAA": 7.0})
    account, complaints = PaperAccount(account.folder, clock=lambda: clock[0], pause=pause), []
    watch(account, lambda result: None, complaints.append, time_of_day=lambda: clock[0], pause=pause, rounds=DOUBTS + 2)
    assert len(complaints) == DOUBTS + 2
    assert clock[0].isoformat() > "2024-05-07T20:20"  # the last look came after the next close
