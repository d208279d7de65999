"""The cache gives back what was put in, or says that it cannot: after damage, crashes, and with several processes at it."""

import os
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from datafeeds import DataError
from datafeeds.adjustment import COLUMNS
from datafeeds.files import UNFINISHED
from datafeeds.yahoo.cache import CacheError, DamagedFileError, PriceCache, PriceSeries, _decode, _encode, default_folder

ROOT = Path(__file__).resolve().parents[3]


def series(ticker="AAA", rows=20, *, level=100.0):
    index = pd.DatetimeIndex(np.datetime64("2024-01-01", "ns") + np.arange(rows) * np.timedelta64(1, "D"), name="date")
    values = {name: np.full(rows, level) for name in COLUMNS}
    values["close"] = level + np.arange(rows) / 8
    moment = datetime(2024, 6, 1, 12, 30, tzinfo=UTC)
    return PriceSeries(ticker, pd.DataFrame(values, index=index), date(2024, 1, 1), date(2024, 5, 31), moment, "USD")


@pytest.fixture
def cache(tmp_path):
    store = PriceCache(tmp_path / "cache")
    store.prepare()
    return store


def same(one, two):
    pd.testing.assert_frame_equal(one.bars, two.bars, check_exact=True)
    for name in ("ticker", "asked_from", "covered_until", "fetched_at", "currency"):
        assert getattr(one, name) == getattr(two, name)
    return True


