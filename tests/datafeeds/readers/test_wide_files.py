"""Wide files come in exactly, whatever their spelling, and what is written comes back bit by bit."""

import datetime as dt
import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from datafeeds import DataError, MarketPanel
from datafeeds.sources import read_panel
from datafeeds.synthetic.market import synthetic_market
from tests.datafeeds.readers.wide_files import GOOD, frame

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
