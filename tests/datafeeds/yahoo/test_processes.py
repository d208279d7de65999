"""Real processes at one cache: killed, interrupted, and side by side."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import Patience, fetch_yahoo
from datafeeds.files import UNFINISHED
from datafeeds.yahoo.cache import PriceCache
from tests.datafeeds.yahoo.server import Fault, Listing, YahooServer, wait_until, walk, weekdays

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")

ROOT = Path(__file__).resolve().parents[3]
DAYS = weekdays("2023-01-02", 300)
TICKERS = ("AAA", "BBB", "CCC")
FAST = Patience(timeout=5.0, retries=1, pause=0.01, rate_limit_pause=0.01, longest_wait=0.05)


def listings(version):
    return {name: Listing(DAYS, walk(300, seed=10 * version + k)) for k, name in enumerate(("^GEN", *TICKERS))}


class RestlessServer(YahooServer):
    """Tells another past with every answer: nearly each refresh finds it changed and writes the whole history anew."""

    def __init__(self):
        super().__init__({})
        self.versions, self.count = (listings(0), listings(1)), 0

    def chart(self, ticker, query):
        self.count += "period1" in query
        self.listings = self.versions[self.count % 2]
        return super().chart(ticker, query)


def whole(cache, server):
    """Every cached series is readable, and one of those that were served, from its first day to its last."""
    for name in ("^GEN", *TICKERS):
        found = cache.read(name)
        if found is not None:
            assert any(
                len(found.bars) == 300 and np.allclose(found.bars["close"], version[name].close, rtol=1e-6)
                for version in server.versions
            )
    return not list(cache.quarantine.iterdir())


REFRESHES = """
import sys
from datafeeds import Patience, fetch_yahoo
from tests.datafeeds.yahoo.server import LoopbackSession
port, cache, rounds = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
for _ in range(rounds):
    report = fetch_yahoo("^GEN", "AAA,BBB,CCC", "2023-01-01", cache=cache, session=LoopbackSession(port)).report
    assert not report.failed, report.failed
"""


def child(code, *words):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "120"},
    )


def test_kill_9_during_a_refresh_leaves_a_readable_cache(tmp_path):
    cache, rng = PriceCache(tmp_path), np.random.default_rng(0)
    with RestlessServer() as server:
        for _ in range(3):
            process = child(REFRESHES, server.port, tmp_path, 10_000)
            process.stdout.readline()
            until = server.count + int(rng.integers(6, 30))
            wait_until(lambda until=until: server.count >= until)
            process.kill()
            process.communicate()
            assert whole(cache, server)
    with YahooServer(listings(2)) as steady:
        # the next run takes the locks of the dead, sweeps up after them and brings everything up to date
        report = fetch_yahoo("^GEN", TICKERS, "2023-01-01", cache=tmp_path, patience=FAST, session=steady.session()).report
        assert {str(o.status) for o in report} == {"restated"}
        assert not list(cache.series.glob(f"*{UNFINISHED}"))
        for name in TICKERS:
            assert cache.read(name).bars["close"].to_numpy() == pytest.approx(steady.listings[name].close, rel=1e-6)


def test_processes_that_refresh_the_same_cache_do_not_disturb_each_other(tmp_path):
    cache = PriceCache(tmp_path)
    with RestlessServer() as server:
        processes = [child(REFRESHES, server.port, tmp_path, 4) for _ in range(3)]
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
        assert whole(cache, server)
        assert not list(cache.series.glob(f"*{UNFINISHED}"))


def test_a_series_that_another_process_has_just_fetched_is_not_fetched_again(tmp_path):
    cache = PriceCache(tmp_path)
    cache.prepare()
    with YahooServer(listings(0)) as server:
        with cache.lock("^GEN", 5.0):  # nobody gets ahead before all have begun
            processes = [child(REFRESHES, server.port, tmp_path, 1) for _ in range(3)]
            for process in processes:
                process.stdout.readline()
            time.sleep(1.0)
        for process in processes:
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
        assert [server.asked(name) for name in ("^GEN", *TICKERS)] == [1, 1, 1, 1]


INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # also when the tests run in the background, which ignores it
from tests.datafeeds.yahoo.server import LoopbackSession
from tracker_strategies.cli.fetch import run_fetch
session = LoopbackSession(int(sys.argv[1]))
sys.exit(run_fetch(["^GEN"], "AAA,BBB,CCC", "2023-01-01", cache=sys.argv[2], timeout=2, session=session))
"""


def test_ctrl_c_leaves_a_valid_cache_and_the_next_run_goes_on(tmp_path):
    cache = PriceCache(tmp_path)
    with YahooServer(listings(0)) as server:
        server.fail("BBB", Fault(stall=30.0))
        process = child(INTERRUPTED, server.port, tmp_path)
        wait_until(lambda: any(path.endswith("/BBB") for _, path, _ in list(server.requests)))
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        assert said == ""
        assert "interrupted: 2 series are up to date in the cache; run the same command again to continue" in errors
        assert "Traceback" not in errors
        assert [cache.read(name) is not None for name in ("^GEN", *TICKERS)] == [True, True, False, False]
        server.faults.clear()
        report = fetch_yahoo("^GEN", TICKERS, "2023-01-01", cache=tmp_path, patience=FAST, session=server.session()).report
        assert [str(o.status) for o in report] == ["refreshed", "refreshed", "fetched", "fetched"]


def test_a_series_that_another_process_does_not_let_go_is_reported(tmp_path):
    holder = child(
        "import sys, time\nfrom datafeeds.yahoo.cache import PriceCache\ncache = PriceCache(sys.argv[1])\ncache.prepare()\n"
        "with cache.lock('AAA', 5.0):\n    print('ready', flush=True)\n    time.sleep(60)",
        tmp_path,
    )
    holder.stdout.readline()
    with YahooServer(listings(0)) as server:
        patience = Patience(timeout=5.0, lock_wait=0.1)
        report = fetch_yahoo("^GEN", TICKERS, "2023-01-01", cache=tmp_path, patience=patience, session=server.session()).report
    holder.kill()
    holder.communicate()
    assert [str(o.status) for o in report] == ["fetched", "locked", "fetched", "fetched"]
    assert f"process {holder.pid}" in report.of("AAA").note


# -- the command -----------------------------------------------------------------------------------------------------------------

COMMAND = """
import json, sys
from tests.datafeeds.yahoo.server import LoopbackSession
from tracker_strategies.errors import TrackerError
from tracker_strategies.cli.fetch import run_fetch
options = json.loads(sys.argv[2])
try:
    sys.exit(run_fetch(["^GEN"], options.pop("tickers"), "2023-01-01", session=LoopbackSession(int(sys.argv[1])), **options))
except TrackerError as problem:
    sys.exit(f"{type(problem).__name__}: {problem}")
"""


def test_the_command_in_a_process_of_its_own(tmp_path):
    with YahooServer(listings(0)) as server:
        options = {"tickers": "AAA,NIX", "cache": str(tmp_path / "cache"), "out": str(tmp_path / "prices.parquet")}
        process = child(COMMAND, server.port, json.dumps(options))
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "3 series: 2 fetched, 1 not found" in said
    assert errors.strip().splitlines()[-1].startswith("FetchError: 1 of 3 series failed: NIX not found")
    assert not (tmp_path / "prices.parquet").exists()
