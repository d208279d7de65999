"""A bar is kept when its session is over, and events on days without a price move on to the next one."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from datafeeds.yahoo.bars import traded_bars
from datafeeds.yahoo.client import Answer
from datafeeds.yahoo.report import SeriesFailure, Status
from tests.datafeeds.yahoo.market import DAYS, NEW_YORK
from tests.datafeeds.yahoo.server import Listing, walk, weekdays


def zone_at_noon():
    """Somewhere on the earth it is between 10 and 22 o'clock."""
    zones = ("Etc/GMT-12", "Etc/GMT", "Etc/GMT+12")
    return next(zone for zone in zones if 10 <= datetime.now(ZoneInfo(zone)).hour < 22)


def test_the_bar_of_a_running_session_is_not_kept(yahoo, fetch, cache):
    zone = zone_at_noon()
    now = datetime.now(ZoneInfo(zone))
    close = [*walk(80, seed=4), 55.0]
    for ticker in ("^GEN", "AAA"):
        yahoo.listings[ticker] = Listing([*DAYS, now.date()], close, zone=zone, session_end=now + timedelta(hours=1))
    yahoo.listings["AAA"].splits = {now.date(): (2, 1)}
    fetch("AAA")
    kept = cache.read("AAA")
    assert kept.last_day == DAYS[-1]
    assert kept.covered_until == now.date() - timedelta(days=1)
    # today's split has halved the past already, and was undone although today's bar was not kept
    assert kept.bars["close"].to_numpy() == pytest.approx(yahoo.listings["AAA"].close[:80], rel=1e-6)


def answer(days, session_end, split=None):
    index = pd.DatetimeIndex([pd.Timestamp(d).tz_localize(NEW_YORK) for d in days], name="Date")
    frame = pd.DataFrame({"Open": 1.0, "High": 1.0, "Low": 1.0, "Close": 1.0, "Volume": 5}, index=index)
    frame["Dividends"], frame["Stock Splits"] = 0.0, 0.0
    return Answer(frame, "USD", session_end)


@pytest.mark.parametrize(
    ("now", "end", "covered"),
    [
        ("2024-03-06 16:29", "2024-03-06 16:00", "2024-03-05"),  # Wednesday, closed but not settled
        ("2024-03-06 16:30", "2024-03-06 16:00", "2024-03-06"),
        ("2024-03-06 09:00", "2024-03-05 16:00", "2024-03-05"),  # the hours of the session before
        ("2024-03-06 13:31", "2024-03-06 13:00", "2024-03-06"),  # an early close
        ("2024-03-06 23:50", "2024-03-07 00:30", "2024-03-05"),  # a session across midnight
        ("2024-03-06 18:00", "2023-11-01 16:00", "2024-03-06"),  # a dead name, after the close of the living
        ("2024-03-06 18:00", None, "2024-03-05"),
    ],
)
def test_a_day_is_covered_half_an_hour_after_its_session(now, end, covered):
    days = weekdays("2024-03-01", 4)
    close = None if end is None else pd.Timestamp(end, tz=NEW_YORK)
    bars, until = traded_bars(answer(days, close), pd.Timestamp(now, tz=NEW_YORK).to_pydatetime())
    assert until == date.fromisoformat(covered)
    assert bars.index[-1].date() == min(until, days[-1])


def test_events_between_two_prices_meet_at_the_next_one():
    """A dividend of 2, then a split of 2:1, both on days without a price: 1 for each share of the next bar."""
    ask = answer(weekdays("2024-03-01", 5), None)
    ask.frame.loc[ask.frame.index[1:3], ["Open", "High", "Low", "Close"]] = np.nan
    ask.frame["Dividends"] = [0.0, 1.0, 0.0, 0.25, 0.0]  # as Yahoo shows it: in the shares of today
    ask.frame["Stock Splits"] = [0.0, 0.0, 2.0, 0.0, 0.0]
    bars, _ = traded_bars(ask, datetime(2024, 4, 1, tzinfo=UTC))
    assert bars["close"].tolist() == [2.0, 1.0, 1.0]
    assert bars["split"].tolist() == [1.0, 2.0, 1.0]
    assert bars["dividend"].tolist() == [0.0, 1.25, 0.0]


def test_a_frame_without_a_column_is_malformed():
    ask = answer(weekdays("2024-03-01", 5), None)
    with pytest.raises(SeriesFailure, match="'Dividends'") as caught:
        traded_bars(Answer(ask.frame.drop(columns="Dividends"), "", None), datetime(2024, 4, 1, tzinfo=UTC))
    assert caught.value.status is Status.MALFORMED


@pytest.mark.parametrize("value", [{"raw": 1.0}, [1.0], "soon"])
@pytest.mark.parametrize("column", ["Close", "Volume", "Dividends"])
def test_a_value_that_is_not_a_number_is_malformed(column, value):
    ask = answer(weekdays("2024-03-01", 5), None)
    ask.frame[column] = ask.frame[column].astype(object)
    ask.frame.at[ask.frame.index[2], column] = value
    with pytest.raises(SeriesFailure, match=f"{column[:8].lower()}.* has a value that is not a number") as caught:
        traded_bars(ask, datetime(2024, 4, 1, tzinfo=UTC))
    assert caught.value.status is Status.MALFORMED
