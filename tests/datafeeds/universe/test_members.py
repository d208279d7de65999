"""Members, ticker changes and sectors: files that say what prices cannot."""

import pickle

import numpy as np
import pandas as pd
import pytest

from datafeeds import (
    DataError,
    MarketPanel,
    Rename,
    Spell,
    UniverseError,
    open_source,
    read_members,
    read_renames,
    read_sectors,
    with_members,
)
from datafeeds import rename as renamed
from tests.datafeeds.readers.wide_files import real
from tests.markets import random_panel

PANEL = random_panel(n_bars=10, n_assets=3)  # 2020-01-01 to 2020-01-14, without weekends
DAY = [str(d)[:10] for d in PANEL.dates]


@pytest.fixture
def write(tmp_path):
    def write(content, name="file.csv"):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write


# -- members ---------------------------------------------------------------------------------------------------------------------


def test_both_days_of_a_spell_belong_to_it_and_a_name_may_come_back(write):
    file = write(f"symbol,from,to\nS0,,\nS1,{DAY[2]},{DAY[4]}\nS1,{DAY[7]},\nS2,,{DAY[5]}\n")
    panel = with_members(PANEL, file)
    assert panel.members[:, 0].all()
    assert np.flatnonzero(panel.members[:, 1]).tolist() == [2, 3, 4, 7, 8, 9]
    assert np.flatnonzero(panel.members[:, 2]).tolist() == [0, 1, 2, 3, 4, 5]
    by_hand = {"S0": [(None, None)], "S1": [(DAY[2], DAY[4]), (DAY[7], None)], "S2": [(None, DAY[5])]}
    assert with_members(PANEL, by_hand).fingerprint() == panel.fingerprint()
    assert with_members(PANEL, read_members(file)).fingerprint() == panel.fingerprint()


def test_members_come_from_parquet_too(tmp_path):
    frame = pd.DataFrame({"Ticker": ["S0", "S1", "S2"], "start": pd.to_datetime(["2020-01-01", DAY[3], None]), "end": pd.NaT})
    frame.to_parquet(tmp_path / "m.parquet")
    assert [(s.symbol, str(s.start)) for s in read_members(tmp_path / "m.parquet")] == [
        ("S0", "2020-01-01"),
        ("S1", DAY[3]),
        ("S2", "1678-01-01"),
    ]
    assert with_members(PANEL, tmp_path / "m.parquet").members.sum() == 10 + 7 + 10


def test_names_that_are_never_members_are_dropped_and_members_without_prices_are_listed(write):
    file = write(f"symbol,from,to\nS0,,\nS1,2021-01-01,\nENRON,,{DAY[3]}\nOLD,,2001-12-02\n")
    panel = with_members(PANEL, file)
    assert panel.symbols == ("S0",)
    assert panel.dropped == {
        "ENRON": "a member of the index without prices",
        "S1": "never a member of the index in this period",
        "S2": "never a member of the index in this period",
    }
    with pytest.raises(UniverseError, match=r"none of the 3 assets \(S0, S1, S2, ...\) is a member .* ENRON"):
        with_members(PANEL, write("symbol,from,to\nENRON,,\n"))


def test_the_mask_is_part_of_the_panel():
    panel = with_members(PANEL, {"S0": [(None, None)], "S1": [(DAY[2], DAY[6])], "S2": [(None, None)]})
    again = pickle.loads(pickle.dumps(panel))
    np.testing.assert_array_equal(again.members, panel.members)
    assert again.fingerprint() == panel.fingerprint() != PANEL.fingerprint()
    assert (
        panel.fingerprint()
        != with_members(PANEL, {"S0": [(None, None)], "S1": [(DAY[2], DAY[5])], "S2": [(None, None)]}).fingerprint()
    )
    np.testing.assert_array_equal(panel.rows(1, 8).members, panel.members[1:8])
    assert panel.rows(2, 7).members is None  # all are members there: nothing to say
    with pytest.raises(ValueError, match="read-only"):
        panel.members[0, 0] = False
    with pytest.raises(DataError, match="members must be an array of True and False with shape"):
        MarketPanel(
            PANEL.dates, PANEL.symbols, PANEL.close, PANEL.targets, PANEL.target_close, members=np.ones((3, 3), dtype=bool)
        )