def child(code, *words):
    """A process of its own that can be killed; it says when it is ready."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
    )


# -- what goes in comes out ------------------------------------------------------------------------------------------------------


def test_a_series_comes_back_bit_by_bit(cache):
    assert cache.read("AAA") is None
    cache.write(series())
    assert same(cache.read("AAA"), series())


@given(hnp.arrays(np.float64, (5, len(COLUMNS)), elements=st.floats(allow_nan=True, allow_infinity=True)), st.text(max_size=5))
def test_any_numbers_survive(values, currency):
    index = pd.DatetimeIndex(
        np.arange("2024-01-01", "2024-01-06", dtype="datetime64[ns]", step=np.timedelta64(1, "D")), name="date"
    )
    frame = pd.DataFrame(values, index=index, columns=list(COLUMNS))
    kept = PriceSeries("^X", frame, date(1999, 1, 1), date(2024, 1, 5), datetime(2024, 1, 6, 1, 2, 3, 4, tzinfo=UTC), currency)
    assert same(_decode(_encode(kept)), kept)


@pytest.mark.parametrize("ticker", ["^GSPC", "BRK-B", "0700.HK", "EURUSD=X", "M&M.NS", "../../ESCAPE", "CON"])
def test_every_ticker_has_a_file_of_its_own_inside_the_folder(cache, ticker):
    cache.write(series(ticker))
    assert same(cache.read(ticker), series(ticker))
    assert cache.path(ticker).parent == cache.series
    assert [p.name for p in cache.series.glob("*.parquet")] == [cache.path(ticker).name]


def test_other_programs_can_read_a_file(cache):
    cache.write(series())
    frame = pd.read_parquet(cache.path("AAA"))
    assert frame["close"].tolist() == series().bars["close"].tolist()
    assert list(frame.columns) == ["date", *COLUMNS]


def test_the_folder_is_chosen_by_the_user_or_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("TRACKER_CACHE", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own"
    monkeypatch.delenv("TRACKER_CACHE")
    assert "index-tracker" in default_folder().parts


@pytest.mark.skipif(sys.platform != "linux", reason="where Linux keeps caches")
def test_on_linux_a_cache_of_earlier_versions_is_found_where_it_was(monkeypatch, tmp_path):
    monkeypatch.delenv("TRACKER_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "shared"))
    assert default_folder() == tmp_path / "shared" / "index-tracker"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_folder() == Path.home() / ".cache" / "index-tracker"


# -- damage ----------------------------------------------------------------------------------------------------------------------

WHOLE = _encode(series())


@settings(max_examples=200)
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(place, change):
    altered = bytearray(WHOLE)
    altered[place] ^= change
    try:
        found = _decode(bytes(altered))
    except DamagedFileError:
        return
    assert same(found, series())


@given(st.integers(0, len(WHOLE) - 1))
def test_a_truncated_file_is_noticed(length):
    with pytest.raises(DamagedFileError):
        _decode(WHOLE[:length])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a readable price series"),
        (b"date,close\n2024-01-01,5\n", "not a readable price series"),
        (b"PAR1" + bytes(64) + b"PAR1", "not a readable price series"),
        (_encode(series("BBB")), "holds BBB instead of AAA"),
    ],
)
def test_a_damaged_file_is_named_and_can_be_put_aside(cache, content, says):
    cache.path("AAA").write_bytes(content)
    with pytest.raises(DamagedFileError, match=says) as caught:
        cache.read("AAA")
    assert "AAA.parquet" in str(caught.value)
    aside = cache.put_aside("AAA")
    assert aside.read_bytes() == content
    assert aside.parent == cache.quarantine
    assert cache.read("AAA") is None


def test_a_parquet_file_of_somebody_else_is_not_taken_for_a_series(cache):
    pq.write_table(pa.table({"date": [1, 2], "close": [1.0, 2.0]}), cache.path("AAA"))
    with pytest.raises(DamagedFileError, match="not a readable price series"):
        cache.read("AAA")


def test_a_file_of_another_layout_is_not_guessed_at(cache, monkeypatch):
    monkeypatch.setattr("datafeeds.yahoo.cache.LAYOUT", 99)
    cache.write(series())
    monkeypatch.undo()
    with pytest.raises(DamagedFileError, match="layout 99, this version reads 1"):
        cache.read("AAA")


# -- places that cannot be used --------------------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be_written_to_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(CacheError, match=r"cannot write to the price cache .*file.*--cache"):
        PriceCache(tmp_path / "file").prepare()
    assert issubclass(CacheError, DataError)


FULL_DISK = """
import resource, sys
sys.path.insert(0, "tests/datafeeds")
from tests.datafeeds.yahoo.test_cache import PriceCache, series
from datafeeds.yahoo.cache import CacheError
cache = PriceCache(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    cache.write(series(rows=5000))
except CacheError as error:
    print(error)
"""


@pytest.mark.skipif(os.name != "posix", reason="the limit on the size of files is POSIX")
def test_a_full_disk_leaves_the_older_file(cache):
    cache.write(series())
    process = child(FULL_DISK, cache.root.parent)
    said = process.communicate(timeout=60)[0]
    assert "File too large" in said
    assert "the older file is unchanged" in said
    assert same(cache.read("AAA"), series())
    assert not list(cache.series.glob(f"*{UNFINISHED}"))


# -- kill -9 ---------------------------------------------------------------------------------------------------------------------

DIES_BEFORE = """
import os, signal, sys
from tests.datafeeds.yahoo.test_cache import PriceCache, series
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cache, call = PriceCache(sys.argv[1]), sys.argv[2]
if call == "half of the write":
    real = os.fsync
    def fsync(handle):
        os.ftruncate(handle, os.fstat(handle).st_size // 2)
        die()
    os.fsync = fsync
elif call == "the last sync":
    import datafeeds.files
    datafeeds.files.sync_folder = die
else:
    setattr(os, call, die)
with cache.lock("AAA", 5.0):
    cache.write(series(level=200.0))
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
@pytest.mark.parametrize(
    ("call", "survivor"), [("half of the write", 100.0), ("fsync", 100.0), ("replace", 100.0), ("the last sync", 200.0)]
)
def test_a_process_killed_at_the_worst_moment_leaves_the_old_or_the_new_series(cache, call, survivor):
    cache.write(series(level=100.0))
    process = child(DIES_BEFORE, cache.root.parent, call)
    assert process.wait(timeout=60) == -signal.SIGKILL
    assert same(cache.read("AAA"), series(level=survivor))
    with cache.lock("AAA", 0.0):  # the lock of the dead is free at once
        cache.write(series(level=300.0))
    assert same(cache.read("AAA"), series(level=300.0))
    assert not list(cache.series.glob(f"*{UNFINISHED}"))


WRITES_FOR_EVER = """
import sys
from tests.datafeeds.yahoo.test_cache import PriceCache, series
cache, versions = PriceCache(sys.argv[1]), [series(level=level, rows=3000) for level in (100.0, 200.0)]
print("ready", flush=True)
while True:
    for version in versions:
        with cache.lock("AAA", 30.0):
            cache.write(version)
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is POSIX")
def test_a_writer_killed_at_any_moment_leaves_one_of_its_versions(cache):
    versions = [series(level=level, rows=3000) for level in (100.0, 200.0)]
    cache.write(versions[0])
    rng = np.random.default_rng(0)
    for _ in range(3):
        process = child(WRITES_FOR_EVER, cache.root.parent)
        process.stdout.readline()
        seen = set()
        for _ in range(int(rng.integers(5, 60))):  # readers need no lock and never see half a file
            seen.add(cache.read("AAA").bars["open"].iloc[0])
        process.kill()
        process.wait()
        process.stdout.close()
        assert seen <= {100.0, 200.0}
        found = cache.read("AAA")
        assert same(found, versions[0] if found.bars["open"].iloc[0] == 100.0 else versions[1])
