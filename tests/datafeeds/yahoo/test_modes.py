"""Online, prefer-cache and offline: who is asked, for what, and what is shown of a cache that is behind."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds.yahoo.report import Status
from tests.datafeeds.yahoo.market import DAYS, contents, statuses

ROOT = Path(__file__).resolve().parents[3]


def test_a_period_in_the_past_is_asked_for_once(yahoo, fetch):
    period = {"end": DAYS[40].isoformat()}
    fetch(**period)
    yahoo.requests.clear()
    assert set(statuses(fetch(**period)).values()) == {"cached"}
    assert not yahoo.requests


def test_prefer_cache_asks_only_for_what_is_not_there(yahoo, fetch):
    fetch("AAA")
    yahoo.requests.clear()
    assert statuses(fetch(mode="prefer-cache")) == {"^GEN": "cached", "AAA": "cached", "BBB": "fetched"}
    assert {path for _, path, _ in yahoo.requests if "/chart/" in path} == {"/v8/finance/chart/BBB"}
    tomorrow = (datetime.now(UTC).date() + timedelta(days=1)).isoformat()
    assert statuses(fetch("AAA", end=tomorrow, mode="prefer-cache")) == {"^GEN": "refreshed", "AAA": "refreshed"}


def test_offline_asks_nobody_and_writes_nothing(yahoo, fetch, cache):
    fetch("AAA")
    before, asked = contents(cache), len(yahoo.requests)
    fetched = fetch("AAA,BBB", mode="offline")
    assert statuses(fetched) == {"^GEN": "cached", "AAA": "cached", "BBB": "not cached"}
    early = fetch("AAA", start="2022-01-01", mode="offline").report.of("^GEN")
    assert early.status is Status.NOT_CACHED
    assert "the cache covers 2023-01-01 to" in early.note
    cache.path("AAA").write_bytes(b"damaged")
    assert statuses(fetch("AAA", mode="offline"))["AAA"] == "damaged"
    assert cache.path("AAA").read_bytes() == b"damaged"
    assert len(yahoo.requests) == asked
    assert before.keys() == contents(cache).keys()


def test_offline_needs_no_yfinance_and_no_session(fetch, tmp_path):
    fetch("AAA")
    code = (
        "import sys; sys.modules['yfinance'] = sys.modules['curl_cffi'] = None\n"
        "from datafeeds import yahoo_panel, DataError\n"
        "print(yahoo_panel('^GEN', 'AAA', '2023-01-01', mode='offline', cache=sys.argv[1]))\n"
        "try: yahoo_panel('^GEN', 'AAA', '2023-01-01', cache=sys.argv[1])\n"
        "except DataError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cache")],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ,
        timeout=60,
    )
    first, second = done.stdout.strip().splitlines()
    assert "80 bars x 1 assets" in first
    assert "pip install 'backtrader-index-tracker[yahoo]'" in second


def test_no_day_is_shown_that_some_series_does_not_know_yet(yahoo, fetch, cache):
    """A name that was not fetched lately must not look as if it had been delisted."""
    fetch("AAA,BBB")
    old = cache.read("BBB")
    cut = old.bars.iloc[:-10]
    cache.write(type(old)("BBB", cut, old.asked_from, cut.index[-1].date(), old.fetched_at))
    fetched = fetch(mode="offline")
    panel = fetched.panel()
    assert panel.dates[-1] == cut.index[-1]
    assert np.isfinite(panel.close[-1]).all()
    assert f"prices end on {cut.index[-1].date()}: there are no later prices of BBB" in fetched.frames("split")[1]
