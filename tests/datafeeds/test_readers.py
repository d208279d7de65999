"""Wide files come in exactly, or are refused in one line that names the thing."""

import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from datafeeds import DataError, MarketPanel, UniverseError
from datafeeds.readers import open_source, read_panel
from datafeeds.synthetic import synthetic_market

REAL = Path(__file__).resolve().parents[3] / "shared" / "data"
GOOD = "date,INDEX,A,B\n2020-01-01,100,10,20\n2020-01-02,101,11,21\n2020-01-03,102,12,22\n"


@pytest.fixture
def write(tmp_path):
    def write(content, name="prices.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def frame(**columns):
    index = pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-03"], name="date")
    return pd.DataFrame({"INDEX": [100.0, 101, 102], "A": [10.0, 11, 12], **columns}, index=index)


# -- what is read ----------------------------------------------------------------------------------------------------------------


def test_plain_csv(write):
    panel = read_panel(write(GOOD))
    assert panel.symbols == ("A", "B")
    assert panel.targets == ("INDEX",)
    assert panel.source == "prices.csv"
    assert panel.day(0) == "2020-01-01"
    assert panel.close.tolist() == [[10, 20], [11, 21], [12, 22]]
    assert panel.column("INDEX").tolist() == [100, 101, 102]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(GOOD.encode()),
        b"\xef\xbb\xbf" + GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("2020-01-0", "2020/01/0"),
        GOOD.replace("2020-01-0", "2020010"),
        GOOD.replace("2020-01-02", "2020-01-02 00:00:00"),
        GOOD.replace("date,", ","),
        GOOD.replace(",", " , "),
        "\n" + GOOD.replace("\n", "\n\n"),
        GOOD.rstrip(),
        '"date","INDEX","A","B"\n' + GOOD.split("\n", 1)[1].replace("11", '"11"'),
    ],
    ids=[
        "gzip",
        "bom",
        "crlf",
        "slashes",
        "compact",
        "midnight",
        "unnamed",
        "spaces",
        "blank lines",
        "no last newline",
        "quotes",
    ],
)
def test_other_spellings_of_the_same_csv_give_the_same_panel(write, content):
    assert read_panel(write(content)).fingerprint() == read_panel(write(GOOD)).fingerprint()


def test_content_decides_not_the_name(write):
    assert read_panel(write(gzip.compress(GOOD.encode()), "x.csv")).n_bars == 3
    path = write(b"", "x.csv")
    frame().to_parquet(path)
    assert read_panel(path).n_bars == 3


def test_targets_by_name_and_several(write):
    panel = read_panel(write(GOOD), targets=("B", "INDEX"))
    assert (panel.targets, panel.symbols) == (("B", "INDEX"), ("A",))


@pytest.mark.parametrize("empty", ["", "NA", "NaN", "nan", "null", "#N/A"])
def test_listings_and_delistings_are_leading_and_trailing_gaps(write, empty):
    panel = read_panel(write(GOOD.replace(",10,", f",{empty},").replace(",22", f",{empty}")))
    assert np.array_equal(np.isfinite(panel.close), [[False, True], [True, True], [True, False]])


def test_infinity_is_never_taken_for_a_halt(write):
    with pytest.raises(DataError, match=r"A on 2020-01-02 .* inf"):
        read_panel(write(GOOD.replace(",11,", ",inf,")), gaps="freeze")


def test_gaps_are_frozen_on_request(write):
    path = write(GOOD.replace(",11,", ",,").replace("101", ""))
    panel = read_panel(path, gaps="freeze")
    assert np.isnan(panel.column("A")[1])
    assert panel.column("INDEX").tolist() == [100, 100, 102]


@pytest.mark.parametrize("as_index", [True, False])
@pytest.mark.parametrize("kind", ["ns", "us", "s", "date", "text"])
def test_parquet_with_any_kind_of_date_first_or_as_index(tmp_path, kind, as_index):
    data = frame()
    if kind == "date":
        data.index = pd.Index([d.date() for d in data.index], name="date")
    elif kind == "text":
        data.index = pd.Index([str(d.date()) for d in data.index], name="date")
    else:
        data.index = data.index.as_unit(kind)
    path = tmp_path / "p.parquet"
    (data if as_index else data.reset_index()).to_parquet(path, index=as_index)
    assert read_panel(path).fingerprint() == MarketPanel.from_frame(frame()).fingerprint()


