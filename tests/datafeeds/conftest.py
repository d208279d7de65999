"""Fixtures that several files share; a file with a market or with files of its own has its own under the same names."""

import pytest

from datafeeds import fetch_yahoo
from datafeeds.yahoo.cache import PriceCache


@pytest.fixture
def write(tmp_path):
    def write(content, name="prices.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def yahoo():
    from tests.datafeeds.yahoo.market import market  # here, because it needs the extra yahoo
    from tests.datafeeds.yahoo.server import YahooServer

    with YahooServer(market()) as server:
        yield server


@pytest.fixture
def fetch(yahoo, tmp_path):
    from tests.datafeeds.yahoo.market import FAST, START

    def fetch(tickers="AAA,BBB", start=START, end=None, *, index="^GEN", **options):
        options = {"cache": tmp_path / "cache", "patience": FAST, "session": yahoo.session(), **options}
        return fetch_yahoo(index, tickers, start, end, **options)

    return fetch


@pytest.fixture
def cache(tmp_path):
    return PriceCache(tmp_path / "cache")
