"""What is tracked: blends, margins, and targets one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datafeeds import MarketPanel
from tests.markets import random_panel
from tracker_strategies.algorithms import PA
from tracker_strategies.errors import ParameterError
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.strategies.target import Target

LEVELS = np.array([[100.0, 50.0], [101.0, 49.0], [103.0, 52.0]])


def test_a_margin_a_year_is_earned_bar_by_bar_and_compounds():
    target = Target(1, margin=0.15, bars_per_year=252)
    growth = np.prod([1.0 + target.returns(np.array([7.0]), np.array([7.0])) for _ in range(252)])
    assert growth == pytest.approx(1.15, rel=1e-12)
    assert target.returns(np.array([7.0]), np.array([7.7]), bars=3) == pytest.approx(1.1 * 1.15 ** (3 / 252) - 1.0, rel=1e-14)


@pytest.mark.parametrize("margin", ["2%,1%", "0.02,0.01", (0.02, "1 %"), np.array([0.02, 0.01])])
def test_margins_are_numbers_or_percentages_per_year(margin):
    target = Target(2, margin=margin, bars_per_year=52, each=True)
    np.testing.assert_array_equal(target.returns(LEVELS[0], LEVELS[0]), np.array([1.02, 1.01]) ** (1 / 52) - 1.0)


@pytest.mark.parametrize("margin", ["60%", 0.6, (0.02, 0.6), "-60%", 2])
def test_more_than_half_a_year_is_confirmed_or_refused(margin):
    with pytest.raises(ParameterError, match=r"above the usual limit of 50 %.* confirm_margin=True if you mean it"):
        Target(2, margin=margin, bars_per_year=252)
    Target(2, margin=margin, bars_per_year=252, confirm_margin=True)
    Target(2, margin=0.5, bars_per_year=252)


def test_a_percentage_without_its_sign_is_guessed():
    with pytest.raises(ParameterError, match=r"margin=2 is 200 % per year.* write 2% for 2 percent per year"):
        Target(1, margin=2, bars_per_year=252)
    with pytest.raises(ParameterError, match="fifteen percent"):  # the outer limit stands whatever was confirmed
        Target(1, margin=15, bars_per_year=252, confirm_margin=True)


@pytest.mark.parametrize("run", [backtest, replay])
def test_strategies_ask_for_the_confirmation(run):
    panel = random_panel(30, 4)
    with pytest.raises(ParameterError, match="above the usual limit"):
        run(panel, "pa", {"margin": "60%"})
    given, told = (run(panel, "pa", {"margin": margin, "confirm_margin": True}).decisions for margin in ("60%", 0.6))
    np.testing.assert_array_equal(given, told)
    with pytest.raises(ParameterError, match="confirm_margin must be True or False, got 1"):
        run(panel, "pa", {"confirm_margin": 1})


def test_rows_of_levels_give_what_single_bars_give():
    for options in ({}, {"blend": "1,3"}, {"margin": "0.1,0.2"}, {"each": True, "margin": 0.1}):
        target = Target(2, bars_per_year=252, **options)
        rows = target.returns(LEVELS[:-1], LEVELS[1:])
        for t in range(2):
            np.testing.assert_allclose(rows[t], target.returns(LEVELS[t], LEVELS[t + 1]), rtol=1e-14)


def test_targets_one_by_one_keep_their_own_margins():
    y = Target(2, margin=[0.0, 0.5], bars_per_year=2, each=True).returns(LEVELS[0], LEVELS[1])
    np.testing.assert_allclose(y, [0.01, 0.98 * 1.5**0.5 - 1.0], rtol=1e-12)


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=5).filter(lambda w: sum(w) > 1e-6))
def test_a_blend_is_the_weighted_mean_whatever_its_scale(weights):
    levels = np.abs(np.random.default_rng(0).normal(100.0, 1.0, (2, len(weights))))
    y = levels[1] / levels[0] - 1.0
    expected = np.average(y, weights=weights)
    assert Target(len(weights), weights).returns(*levels) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"blend": "0.5,x"}, "blend"),
        ({"blend": "1,2,3"}, "3 weights for 2 targets"),
        ({"blend": "0,0"}, "positive sum"),
        ({"margin": "much"}, "margin per year"),
        ({"margin": 15}, "fifteen percent"),
        ({"margin": "0.1,0.2,0.3"}, "3 entries for 2 targets"),
        ({"margin": 0.1, "bars_per_year": 0}, "bars_per_year=0 must be"),
        ({"margin": 0.1}, "give bars_per_year"),
        ({"margin": True}, "margin"),
    ],
)
def test_bad_goals_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        Target(2, **options)


def test_a_margin_is_what_the_algorithm_sees_and_only_that():
    panel = random_panel(60, 5, seed=3)
    x = panel.returns
    y = (1.0 + (panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0)) * 1.3 ** (1 / 252) - 1.0
    record = backtest(panel, "pa", {"margin": 0.3, "fill": "close"})
    np.testing.assert_allclose(record.decisions, PA(5).run(x, y), atol=1e-12)
    np.testing.assert_array_equal(record.index, panel.target_close)  # the tracking error is against the index as it is


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_every_strategy_takes_several_targets_and_margins(strategy):
    panel = random_panel(70, 5, seed=4)
    two = MarketPanel(
        panel.dates, panel.symbols, panel.close, ("A", "B"), np.column_stack([panel.target_close[:, 0], panel.close[:, 0] * 2.0])
    )
    params = {"blend": "0.6,0.4", "margin": "0.05,0.1"}
    engine, arrays = backtest(two, strategy, params), replay(two, strategy, params)
    np.testing.assert_allclose(engine.value, arrays.value, rtol=1e-9)
    np.testing.assert_allclose(engine.decisions, arrays.decisions, atol=1e-12)
    assert engine.index.shape == (70, 2)


def test_a_level_of_zero_is_no_bare_error():
    """What follows refuses the infinite return by name."""
    with np.errstate(divide="ignore"):
        assert Target(1).returns(np.array([0.0]), np.array([1.0])) == np.inf