def test_parquet_with_other_numbers_and_awkward_names(tmp_path):
    data = frame(**{"BRK": np.array([1, 2, 3], dtype="int32"), "BRK.B": np.array([1, 2, 3], dtype="float32")})
    data["D"] = [Decimal("1.5"), None, None]
    data.to_parquet(tmp_path / "p.parquet")
    panel = read_panel(tmp_path / "p.parquet")
    assert panel.symbols == ("A", "BRK", "BRK.B", "D")
    assert panel.close[0].tolist() == [10, 1, 1, 1.5]
    assert np.isnan(panel.column("D")[1:]).all()


def test_wide_parquet_is_read_in_parts_and_keeps_the_order(tmp_path):
    panel = synthetic_market(700, 30, n_indices=2, late_listings=20)
    panel.to_frame().to_parquet(tmp_path / "p.parquet")
    assert read_panel(tmp_path / "p.parquet", ("INDEX", "INDEX2")).fingerprint() == panel.fingerprint()


# -- round trip ------------------------------------------------------------------------------------------------------------------

PRICE = st.floats(min_value=5e-324, max_value=1.7976931348623157e308, allow_subnormal=True)
DAYS = st.lists(
    st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2180, 1, 1)) | st.dates(dt.date(1900, 1, 1), dt.date(2180, 1, 1)),
    min_size=2,
    max_size=6,
    unique_by=lambda d: d if isinstance(d, dt.datetime) else dt.datetime(d.year, d.month, d.day),
)
NAME = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, blacklist_categories=["Cc", "Zs", "Cf"]), min_size=1, max_size=8
)


@st.composite
def panels(draw):
    dates = np.sort(np.array(draw(DAYS), dtype="datetime64[ns]"))
    names = draw(st.lists(NAME.filter(lambda n: n not in {"date", "INDEX"}), min_size=1, max_size=4, unique=True))
    close = draw(hnp.arrays(float, (len(dates), len(names)), elements=PRICE))
    late = draw(hnp.arrays(int, len(names), elements=st.integers(0, len(dates) - 1)))
    close[np.arange(len(dates))[:, None] < late] = np.nan
    return MarketPanel(dates, names, close, ("INDEX",), draw(hnp.arrays(float, (len(dates), 1), elements=PRICE)))


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@given(panel=panels())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_comes_back_bit_by_bit(tmp_path, form, panel):
    path = tmp_path / f"panel.{form}"
    data = panel.to_frame()
    data.to_parquet(path) if form == "parquet" else data.to_csv(path)
    assert read_panel(path).fingerprint() == panel.fingerprint()


# -- what is refused -------------------------------------------------------------------------------------------------------------

TWO = "date,INDEX,A\n{},100,10\n{},101,11\n"

