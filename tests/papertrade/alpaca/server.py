"""A server on this computer that speaks Alpaca's trading API, in a process of its own, with trouble on request.

What it knows is in ``alpaca_books``. Tests steer it through ``/_test``; alpaca-py talks to the rest and does not know the
difference.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import signal
import socket
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.papertrade.alpaca.books import Account

#: The number of RFC 6455 that turns a key into its answer.
WEBSOCKET = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY, SECRET = "PKTESTKEY0123456789", "s3cr3t/with+chars=0123456789"


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
            account.log.append([self.command, url.path, query, body, account.now.isoformat(), account.open])
            fault = account.next_fault(self.command)
        if account.canned:
            status, text = account.canned
            return self.answer(status, text.encode("latin-1"))
        if (self.headers.get("APCA-API-KEY-ID"), self.headers.get("APCA-API-SECRET-KEY")) != (KEY, SECRET):
            return self.answer(401, {"code": 40110000, "message": "request is not authorized."})
        if f"{self.command} {url.path}" in account.broken:
            fault = "503"
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
            return (
                (200, account.told(account.orders[number])) if number else (404, {"code": 40410000, "message": "order not found"})
            )
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
