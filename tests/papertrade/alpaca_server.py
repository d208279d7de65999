"""A server on this computer that speaks Alpaca's trading API, in a process of its own, with trouble on request.

It keeps an account, checks buying power and shares as Alpaca does, fills market orders when its market is open, and lets day
orders expire when it closes. Tests steer it through ``/_test``; alpaca-py talks to the rest and does not know the difference.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import threading
import time
import urllib.request
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

#: The number of RFC 6455 that turns a key into its answer.
WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY, SECRET = "PKTESTKEY0123456789", "s3cr3t/with+chars=0123456789"
OVER = ("filled", "canceled", "expired", "rejected")
#: Every kind of trouble, once before and once after the request was processed where that makes a difference.
TROUBLE = (
    "429", "500", "502", "503", "504", "drop_before", "drop_after", "stall_before", "stall_after",
    "html", "html_after", "truncated_after", "short_after",
)  # fmt: skip


class Account:
    """What the broker knows."""

    def __init__(self, cash: float, prices: dict[str, float]) -> None:
        self.lock = threading.RLock()
        self.cash, self.prices, self.positions = cash, dict(prices), {}
        self.orders: dict[str, dict[str, Any]] = {}
        self.by_client: dict[str, str] = {}
        self.open, self.part = False, 1.0
        self.now = datetime(2024, 5, 6, 20, 30, tzinfo=UTC)
        self.rules: dict[str, str] = {}
        self.faults: list[list[str]] = []
        self.fault_rate, self.rng, self.stall = 0.0, random.Random(0), 0.4
        self.log: list[list[Any]] = []
        self.canned: list[Any] = []
        self.updates: list[dict[str, Any]] = []

    def stamp(self) -> str:
        self.now += timedelta(milliseconds=1)
        return self.now.isoformat().replace("+00:00", "Z")

    def asset(self, symbol: str) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, symbol))

    # -- orders ----------

    def place(self, body: dict[str, Any]) -> tuple[int, Any]:
        client, symbol, qty = body.get("client_order_id") or str(uuid.uuid4()), body.get("symbol"), float(body.get("qty") or 0.0)
        if client in self.by_client:
            return 422, {"code": 40010001, "message": "client_order_id must be unique"}
        if len(client) > 128:
            return 422, {"code": 40010001, "message": "client_order_id must be no more than 128 characters"}
        if symbol not in self.prices:
            return 422, {"code": 42210000, "message": f'asset "{symbol}" not found'}
        rule = self.rules.get(symbol, "")
        if rule == "inactive":
            return 422, {"code": 42210000, "message": f'asset "{symbol}" is not active'}
        if rule == "whole" and qty != int(qty):
            return 403, {"code": 40310000, "message": f'asset "{symbol}" is not fractionable'}
        if not qty > 0.0 or round(qty, 9) != qty:
            return 422, {"code": 42210000, "message": "qty must be > 0 with at most 9 decimals"}
        if qty != int(qty) and (body.get("type"), body.get("time_in_force")) != ("market", "day"):
            return 422, {"code": 42210000, "message": "fractional orders must be DAY orders"}
        waiting = [o for o in self.orders.values() if o["status"] not in OVER]
        price = self.prices[symbol]
        if body["side"] == "buy":
            reserved = sum(
                (float(o["qty"]) - float(o["filled_qty"])) * self.prices[o["symbol"]] for o in waiting if o["side"] == "buy"
            )
            if qty * price < 1.0:
                return 403, {"code": 40310000, "message": "cost basis must be >= minimal amount of order 1"}
            if qty * price > self.cash - reserved + 1e-9:
                return 403, {"code": 40310000, "message": "insufficient buying power", "buying_power": str(self.cash - reserved)}
        else:
            asked = sum(
                float(o["qty"]) - float(o["filled_qty"]) for o in waiting if o["side"] == "sell" and o["symbol"] == symbol
            )
            if qty > self.positions.get(symbol, 0.0) - asked + 1e-9:
                return 403, {"code": 40310000, "message": f"insufficient qty available for order (requested: {qty})"}
        stamp = self.stamp()
        nothing = dict.fromkeys(
            ("filled_at", "expired_at", "canceled_at", "failed_at", "replaced_at", "replaced_by", "replaces", "notional",
             "filled_avg_price", "limit_price", "stop_price", "legs", "trail_percent", "trail_price", "hwm")
        )  # fmt: skip
        order = {
            **nothing,
            "id": str(uuid.uuid4()),
            "client_order_id": client,
            "created_at": stamp,
            "updated_at": stamp,
            "submitted_at": stamp,
            "asset_id": self.asset(symbol),
            "symbol": symbol,
            "asset_class": "us_equity",
            "qty": _text(qty),
            "filled_qty": "0",
            "order_class": "",
            "order_type": body["type"],
            "type": body["type"],
            "side": body["side"],
            "time_in_force": body["time_in_force"],
            "status": "accepted",
            "extended_hours": False,
        }
        self.orders[order["id"]] = order
        self.by_client[client] = order["id"]
        if self.open:
            self.fill(order)
        return 200, order

    def fill(self, order: dict[str, Any]) -> None:
        qty, sign, symbol = float(order["qty"]), 1.0 if order["side"] == "buy" else -1.0, order["symbol"]
        if self.rules.get(symbol) == "halted":
            return
        if self.rules.get(symbol) == "rejects":
            order.update(status="rejected", failed_at=self.stamp())
            return
        done = float(order["filled_qty"])
        more = round(qty * self.part, 9) - done if self.part < 1.0 else qty - done
        if more <= 0.0:
            return
        price = self.prices[symbol]
        self.cash -= sign * more * price
        self.positions[symbol] = self.positions.get(symbol, 0.0) + sign * more
        if abs(self.positions[symbol]) < 1e-9:
            del self.positions[symbol]
        average = (done * float(order["filled_avg_price"] or 0.0) + more * price) / (done + more)
        whole = done + more >= qty - 1e-12
        order.update(
            filled_qty=order["qty"] if whole else _text(done + more),
            filled_avg_price=_text(average),
            status="filled" if whole else "partially_filled",
            updated_at=self.stamp(),
            filled_at=self.stamp() if whole else None,
        )
        news = {
            "event": "fill" if whole else "partial_fill",
            "order": dict(order),
            "timestamp": self.stamp(),
            "price": _text(price),
        }
        self.updates.append(news | {"qty": _text(more), "position_qty": _text(self.positions.get(symbol, 0.0))})

    def cancel(self, number: str) -> tuple[int, Any]:
        order = self.orders.get(number)
        if order is None:
            return 404, {"code": 40410000, "message": "order not found"}
        if order["status"] in OVER:
            return 422, {"code": 42210000, "message": f'order is already in "{order["status"]}" state'}
        order.update(status="canceled", canceled_at=self.stamp())
        return 204, None

    # -- views ----------

    def account(self) -> dict[str, Any]:
        worth = sum(size * self.prices[s] for s, size in self.positions.items())
        money = {
            **dict.fromkeys(("equity", "last_equity", "portfolio_value"), self.cash + worth),
            **dict.fromkeys(("cash", "buying_power", "regt_buying_power"), self.cash),
            **dict.fromkeys(("short_market_value", "initial_margin", "maintenance_margin"), 0.0),
            "long_market_value": worth,
        }
        flags = ("trading_blocked", "transfers_blocked", "account_blocked", "trade_suspended_by_user", "shorting_enabled")
        return {
            "id": self.asset("account"),
            "account_number": "PA3TEST",
            "status": "ACTIVE",
            "currency": "USD",
            "multiplier": "1",
            "created_at": "2024-01-02T15:00:00Z",
            **{k: _text(v) for k, v in money.items()},
            **{flag: self.rules.get("account") == flag for flag in flags},
        }

    def position(self, symbol: str) -> dict[str, Any]:
        size, price = self.positions[symbol], self.prices[symbol]
        zero = dict.fromkeys(
            ("unrealized_pl", "unrealized_plpc", "unrealized_intraday_pl", "unrealized_intraday_plpc", "change_today"), "0"
        )
        return {
            **zero,
            "asset_id": self.asset(symbol),
            "symbol": symbol,
            "exchange": "NASDAQ",
            "asset_class": "us_equity",
            "avg_entry_price": _text(price),
            "qty": _text(size),
            "qty_available": _text(size),
            "side": "long" if size >= 0 else "short",
            "market_value": _text(size * price),
            "cost_basis": _text(size * price),
            "current_price": _text(price),
            "lastday_price": _text(price),
            "asset_marginable": True,
        }

    def listed(self, query: dict[str, str]) -> list[dict[str, Any]]:
        wanted = query.get("status", "open")
        found = [o for o in self.orders.values() if wanted == "all" or (o["status"] in OVER) == (wanted == "closed")]
        found.sort(key=lambda o: o["submitted_at"], reverse=query.get("direction", "desc") == "desc")
        if "until" in query:
            limit = datetime.fromisoformat(query["until"])
            found = [o for o in found if datetime.fromisoformat(o["submitted_at"]) < limit]
        return found[: min(int(query.get("limit", 50)), 500)]

    def clock(self) -> dict[str, Any]:
        later = self.now + timedelta(hours=16)
        return {
            "timestamp": self.now.isoformat(),
            "is_open": self.open,
            "next_open": later.isoformat(),
            "next_close": (later + timedelta(hours=6.5)).isoformat(),
        }

    # -- what tests may do ----------

    def steer(self, what: str, body: dict[str, Any]) -> Any:
        if what == "open":
            self.open, self.part = True, body.get("part", 1.0)
            self.prices.update(body.get("prices", {}))
            for order in [o for o in self.orders.values() if o["status"] not in OVER]:
                self.fill(order)
        elif what == "close":
            self.open = False
            for order in self.orders.values():
                if order["status"] not in OVER:
                    order.update(status="expired", expired_at=self.stamp())
        elif what == "time":
            self.now = datetime.fromisoformat(body["now"])
        elif what == "set":
            for name, value in body.items():
                setattr(self, name, value)
        elif what == "rate":
            self.fault_rate, self.rng = body["rate"], random.Random(body["seed"])
        return {
            "cash": self.cash,
            "positions": self.positions,
            "orders": list(self.orders.values()),
            "log": self.log,
            "faults": self.faults,
        }

    def next_fault(self) -> str:
        if self.faults:
            return self.faults.pop(0)
        return self.rng.choice(TROUBLE) if self.rng.random() < self.fault_rate else ""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body in one packet
    account: Account

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def answer(self, status: int, content: Any, headers: dict[str, str] | None = None, cut: str = "") -> None:
        body = b"" if content is None else content if isinstance(content, bytes) else json.dumps(content).encode()
        length = len(body)
        if cut:
            body = body[: max(1, len(body) // 2)]
            length = len(body) if cut == "truncated" else length
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(content, bytes) else "application/json")
        self.send_header("Content-Length", str(length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        if cut == "short":
            self.close_connection = True

    def drop(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, not a farewell
            self.connection.close()
        self.close_connection = True

    def handle_one(self) -> None:
        url = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        account = self.account
        if url.path.startswith("/_test/"):
            with account.lock:
                return self.answer(200, account.steer(url.path.removeprefix("/_test/"), body))
        if url.path == "/stream":
            return self.stream()
        with account.lock:
            account.log.append([self.command, url.path, query, body])
            fault = account.next_fault()
        if account.canned:
            status, text = account.canned
            return self.answer(status, text.encode("latin-1"))
        if (self.headers.get("APCA-API-KEY-ID"), self.headers.get("APCA-API-SECRET-KEY")) != (KEY, SECRET):
            return self.answer(401, {"code": 40110000, "message": "request is not authorized."})
        if fault.isdigit():
            headers = {"Retry-After": "1"} if fault == "429" else {}
            return self.answer(
                int(fault), {"message": "too many requests."} if fault == "429" else b"<html>bad gateway</html>", headers
            )
        if fault == "html":
            return self.answer(200, b"<!DOCTYPE html><html><body>maintenance</body></html>")
        if fault == "drop_before":
            return self.drop()
        if fault == "stall_before":
            time.sleep(account.stall)
            return self.drop()
        with account.lock:
            status, content = self.route(account, url.path, query, body)
        if fault == "drop_after":
            return self.drop()
        if fault == "stall_after":
            time.sleep(account.stall)
            return self.drop()
        if fault == "html_after":
            return self.answer(200, b"<html>session expired</html>")
        return self.answer(status, content, cut=fault.removesuffix("_after") if fault else "")

    def stream(self) -> None:
        """A WebSocket: authorise, listen, and send what happens to orders."""
        self.close_connection = True
        accept = base64.b64encode(hashlib.sha1((self.headers["Sec-WebSocket-Key"] + WEBSOCKET).encode()).digest()).decode()
        lines = (
            "HTTP/1.1 101 Switching Protocols",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Accept: {accept}",
        )
        self.wfile.write("\r\n".join((*lines, "", "")).encode())
        self.wfile.flush()
        self.connection.settimeout(0.02)
        sent = None
        while True:
            try:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    return
                asked = self.read_frame()
                if asked is None:
                    return
                data = asked.get("data", {})
                if asked.get("action") == "authenticate":
                    right = (data.get("key_id"), data.get("secret_key")) == (KEY, SECRET)
                    self.send_frame({"stream": "authorization", "data": {"status": "authorized" if right else "unauthorized"}})
                elif asked.get("action") == "listen":
                    sent = len(self.account.updates)
                    self.send_frame({"stream": "listening", "data": {"streams": ["trade_updates"]}})
            except TimeoutError:
                while sent is not None and sent < len(self.account.updates):
                    self.send_frame({"stream": "trade_updates", "data": self.account.updates[sent]})
                    sent += 1

    def read_frame(self) -> dict[str, Any] | None:
        """A text frame of the client as JSON; None when it says good-bye."""
        self.connection.settimeout(2.0)
        kind, length = self.connection.recv(2, socket.MSG_WAITALL)
        size = length & 127
        if size == 126:
            size = int.from_bytes(self.connection.recv(2, socket.MSG_WAITALL), "big")
        mask = self.connection.recv(4, socket.MSG_WAITALL)
        data = self.connection.recv(size, socket.MSG_WAITALL) if size else b""
        self.connection.settimeout(0.02)
        text = bytes(b ^ mask[i % 4] for i, b in enumerate(data))
        return None if kind & 15 == 8 else json.loads(text) if kind & 15 == 1 else {}

    def send_frame(self, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        head = bytes([0x82, len(data)]) if len(data) < 126 else b"\x82\x7e" + len(data).to_bytes(2, "big")
        self.connection.sendall(head + data)  # binary frames, as Alpaca's

    def route(self, account: Account, path: str, query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if path == "/v2/account":
            return 200, account.account()
        if path == "/v2/clock":
            return 200, account.clock()
        if path == "/v2/positions":
            return 200, [account.position(s) for s in sorted(account.positions)]
        if path == "/v2/orders" and self.command == "POST":
            return account.place(body)
        if path == "/v2/orders":
            return 200, account.listed(query)
        if path == "/v2/orders:by_client_order_id":
            number = account.by_client.get(query.get("client_order_id", ""))
            return (200, account.orders[number]) if number else (404, {"code": 40410000, "message": "order not found"})
        if path.startswith("/v2/orders/") and self.command == "DELETE":
            return account.cancel(path.rsplit("/", 1)[1])
        return 404, {"code": 40410000, "message": "endpoint not found."}

    do_GET = do_POST = do_DELETE = handle_one  # noqa: N815 (the names are those of the library)


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed in the middle of an answer is no news."""


class Alpaca:
    """The server, as a test sees it."""

    def __init__(self, url: str, child: int) -> None:
        self.url, self.child = url, child

    def steer(self, what: str, **body: Any) -> dict[str, Any]:
        request = urllib.request.Request(f"{self.url}/_test/{what}", json.dumps(body).encode(), method="POST")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            content: dict[str, Any] = json.loads(answer.read())
            return content

    @property
    def state(self) -> dict[str, Any]:
        return self.steer("look")

    def at(self, moment: str) -> None:
        self.steer("time", now=moment)


@contextlib.contextmanager
def serving(cash: float = 100_000.0, prices: dict[str, float] | None = None) -> Iterator[Alpaca]:
    """Run the server in a process of its own: tests kill and fork, which goes badly with threads."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        handler = type("OwnHandler", (Handler,), {"account": Account(cash, prices or {})})
        server = Server(("127.0.0.1", 0), handler)
        os.write(writer, f"{server.server_port}\n".encode())
        try:
            server.serve_forever(poll_interval=0.05)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        port = int(pipe.readline())
    try:
        yield Alpaca(f"http://127.0.0.1:{port}", child)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _text(number: float) -> str:
    return f"{round(number, 9):.9f}".rstrip("0").rstrip(".") or "0"
