"""The fault storm: whatever goes wrong between here and Yahoo ends in the outcome that is documented, and spoils nothing."""

import argparse
import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import numpy as np
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from curl_cffi import requests as curl

from datafeeds import FetchError, Patience, fetch_yahoo
from datafeeds.yahoo.cache import PriceCache
from datafeeds.yahoo.client import GIVE_UP_AFTER, YahooClient, _seconds
from datafeeds.yahoo.report import SeriesFailure, Status
from tests.datafeeds.yahoo.server import (
    HTML,
    NOT_FOUND,
    Fault,
    Listing,
    LoopbackSession,
    NoNameSession,
    YahooServer,
    walk,
    weekdays,
)
from tests.storm import yahoo as yahoo_storm
from tests.storm.bad_input.many import outcomes

DAYS = weekdays("2023-01-02", 60)
FAST = Patience(timeout=1.0, retries=1, pause=0.01, rate_limit_pause=0.01, longest_wait=0.05, lock_wait=10.0)
LIE = b'{"chart":{"result":null,"error":{"code":"Not Found","description":"No data found, symbol may be delisted"}}}'

#: Each fault, by the name of a ticker, and the outcome that is documented for it.
STORM = {
    "GONE": (Fault(404, LIE), Status.NOT_FOUND, "Yahoo does not know this ticker"),
    "STALLS": (Fault(stall=5.0), Status.TIMED_OUT, "no answer within 1 s"),
    "BREAKS": (Fault(500, b"Internal Server Error"), Status.SERVER_ERROR, "HTTP 500"),
    "LIES": (Fault(503, LIE), Status.SERVER_ERROR, "HTTP 503"),
    "DROPS": (Fault(drop=True), Status.UNREACHABLE, "ConnectionError: .*"),
    "HTML": (Fault(body=HTML), Status.MALFORMED, "JSONDecodeError: .*"),
    "HALF": (Fault(body=b'{"chart":{"result":[{"meta":{"curr'), Status.MALFORMED, "JSONDecodeError: .*"),
    "CUT": (Fault(cut=0.5), Status.UNREACHABLE, "IncompleteRead: .*"),
    "NOTHING": (Fault(body=b""), Status.MALFORMED, "JSONDecodeError: .*"),
    "NULL": (Fault(body=b"null"), Status.MALFORMED, "(AttributeError|YFPricesMissingError): .*"),
    "HOLLOW": (Fault(body=b'{"chart":{"result":[{}],"error":null}}'), Status.MALFORMED, "KeyError: .*"),
    "FORBIDS": (Fault(403, b"Forbidden"), Status.REFUSED, "HTTP 403"),
    "DOWN": (Fault(body=b"Will be right back..."), Status.MALFORMED, ".*"),
    "LIMITS": (Fault(429, b"Too Many Requests"), Status.RATE_LIMITED, "HTTP 429"),
}


@pytest.fixture
def yahoo():
    listings = {"^GEN": Listing(DAYS, walk(60, first=4000.0, seed=1), kind="INDEX"), "GOOD": Listing(DAYS, walk(60, seed=2))}
    for seed, ticker in enumerate(STORM, 3):
        listings[ticker] = Listing(DAYS, walk(60, seed=seed))
    with YahooServer(listings) as server:
        yield server


@pytest.fixture
def fetch(yahoo, tmp_path):
    def fetch(tickers, **options):
        options = {"cache": tmp_path / "cache", "patience": FAST, "session": yahoo.session(), **options}
        return fetch_yahoo("^GEN", tickers, "2023-01-01", **options)

    return fetch


@pytest.fixture
def cache(tmp_path):
    return PriceCache(tmp_path / "cache")


# -- one by one ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ticker", STORM)
def test_a_fault_ends_in_its_outcome_and_leaves_the_cache_alone(yahoo, fetch, cache, ticker):
    fault, status, reason = STORM[ticker]
    yahoo.today = DAYS[50]
    fetch([ticker])
    kept = cache.path(ticker).read_bytes()
    yahoo.today = DAYS[-1]
    yahoo.fail(ticker, fault)
    outcome = fetch([ticker]).report.of(ticker)
    assert outcome.status is status
    known = cache.read(ticker)
    hint = f"; cached until {known.last_day}: keep .*" if status is Status.NOT_FOUND else f"; cached until {known.covered_until}"
    assert re.fullmatch(reason + hint, outcome.note), outcome.note
    assert cache.path(ticker).read_bytes() == kept
    yahoo.faults.clear()
    assert fetch([ticker]).report.of(ticker).status is Status.REFRESHED
    assert len(cache.read(ticker).bars) == 60


@pytest.mark.parametrize(
    "ticker", [name for name, (_, status, _) in STORM.items() if status not in (Status.NOT_FOUND, Status.REFUSED)]
)
def test_a_passing_fault_is_outlived(yahoo, fetch, ticker):
    fault = STORM[ticker][0]
    # yfinance itself repeats a request once after an HTTP error
    yahoo.fail(ticker, fault, times=2 if fault.status >= 400 else 1)
    assert fetch([ticker]).report.of(ticker).status is Status.FETCHED
    assert not yahoo.faults[ticker]


