import numpy as np
import pandas as pd
import pytest

from datafeeds import DataError, MarketPanel, TrackerError, UniverseError
from tests.markets import random_panel


def frame(n=6):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.uniform(1, 2, (n, 3)), index=pd.bdate_range("2021-01-04", periods=n), columns=["INDEX", "A", "B"])


def spoil(df, row, column, value):
    df = df.copy()
    df.iloc[row, df.columns.get_loc(column)] = value
    return df


def swapped(df):
    return df.iloc[[0, 2, 1, 3, 4, 5]]


CASES = {
    "hole": (lambda df: spoil(df, 2, "A", np.nan), "A has no price on 2021-01-06"),
    "zero price": (lambda df: spoil(df, 3, "B", 0.0), "B on 2021-01-07 is 0"),
    "negative price": (lambda df: spoil(df, 3, "B", -1.0), "B on 2021-01-07 is -1"),
    "infinite price": (lambda df: spoil(df, 1, "A", np.inf), "A on 2021-01-05 is inf"),
    "target with a hole": (lambda df: spoil(df, 1, "INDEX", np.nan), "INDEX has no value on 2021-01-05"),
    "unsorted": (swapped, "not sorted: 2021-01-05 comes after 2021-01-06"),
    "twice": (lambda df: df.iloc[[0, 1, 1, 2]], "2021-01-05 appears twice"),
    "zone": (lambda df: df.tz_localize("America/New_York"), "time zone America/New_York"),
    "no dates": (lambda df: df.reset_index(drop=True), "must hold dates"),
    "text": (lambda df: df.astype({"A": object}).pipe(lambda d: spoil(d, 2, "A", "n/a")), "'A' holds text"),
    "all missing": (lambda df: df.assign(C=np.nan), "C has no price at all"),
    "no target": (lambda df: df.drop(columns="INDEX"), "no column named 'INDEX'"),
    "no asset": (lambda df: df[["INDEX"]], "no asset to invest in"),
    "same column": (lambda df: pd.concat([df, df[["A"]]], axis=1), "'A' appears twice"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_panel_refuses_is_named_on_one_line(case):
    make, words = CASES[case]
    with pytest.raises(TrackerError, match=words) as caught:
        MarketPanel.from_frame(make(frame()))
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, (DataError, UniverseError))


def test_holes_can_be_allowed_as_halts():
    panel = MarketPanel.from_frame(spoil(frame(), 2, "A", np.nan), gaps="freeze")
    assert panel.has_bar[:, 0].tolist() == [True, True, False, True, True, True]
    assert panel.last_bar[:, 0].tolist() == [0, 1, 1, 3, 4, 5]
    with pytest.raises(DataError, match="freeze"):
        MarketPanel.from_frame(frame(), gaps="ignore")


def test_late_listings_and_delistings_are_no_holes():
    df = spoil(spoil(frame(), 0, "A", np.nan), 5, "B", np.nan)
    panel = MarketPanel.from_frame(df)
    assert panel.last_bar[:, 0].tolist() == [-1, 1, 2, 3, 4, 5]
    assert panel.last_bar[:, 1].tolist() == [0, 1, 2, 3, 4, 4]


def test_nobody_can_write_to_a_panel_or_through_its_source():
    df = frame()
    panel = MarketPanel.from_frame(df)
    before = panel.fingerprint()
    with pytest.raises(ValueError, match="read-only"):
        panel.close[0, 0] = 1.0
    df.iloc[0, 1] = 99.0
    assert panel.fingerprint() == before


def test_bars_must_agree_with_the_close():
    panel = random_panel(ohlc=True)
    parts = {"open": panel.open, "high": panel.high, "low": panel.low}
    for name, factor in (("high", 0.5), ("low", 2.0)):
        wrong = np.array(parts[name])
        wrong[3, 1] *= factor
        with pytest.raises(DataError, match=f"{name} of S1"):
            MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, **{**parts, name: wrong})
    outside = np.array(panel.open)
    outside[4, 2] = panel.high[4, 2] * 1.01
    with pytest.raises(DataError, match="high of S2"):
        MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, **{**parts, "open": outside})
    lone = np.array(panel.open)
    lone[2, 0] = np.nan
    with pytest.raises(DataError, match="open of S0"):
        MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, open=lone)


def test_fingerprints_tell_panels_apart():
    a, b = random_panel(seed=1), random_panel(seed=1)
    assert a.fingerprint() == b.fingerprint()
    assert a.fingerprint() != random_panel(seed=2).fingerprint()
    assert a.fingerprint() != a.rows(0, 39).fingerprint()


def test_a_period_of_a_panel_forgets_names_without_a_price_there():
    panel = random_panel(gaps=True)
    late = panel.rows(25, None)
    assert "S2" not in late.symbols
    assert late.dropped["S2"] == "no price in the chosen period"


@pytest.mark.parametrize(("freq", "periods"), [("B", 252.0), ("W", 52.0), ("MS", 12.0), ("D", 252.0)])
def test_periods_per_year_follow_the_dates(freq, periods):
    df = frame(6)
    df.index = pd.date_range("2021-01-04", periods=6, freq=freq)
    assert MarketPanel.from_frame(df).periods_per_year == periods


def test_intraday_bars_are_counted():
    df = frame(6)
    df.index = pd.to_datetime([f"2021-01-{day:02} {hour}:00" for day in (4, 5) for hour in (10, 11, 12)])
    assert MarketPanel.from_frame(df).periods_per_year == 3 * 252.0


def test_too_few_bars_are_said():
    with pytest.raises(DataError, match="6 bars, but 10 are needed"):
        MarketPanel.from_frame(frame()).require_bars(10)
