"""Several markets from one file: the very panel that Python puts together, and errors that name the table."""

import numpy as np
import pandas as pd
import pytest

from datafeeds import DataError, ExchangeRate, Market, MarketSource, MultiIndexData, TrackerError

FILE = """
base = "USD"
[markets.NY]
prices = "us.csv"
index = "SPX"
exchange = "XNYS"
currency = "USD"
[markets.TOKYO]
prices = "japan.xlsx:Prices"
index = "NKY"
timezone = "Asia/Tokyo"
close = "15:30"
currency = "JPY"
gaps = "freeze"
[rates]
JPY = { file = "rates/jpy.csv", timezone = "Europe/London", close = "16:00" }
"""


def series(days, *names, seed=0):
    rng = np.random.default_rng(seed)
    prices = np.round(100.0 * np.exp(np.cumsum(0.01 * rng.standard_normal((len(days), len(names))), axis=0)), 4)
    return pd.DataFrame(prices, index=pd.DatetimeIndex(days, name="date"), columns=list(names))


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("python_calamine")
    days = pd.bdate_range("2024-01-02", periods=40)
    us, japan = series(days, "SPX", "AAPL", "KO"), series(days.delete([3, 9]), "NKY", "SONY", seed=1)
    rates = series(days, "JPY", seed=2) / 1e4
    us.to_csv(tmp_path / "us.csv", sep=";", date_format="%d.%m.%Y", decimal=",")
    with pd.ExcelWriter(tmp_path / "japan.xlsx", engine="xlsxwriter") as book:
        japan.to_excel(book, sheet_name="Prices")
        japan.to_excel(book, sheet_name="Other")
    (tmp_path / "rates").mkdir()
    rates.to_csv(tmp_path / "rates" / "jpy.csv")
    (tmp_path / "markets.toml").write_text(FILE)
    return tmp_path, us, japan, rates


def test_a_file_of_markets_is_what_python_puts_together(folder):
    path, us, japan, rates = folder
    expected = MultiIndexData.from_markets(
        {
            "NY": Market(us, "SPX", "America/New_York", "16:00", "USD"),
            "TOKYO": Market(japan, "NKY", "Asia/Tokyo", "15:30", "JPY", gaps="freeze"),
        },
        base="USD",
        fx={"JPY": ExchangeRate(rates["JPY"])},
    ).panel
    found = MultiIndexData.from_toml(path / "markets.toml").panel
    assert found.fingerprint() == expected.fingerprint()
    assert found.targets == ("SPX", "NKY")
    assert found.source == "markets.toml"
    assert {"semicolons", "decimal comma", "day first"} <= set(found.read_as)
    np.testing.assert_array_equal(found.at_decision, expected.at_decision)
    assert MarketSource(str(path / "markets.toml")).open().fingerprint() == expected.fingerprint()


BROKEN = {
    "no TOML": ("markets = [", "not a TOML file"),
    "a wrong key": (FILE.replace("currency", "curency"), r"\[markets.NY\] has an unknown key 'curency'.*did you mean 'currency'"),
    "no prices": (FILE.replace('prices = "us.csv"', ""), r"\[markets.NY\] has no prices"),
    "no such file": (FILE.replace("us.csv", "su.csv"), "no such file or folder, su.csv"),
    "no closing time": (FILE.replace('close = "15:30"', ""), r"\[markets.TOKYO\] needs exchange"),
    "no exchange": (FILE.replace("XNYS", "NYSE1"), "no calendar named 'NYSE1'"),
    "no market": ('base = "USD"', "no market"),
    "a market that is no table": ("markets = 5", "markets must be a table"),
    "a rate that is no file": (FILE[: FILE.index("[rates]")] + "[rates]\nJPY = 5", "rates of JPY must be a file"),
    "no rate": (FILE[: FILE.index("[rates]")], "JPY"),
    "no such index": (FILE.replace('"SPX"', '"SPY"'), "did you mean 'SPX'"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_with_the_description_is_said_on_one_line(folder, case):
    text, words = BROKEN[case]
    (folder[0] / "markets.toml").write_text(text)
    with pytest.raises(TrackerError, match=rf"^markets\.toml: .*{words}") as caught:
        MarketSource(str(folder[0] / "markets.toml")).open()
    assert "\n" not in str(caught.value)


def test_options_of_one_table_are_refused(folder):
    for option in ({"index_file": "x.csv"}, {"adjust": "total"}, {"targets": ("DAX",)}):
        with pytest.raises(TrackerError, match=r"file of markets|tracks SPX, NKY"):
            MarketSource(str(folder[0] / "markets.toml"), **option).open()
    with pytest.raises(DataError, match="no such file"):
        MarketSource(str(folder[0] / "nothing.toml")).open()