@pytest.mark.parametrize("ticker", ["GONE", "FORBIDS"])
def test_what_will_not_change_is_not_asked_twice(yahoo, fetch, ticker):
    waits = []
    yahoo.fail(ticker, STORM[ticker][0])
    assert not fetch([ticker], on_wait=lambda *told: waits.append(told)).report.of(ticker).status.ok
    assert waits == []


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        (lambda x: x.close.__setitem__(7, -1.0), Status.MALFORMED, "close is -1 on 2023-01-11"),
        (lambda x: x.close.__setitem__(7, 0.0), Status.MALFORMED, "close is 0 on 2023-01-11"),
        (lambda x: x.dividends.__setitem__(DAYS[7], -0.5), Status.MALFORMED, "dividend is -0.5 on 2023-01-11"),
        (lambda x: x.close.__setitem__(slice(None), [None] * 60), Status.EMPTY, "no prices in the period"),
    ],
)
def test_numbers_that_cannot_be_are_refused(yahoo, fetch, change, status, reason):
    change(yahoo.listings["GOOD"])
    outcome = fetch(["GOOD"]).report.of("GOOD")
    assert (outcome.status, outcome.note) == (status, reason)


def test_a_known_ticker_without_prices_since_the_start_is_empty(yahoo, tmp_path):
    found = fetch_yahoo("^GEN", "GOOD", "2024-01-01", cache=tmp_path, patience=FAST, session=yahoo.session())
    assert [(o.status, o.note) for o in found.report] == [(Status.EMPTY, "no prices in the period")]


def test_unknown_tickers_are_not_found_however_many(fetch):
    """yfinance treats the first two of a process differently from the others."""
    outcomes = fetch(["GOOD", "NIX", "NIXX", "NIXXX", "NIXXXX"]).report
    assert [o.status for o in outcomes][2:] == [Status.NOT_FOUND] * 4


# -- all at once -----------------------------------------------------------------------------------------------------------------


def test_the_storm_ends_in_the_documented_outcomes_and_a_panel_of_the_rest(yahoo, fetch):
    for ticker, (fault, _, _) in STORM.items():
        yahoo.fail(ticker, fault)
    fetched = fetch(["GOOD", *STORM])
    found = {o.ticker: o.status for o in fetched.report}
    assert found == {"^GEN": Status.FETCHED, "GOOD": Status.FETCHED, **{name: status for name, (_, status, _) in STORM.items()}}
    panel = fetched.panel(policy="drop")
    assert panel.symbols == ("GOOD",)
    assert set(panel.dropped) == set(STORM)
    with pytest.raises(FetchError, match=f"{len(STORM)} of {len(STORM) + 2} series failed: .*; and {len(STORM) - 5} more"):
        fetched.panel(policy="strict")


# -- rate limits -----------------------------------------------------------------------------------------------------------------


def waits_of(fetch, patience, tickers=("LIMITS",)):
    waits = []
    report = fetch(list(tickers), patience=patience, on_wait=lambda seconds, why: waits.append((seconds, why))).report
    return waits, report


def test_without_retry_after_each_wait_is_twice_the_last(yahoo, fetch):
    yahoo.fail("LIMITS", Fault(429, b"Too Many Requests"))
    waits, report = waits_of(fetch, Patience(retries=3, rate_limit_pause=0.02, longest_wait=5.0))
    assert report.of("LIMITS").status is Status.RATE_LIMITED
    assert len(waits) == 3
    for (seconds, _), expected in zip(waits, (0.02, 0.04, 0.08), strict=True):
        assert 0.8 * expected <= seconds <= 1.2 * expected


@pytest.mark.parametrize(("header", "longest", "expected"), [("1", 5.0, 1.0), ("3600", 0.05, 0.05), ("0", 5.0, 0.0)])
def test_retry_after_is_honoured_and_capped(yahoo, fetch, header, longest, expected):
    yahoo.fail("LIMITS", Fault(429, b"", {"Retry-After": header}), times=2)
    waits, report = waits_of(fetch, Patience(retries=1, rate_limit_pause=0.01, longest_wait=longest))
    assert waits == [(expected, f"HTTP 429, Retry-After {header}")]
    assert report.of("LIMITS").status is Status.FETCHED


def test_retry_after_may_be_a_date():
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert 25 < _seconds(format_datetime(soon, usegmt=True)) <= 30
    assert _seconds(format_datetime(soon - timedelta(days=1), usegmt=True)) == 0.0
    assert [_seconds(text) for text in (None, "", "soon", "-5", "nan", "12")] == [None, None, None, None, None, 12.0]


