"""The server that the tests talk to answers as Alpaca's published document says."""

import pytest

from tests.papertrade.alpaca import facts
from tests.papertrade.alpaca.server import KEY, SECRET

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


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
