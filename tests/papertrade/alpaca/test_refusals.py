"""Orders that fill in part or not at all, and a broker that cannot be reached or must not be."""

import socket

import numpy as np
import pytest

from tests.papertrade.alpaca.market import broker
from tests.papertrade.alpaca.server import KEY, SECRET
from tests.papertrade.harness import books_balance, day, events, market, open_account, orders, step_through
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint
from tracker_strategies.papertrade.brokers.base import Ticket
from tracker_strategies.papertrade.errors import BrokerKeysError, BrokerUnavailableError, LiveEndpointError

# -- 5: partial fills ----------


def test_a_partial_fill_is_cancelled_at_the_close_and_the_rest_is_replanned(folder):
    panel = market()
    account = open_account(folder / "a", panel, faults={"partial": 1.0})
    step_through(account, panel)
    first = orders(account, f"session = '{day(panel, 0)}'")
    assert all(o["status"] == "cancelled" and o["filled"] == pytest.approx(o["size"] / 2) for o in first)
    weights = np.array([o["size"] * o["price"] for o in orders(account, f"session = '{day(panel, 1)}'")])
    assert 0.4e6 < weights.sum() < 0.6e6  # the half that is missing
    assert len(events(account, "cancelled")) == len(orders(account)) - 4
    books_balance(account)


# -- 6: rejections ----------


def test_rejected_orders_are_reported_and_made_up_for_at_the_next_session(folder):
    panel = market()
    account = open_account(folder / "a", panel, "buy-and-hold", faults={"reject": 0.4, "seed": 3})
    results = step_through(account, panel)
    assert results[0].refused
    assert results[0].sent
    assert len(events(account, "rejected")) == sum(r.refused for r in results)
    held = {o["symbol"] for o in orders(account, "filled > 0")}
    assert held == set(panel.symbols)  # sooner or later every name was bought
    assert "refused by the broker" in " ".join(results[0].messages)
    books_balance(account)


# -- 7: answers of the broker: see test_alpaca_broker ----------


# -- 8: no network, no name, no keys ----------


def at_alpaca(monkeypatch, key=KEY, secret=SECRET):
    pytest.importorskip("alpaca")
    monkeypatch.setenv(endpoint.KEY, key)
    monkeypatch.setenv(endpoint.SECRET, secret)
    from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

    return AlpacaBroker


def test_a_network_that_is_down_costs_nothing_but_time(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waited = []
    broker = at_alpaca(monkeypatch)(KEY, SECRET, f"http://127.0.0.1:{port}", pause=waited.append)
    with pytest.raises(BrokerUnavailableError, match="no usable answer from Alpaca"):
        broker.holdings()
    assert waited == list(endpoint.PAUSES)
    with pytest.raises(BrokerUnavailableError):
        broker.submit(Ticket("c", "AAA", 1.0, 1.0))


def test_a_name_that_cannot_be_resolved(monkeypatch):
    def nowhere(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    broker = at_alpaca(monkeypatch).from_environment(pause=lambda seconds: None)
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(BrokerUnavailableError, match="no usable answer") as problem:
        broker.holdings()
    assert SECRET not in str(problem.value)


def test_missing_keys_are_asked_for_by_name(monkeypatch):
    broker = at_alpaca(monkeypatch, key="")
    with pytest.raises(BrokerKeysError, match="APCA_API_KEY_ID and APCA_API_SECRET_KEY"):
        broker.from_environment()


@pytest.mark.parametrize(
    "url",
    [
        "https://api.alpaca.markets",
        "http://paper-api.alpaca.markets",
        "https://paper-api.alpaca.markets.evil.com",
        "https://paper-api.evil.com",
        "https://evil.com#paper-api.alpaca.markets",
        "https://10.0.0.1",
        "ftp://127.0.0.1",
        "https://paper-api.alpaca.markets@api.alpaca.markets",
        "https://api.alpaca.markets/?x=paper-api.alpaca.markets",
        "not an address",
    ],
)
def test_anything_but_a_paper_account_is_refused(monkeypatch, url):
    with pytest.raises((LiveEndpointError, ParameterError), match="paper"):
        at_alpaca(monkeypatch).from_environment(url)


def test_half_a_refusal_is_no_word_about_the_keys(alpaca):
    """The order may be the one that is refused: it is asked again, and then the answer is whole."""
    alpaca.steer("set", canned=[403, '{"code": 40310000, "message": "insufficient buy'])
    with pytest.raises(BrokerUnavailableError):
        broker(alpaca).submit(Ticket("c1", "AAA", 1e6, 50.0))