def test_after_a_rate_limit_that_lasts_nobody_else_is_asked(yahoo, fetch):
    yahoo.fail("LIMITS", Fault(429, b"Too Many Requests"))
    report = fetch(["LIMITS", "GOOD", "GONE"]).report
    assert [o.status for o in report] == [Status.FETCHED] + [Status.RATE_LIMITED] * 3
    assert report.of("GOOD").note == "not requested: HTTP 429"
    assert not any(path.endswith("GOOD") for _, path, _ in yahoo.requests)


# -- a network that is down ------------------------------------------------------------------------------------------------------


def test_without_name_servers_everything_is_unreachable(fetch):
    past = {"end": DAYS[-1].isoformat()}
    fetch(["GOOD"], **past)  # the index is there, and nothing new can be known about a past period
    report = fetch(["GONE", "HTML", "HALF", "CUT", "DROPS"], session=NoNameSession(), **past).report
    assert [o.status for o in report] == [Status.CACHED] + [Status.UNREACHABLE] * 5
    assert "DNSError" in report[1].note
    assert [o.note.startswith("not requested") for o in report[1:]] == [False] * GIVE_UP_AFTER + [True] * (5 - GIVE_UP_AFTER)
    (lost,) = fetch(["GONE", "HTML"], session=NoNameSession()).report
    assert (lost.ticker, lost.status) == ("^GEN", Status.UNREACHABLE)


def test_a_server_that_is_not_there_is_unreachable(yahoo, fetch):
    session = yahoo.session()
    session.port = 1  # nobody listens on tcpmux
    assert {o.status for o in fetch(["GOOD"], session=session).report} <= {Status.UNREACHABLE}


def test_hosts_that_keep_silent_cost_bounded_time(yahoo, fetch):
    past = {"end": DAYS[-1].isoformat()}
    fetch(["LIES"], **past)
    yahoo.requests.clear()
    yahoo.everywhere = Fault(stall=30.0)
    impatient = Patience(timeout=0.2, retries=1, pause=0.01)
    report = fetch(["GOOD", "GONE", "HTML", "HALF", "CUT", "DROPS"], patience=impatient, **past).report
    assert [o.status for o in report] == [Status.CACHED] + [Status.TIMED_OUT] * 6
    assert sum(o.note.startswith("not requested") for o in report) == 6 - GIVE_UP_AFTER
    # two tries for each of three tickers, and yfinance asks at most four hosts in a try
    assert len(yahoo.requests) <= 2 * GIVE_UP_AFTER * 4


def test_the_network_comes_back_before_one_gives_up(yahoo, fetch):
    for ticker in ("GONE", "HTML", "HALF"):
        yahoo.fail(ticker, Fault(drop=True))
    report = fetch(["GONE", "HTML", "GOOD", "HALF", "CUT"]).report
    lost, found = "unreachable", "fetched"
    assert [str(o.status) for o in report] == [found, lost, lost, found, lost, found]


def test_no_request_waits_longer_than_the_limit(yahoo, tmp_path):
    """yfinance asks for 30 s for cookie and crumb, and 10 s for a time zone; what reaches the network is less."""
    wanted, given = [], []

    class Above(LoopbackSession):
        def request(self, method, url, *args, **options):
            wanted.append(options.get("timeout"))
            return super().request(method, url, *args, **options)

    class Below(curl.Session):
        def request(self, method, url, *args, **options):
            given.append(options.get("timeout"))
            return super().request(method, url, *args, **options)

    class Watched(Above, Below):
        pass

    yahoo.fail("GOOD", Fault(500, b""))
    with pytest.raises(SeriesFailure, match="HTTP 500"):
        YahooClient(tmp_path, Patience(timeout=1.5, retries=0), Watched(yahoo.port)).history("GOOD", DAYS[0])
    assert max(wanted) > 1.5
    assert set(given) == {1.5}


def test_yfinance_is_left_as_it_was_found(yahoo, fetch):
    import logging

    import yfinance as yf

    level = logging.getLogger("yfinance").level
    assert yf.config.debug.hide_exceptions
    yahoo.fail("HTML", STORM["HTML"][0])
    fetch(["GOOD", "HTML"])
    assert yf.config.debug.hide_exceptions
    assert logging.getLogger("yfinance").level == level


def test_generated_bodies_have_the_shape_that_yahoo_sends(yahoo):
    status, body = yahoo.chart("GOOD", {"period1": ["0"], "period2": ["9999999999"]})
    (result,) = body["chart"]["result"]
    assert status == 200
    assert {"meta", "timestamp", "indicators"} <= set(result)
    closes = result["indicators"]["quote"][0]["close"]
    assert closes == [float(np.float32(price)) for price in closes]  # single precision, as Yahoo's
    assert yahoo.chart("NIX", {}) == (404, NOT_FOUND)


# -- at random -------------------------------------------------------------------------------------------------------------------


def test_a_small_storm_of_lies():
    """Many more: ``python -m tests.storm yahoo``."""
    given = argparse.Namespace(seed=5, first=0, count=12, jobs=1)
    assert [outcome for outcome in outcomes(yahoo_storm.trial, given, 300.0) if outcome.wrong] == []
