"""Long tables and folders of tickers say the same as the wide file of the same prices, or are refused in one line."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datafeeds import DataError, MarketPanel, TrackerError, UniverseError, open_source, read_long_table, read_ticker_folder
from tests.datafeeds.readers.wide_files import real
from tests.markets import random_panel

PARTS = ("open", "high", "low", "close", "volume")


def bars_of(panel):
    """Every bar of a panel as a row: date, ticker, open, high, low, close, volume."""
    rows = [
        pd.DataFrame({"date": panel.dates, "ticker": "INDEX", **dict.fromkeys(PARTS[:4], panel.column("INDEX")), "volume": 0.0})
    ]
    for i, name in enumerate(panel.symbols):
        parts = {part: getattr(panel, part)[:, i] for part in PARTS if getattr(panel, part) is not None}
        rows.append(pd.DataFrame({"date": panel.dates, "ticker": name, **parts}))
    return pd.concat(rows).dropna(subset="close")


def save(frame, path):
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


def with_volume(**options):
    panel = random_panel(ohlc=True, **options)
    rng = np.random.default_rng(0)
    volume = np.where(panel.has_bar, rng.integers(1, 10**9, panel.close.shape), np.nan)
    parts = {part: getattr(panel, part) for part in ("open", "high", "low")}
    return MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, volume=volume, **parts)


# -- what is read ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), gaps=st.booleans())
def test_a_long_table_in_any_order_comes_back_bit_by_bit(tmp_path, form, seed, gaps):
    panel = with_volume(n_bars=30, seed=seed, gaps=gaps)
    rows = bars_of(panel)
    order = np.random.default_rng(seed).permutation(len(rows) - 1) + 1
    shuffled = rows.iloc[[0, *order]]
    again = open_source(save(shuffled, tmp_path / f"t.{form}"), gaps="freeze")
    by_name = [again.symbols.index(name) for name in panel.symbols]
    for part in PARTS:
        np.testing.assert_array_equal(getattr(again, part)[:, by_name], getattr(panel, part))
    np.testing.assert_array_equal(again.target_close, panel.target_close)
    np.testing.assert_array_equal(again.dates, panel.dates)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
def test_a_folder_with_one_file_per_ticker_says_the_same(tmp_path, ending):
    panel = with_volume(n_bars=24, n_assets=4, gaps=True)
    rows = bars_of(panel)
    for name, bars in rows.groupby("ticker"):
        save(bars.drop(columns="ticker"), tmp_path / f"{name}{ending}")
    (tmp_path / "README.md").write_text("not a ticker")
    (tmp_path / "_notes.csv").write_text("nor this")
    again = open_source(tmp_path, gaps="freeze")
    assert again.symbols == panel.symbols
    assert again.fingerprint() == panel.fingerprint()
    assert again.source == tmp_path.name
    assert again.fingerprint() == read_ticker_folder(tmp_path, gaps="freeze").fingerprint()


def test_files_of_closes_alone_and_of_whole_bars_mix(tmp_path):
    days = pd.date_range("2024-01-01", periods=3)
    pd.Series([100.0, 101, 102], index=days, name="anything").to_csv(tmp_path / "INDEX.csv", index_label="")
    (tmp_path / "BRK.B.csv").write_text(
        "Date,Close,Adj Close,Dividends\n2024-01-01,10,9,0\n2024-01-02,11,10,0\n2024-01-03,12,12,1\n"
    )
    bars = {"Open": [5.0, 6, 7], "High": [6.0, 7, 8], "Low": [4.0, 5, 6], "Close": [5.5, 6.5, 7.5], "Volume": [1, 2, 3]}
    pd.DataFrame(bars, index=pd.DatetimeIndex(days, name="Date")).to_parquet(tmp_path / "X.parquet")
    panel = read_ticker_folder(tmp_path)
    assert panel.symbols == ("BRK.B", "X")
    assert panel.close.tolist() == [[10, 5.5], [11, 6.5], [12, 7.5]]
    assert panel.high.tolist() == [[10, 6], [11, 7], [12, 8]]
    assert panel.volume.tolist() == [[0, 1], [0, 2], [0, 3]]
    assert read_ticker_folder(tmp_path, adjust="total").close.tolist() == [[9, 5.5], [10, 6.5], [12, 7.5]]


def test_total_returns_take_the_adjusted_close_and_scale_the_bar(tmp_path):
    rows = bars_of(with_volume(n_bars=20))
    rows["adj_close"] = rows["close"] * np.where(rows["date"] < rows["date"].max(), 0.97, 1.0)
    path = save(rows, tmp_path / "t.csv")
    raw, total = (read_long_table(path, adjust=mode) for mode in ("raw", "total"))
    np.testing.assert_allclose(total.close[:-1] / raw.close[:-1], 0.97)
    np.testing.assert_allclose(total.open[:-1] / raw.open[:-1], 0.97)
    np.testing.assert_array_equal(total.volume, raw.volume)
    assert raw.fingerprint() == read_long_table(path, adjust="split").fingerprint()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_scaling_never_pushes_a_close_out_of_its_bar(seed):
    from datafeeds.adjustment import Adjustment
    from datafeeds.readers.bars import BarRows, frames_of

    rng = np.random.default_rng(seed)
    close, adjusted = rng.uniform(0.01, 1e3, (2, 500))
    days = np.datetime64("2020-01-01", "ns") + np.arange(len(close)) * np.timedelta64(1, "D")
    fields = {"close": close, "high": close, "low": close, "adj_close": adjusted}
    prices, bars = frames_of(BarRows(days, ("A",), np.zeros(len(close), dtype=np.int64), fields), Adjustment.TOTAL)
    assert (bars["high"] >= prices).all(axis=None)
    assert (bars["low"] <= prices).all(axis=None)
    np.testing.assert_array_equal(prices["A"], adjusted)


def test_spellings_of_the_columns(tmp_path):
    wanted = read_long_table(save(bars_of(with_volume(n_bars=10)), tmp_path / "a.csv")).fingerprint()
    other = bars_of(with_volume(n_bars=10)).rename(columns=str.upper).rename(columns={"TICKER": " Symbol ", "DATE": "Timestamp"})
    other.insert(0, "row", range(len(other)))
    assert open_source(save(other, tmp_path / "b.csv")).fingerprint() == wanted
    other = other.drop(columns="row").assign(comment="NA").set_index(["Timestamp", " Symbol "])
    other.to_parquet(tmp_path / "c.parquet")
    assert open_source(tmp_path / "c.parquet").fingerprint() == wanted


def test_a_ticker_called_na_is_a_ticker(tmp_path):
    """It is National Bank of Canada; pandas would call it missing."""
    path = save(bars_of(random_panel(n_bars=5, n_assets=2, ohlc=True)).replace("S1", "NA"), tmp_path / "t.csv")
    assert read_long_table(path).symbols == ("S0", "NA")


def test_rows_without_a_close_are_no_bars(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "date,ticker,close\n"
        + "".join(f"2024-01-0{d},{t},{'' if (d, t) == (2, 'A') else d}\n" for d in (1, 2, 3) for t in ("INDEX", "A"))
    )
    with pytest.raises(DataError, match=r"t\.csv: A has no price on 2024-01-02"):
        open_source(path)
    assert open_source(path, gaps="freeze").has_bar[:, 0].tolist() == [True, False, True]


# -- what is refused -------------------------------------------------------------------------------------------------------------

LONG = "date,ticker,close\n2024-01-01,INDEX,1\n2024-01-01,A,1\n2024-01-02,INDEX,1\n2024-01-02,A,1\n"
REFUSED = {
    "row twice": (LONG + "2024-01-02,A,2\n", DataError, "A has two rows on 2024-01-02"),
    "no name": (LONG + "2024-01-03,,2\n", DataError, "row 5 is empty in column 'ticker'"),
    "text": (LONG.replace("INDEX,1", "INDEX,one", 1), DataError, "'close' holds text .* 'one' in row 1"),
    "bad date": (LONG + "someday,A,2\n", DataError, "row 5 .*'someday'"),
    "no date": (LONG + ",A,2\n", DataError, "row 5 has no date"),
    "negative": (LONG.replace("A,1", "A,-1", 1), DataError, "close of A on 2024-01-01 is -1"),
    "infinite": (LONG.replace("A,1", "A,inf", 1), DataError, "A on 2024-01-01 is inf"),
    "no target": (LONG.replace("INDEX", "SPX"), UniverseError, "'INDEX' among SPX, A; name the index"),
    "only the target": ("date,ticker,close\n2024-01-01,INDEX,1\n2024-01-02,INDEX,2\n", UniverseError, "no asset"),
    "short row": (LONG + "2024-01-03,A\n", DataError, "2 fields, the header has 3"),
    "lone open": (LONG.replace("close\n", "close,open\n").replace(",1\n", ",1,\n"), DataError, "open of A on 2024-01-01 is nan"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_long_tables_are_refused_in_one_line(tmp_path, case):
    content, kind, words = REFUSED[case]
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(content.encode()))
    with pytest.raises(kind, match=words) as caught:
        open_source(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("t.csv.gz: ")


def test_a_wide_file_is_no_long_table(tmp_path):
    (tmp_path / "w.csv").write_text("date,INDEX,A\n2024-01-01,1,1\n2024-01-02,1,1\n")
    with pytest.raises(DataError, match="not a long table"):
        read_long_table(tmp_path / "w.csv")
    with pytest.raises(DataError, match="adjust='dividends' is unknown"):
        open_source(tmp_path / "w.csv", adjust="dividends")


def test_bad_folders_are_refused_in_one_line(tmp_path):
    with pytest.raises(DataError, match=r"no file ends with .*AAPL\.csv"):
        open_source(tmp_path)
    (tmp_path / "INDEX.csv").write_text("date,close\n2024-01-01,1\n2024-01-02,2\n")
    (tmp_path / "A.csv").write_text("date,bid,ask\n2024-01-01,1,2\n2024-01-02,2,3\n")
    with pytest.raises(DataError, match=r"A\.csv: no column 'close' among date, bid, ask"):
        open_source(tmp_path)
    for content in ("", "date,close\n", "PAR1"):
        (tmp_path / "A.csv").write_text(content)
        with pytest.raises(DataError, match=r": A\.csv: ") as caught:
            open_source(tmp_path)
        assert "\n" not in str(caught.value)
    (tmp_path / "A.csv").write_text("date,close\n2024-01-01,1\n2024-01-01,2\n")
    with pytest.raises(DataError, match="A has two rows on 2024-01-01"):
        open_source(tmp_path)
    (tmp_path / "A.csv.gz").write_text("")
    with pytest.raises(UniverseError, match=r"'A' has two files, A\.csv and A\.csv\.gz"):
        open_source(tmp_path)
    with pytest.raises(TrackerError):
        read_ticker_folder(tmp_path / "nowhere")


# -- real files ------------------------------------------------------------------------------------------------------------------


def test_the_real_long_table_is_read_as_pandas_reads_it():
    path = real("us40_ohlcv_2016_2020_daily_LONG.csv.gz")
    rows = pd.read_csv(path, dtype=str)
    rows = rows.assign(**{name: rows[name].map(float) for name in ("close", "adj_close", "volume")})
    for mode, column in (("split", "close"), ("total", "adj_close")):
        panel = open_source(path, adjust=mode)
        wide = rows.pivot(index="date", columns="ticker", values=column)
        assert panel.close.shape == (1259, 40)
        np.testing.assert_array_equal(panel.close, wide[list(panel.symbols)].to_numpy())
        np.testing.assert_array_equal(panel.column("INDEX"), wide["INDEX"].to_numpy())
    volumes = rows.pivot(index="date", columns="ticker", values="volume")
    np.testing.assert_array_equal(panel.volume, volumes[list(panel.symbols)].to_numpy())
