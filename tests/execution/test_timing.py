import numpy as np
import pandas as pd
import pytest

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.timing import Schedule

DAYS = pd.bdate_range("2021-11-15", periods=120).to_numpy()


def due(every):
    schedule = Schedule(every)
    return DAYS[[schedule.due(day) for day in DAYS]]


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


@pytest.mark.parametrize("every", [0, -1, "daily", 1.5, True])
def test_nonsense_is_refused(every):
    with pytest.raises(ParameterError, match="rebalance="):
        Schedule(every)
