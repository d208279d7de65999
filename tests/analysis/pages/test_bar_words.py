"""Pages speak of minutes, days, weeks or months as the data do, and QuantStats gets returns of days from bars within the day."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from datafeeds import BarLength, resample
from tests.intraday import minute_market
from tests.markets import random_panel
from tracker_strategies.analysis.pages.quantstats_bars import daily_levels
from tracker_strategies.analysis.pages.quantstats_page import quantstats_body
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.research import replay


def dated(freq, bars=90):
    return replace(random_panel(bars, 3, seed=4), dates=pd.date_range("2011-01-31", periods=bars, freq=freq).to_numpy())


def rows(page):
    """Names of QuantStats' rows, with the portfolio's figure."""
    cells = re.findall(r"<tr>\s*<td>([^<]*)</td>\s*<td>[^<]*</td>\s*<td>([^<]*)</td>", str(page))
    return {name.strip(): figure for name, figure in cells}


def text(page):
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


@pytest.fixture(scope="module")
def minutes(tmp_path_factory):
    """A run over nine sessions of minutes, and its page."""
    panel = resample(minute_market("2024-11-20", "2024-12-04"), "5 minutes")
    record = replay(panel, "pa", {"rebalance": "session-close", "calendar": "XNYS", "fill": "close"})
    return record, tearsheet(record, tmp_path_factory.mktemp("page") / "page.html").read_text()


def test_quantstats_gets_returns_of_days_compounded_from_bars_within_the_day_and_says_so(minutes):
    record, page = minutes
    assert "Computed from returns of days, compounded from bars of 5 minutes by QuantStats" in text(page)
    value = pd.Series(record.part.growth, pd.DatetimeIndex(record.part.dates))
    days = daily_levels(value)
    closes = value.groupby(value.index.normalize()).last()
    moves = np.r_[closes.iloc[0] / value.iloc[0] - 1.0, closes.pct_change().dropna()]
    found = days.pct_change().dropna().to_numpy()
    np.testing.assert_allclose(found, moves[-len(found) :], rtol=1e-12)
    told = rows(page)
    assert float(told["Best Day"].strip("%")) == pytest.approx(100.0 * found.max(), abs=0.006)
    assert told["Win Days"] == f"{100.0 * (found > 0).sum() / (found != 0).sum():.2f}%"


def test_the_base_of_the_first_day_is_the_first_level_of_all():
    times = pd.DatetimeIndex(["2024-03-04 10:00", "2024-03-04 16:00", "2024-03-05 10:00", "2024-03-05 16:00"])
    days = daily_levels(pd.Series([100.0, 110.0, 99.0, 121.0], times))
    assert days.to_dict() == {
        pd.Timestamp("2024-03-03"): 100.0,
        pd.Timestamp("2024-03-04"): 110.0,
        pd.Timestamp("2024-03-05"): 121.0,
    }
    late = daily_levels(pd.Series([100.0, 99.0, 121.0], times[1:]))
    assert {str(day.date()): level for day, level in late.items()} == {"2024-03-04": 100, "2024-03-05": 121}


def test_our_own_figures_are_per_bar_of_five_minutes(minutes):
    _, page = minutes
    words = text(page)
    assert "per bar of 5 minutes;" in words
    assert "bars of 5 minutes" in words
    assert re.search(r"Tracking error over \d+ bars of 5 minutes, annualised", words)
    assert "bars are of 5 minutes; a year has 19,656 bars" in words


@pytest.mark.parametrize(
    ("freq", "own", "there", "absent"),
    [
        ("B", "per day;", ("Best Day", "Daily Value-at-Risk", "Expected Daily", "Win Days"), ("Best Week",)),
        (
            "W-FRI",
            "per week;",
            ("Best Week", "Weekly Value-at-Risk", "Expected Weekly", "Win Weeks", "Best Month"),
            ("Best Day", "Win Days"),
        ),
        ("ME", "per month;", ("Best Month", "Monthly Value-at-Risk", "Expected Monthly", "Win Month"), ("Best Day", "Win Days")),
    ],
)
def test_rows_of_longer_bars_have_their_names(tmp_path, freq, own, there, absent):
    page = tearsheet(replay(dated(freq), "pa"), tmp_path / "page.html").read_text()
    words, told = text(page), rows(page)
    assert own in words
    assert set(there) <= set(told)
    assert not {*absent, "Expected Daily", "Daily Value-at-Risk"} & set(told) - set(there)
    assert f"Computed from returns of bars of {BarLength.usual(dated(freq).dates)} by QuantStats" in words


def test_quarters_have_no_rows_about_months():
    levels = pd.Series(100.0 * np.exp(np.cumsum(np.random.default_rng(0).normal(0, 0.05, 60))), dated("QE", 60).dates)
    told = rows(quantstats_body(levels, levels**0.9))
    assert {"Best Quarter", "Quarterly Value-at-Risk"} <= set(told)
    assert not [name for name in told if "Month" in name or ("Day" in name and "DD" not in name and "Drawdown" not in name)]
