"""A stand-in for Yahoo on the loopback interface, and a session that leads yfinance to it.

Every body that this server sends is GENERATED from the :class:`Listing` objects of a test; none is a recording of Yahoo. Their
shape follows Yahoo's answers: the chart endpoint with its metadata, quotes in single precision that are divided by every later
split, events only of the period asked for, ``adjclose``; the host that hands out cookies; the crumb; the consent form.

yfinance runs as it is installed. Names of hosts stay Yahoo's (so cookies and their domains are real); only the address behind
them and the scheme are changed: :class:`LoopbackSession`.
"""

import json
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from datetime import date, datetime
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo

import numpy as np
from curl_cffi import CurlOpt

from datafeeds.yahoo.client import YahooSession

CRUMB = "generated.crumb"


class LoopbackSession(YahooSession):
    """The product's session, whose connections to any host end at one port of this machine."""

    def __init__(self, port):
        super().__init__(curl_options={CurlOpt.RESOLVE: [f"*:{port}:127.0.0.1"]})
        self.port = port

    def request(self, method, url, *args, **options):
        target = urlsplit(url)
        return super().request(
            method, target._replace(scheme="http", netloc=f"{target.hostname}:{self.port}").geturl(), *args, **options
        )


class NoNameSession(YahooSession):
    """A session in a world whose name servers know nothing (RFC 2606: .invalid is never resolved)."""

    def request(self, method, url, *args, **options):
        target = urlsplit(url)
        return super().request(method, target._replace(netloc=f"{target.hostname}.invalid").geturl(), *args, **options)


@dataclass
class Listing:
    """A paper as it was really traded: what Yahoo would show at any later day follows from it."""

    days: list[date]
    close: list[float]
    dividends: dict[date, float] = field(default_factory=dict)
    splits: dict[date, tuple[int, int]] = field(default_factory=dict)
    zone: str = "America/New_York"
    kind: str = "EQUITY"
    currency: str = "USD"
    open_factor: float = 0.995
    high_factor: float = 1.01
    low_factor: float = 0.99
    volume: int = 1_000_000
    #: Splits that have been applied to the prices before their day, or without being told, and those told but not applied
    early: set[date] = field(default_factory=set)
    untold: set[date] = field(default_factory=set)
    unapplied: set[date] = field(default_factory=set)
    #: When the current session closes; None: long ago
    session_end: datetime | None = None

    def __post_init__(self):
        self.days, self.close = list(self.days), list(self.close)  # a test may change them

    def opening(self, day):
        """Time stamp of a bar: the opening of its session."""
        return int(datetime(day.year, day.month, day.day, 9, 30, tzinfo=ZoneInfo(self.zone)).timestamp())

    def restated(self, value, day, today, *, precise=False):
        """A price or dividend of `day` in the shares of `today`."""
        ratio = Fraction(1)
        for when, (new, old) in self.splits.items():
            if day < when and (when <= today or when in self.early) and when not in self.unapplied:
                ratio *= Fraction(new, old)
        exact = float(Fraction(value) / ratio)
        return exact if precise else float(np.float32(exact))

    def adjclose(self, rows, today):
        """Yahoo's own total return close, as it works it out."""
        known = [d for d in self.days if d <= today]
        factors, factor = {}, 1.0
        for i in range(len(known) - 1, -1, -1):
            factors[known[i]] = factor
            paid = self.dividends.get(known[i], 0.0)
            if paid and i:
                before = self.restated(self.close[i - 1], known[i - 1], today, precise=True)
                factor *= 1.0 - self.restated(paid, known[i], today, precise=True) / before
        return [
            float(np.float32(self.restated(self.close[i], self.days[i], today, precise=True) * factors[self.days[i]]))
            for i in rows
        ]


@dataclass
class Fault:
    """What goes wrong instead of the answer to a chart request."""

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stall: float = 0.0
    drop: bool = False
    #: Announce the whole body but send only this share of it
    cut: float | None = None


NOT_FOUND = {"chart": {"result": None, "error": {"code": "Not Found", "description": "No data found, symbol may be delisted"}}}
HTML = b"<!DOCTYPE html><html><body><h1>Oops, something went wrong</h1></body></html>"


