"""All series of a panel are in one currency, or there is no panel."""

import numpy as np
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds import DataError, DataWarning, FetchError
from tests.datafeeds.yahoo.market import DAYS
from tests.datafeeds.yahoo.server import Listing, YahooServer, walk

PENCE = walk(80, first=250.0, seed=4)
YEN = walk(80, first=2000.0, seed=5)
RATE = [round(0.007 + 1e-5 * i, 6) for i in range(80)]


@pytest.fixture
def yahoo():
    listings = {
        "^GEN": Listing(DAYS, walk(80, first=4000.0, seed=1), kind="INDEX", volume=0),
        "^FTSE": Listing(DAYS, walk(80, first=7000.0, seed=6), kind="INDEX", volume=0, currency="GBP"),
        "AAA": Listing(DAYS, walk(80, seed=2)),
        "VOD.L": Listing(DAYS, PENCE, currency="GBp", dividends={DAYS[30]: 5.0}),
        "7203.T": Listing(DAYS, YEN, currency="JPY"),
        "JPYUSD=X": Listing(DAYS, RATE, kind="CURRENCY"),
        "GBPUSD=X": Listing(DAYS[3:], [1.25] * 77, kind="CURRENCY"),
    }
    with YahooServer(listings) as server:
        yield server


def test_pence_become_pounds_and_it_is_said(fetch):
    fetched = fetch("VOD.L", index="^FTSE")
    with pytest.warns(DataWarning, match=r"VOD\.L: prices in GBp were divided by 100, they are in GBP now"):
        panel = fetched.panel(adjust="raw")
    np.testing.assert_allclose(panel.close[:, 0], np.array(PENCE) / 100.0, rtol=1e-6)
    with pytest.warns(DataWarning):
        total = fetched.panel(adjust="total")
    before, after = total.close[29, 0], total.close[30, 0]
    assert after / before == pytest.approx((PENCE[30] + 5.0) / PENCE[29], rel=1e-5)


@pytest.mark.parametrize("tickers", ["AAA,7203.T", "AAA,VOD.L", "7203.T"])
def test_different_currencies_are_refused_with_the_way_out(fetch, tickers):
    fetched = fetch(tickers)
    for ask in (fetched.panel, lambda: fetched.frames("split")):
        with pytest.raises(
            DataError, match=r"different currencies: .*USD \(\^GEN.*--currency USD .*MultiIndexData\.from_markets"
        ):
            ask()


def test_a_named_currency_converts_by_the_rate_of_the_day(fetch):
    fetched = fetch("AAA,7203.T", currency="USD")
    with pytest.warns(DataWarning, match=r"7203\.T: converted from JPY to USD by JPYUSD=X"):
        panel = fetched.panel(adjust="raw")
    np.testing.assert_allclose(panel.close[:, panel.symbols.index("7203.T")], np.array(YEN) * np.array(RATE), rtol=1e-6)
    assert fetched.report.of("JPYUSD=X").status.ok


def test_the_index_is_converted_as_well(fetch, yahoo):
    levels = np.array(yahoo.listings["^FTSE"].close)[3:]
    with pytest.warns(DataWarning, match="converted from GBP to USD"):
        panel = fetch("AAA", "2023-01-05", index="^FTSE", currency="USD").panel()
    np.testing.assert_allclose(panel.target_close[:, 0], 1.25 * levels, rtol=1e-6)


def test_a_rate_that_is_not_there_is_named(fetch, yahoo):
    with pytest.raises(DataError, match=r"\^FTSE has a price on 2023-01-02, but the exchange rate GBPUSD=X begins on 2023-01-05"):
        fetch("AAA", index="^FTSE", currency="USD").panel()
    del yahoo.listings["JPYUSD=X"]
    with pytest.raises(FetchError, match=r"no exchange rate: JPYUSD=X not found"):
        fetch("7203.T", currency="USD").panel()


@pytest.mark.parametrize("code", ["usd", "GBp", "DOLLAR", "", "U$D"])
def test_a_word_that_is_no_currency_is_refused_before_anybody_is_asked(fetch, yahoo, code):
    with pytest.raises(DataError, match="three capital letters"):
        fetch("AAA", currency=code)
    assert not yahoo.requests
