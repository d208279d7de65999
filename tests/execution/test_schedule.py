"""Schedules: on which bars a portfolio follows its learner, told without a look at the bars to come."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.schedule import Schedule
from tracker_strategies.papertrade.deciding.checkpoint import freeze, thaw
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.testing.lookahead import check_no_lookahead

DAYS = pd.bdate_range("2021-11-15", periods=120).to_numpy()
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")
NAMES = ("daily", "weekly", "monthly", "quarterly", "yearly", *WEEKDAYS, "month-end", "once")


def due(every, days=DAYS, calendar=None):
    schedule = Schedule(every, calendar)
    return days[[schedule.due(day) for day in days]]


def told(days):
    return days.astype("datetime64[D]").astype(str).tolist()


def test_every_so_many_bars():
    assert (due(1) == DAYS).all()
    assert (due("5") == DAYS[::5]).all()


def test_once_is_the_first_bar():
    assert due("once").tolist() == DAYS[:1].tolist()


@pytest.mark.parametrize(("every", "unit", "n"), [("monthly", "M", 1), ("quarterly", "M", 3), ("yearly", "Y", 1)])
def test_calendar_periods_trade_on_their_first_bar(every, unit, n):
    period = DAYS.astype(f"datetime64[{unit}]").astype(int) // n
    assert (due(every) == DAYS[np.r_[True, np.diff(period) != 0]]).all()


def test_weeks_begin_on_monday():
    assert (due("weekly") == DAYS[::5]).all()  # the days begin with a Monday and know no holidays


def test_daily_is_the_first_bar_of_each_day():
    assert (due("daily") == DAYS).all()
    hours = (DAYS[:4, None] + np.array([10, 11, 15], dtype="timedelta64[h]")).ravel()
    assert (due("daily", hours) == hours[::3]).all()


@pytest.mark.parametrize("k", range(5))
def test_a_weekday_is_that_day_after_the_first_bar(k):
    found = due(WEEKDAYS[k])
    assert found[0] == DAYS[0]
    assert (found[found > DAYS[0]] == DAYS[k::5][DAYS[k::5] > DAYS[0]]).all()


def test_a_weekday_without_a_bar_is_made_up_for_on_the_next_bar_there_is():
    days = np.array(["2021-12-15", "2021-12-17", "2021-12-23", "2021-12-27", "2021-12-31"], dtype="datetime64[ns]")
    # Christmas Eve 2021, a Friday, was a holiday in New York: the trade is on Monday.
    assert told(due("friday", days)) == ["2021-12-15", "2021-12-17", "2021-12-27", "2021-12-31"]
    # A run that misses a whole week trades once, not twice.
    assert told(due("monday", days)) == ["2021-12-15", "2021-12-23", "2021-12-27"]


def test_the_end_of_a_month_is_its_last_weekday_where_no_exchange_is_named():
    expected = ["2021-11-15", "2021-11-30", "2021-12-31", "2022-01-31", "2022-02-28", "2022-03-31", "2022-04-29"]
    assert told(due("month-end")) == expected


def test_a_month_whose_last_weekday_has_no_bar_is_made_up_for_on_the_first_bar_after_it():
    days = DAYS[~np.isin(DAYS.astype("datetime64[D]").astype(str), ["2022-01-31", "2022-02-28", "2022-03-01"])]
    assert told(due("month-end", days))[3:5] == ["2022-02-01", "2022-03-02"]


@pytest.mark.parametrize("freq", ["ME", "MS", "BME", "W-WED"])
def test_the_end_of_a_month_comes_once_per_month_whatever_the_bars(freq):
    days = pd.date_range("2019-01-01", "2021-12-31", freq=freq).to_numpy()
    ends = pd.date_range("2018-12-01", "2022-01-31", freq="BME").to_numpy()
    found = np.searchsorted(ends, due("month-end", days)[1:], side="right")
    assert len(found) >= 34
    assert (np.diff(found) == 1).all()  # one bar for every end that has come


def test_hours_of_the_last_session_are_one_rebalance():
    hours = (DAYS[:40, None] + np.array([10, 15], dtype="timedelta64[h]")).ravel()
    assert [str(t)[:13] for t in due("month-end", hours)] == ["2021-11-15T10", "2021-11-30T10", "2021-12-31T10"]


def test_an_exchange_tells_its_last_session():
    pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[calendars]'")
    days = pd.bdate_range("2021-05-03", "2021-07-09").to_numpy()
    # Memorial Day: 31 May 2021, the last weekday of its month, was no session in New York.
    open_days = days[days != np.datetime64("2021-05-31", "ns")]
    assert told(due("month-end", open_days, "XNYS")) == ["2021-05-03", "2021-05-28", "2021-06-30"]
    assert told(due("month-end", open_days)) == ["2021-05-03", "2021-06-01", "2021-06-30"]
    # A day that the file misses is not taken for a holiday of the exchange.
    gap = open_days[open_days != np.datetime64("2021-05-28", "ns")]
    assert told(due("month-end", gap, "XNYS")) == ["2021-05-03", "2021-06-01", "2021-06-30"]


def test_an_unknown_exchange_is_named_before_the_first_bar():
    pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[calendars]'")
    with pytest.raises(ParameterError, match=r"calendar='MARS': no calendar named 'MARS'; use .* XNYS"):
        Schedule("month-end", "MARS")
    with pytest.raises(ParameterError, match=r"calendar=\['XNYS'\] must be the code"):
        Schedule("month-end", ["XNYS"])


def test_without_the_package_a_calendar_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "exchange_calendars", None)
    with pytest.raises(ParameterError, match=r"calendar='XWBO': .*pip install"):  # nobody has asked for that one so far
        Schedule("month-end", "XWBO")


@pytest.mark.parametrize("every", NAMES)
def test_no_bar_to_come_changes_what_was_due(every):
    cut = 60
    whole = due(every)
    assert (due(every, DAYS[:cut]) == whole[whole < DAYS[cut]]).all()
    later = np.r_[DAYS[:cut], DAYS[cut:] + np.timedelta64(9, "D")]
    assert (due(every, later)[: len(due(every, DAYS[:cut]))] == whole[whole < DAYS[cut]]).all()


@pytest.mark.parametrize("every", NAMES)
@pytest.mark.parametrize("at", [0, 1, 11, 34, 60])
def test_a_schedule_goes_on_from_a_checkpoint(every, at):
    whole, half = Schedule(every), Schedule(every)
    expected = [whole.due(day) for day in DAYS]
    found = [half.due(day) for day in DAYS[:at]]
    text = freeze(half)
    assert text is not None
    again = thaw(text)
    assert again == half
    assert found + [again.due(day) for day in DAYS[at:]] == expected


def test_a_checkpoint_from_before_there_were_calendars_goes_on():
    schedule = Schedule("monthly")
    before = [schedule.due(day) for day in DAYS[:30]]
    packed = json.loads(freeze(schedule))
    packed["o"][1] = [entry for entry in packed["o"][1] if entry[0] != "calendar"]
    old = thaw(json.dumps(packed))
    assert old.calendar is None
    assert before + [old.due(day) for day in DAYS[30:]] == [Schedule.due(s, day) for s in [Schedule("monthly")] for day in DAYS]


@pytest.mark.parametrize("every", ["daily", "month-end", "wednesday"])
def test_strategies_trade_on_those_days_in_both_engines(every):
    panel = random_panel(80, 4, seed=8)
    params = {"rebalance": every, "fill": "close"}
    engine, arrays = backtest(panel, "pa", params), replay(panel, "pa", params)
    np.testing.assert_allclose(engine.value, arrays.value, rtol=1e-9)
    traded = np.unique(engine.orders["date"].to_numpy())
    assert told(traded) == told(due(every, panel.dates[:-1]))  # what is sent on the last bar fills no more
    check_no_lookahead("pa", panel, params, cuts=(0.5,))


@pytest.mark.parametrize("every", [0, -1, "secondly", 1.5, True, "", None])
def test_nonsense_is_refused(every):
    with pytest.raises(ParameterError, match="rebalance="):
        Schedule(every)


@pytest.mark.parametrize(
    ("every", "near"),
    [
        ("month", "monthly or month-end"),
        ("month_end", "month-end"),
        ("Monthly", "monthly"),
        ("quarter", "quarterly"),
        ("fri", "friday"),
        ("wensday", "wednesday"),
        ("dayly", "daily"),
    ],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(every, near):
    with pytest.raises(ParameterError, match=rf"did you mean {near}\?$"):
        Schedule(every)