class YahooServer:
    """Serves listings as of `today`; use as a context manager.

    Attributes
    ----------
    listings : dict of ticker to Listing
    today : date
        The last day that the server knows of.
    faults : dict of ticker to deque of Fault
        Taken from the left, one per chart request of the ticker; a single Fault stands for ever.
    requests : list of (host, path, query)
    """

    def __init__(self, listings, today=date.max):
        self.listings, self.today = dict(listings), today
        self.faults, self.requests = {}, []
        self.everywhere = None
        self.closing = threading.Event()

    def fail(self, ticker, *faults, times=None):
        """Queue faults for a ticker; `times` repeats a single one, without it a single one stays for ever."""
        self.faults[ticker] = deque(faults * (times or 1)) if times or len(faults) > 1 else faults[0]

    def asked(self, ticker):
        """Number of requests for the history of a ticker (not for its time zone)."""
        return sum(path.endswith(f"/chart/{ticker}") and "period1" in query for _, path, query in list(self.requests))

    @property
    def n_chart(self):
        return sum("/chart/" in path for _, path, _ in list(self.requests))

    def session(self):
        return LoopbackSession(self.port)

    def __enter__(self):
        owner = self

        class Handler(_Handler):
            yahoo = owner

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_port
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def chart(self, ticker, query):
        """Status and generated body of a chart answer."""
        listing = self.listings.get(ticker)
        if listing is None:
            return 404, NOT_FOUND
        since, until = int(query.get("period1", ["0"])[0]), int(query.get("period2", ["99999999999"])[0])
        rows = [i for i, d in enumerate(listing.days) if d <= self.today and since <= listing.opening(d) < until]
        if "range" in query:
            rows = rows[-1:]
        elif not rows:
            error = f"Data doesn't exist for startDate = {since}, endDate = {until}"
            return 400, {"chart": {"result": None, "error": {"code": "Bad Request", "description": error}}}
        return 200, {"chart": {"result": [self._result(ticker, listing, rows, since, until)], "error": None}}

    def _result(self, ticker, listing, rows, since, until):
        def quotes(factor):
            return [
                None if listing.close[i] is None else listing.restated(listing.close[i] * factor, listing.days[i], self.today)
                for i in rows
            ]

        shares = [listing.restated(1.0, listing.days[i], self.today, precise=True) for i in rows]
        last = max(i for i, d in enumerate(listing.days) if d <= self.today)
        end = int(listing.session_end.timestamp()) if listing.session_end else listing.opening(listing.days[last]) + 23400
        within = lambda d: d <= self.today and since <= listing.opening(d) < until  # noqa: E731
        events = {}
        dividends = {d: a for d, a in listing.dividends.items() if within(d)}
        splits = {d: r for d, r in listing.splits.items() if within(d) and d not in listing.untold}
        if dividends:
            events["dividends"] = {
                str(listing.opening(d)): {"amount": listing.restated(a, d, self.today, precise=True), "date": listing.opening(d)}
                for d, a in dividends.items()
            }
        if splits:
            events["splits"] = {
                str(listing.opening(d)): {
                    "date": listing.opening(d),
                    "numerator": new,
                    "denominator": old,
                    "splitRatio": f"{new}:{old}",
                }
                for d, (new, old) in splits.items()
            }
        hours = {"timezone": "EST", "gmtoffset": -18000}
        result = {
            "meta": {
                "currency": listing.currency,
                "symbol": ticker,
                "exchangeName": "GEN",
                "fullExchangeName": "Generated",
                "instrumentType": listing.kind,
                "firstTradeDate": listing.opening(listing.days[0]),
                "regularMarketTime": end,
                "hasPrePostMarketData": True,
                "gmtoffset": -18000,
                "timezone": "EST",
                "exchangeTimezoneName": listing.zone,
                "regularMarketPrice": listing.close[last],
                "priceHint": 2,
                "currentTradingPeriod": {
                    "pre": {**hours, "start": end - 43200, "end": end - 23400},
                    "regular": {**hours, "start": end - 23400, "end": end},
                    "post": {**hours, "start": end, "end": end + 14400},
                },
                "dataGranularity": "1d",
                "range": "",
                "validRanges": ["1d", "5d", "1mo", "3mo", "6mo", "1y", "2y", "5y", "10y", "ytd", "max"],
            },
            "timestamp": [listing.opening(listing.days[i]) for i in rows],
            "indicators": {
                "quote": [
                    {
                        "open": quotes(listing.open_factor),
                        "high": quotes(listing.high_factor),
                        "low": quotes(listing.low_factor),
                        "close": quotes(1.0),
                        "volume": [int(listing.volume / share) for share in shares],
                    }
                ],
            },
        }
        if all(price is not None for price in listing.close):
            result["indicators"]["adjclose"] = [{"adjclose": listing.adjclose(rows, self.today)}]
        if events:
            result["events"] = events
        return result


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    yahoo: YahooServer

    def log_message(self, *_):
        pass

    def do_GET(self):
        host = self.headers["Host"].partition(":")[0]
        target = urlsplit(self.path)
        query = parse_qs(target.query)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.yahoo.requests.append((host, unquote(target.path), query))
        try:
            if self.yahoo.everywhere is not None:
                self.answer_with(self.yahoo.everywhere)
            else:
                self.answer(host, unquote(target.path), query)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_POST = do_GET  # noqa: N815 - the name that http.server looks for

    def answer(self, host, path, query):
        cookie = {"Set-Cookie": "A3=d=generated; Domain=.yahoo.com; Path=/; Max-Age=31557600"}
        if host == "fc.yahoo.com":
            self.send(404, b"", cookie, kind="text/html")  # Yahoo, too, answers 404 here, and hands out the cookie
        elif path == "/v1/test/getcrumb":
            known = "A3=" in (self.headers.get("Cookie") or "")
            self.send(
                200 if known else 401, CRUMB.encode() if known else b'{"finance":{"error":"Invalid Cookie"}}', kind="text/plain"
            )
        elif path == "/consent":
            form = '<form><input name="csrfToken" value="generated"><input name="sessionId" value="generated"></form>'
            self.send(200, f"<html><body>{form}</body></html>".encode(), kind="text/html")
        elif path in ("/v2/collectConsent", "/copyConsent"):
            self.send(200, b"", cookie, kind="text/html")
        elif path.startswith("/v8/finance/chart/"):
            self.answer_chart(path.rsplit("/", 1)[1], query)
        else:
            error = {"code": "Not Found", "description": "generated: no such endpoint"}
            self.send_json(404, {"quoteSummary": {"result": None, "error": error}, "finance": {"result": None, "error": error}})

    def answer_chart(self, ticker, query):
        fault = self.yahoo.faults.get(ticker)
        if isinstance(fault, deque):
            fault = fault.popleft() if fault else None
        status, body = self.yahoo.chart(ticker, query)
        if fault is None:
            self.send_json(status, body)
        else:
            self.answer_with(fault, json.dumps(body).encode())

    def answer_with(self, fault, whole=b""):
        if fault.stall:
            self.yahoo.closing.wait(fault.stall)
        if fault.drop:
            self.close_connection = True
            return
        body = whole if fault.body is None else fault.body
        announced = len(body)
        if fault.cut is not None:
            body = body[: int(len(body) * fault.cut)]
            self.close_connection = True
        self.send(fault.status, body, fault.headers, announced=announced)

    def send_json(self, status, body):
        self.send(status, json.dumps(body).encode())

    def send(self, status, body, headers=None, *, kind="application/json", announced=None):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if announced is None else announced))
        self.send_header("X-Body", "generated for tests, not recorded")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def weekdays(first, count):
    """So many days from Monday to Friday."""
    start = np.busday_offset(np.datetime64(first), 0, roll="forward")
    return [day.item() for day in np.busday_offset(start, np.arange(count))]


def walk(count, *, first=100.0, seed=0):
    """A generated price path in cents, as exchanges quote."""
    steps = np.random.default_rng(seed).normal(0.0003, 0.01, count)
    return [round(float(p), 2) for p in first * np.exp(np.cumsum(steps))]


def wait_until(condition, timeout=60.0):
    """Poll until a condition holds; the deadline only ends a hopeless test."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition never came to hold")
        time.sleep(0.01)
