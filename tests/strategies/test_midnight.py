"""A market whose day ends at midnight beside one that closes in the afternoon: nobody knows its last price before midnight."""

import numpy as np
import pandas as pd
import pytest

from datafeeds import ExchangeRate, Market, MultiIndexData, join_markets
from datafeeds.markets.closing_times import closing_instants
from tracker_strategies import backtest
from tracker_strategies.errors import DataError
from tracker_strategies.testing.lookahead import check_no_lookahead

DAYS = pd.bdate_range("2024-01-04", "2024-03-29")


def tables(seed=0):
    """Three names and their index in each market, on the same dates."""
    rng = np.random.default_rng(seed)
    found = {}
    for place, target in (("NY", "SPX"), ("COINS", "TOTAL")):
        walk = 100.0 * np.exp((rng.standard_normal((len(DAYS), 3)) * 0.02).cumsum(axis=0))
        assets = pd.DataFrame(walk, index=DAYS, columns=[f"{place}{i}" for i in range(3)])
        found[place] = assets.assign(**{target: assets.mean(axis=1)})
    return found


def joined(frames, close):
    new_york = Market(frames["NY"], "SPX", "America/New_York", "16:00")
    return join_markets({"NY": new_york, "COINS": Market(frames["COINS"], "TOTAL", "UTC", close)}, decision="NY")


def leaks(close):
    """Decisions that change when only closes from after their moment do; the coins' day really ends at the midnight after."""
    frames = tables()
    truth = backtest(joined(frames, close), "pa")
    moments = closing_instants(truth.dates.astype("datetime64[D]"), "America/New_York", "16:00")
    ends = {
        "NY": closing_instants(DAYS.to_numpy().astype("datetime64[D]"), "America/New_York", "16:00"),
        "COINS": DAYS.to_numpy().astype("datetime64[D]").astype("datetime64[ns]") + np.timedelta64(24, "h"),
    }
    found = []
    for row in range(10, len(moments) - 2, 7):
        rng = np.random.default_rng(row)
        other = {
            place: frame * np.where(ends[place][:, None] > moments[row], np.exp(0.1 * rng.standard_normal(frame.shape)), 1.0)
            for place, frame in frames.items()
        }
        again = backtest(joined(other, close), "pa")
        if not np.array_equal(truth.decisions[: row + 1], again.decisions[: row + 1]):
            found.append(truth.dates[row])
    return found


def test_twenty_four_oclock_is_the_midnight_after_and_does_not_look_ahead():
    assert leaks("24:00") == []
    check_no_lookahead("pa", joined(tables(), "24:00"), cuts=(0.3, 0.7))


def test_the_scramble_sees_a_day_that_is_taken_to_have_ended_before_it_began():
    """A minute after the midnight before: what 00:00 used to mean."""
    assert len(leaks("00:01")) >= 5


@pytest.mark.parametrize("close", ["00:00", "0:00", " 00:00 "])
def test_the_midnight_before_is_refused_with_the_right_word(close):
    with pytest.raises(DataError, match=r"midnight before the session.* write '24:00'"):
        joined(tables(), close)
    with pytest.raises(DataError, match="24:00"):
        MultiIndexData.from_markets({"COINS": Market(tables()["COINS"], "TOTAL", "UTC", close)})
    rates = pd.Series(1.1, index=DAYS)
    with pytest.raises(DataError, match="24:00"):
        _ = ExchangeRate(rates, "UTC", close).quotes


def test_a_session_that_ends_after_midnight_counts_on():
    days = np.array(["2024-03-01", "2024-03-08"], dtype="datetime64[D]")
    late = closing_instants(days, "America/Chicago", "25:30")
    np.testing.assert_array_equal(late, np.array(["2024-03-02T07:30", "2024-03-09T07:30"], dtype="datetime64[ns]"))
    for bad in ("48:00", "16", "16:60", "-1:00", "noon"):
        with pytest.raises(DataError, match="must be a time of day"):
            closing_instants(days, "UTC", bad)