BAD_MEMBERS = {
    "no column": ("symbol,from\nS0,\n", "no column 'to' among symbol, from"),
    "backwards": ("symbol,from,to\nS0,2020-01-05,2020-01-02\n", "S0 is a member from 2020-01-05 to 2020-01-02"),
    "overlap": (
        "symbol,from,to\nS0,,2020-01-05\nS0,2020-01-05,\n",
        "two spells of S0 overlap: 1678-01-01..2020-01-05 and 2020-01-05",
    ),
    "no date": ("symbol,from,to\nS0,soon,\n", "row 1 of the date column 'from' reads 'soon'"),
    "no symbol": ("symbol,from,to\n,,\n", "row 1 is empty in column 'symbol'"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize("case", BAD_MEMBERS)
def test_bad_files_of_members_are_refused_in_one_line(write, case):
    content, words = BAD_MEMBERS[case]
    with pytest.raises(DataError, match=words) as caught:
        read_members(write(content))
    assert str(caught.value).startswith("file.csv: ")
    assert "\n" not in str(caught.value)


# -- ticker changes --------------------------------------------------------------------------------------------------------------


def split_in_two(panel, i, row, old):
    """The panel as a vendor would have it whose file calls asset i `old` before the row."""
    close = np.hstack([panel.close, panel.close[:, [i]]])
    close[row:, -1], close[:row, i] = np.nan, np.nan
    return MarketPanel(panel.dates, (*panel.symbols, old), close, panel.targets, panel.target_close)


def test_a_ticker_change_joins_two_series_into_one(write):
    file = write(f"old,new,date\nFB,S1,{DAY[6]}\nNOBODY,ELSE,{DAY[3]}\n")
    panel = renamed(split_in_two(PANEL, 1, 6, "FB"), read_renames(file))
    assert panel.fingerprint() == PANEL.fingerprint()
    assert panel.dropped == {"FB": "renamed to S1"}


def test_bars_are_joined_whole():
    full = random_panel(n_bars=10, n_assets=2, ohlc=True)
    parts = {}
    for part in ("close", "open", "high", "low"):
        wide = np.hstack([getattr(full, part), getattr(full, part)[:, [0]]])
        wide[4:, -1], wide[:4, 0] = np.nan, np.nan
        parts[part] = wide
    vendor = MarketPanel(full.dates, ("S0", "S1", "OLD"), targets=full.targets, target_close=full.target_close, **parts)
    assert renamed(vendor, [Rename("OLD", "S0", full.dates[4])]).fingerprint() == full.fingerprint()


def test_chains_of_changes_and_tickers_that_are_taken_over():
    """S1 was B before row 7 and A before row 4; from row 7 on, B is somebody else."""
    close = np.full((10, 4), np.nan)
    close[:, 0] = PANEL.close[:, 0]
    close[:4, 1], close[4:7, 2], close[7:, 3] = PANEL.close[:4, 1], PANEL.close[4:7, 1], PANEL.close[7:, 1]
    close[8:, 2] = 42.0
    vendor = MarketPanel(PANEL.dates, ("S0", "A", "B", "S1"), close, PANEL.targets, PANEL.target_close)
    panel = renamed(vendor, [Rename("B", "S1", PANEL.dates[7]), Rename("A", "B", PANEL.dates[4])])
    assert panel.symbols == ("S0", "B", "S1")
    np.testing.assert_array_equal(panel.column("S1"), PANEL.column("S1"))
    assert panel.has_bar[:, 1].tolist() == [False] * 8 + [True] * 2


def test_a_series_that_goes_on_under_its_old_name_is_called_by_the_new_one():
    panel = renamed(PANEL, [Rename("S1", "META", PANEL.dates[5])])
    assert panel.symbols == ("S0", "META", "S2")
    np.testing.assert_array_equal(panel.close, PANEL.close)


def test_two_companies_under_one_name_are_refused():
    with pytest.raises(DataError, match=r"S1 has prices from 2020-01-01 on, but S0 became S1 only on 2020-01-08"):
        renamed(PANEL, [Rename("S0", "S1", PANEL.dates[5])])


def test_members_follow_a_change_of_name(write):
    old_names = write(f"symbol,from,to\nFB,,{DAY[5]}\nS1,{DAY[6]},{DAY[8]}\nS0,,\nS2,,\n", "m.csv")
    frame = split_in_two(PANEL, 1, 6, "FB").to_frame()
    frame.to_csv(write("", "p.csv"))
    changes = write(f"old,new,date\nFB,S1,{DAY[6]}\n", "r.csv")
    panel = open_source(old_names.parent / "p.csv", members=old_names, renames=changes)
    assert panel.symbols == ("S0", "S1", "S2")
    assert np.flatnonzero(~panel.members[:, 1]).tolist() == [9]
    assert "FB" not in {name for name, why in panel.dropped.items() if why != "renamed to S1"}


@pytest.mark.parametrize(
    ("content", "words"),
    [("old,new\nA,B\n", "no column 'date'"), ("old,new,date\nA,B,\n", "no date"), ("old,new,date\nA,,2020-01-01\n", "'new'")],
)
def test_bad_files_of_changes_are_refused(write, content, words):
    with pytest.raises(DataError, match=words):
        read_renames(write(content))


# -- sectors ---------------------------------------------------------------------------------------------------------------------


def test_sectors_are_a_mapping_as_the_strategies_take_it(write):
    file = write('symbol,name,GICS Sector\nS0,Zero,Tech\nS1,"One, Inc.",Energy\nX,Other,Tech\n')
    assert read_sectors(file) == {"S0": "Tech", "S1": "Energy", "X": "Tech"}
    assert read_sectors(file, PANEL.symbols) == {"S0": "Tech", "S1": "Energy"}
    assert read_sectors(file, column="name")["S1"] == "One, Inc."
    with pytest.raises(DataError, match="no column 'region'"):
        read_sectors(file, column="region")
    with pytest.raises(UniverseError, match=r"none of the 1 assets \(Y, ...\)"):
        read_sectors(file, ["Y"])
    with pytest.raises(UniverseError, match="S0 has two sectors, Tech and Energy"):
        read_sectors(write("symbol,sector\nS0,Tech\nS0,Energy\n"))
    with pytest.raises(DataError, match="no column 'sector' among symbol, name"):
        read_sectors(write("symbol,name\nS0,Zero\n"))


def test_sectors_limit_a_strategy(write):
    from tracker_strategies import backtest

    sectors = read_sectors(write("symbol,sector\nS0,A\nS1,A\nOTHER,B\n"), PANEL.symbols)
    record = backtest(PANEL, "pa", {"sectors": sectors, "max_sector": 0.3, "unmapped": "free"})
    assert record.decisions[:, :2].sum(axis=1).max() <= 0.3 + 1e-9
    with pytest.raises(UniverseError, match=r"have no sector \(S2.*unmapped="):
        backtest(PANEL, "pa", {"sectors": sectors, "max_sector": 0.3})


def test_the_real_sectors_cover_the_real_market():
    panel = open_source(real("sp500_2015_2020_daily.csv.gz"))
    sectors = read_sectors(real("meta_sp500_gics_2025.csv"), panel.symbols)
    assert len(sectors) == 387
    assert len(set(sectors.values())) == 11


def test_spells_can_be_made_by_hand():
    day = np.datetime64
    panel = with_members(PANEL, [Spell("S2", day("2020-01-01"), day("2020-01-03"))])
    assert panel.members.sum() == 3
