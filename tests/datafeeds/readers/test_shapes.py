"""Files as people have them: one and the same panel, or a refusal that says what to do; never another value."""

import warnings
import zipfile
from contextlib import suppress
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from datafeeds import DataError, MarketPanel, SingleIndexData, TrackerError, UniverseError, open_source
from datafeeds.errors import ParameterError, ReadingNote
from tests.datafeeds.readers.shapes import (
    TICKERS,
    as_zip,
    bars,
    closes,
    excel,
    german,
    lines,
    make_bars,
    make_closes,
    paired,
    zoned,
)

pytest.importorskip("python_calamine")
pytestmark = pytest.mark.filterwarnings("ignore::datafeeds.errors.DataWarning")


@pytest.fixture(scope="module")
def close_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("closes")
    return folder, make_closes(folder)


@pytest.fixture(scope="module")
def bar_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bars")
    return folder, make_bars(folder)


def opened(folder, name, options):
    options = dict(options)
    targets = options.pop("targets", "^GSPC")
    if ":" in targets:
        targets = f"{folder}/{targets}"
    if "index" in options:
        options["index"] = folder / options["index"]
    return open_source(f"{folder}/{name.strip()}", targets, **options)


def test_forty_shapes_of_closes_are_one_panel(close_files):
    folder, made = close_files
    assert len(made) >= 40
    expected = MarketPanel.from_frame(closes(), "^GSPC").fingerprint()
    found = {name: opened(folder, name, options).fingerprint() for name, options in made.items()}
    assert {name for name, hashed in found.items() if hashed != expected} == set()


def test_a_folder_has_the_same_closes_in_alphabetical_order(close_files):
    folder, _ = close_files
    expected = MarketPanel.from_frame(closes()[sorted(TICKERS)], "^GSPC")
    assert open_source(folder / "tickers", "^GSPC").fingerprint() == expected.fingerprint()


def panel_of(frame):
    parts = {name.lower(): frame[name] for name in ("Open", "High", "Low", "Volume")}
    return MarketPanel.from_frame(frame["Close"], "^GSPC", bars=parts)


def test_shapes_of_bars_are_one_panel(bar_files):
    folder, made = bar_files
    expected = panel_of(bars()).fingerprint()
    found = {name: opened(folder, name, options).fingerprint() for name, options in made.items()}
    assert {name for name, hashed in found.items() if hashed != expected} == set()


def test_the_adjusted_close_is_taken_where_dividends_are_asked_for(bar_files):
    folder, _ = bar_files
    panel = open_source(folder / "adjusted.csv", "^GSPC", adjust="total")
    np.testing.assert_array_equal(panel.target_close[:, 0], bars(adjusted=True)["Adj Close"]["^GSPC"])
    assert (panel.low <= panel.close).all()


FRAMES = {
    "wide": closes,
    "a column of dates": lambda: closes().reset_index(),
    "texts as dates": lambda: closes().set_axis(closes().index.strftime("%d.%m.%Y"), axis=0),
    "days as objects": lambda: closes().set_axis(pd.Index(closes().index.date), axis=0),
    "zoned": lambda: zoned(closes(), "America/New_York"),
    "descending": lambda: closes().iloc[::-1],
    "rows twice": lambda: pd.concat([closes(), closes().iloc[:3]]),
    "periods": lambda: closes().to_period("D"),
    "only closes in layers": lambda: pd.concat({"Close": closes()}, axis=1),
    "layers the other way": lambda: pd.concat({"Close": closes()}, axis=1).swaplevel(axis=1),
    "tuples": lambda: pd.concat({"Close": closes()}, axis=1).pipe(lambda f: f.set_axis(list(f.columns.to_flat_index()), axis=1)),
    "long": lambda: closes().rename_axis(columns="ticker").stack().rename("close").reset_index(),
    "long by its index": lambda: closes().rename_axis(columns="ticker").stack().rename("close").to_frame(),
    "series by ticker": lambda: dict(closes().items()),
    "frames by ticker": lambda: {name: column.to_frame("Close") for name, column in closes().items()},
    "float32": lambda: closes().astype("Float64"),
}


