"""What a manager looks for: years and months by hand, intervals that hold, turnover in both conventions."""

import math

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tracker_strategies import CostModel
from tracker_strategies.analysis.manager import (
    active_share,
    active_weights,
    beta,
    calendar_years,
    monthly_active,
    r_squared,
    trading,
    trailing_years,
)
from tracker_strategies.analysis.manager.exposure import beta_of, largest_active, r_squared_of
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.research import replay

PANEL = random_panel(900, 6, seed=2)  # from 1 January 2020 on, business days
RECORD = replay(PANEL, "pa", {}, costs=CostModel(bps=5))


def series(record):
    r, y = record.scored()
    return pd.DataFrame({"r": r, "y": y}, index=pd.DatetimeIndex(record.part.dates[1:]))


def test_a_calendar_year_is_what_its_bars_compound_to():
    table, bars = calendar_years(RECORD), series(RECORD)
    assert table.index.tolist() == [2020, 2021, 2022, 2023]
    assert table["whole"].tolist() == [True, True, True, False]
    own = bars.loc["2021"]
    r, y = np.prod(1 + own["r"]) - 1, np.prod(1 + own["y"]) - 1
    assert table.loc[2021, "portfolio"] == pytest.approx(r)
    assert table.loc[2021, "tracking_difference"] == pytest.approx(r - y)
    assert table.loc[2021, "tracking_error"] == pytest.approx((own["r"] - own["y"]).std() * math.sqrt(RECORD.periods_per_year))
    assert table["n_bars"].sum() == len(bars)
    assert np.prod(1 + table["portfolio"]) == pytest.approx(np.prod(1 + bars["r"]))
    assert not calendar_years(RECORD.since("2020-03-02")).loc[2020, "whole"]


def test_trailing_years_are_annualised_and_one_that_is_longer_than_the_run_has_no_figures():
    table, bars = trailing_years(RECORD), series(RECORD)
    assert table.index.tolist() == ["1 year", "3 years", "5 years", "all"]
    assert math.isnan(table.loc["5 years", "tracking_difference"])
    assert not table.loc["5 years", "whole"]
    own = bars[bars.index > bars.index[-1] - pd.DateOffset(years=3)]
    per_year = RECORD.periods_per_year / len(own)
    r, y = (np.prod(1 + own[c]) ** per_year - 1 for c in "ry")
    assert table.loc["3 years", "tracking_difference"] == pytest.approx(r - y)
    short = RECORD.since("2023-01-02")
    assert trailing_years(short).loc["all", "portfolio"] == pytest.approx(np.prod(1 + series(short)["r"]) - 1)
    with pytest.raises(ParameterError, match="whole numbers"):
        trailing_years(RECORD, (0,))


def test_months_are_differences_of_compounded_returns():
    table, bars = monthly_active(RECORD), series(RECORD)
    own = bars.loc["2021-05"]
    assert table.loc[2021, "May"] == pytest.approx(np.prod(1 + own["r"]) - np.prod(1 + own["y"]))
    assert math.isnan(table.loc[2023, "Dec"])
    assert table.loc[2021, "year"] == pytest.approx(calendar_years(RECORD).loc[2021, "tracking_difference"])


def test_beta_and_r_squared_are_those_of_a_regression_and_inside_their_intervals():
    r, y = RECORD.scored()
    slope, rho = np.polyfit(y, r, 1)[0], np.corrcoef(r, y)[0, 1]
    found, share = beta(RECORD), r_squared(RECORD)
    assert found.value == pytest.approx(slope)
    assert share.value == pytest.approx(rho**2)
    assert found.low < slope < found.high
    assert share.low < rho**2 < share.high < 1.0


def test_their_intervals_hold_what_they_promise():
    rng = np.random.default_rng(0)
    held = [0, 0]
    for _ in range(300):
        y = rng.standard_normal(250)
        r = 0.9 * y + 0.5 * rng.standard_t(5, 250) / math.sqrt(5 / 3)
        found, share = beta_of(r, y), r_squared_of(r, y)
        held[0] += found.low <= 0.9 <= found.high
        held[1] += share.low <= 0.81 / (0.81 + 0.25) <= share.high
    assert all(270 <= count <= 298 for count in held)


def test_an_index_that_does_not_move_has_no_beta_and_a_copy_of_it_is_all_index():
    y = np.linspace(-0.01, 0.01, 50)
    assert all(math.isnan(v) for v in beta_of(y, np.zeros(50)))
    assert all(math.isnan(v) for v in r_squared_of(y[:5], y[:5]))
    assert r_squared_of(y, y) == (1.0, 1.0, 1.0)
    assert beta_of(2.0 * y, y).value == pytest.approx(2.0)


def test_active_share_counts_cash_and_what_is_not_in_the_data():
    b = np.array([0.5, 0.3, 0.2])
    assert active_share(b, b) == pytest.approx(0.0)
    assert active_share(np.array([0.0, 0.0, 0.0]), b) == pytest.approx(1.0)  # all in cash
    assert active_share(np.array([0.6, 0.3, 0.1]), b) == pytest.approx(0.1)
    assert active_share(np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.5, 0.0])) == pytest.approx(1.0)
    with pytest.raises(DataError, match="do not match"):
        active_weights(b, b[:2])
    table = largest_active(RECORD, np.full(6, 1.0 / 6.0), 3)
    assert len(table) == 3
    assert table["active"].abs().is_monotonic_decreasing


def test_turnover_has_both_conventions_and_a_holding_period():
    found, metrics = trading(RECORD), RECORD.metrics()
    assert found.two_way == pytest.approx(metrics["turnover"] * RECORD.periods_per_year)
    assert found.one_way == pytest.approx(0.5 * found.two_way)
    assert found.holding_years == pytest.approx(1.0 / found.one_way)
    still = trading(replay(PANEL, "buy-and-hold", {"fill": "close"}))
    assert (still.two_way, still.holding_years, still.open_spells) == (0.0, math.inf, 6)


def test_spells_are_counted_from_the_first_close_to_the_last():
    from tracker_strategies.analysis.manager.turnover import _spells

    held = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 1, 1]], dtype=bool)
    assert _spells(held) == ([2, 1], 2)
