"""Real market files, where they lie beside the project: read as pandas reads them, or explained."""

import pandas as pd
import pytest

from datafeeds import DataError, MarketPanel
from datafeeds.sources import read_panel
from tests.datafeeds.readers.wide_files import REAL, real


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
        ("ftse100_64_2010_2023_daily.csv.gz", r"has no price on 20\d\d-\d\d-\d\d, .*freeze"),
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