@pytest.mark.parametrize("shape", FRAMES)
def test_frames_in_memory_are_the_same_panel(shape):
    expected = MarketPanel.from_frame(closes(), "^GSPC").fingerprint()
    assert open_source(FRAMES[shape](), "^GSPC").fingerprint() == expected
    if isinstance(FRAMES[shape](), pd.DataFrame):
        assert SingleIndexData(FRAMES[shape](), "^GSPC").panel.fingerprint() == expected


@pytest.mark.parametrize("adjusted", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
def test_downloads_of_yfinance_are_the_same_bars(adjusted, swapped):
    frame = bars(adjusted)
    frame = frame.swaplevel(axis=1) if swapped else frame
    assert open_source(frame, "^GSPC").fingerprint() == panel_of(bars()).fingerprint()


def test_a_frame_per_ticker_and_one_per_field_are_the_same_bars():
    frame = bars()
    by_ticker = {name: frame.xs(name, axis=1, level=1) for name in TICKERS}
    by_field = {name: frame[name] for name in ("Close", "High", "Low", "Open", "Volume")}
    for source in (by_ticker, by_field):
        assert open_source(source, "^GSPC").fingerprint() == panel_of(frame).fingerprint()


def test_the_index_may_stand_apart():
    expected = MarketPanel.from_frame(closes(), "^GSPC").fingerprint()
    assets, index = closes().drop(columns="^GSPC"), closes()["^GSPC"]
    assert open_source(assets, index).fingerprint() == expected
    assert open_source(assets, "^GSPC", index=index.rename("other")).fingerprint() == expected
    assert open_source(assets, index=bars().xs("^GSPC", axis=1, level=1)).targets == ("INDEX",)


def test_dates_that_only_one_of_index_and_prices_has_are_gaps_inside_and_left_off_outside():
    assets, index = closes().drop(columns="^GSPC"), closes()["^GSPC"]
    panel = open_source(assets, index.iloc[3:-2])
    assert panel.n_bars == 55
    assert "5 dates of the prices outside those of the index ^GSPC dropped" in panel.read_as
    with pytest.raises(DataError, match=r"\^GSPC has no value on .*gaps='freeze'"):
        open_source(assets, index.drop(index.index[7]))
    assert open_source(assets, index.drop(index.index[7]), gaps="freeze").n_bars == 60


def test_securities_with_dates_of_their_own_are_joined_on_all_of_them(tmp_path):
    """One lists late, one was delisted, one has a holiday of its own; blank cells and #N/A below."""
    frame = closes()
    frame.iloc[:7, 1], frame.iloc[50:, 2], frame.iloc[[20, 21], 3] = np.nan, np.nan, np.nan
    expected = open_source(frame, "^GSPC", gaps="freeze").fingerprint()
    for name, written in (
        ("ends.csv", lines(paired(frame))),
        ("unavailable.csv", lines(paired(frame, after=[["", "#N/A N/A"], ["", ""]]))),
        ("shuffled.csv", lines(paired(frame.iloc[::-1], dates="%d/%m/%Y"))),
    ):
        (tmp_path / name).write_text(written)
        panel = open_source(tmp_path / name, "^GSPC", gaps="freeze")
        assert panel.fingerprint() == expected, name
        assert "dates of its own for each of 4 securities" in panel.read_as
    excel(tmp_path / "paste.xlsx", pd.DataFrame(paired(frame, dates=None)), header=False, index=False)
    assert open_source(tmp_path / "paste.xlsx", "^GSPC", gaps="freeze").fingerprint() == expected


@pytest.mark.parametrize("late", [(1,), (1, 2), (0, 1, 2), (0, 2, 3)])
@pytest.mark.parametrize("fields", ["PX_LAST", "Last Price", None])
def test_the_first_rows_of_a_security_that_lists_late_may_be_empty(tmp_path, late, fields):
    frame = closes()
    for column in late:
        frame.iloc[: 3 + column, column] = np.nan
    expected = open_source(frame, "^GSPC", gaps="freeze").fingerprint()
    table = [[""] * 3 * len(TICKERS) for _ in range(len(frame))]
    for i, name in enumerate(frame):
        for row, (day, price) in enumerate(frame[name].items()):
            if not np.isnan(price):
                table[row][3 * i : 3 * i + 2] = [f"{day:%Y-%m-%d}", price]
    head = paired(frame, fields=fields)[: 1 + (fields is not None)]
    (tmp_path / "x.csv").write_text(lines([*head, *table]))
    panel = open_source(tmp_path / "x.csv", "^GSPC", gaps="freeze")
    assert panel.fingerprint() == expected
    assert "dates of its own for each of 4 securities" in panel.read_as


def test_several_fields_beside_one_column_of_dates_are_bars(tmp_path):
    fields = {"PX_OPEN": "Open", "PX_HIGH": "High", "PX_LOW": "Low", "PX_LAST": "Close", "PX_VOLUME": "Volume"}
    frame = bars()
    above = [cell for name in TICKERS for cell in (name, *[""] * len(fields))]
    below = ["Dates", *fields] * len(TICKERS)
    rows = [
        [cell for name in TICKERS for cell in (f"{day:%Y-%m-%d}", *(row[(field, name)] for field in fields.values()))]
        for day, row in frame.iterrows()
    ]
    (tmp_path / "x.csv").write_text(lines([above, below, *rows]))
    assert open_source(tmp_path / "x.csv", "^GSPC").fingerprint() == panel_of(frame).fingerprint()


SAID = {
    "paired.csv": ["dates of its own for each of 4 securities"],
    "german.csv": ["semicolons", "decimal comma", "points between thousands", "day first"],
    "month_first.csv": ["month first"],
    "shuffled.csv": ["rows sorted by date"],
    "twice.csv": ["rows sorted by date", "4 identical rows dropped"],
    "preamble.csv": ["2 lines above the header skipped"],
    "prices.xlsx": ["sheet 'Prices'"],
    "wide.csv": [],
    "utc.csv": ["stamps with a time zone as sessions of XNYS"],
}


@pytest.mark.parametrize("name", SAID)
def test_every_guess_is_said_once_and_kept(close_files, name):
    folder, made = close_files
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        panel = opened(folder, name, made[name])
    assert sorted(panel.read_as) == sorted(SAID[name])
    lines = [str(w.message) for w in caught if w.category is ReadingNote]
    assert lines == ([f"{name} read as: {', '.join(panel.read_as)}"] if SAID[name] else [])


def one_ticker():
    return bars().xs("AAPL", axis=1, level=1)


def text(content, name="x.csv"):
    return lambda folder: (folder / name).write_text(content)


def csv(frame, **how):
    return lambda folder: frame.to_csv(folder / "x.csv", **how)


def parquet(frame):
    return lambda folder: frame.to_parquet(folder / "x.parquet")


LONG = "date,ticker,close\n2020-01-01,A,1\n2020-01-01,A,2\n"
MARKS = "d;^GSPC;A\n2020-01-01;1,234;2,345\n2020-01-02;1,235;2,346\n"
STOOQ = "<TICKER>,<PER>,<DATE>,<TIME>,<CLOSE>\nA,5,20200102,093000,1\n"
INDEX = closes().rename(columns={"^GSPC": "INDEX"})
AGAIN = pd.concat([closes(), closes().iloc[3:4] + 1])
TOKYO = zoned(closes(), "Asia/Tokyo").tz_convert("UTC")

PAIRS = "Dates,PX_LAST,Dates,PX_LAST\n2020-01-02,1,2020-01-02,5\n2020-01-03,2,2020-01-03,6\n"
NAMED = f"A,,B,\n{PAIRS}"
UNKNOWN = (
    "A,,B,,Bad,\nDates,PX_LAST,Dates,PX_LAST,Dates,PX_LAST\n"
    "2020-01-02,1,2020-01-02,5,#N/A Invalid Security,\n2020-01-03,2,2020-01-03,6,,\n"
)

REFUSED = {
    "pairs without names": (text(PAIRS), "x.csv", None, UniverseError, "column of dates of its own, and column 1 has no name"),
    "a pair with two names": (text(f"A,B,C,\n{PAIRS}"), "x.csv", None, UniverseError, "column 1 has 'A' and 'B' above it"),
    "one name for two pairs": (
        text(f"A,,A,\n{PAIRS}"),
        "x.csv",
        None,
        UniverseError,
        "'A' appears twice, with PX_LAST each time",
    ),
    "pairs of no price": (text(NAMED.replace("LAST", "BID")), "x.csv", None, UniverseError, "PX_BID.*paste PX_LAST"),
    "a price without a date": (
        text(f"{NAMED}2020-01-06,3,,7\n"),
        "x.csv",
        None,
        DataError,
        "row 3 of B has a PX_LAST and no",
    ),
    "a text in a pair": (text(f"{NAMED}2020-01-06,x,,\n"), "x.csv", None, DataError, "'PX_LAST of A' holds text.*'x' in row 3"),
    "an unknown security": (text(UNKNOWN), "x.csv", None, DataError, "Dates of Bad.*'#N/A Invalid Security'"),
    "pairs whose dates fit both": (
        lambda f: (f / "x.csv").write_text(lines(paired(closes(6), dates="%d/%m/%Y"))),
        "x.csv",
        None,
        DataError,
        "--dates dmy",
    ),
    "the fields of one ticker": (csv(one_ticker()), "x.csv", "Close", UniverseError, "fields of one ticker.*--index-file"),
    "every date fits both": (csv(closes(6), date_format="%d/%m/%Y"), "x.csv", None, DataError, "--dates dmy"),
    "every number fits both": (text(MARKS), "x.csv", None, DataError, "--decimal"),
    "another value under a date": (
        csv(AGAIN),
        "x.csv",
        None,
        DataError,
        r"2020-01-07 appears twice .*values \(\^GSPC",
    ),
    "another close in a long table": (text(LONG), "x.csv", None, DataError, "A has two rows on 2020-01-01, with different"),
    "an index among the assets": (csv(closes()), "x.csv", "AAPL", UniverseError, r"'\^GSPC' looks.*--exclude \^GSPC.*--only"),
    "an index called INDEX": (csv(INDEX), "x.csv", "AAPL", UniverseError, "'INDEX' looks like an index.*--exclude INDEX"),
    "three layers": (parquet(pd.concat({"a": bars()}, axis=1)), "x.parquet", None, UniverseError, "two levels"),
    "tuples without fields": (parquet(pd.concat({"a": closes()}, axis=1)), "x.parquet", None, UniverseError, "tuples.*neither"),
    "two sheets": (lambda f: excel(f / "x.xlsx", closes(), others=["B"]), "x.xlsx", None, DataError, "x.xlsx:Prices"),
    "no such sheet": (lambda f: excel(f / "x.xlsx", closes()), "x.xlsx:Nope", None, DataError, "no sheet 'Nope'.*Prices"),
    "old Excel": (text("\xd0\xcf" + "\0" * 600, "x.xls"), "x.xls", None, DataError, "binary"),
    "two tables in an archive": (lambda f: two_in_one(f / "x.zip"), "x.zip", None, DataError, "x.zip:a.csv"),
    "Tokyo's midnight in UTC": (csv(TOKYO), "x.csv", None, DataError, "Sunday.*--calendar"),
    "no such calendar": (csv(TOKYO), "x.csv", {"calendar": "XXXX"}, DataError, "no calendar named 'XXXX'"),
    "intraday bars of Stooq": (text(STOOQ, "x.txt"), "x.txt", None, DataError, "periods 5"),
    "a near name": (csv(closes()), "x.csv", "^GSPCC", UniverseError, r"did you mean '\^GSPC'\?"),
    "a near name to exclude": (csv(closes()), "x.csv", {"exclude": ["APPL"]}, UniverseError, "did you mean 'AAPL'"),
}


def two_in_one(path):
    closes().to_csv(path.parent / "a.csv")
    as_zip(path, path.parent / "a.csv", "a.csv")
    with zipfile.ZipFile(path, "a") as archive:
        archive.write(path.parent / "a.csv", "b.csv")


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_known_is_refused_with_a_way_out(tmp_path, case):
    write, name, asked, kind, words = REFUSED[case]
    write(tmp_path)
    options = asked if isinstance(asked, dict) else {}
    with pytest.raises(kind, match=words) as caught:
        open_source(f"{tmp_path}/{name}", asked if isinstance(asked, str) else "^GSPC", **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(name.split(":")[0])


def test_the_ways_out_lead_out(tmp_path):
    (tmp_path / "x.csv").write_text(closes(6).to_csv(date_format="%d/%m/%Y"))
    expected = MarketPanel.from_frame(closes(6), "^GSPC").fingerprint()
    assert open_source(tmp_path / "x.csv", "^GSPC", dates="dmy").fingerprint() == expected
    (tmp_path / "y.csv").write_text("d;^GSPC;A\n2020-01-01;1,234;2,345\n2020-01-02;1,235;2,346\n")
    assert open_source(tmp_path / "y.csv", "^GSPC", decimal=",").close[0, 0] == 2.345
    assert open_source(tmp_path / "y.csv", "^GSPC", decimal=".").close[0, 0] == 2345.0
    closes().to_csv(tmp_path / "z.csv")
    for way in ({"exclude": ["^GSPC"]}, {"exclude": ["^*"]}, {"only": ["LOW", "BRK-B"]}):
        panel = open_source(tmp_path / "z.csv", "AAPL", **way)
        assert panel.symbols == ("LOW", "BRK-B")
        assert "^GSPC" in panel.dropped
    assert open_source(tmp_path / "z.csv", "AAPL", only=["^GSPC", "LOW"]).symbols == ("^GSPC", "LOW")


def test_low_open_and_close_are_tickers_too(tmp_path):
    frame = closes().set_axis(["INDEX", "OPEN", "LOW", "CLOSE"], axis=1)
    frame.to_csv(tmp_path / "x.csv")
    frame.to_parquet(tmp_path / "x.parquet")
    layers = pd.concat({"Close": frame, "Open": frame}, axis=1)
    for source in (tmp_path / "x.csv", tmp_path / "x.parquet", frame, dict(frame.items()), layers, layers.swaplevel(axis=1)):
        assert open_source(source).symbols == ("OPEN", "LOW", "CLOSE")
    (tmp_path / "two.csv").write_text(layers.to_csv())
    assert open_source(tmp_path / "two.csv").symbols == ("OPEN", "LOW", "CLOSE")


ODD_FRAMES = [
    pd.DataFrame(), pd.DataFrame({"a": [1.0]}), pd.DataFrame(index=pd.date_range("2020", periods=3)), {}, {"A": 5}, {"A": None},
    [1, 2], 5, None, object(), np.zeros((3, 2)), closes().astype(str), closes().assign(AAPL=True), closes().assign(AAPL="x"),
    closes().reset_index(drop=True), closes().set_axis([float(i) for i in range(60)], axis=0), closes().iloc[:0],
    closes().set_axis([pd.NaT, *closes().index[1:]], axis=0), closes().T, closes().set_axis(["^GSPC", "A", "A", "B"], axis=1),
    closes().set_axis(range(4), axis=1), closes() * -1, closes() * np.inf, closes() * np.nan, closes().iloc[:1],
    pd.concat({"Close": closes(), "x": closes()}, axis=1), bars().stack(), closes()["AAPL"], {"close": closes(), "open": 3},
    {"A": closes()}, closes().astype(complex), closes().astype(object), closes().set_axis(["x"] * 60, axis=0),
    pd.DataFrame({"date": ["2020"], "ticker": [None], "close": [None]}), [closes()], {"A": pd.DataFrame()},
]  # fmt: skip


@pytest.mark.parametrize("odd", range(len(ODD_FRAMES)))
def test_no_frame_raises_anything_but_named_errors(odd):
    for targets in ("^GSPC", closes()["^GSPC"], "nobody"):
        with suppress(TrackerError):
            assert open_source(ODD_FRAMES[odd], targets).n_bars > 1


def test_german_prices_keep_every_digit(tmp_path):
    (tmp_path / "x.csv").write_text(german(closes()))
    np.testing.assert_array_equal(open_source(tmp_path / "x.csv", "^GSPC").to_frame(), closes())


def test_a_cell_far_away_and_an_archive_that_swells_are_refused_before_they_are_read(tmp_path):
    excel(tmp_path / "far.xlsx", pd.DataFrame({"date": ["2020-01-01"]}), startrow=1_048_570, startcol=16_000)
    with pytest.raises(
        DataError, match=r"^far\.xlsx: at most .* cells have a price.*TRACKER_FILE_LIMITS.*last used row is 1,048,57"
    ):
        open_source(tmp_path / "far.xlsx")
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.csv", b"date,INDEX,A\n" + b"2020-01-01,1,1\n" * 8_000_000)
    with pytest.raises(DataError, match=r"^x\.zip: .* unpack to more than .*TRACKER_FILE_LIMITS"):
        open_source(tmp_path / "x.zip")


def test_a_backtest_takes_frames_and_files(tmp_path):
    from tracker_strategies import backtest

    closes().to_csv(tmp_path / "x.csv", sep=";")
    expected = backtest(open_source(closes(), "^GSPC"), "pa")
    for source in (closes().iloc[::-1], tmp_path / "x.csv", dict(closes().items())):
        np.testing.assert_array_equal(backtest(source, "pa", targets="^GSPC").value, expected.value)


@pytest.mark.parametrize("targets", [None, 0, 5.0, True, b"SPX", [None], ["^GSPC", 3], np.array([1.0])], ids=repr)
def test_targets_that_are_no_names_are_refused(targets):
    for read in (open_source, SingleIndexData.from_source):
        with pytest.raises(ParameterError, match="must be the name of a column, such as 'INDEX', a series of levels, or several"):
            read(closes(), targets)


def test_only_and_exclude_take_one_name_too():
    frame = closes()
    names = [name for name in frame if name != "^GSPC"]
    assert open_source(frame, "^GSPC", only=names[1]).symbols == (names[1],)
    assert open_source(frame, "^GSPC", exclude=f"{names[0]}, {names[2]}").symbols == tuple(names[1:2] + names[3:])


def test_numbers_in_columns_that_may_hold_anything_are_numbers():
    frame = closes()
    mixed = frame.astype(object)
    mixed.iloc[:, 1] = [Decimal(str(price)) for price in frame.iloc[:, 1]]
    assert open_source(mixed, "^GSPC").fingerprint() == open_source(frame, "^GSPC").fingerprint()
    with pytest.raises(DataError, match="holds text"):
        open_source(frame.astype(str), "^GSPC")


def test_a_workbook_of_the_old_format_is_named(tmp_path):
    (tmp_path / "prices.xls").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"0" * 600)
    with pytest.raises(DataError, match=r"an Excel workbook of the old format \.xls; .*save the sheet as \.xlsx or CSV"):
        open_source(tmp_path / "prices.xls", "^GSPC")


def test_the_fields_of_one_ticker_are_listed_without_the_names_beside_them():
    frame = closes().assign(LOW=1.0, OPEN=1.0, HIGH=1.0, CLOSE=1.0)
    with pytest.raises(UniverseError, match="the columns LOW, OPEN, HIGH, CLOSE are the fields of one ticker"):
        open_source(frame, "^GSPC")
