"""Returns over a night: learned as they are, scaled by their own variance, or skipped; the portfolio looks at no later bar."""

import numpy as np
import pytest

from datafeeds import resample
from tests.intraday import minute_market
from tests.markets import random_panel
from tracker_strategies import backtest
from tracker_strategies.algorithms import AdaGrad
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.overnight import Overnight
from tracker_strategies.papertrade.deciding.checkpoint import freeze, thaw
from tracker_strategies.research import replay
from tracker_strategies.testing.lookahead import check_no_lookahead


@pytest.fixture(scope="module")
def panel():
    return resample(minute_market("2024-11-18", "2024-12-06"), "30 minutes")


def nights(panel):
    return np.diff(panel.dates) > np.timedelta64(4, "h")


def factors(overnight, panel):
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    return np.array([overnight.factor(*panel.dates[t : t + 2], y[t]) for t in range(len(y))])


def test_a_night_is_scaled_by_the_variances_of_what_was_before(panel):
    y, night = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0, nights(panel)
    found = factors(Overnight("scale"), panel)
    assert (found[~night] == 1.0).all()
    rows = np.flatnonzero(night)
    assert (found[rows[:5]] == 1.0).all()
    for row in rows[5:]:
        day, over = (np.mean(y[:row][which] ** 2) for which in (~night[:row], night[:row]))
        assert found[row] == pytest.approx(np.sqrt(day / over))
    assert found[rows[-1]] < 1.0  # nights are larger here


def test_skipped_nights_are_all_breaks_of_the_session_and_nothing_else(panel):
    np.testing.assert_array_equal(factors(Overnight("skip"), panel) == 0.0, nights(panel))
    hours = resample(minute_market("2024-11-18", "2024-11-22"), "2 hours")
    assert (factors(Overnight("skip"), hours) == 0.0).sum() == 4


@pytest.mark.parametrize("how", ["scale", "skip"])
def test_learners_see_them_so_and_both_engines_agree(panel, how):
    params = {"overnight": how, "rebalance": "session-close", "calendar": "XNYS"}
    one, two = backtest(panel, "adagrad", params), replay(panel, "adagrad", params)
    np.testing.assert_allclose(one.decisions, two.decisions, atol=1e-12)
    np.testing.assert_allclose(one.value, two.value, rtol=1e-9)
    learner, wanted = AdaGrad(panel.n_assets), []
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    for x, level, factor in zip(panel.returns, y, factors(Overnight(how), panel), strict=True):
        wanted.append(learner.weights if factor == 0.0 else learner.update(factor * x, factor * level))
    np.testing.assert_allclose(one.decisions[1:], wanted, atol=1e-12)
    assert np.abs(one.decisions - backtest(panel, "adagrad").decisions).max() > 1e-6
    check_no_lookahead("adagrad", panel, params, cuts=(0.6,))


def test_what_is_known_of_nights_goes_through_a_checkpoint(panel):
    whole, half = factors(Overnight("scale"), panel), Overnight("scale")
    first = factors(half, panel.rows(0, 101))
    again = thaw(freeze(half))
    np.testing.assert_array_equal(np.r_[first, factors(again, panel.rows(100, None))], whole)


def test_what_it_cannot_do_is_refused_by_name(panel):
    with pytest.raises(ParameterError, match="overnight must be one of learn, scale, skip, got 'nap'"):
        replay(panel, "pa", {"overnight": "nap"})
    with pytest.raises(ParameterError, match="overnight='skip' needs bars shorter than a day, but the data have bars of 1 day"):
        replay(random_panel(30, 3, seed=1), "pa", {"overnight": "skip"})
    for strategy, more in (("ensemble", {}), ("pa", {"coordinates": "shares"})):
        with pytest.raises(ParameterError, match="overnight='scale' needs coordinates='weights'"):
            replay(panel, strategy, {"overnight": "scale", **more})