REFUSED = {
    "empty file": ("", DataError, ["empty"]),
    "only blanks": (" \n\n", DataError, ["empty"]),
    "only a header": ("date,INDEX,A\n", DataError, ["no rows", "3 columns"]),
    "one row": ("date,INDEX,A\n2020-01-01,100,10\n", DataError, ["only one row", "2020-01-01"]),
    "one column": ("hello world\nfoo\n", DataError, ["no comma", "hello world"]),
    "semicolons": (GOOD.replace(",", ";"), DataError, ["';'", "commas"]),
    "tabs": (GOOD.replace(",", "\t"), DataError, ["commas"]),
    "binary": (b"\x7fELF\0\0\0\0,\n\0", DataError, ["not a CSV"]),
    "utf-16": (GOOD.encode("utf-16"), DataError, ["UTF-16", "UTF-8"]),
    "latin-1 header": (GOOD.replace("A", "\u00c4").encode("latin-1"), DataError, ["UTF-8"]),
    "latin-1 cell": (GOOD.replace("11", "\u00c4").encode("latin-1"), DataError, ["UTF8", "UTF-8"]),
    "excel": (b"PK\x03\x04rest", DataError, ["Excel", "CSV"]),
    "cut gzip": (gzip.compress(GOOD.encode())[:-9], DataError, ["gzip", "damaged"]),
    "row too short": (GOOD + "2020-01-04,103\n", DataError, ["2020-01-04,103", "2 fields", "4"]),
    "row too long": (GOOD.replace("101,", "101,1,"), DataError, ["2020-01-02", "5 fields", "4"]),
    "text price": (GOOD.replace(",21", ",n.a. x"), DataError, ["'B'", "2020-01-02", "'n.a. x'", "row 2"]),
    "thousands": (GOOD.replace("101", '"1,010"'), DataError, ["'INDEX'", "'1,010'", "2020-01-02"]),
    "truth value": (GOOD.replace(",20", ",True").replace(",21", ",True"), DataError, ["'B'", "'True'"]),
    "long table": ("date,ticker,close\n2020-01-01,X,1\n2020-01-01,Y,2\n", DataError, ["'ticker'", "'X'", "pivot"]),
    "zero": (GOOD.replace(",11,", ",0,"), DataError, ["A", "2020-01-02", "0", "positive"]),
    "negative": (GOOD.replace(",11,", ",-3,"), DataError, ["A", "2020-01-02", "-3"]),
    "infinite": (GOOD.replace(",11,", ",inf,"), DataError, ["A", "2020-01-02", "inf"]),
    "overflow": (GOOD.replace(",11,", ",1e999,"), DataError, ["A", "2020-01-02", "inf"]),
    "zero index": (GOOD.replace("101", "0"), DataError, ["INDEX", "2020-01-02"]),
    "hole": (GOOD.replace(",11,", ",,"), DataError, ["A", "2020-01-02", "freeze"]),
    "hole in the index": (GOOD.replace("101", ""), DataError, ["INDEX", "2020-01-02"]),
    "empty column": ("date,INDEX,A,B\n2020-01-01,1,,1\n2020-01-02,1,,1\n", DataError, ["A", "no price at all"]),
    "returns": ("date,INDEX,A\n2020-01-01,-0.01,0.02\n2020-01-02,0.01,-0.02\n", DataError, ["returns", "cumprod", "-0.0"]),
    "duplicated date": (GOOD + "2020-01-03,103,13,23\n", DataError, ["2020-01-03", "twice"]),
    "unsorted dates": (GOOD + "2019-12-31,103,13,23\n", DataError, ["2019-12-31", "2020-01-03", "sort"]),
    "no date": (GOOD.replace("2020-01-02", ""), DataError, ["row 2", "no date"]),
    "not a date": (GOOD.replace("2020-01-02", "someday"), DataError, ["'someday'", "row 2", "YYYY-MM-DD"]),
    "no such day": (GOOD.replace("2020-01-02", "2020-02-30"), DataError, ["'2020-02-30'", "row 2"]),
    "ambiguous date": (TWO.format("01/02/2020", "02/02/2020"), DataError, ["'01/02/2020'", "ambiguous", "YYYY-MM-DD"]),
    "day first": (TWO.format("13/02/2020", "14/02/2020"), DataError, ["'13/02/2020'", "YYYY-MM-DD"]),
    "far date": (TWO.format("2020-01-01", "9999-12-31"), DataError, ["9999-12-31"]),
    "zone": (TWO.format("2020-01-01 00:00:00+01:00", "2020-01-02 00:00:00+01:00"), DataError, ["time zone", "+01:00"]),
    "zone in one row": (TWO.format("2020-01-01", "2020-01-02T00:00:00Z"), DataError, ["time zone", "row 2"]),
    "counter": (TWO.format("0", "1").replace("date", "t"), DataError, ["'t'", "numbers", "'0'", "YYYY-MM-DD"]),
    "years": (TWO.format("2019", "2020"), DataError, ["numbers", "'2019'"]),
    "no dates at all": ("INDEX,A\n100.5,10\n101,11\n", DataError, ["'INDEX'", "not dates", "'100.5'"]),
    "no index": (GOOD.replace("INDEX", "SPX"), UniverseError, ["'INDEX'", "SPX", "A", "--index"]),
    "only the index": ("date,INDEX\n2020-01-01,1\n2020-01-02,1\n", UniverseError, ["no asset"]),
    "column twice": (GOOD.replace(",B", ",A"), UniverseError, ["'A'", "2 times"]),
    "column twice but for blanks": (GOOD.replace(",B", ", A "), UniverseError, ["'A'", "2 times"]),
    "date twice": (GOOD.replace(",B", ",date"), UniverseError, ["'date'"]),
    "nameless column": ("date,INDEX,A,\n2020-01-01,1,1,\n", UniverseError, ["column 4", "no name"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_bad_csv_is_refused_in_one_line_that_names_the_thing(write, case):
    content, kind, words = REFUSED[case]
    with pytest.raises(kind) as caught:
        read_panel(write(content))
    message = str(caught.value)
    assert type(caught.value) is kind
    assert "\n" not in message
    assert message.startswith("prices.csv: ")
    assert [word for word in words if word not in message] == []


def test_hundreds_of_bad_rows_are_one_short_line(write):
    with pytest.raises(DataError) as caught:
        read_panel(write(GOOD + "2020-02-01,1\n" * 500))
    assert len(str(caught.value)) < 300


def parquet(table, tmp_path):
    path = tmp_path / "p.parquet"
    table.to_parquet(path) if isinstance(table, pd.DataFrame) else pq.write_table(table, path)
    return path


def dated(dates):
    return pa.table({"date": pa.array(dates), "INDEX": [1.0, 2], "A": [1.0, 2]})


TIMES = pa.array([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)])
BAD_PARQUET = {
    "zone": (frame().tz_localize("America/New_York"), DataError, ["America/New_York", "tz_localize"]),
    "text": (frame(X=["a", "b", "c"]), DataError, ["'X'", "'a'", "2020-01-01"]),
    "truth": (frame(X=[True, False, True]), DataError, ["'X'", "'True'"]),
    "times": (frame(X=pd.to_datetime(["2020-01-01"] * 3)), DataError, ["'X'"]),
    "lists": (pa.table({"date": TIMES, "INDEX": [1.0, 2], "X": [[1], [2]]}), DataError, ["'X'", "[1]"]),
    "counter": (frame().reset_index(drop=True), DataError, ["'INDEX'", "not dates"]),
    "integer index": (frame().set_axis(pd.Index([5, 6, 7], name="t")), DataError, ["'t'", "'5'"]),
    "two levels": (frame().assign(k=1).set_index("k", append=True), DataError, ["2 index levels", "date, k"]),
    "no rows": (frame().iloc[:0], DataError, ["0 rows"]),
    "one row": (frame().iloc[:1], DataError, ["only one row"]),
    "unsorted": (frame().iloc[::-1], DataError, ["not sorted", "2020-01-02", "2020-01-03"]),
    "missing date": (dated([dt.datetime(2020, 1, 1), None]), DataError, ["row 2", "no date"]),
    "odd date type": (dated([[1], [2]]), DataError, ["'date'", "list"]),
    "far date": (dated([dt.date(2020, 1, 1), dt.date(9999, 1, 1)]), DataError, ["9999"]),
    "zero": (frame(X=[1.0, 0.0, 1.0]), DataError, ["X", "2020-01-02", "0"]),
    "hole": (frame(X=[1.0, None, 1.0]), DataError, ["X", "2020-01-02", "freeze"]),
    "twice": (dated(TIMES).append_column("A", pa.array([1.0, 2])), UniverseError, ["'A'", "2 times"]),
    "infinite": (frame(X=[1.0, np.inf, 1.0]), DataError, ["X", "2020-01-02", "inf"]),
    "no index": (frame().rename(columns={"INDEX": "SPX"}), UniverseError, ["'INDEX'", "SPX, A"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_PARQUET)
def test_bad_parquet_is_refused_in_one_line_that_names_the_thing(tmp_path, case):
    content, kind, words = BAD_PARQUET[case]
    with pytest.raises(kind) as caught:
        read_panel(parquet(content, tmp_path))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("p.parquet: ")
    assert [word for word in words if word not in message] == []


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1 but then something else entirely PAR1", GOOD.encode()])
def test_damaged_parquet_is_refused(write, content):
    with pytest.raises(DataError, match=r"^p\.parquet: .*Parquet") as caught:
        read_panel(write(content, "p.parquet"))
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"^nothing\.csv: no such file"):
        read_panel(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_panel(tmp_path)
    with pytest.raises(DataError):
        read_panel("x\0.csv")
    for reader in (read_panel, open_source):
        with pytest.raises(DataError) as caught:
            reader("x" * 5000)
        assert "\n" not in str(caught.value)


def test_unknown_gap_policy(write):
    with pytest.raises(DataError, match=r"'drop'.*error, freeze"):
        read_panel(write(GOOD), gaps="drop")
    with pytest.raises(DataError, match=r"'drop'.*error, freeze"):
        open_source("sample", gaps="drop")


# -- sources ---------------------------------------------------------------------------------------------------------------------


def test_sources_by_name(write):
    assert open_source("sample").source == "sample"
    assert open_source(str(write(GOOD))).source == "prices.csv"
    assert open_source(write(GOOD), "A", gaps="freeze").targets == ("A",)
    synthetic = open_source("synthetic", seed=4)
    assert synthetic.source == "synthetic"
    assert synthetic.fingerprint() == synthetic_market(seed=4).fingerprint()


def test_synthetic_source_has_the_indices_that_are_asked_for():
    panel = open_source("synthetic", ["INDEX3", "INDEX"])
    assert panel.targets == ("INDEX3", "INDEX")
    full = synthetic_market(n_indices=3)
    assert np.array_equal(panel.target_close, full.target_close[:, [2, 0]])
    with pytest.raises(UniverseError, match=r"'SPX'.*INDEX2"):
        open_source("synthetic", "SPX")


@pytest.mark.parametrize(
    ("name", "says"), [("yahoo", "must look like yahoo:TICKERS:START"), ("smaple", "'smaple' is neither"), ("", "'' is neither")]
)
def test_unknown_sources_name_the_alternatives(name, says):
    with pytest.raises(DataError, match=says) as caught:
        open_source(name)
    assert "\n" not in str(caught.value)
    assert "sample, synthetic" in str(caught.value)


def test_a_file_with_the_name_of_a_source_is_reached_by_its_path(write, monkeypatch):
    monkeypatch.chdir(write(GOOD, "sample").parent)
    assert open_source("sample").n_bars == 3018
    assert open_source("./sample").n_bars == 3


# -- real files ------------------------------------------------------------------------------------------------------------------


def real(name):
    if not (REAL / name).exists():
        pytest.skip(f"no ../shared/data/{name} beside the project: real market files are not part of it")
    return REAL / name


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("orlib_hangseng31_weekly.csv.gz", (291, 31)),
        ("nasdaq100_2019_2020_daily.csv.gz", (503, 100)),
        ("nasdaq100_2023_2024_daily.csv.gz", (445, 100)),
        ("orlib_russell2000_1319_weekly.csv.gz", (291, 1319)),
    ],
)
def test_real_wide_files_are_read_as_pandas_reads_them(name, shape):
    panel = read_panel(real(name))
    assert panel.close.shape == shape
    expected = pd.read_csv(REAL / name, index_col=0, parse_dates=True, dtype=str).map(float)
    assert panel.fingerprint() == MarketPanel.from_frame(expected).fingerprint()
    assert panel.source == name


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("ftse100_64_2010_2023_daily.csv.gz", r"has no price on 20\d\d-\d\d-\d\d .*freeze"),
        ("olps_djia.csv.gz", "'t' holds numbers, not dates"),
        ("sp500_2010_daily_RETURNS.csv.gz", "returns.*cumprod"),
        ("us40_ohlcv_2016_2020_daily_LONG.csv.gz", "'ticker'.*pivot"),
        ("meta_sp500_gics_2025.csv", "not a date"),
    ],
)
def test_real_files_of_another_kind_are_explained(name, says):
    with pytest.raises(DataError, match=says):
        read_panel(real(name))


def test_real_holes_are_halts_on_request():
    panel = read_panel(real("ftse100_64_2010_2023_daily.csv.gz"), gaps="freeze")
    assert (~panel.has_bar).sum() == 29
