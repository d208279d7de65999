"""max_tracking_error: a budget per year that a tilt keeps to, or a refusal by name."""

from __future__ import annotations

import json
import math

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from tests.cli.commands import process
from tests.markets import ordinary_feeds, random_panel, real_market
from tracker_strategies import APASTracker, TrackerStrategy
from tracker_strategies.algorithms import PAS, Budgeted, Constant
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.strategies.registry import TILTED
from tracker_strategies.testing.lookahead import check_no_lookahead

PANEL = random_panel(120, 5, seed=4)
CLOSE = {"fill": "close"}
#: It learns share counts and nothing else.
ONE_WAY = ("tilted-ensemble", "weights")
PLAIN = {"pas": ("pas", {"side": "none"}), "apas": ("apas", {"side": "none"}), "tilted-ensemble": ("ensemble", {})}
FILES = [
    "nasdaq100_2019_2020_daily",
    "orlib_sp100_98_weekly",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in ("nasdaq100_2023_2024_daily", "sp500_2015_2020_daily", "ftse100_64_2010_2023_daily")
    ),
]


def per_year(record):
    return record.metrics()["te_rms"] * math.sqrt(record.periods_per_year)


@pytest.mark.parametrize("fill", ["close", "next_open"])
@pytest.mark.parametrize("name", TILTED)
@pytest.mark.parametrize("file", FILES)
def test_the_error_of_a_whole_run_is_within_the_budget_where_that_of_the_plain_tracker_is(file, name, fill):
    panel = real_market(file, gaps="freeze")
    other, params = PLAIN[name]
    floor = per_year(replay(panel, other, {"fill": fill, **params}))
    used = []
    for budget in (0.01, 0.02, 0.04):
        found = per_year(replay(panel, name, {"fill": fill, "max_tracking_error": budget}))
        assert found <= max(1.15 * budget, 1.02 * floor)
        used.append(found / budget)
    assert used[-1] > 0.35  # and it is used


def test_the_learner_is_cut_back_to_the_same_without_side_information():
    x, y = PANEL.returns, PANEL.target_close[1:, 0] / PANEL.target_close[:-1, 0] - 1.0
    learner = Budgeted(5, learner=PAS(5, lam=4.0), plain=PAS(5, side=Constant(0.0)), max_tracking_error=0.3)
    expected = learner.run(x, y)
    for budget, lam in (("30%", None), (0.3, 4.0), ("0.3", 20 / 5)):
        record = backtest(PANEL, "pas", {**CLOSE, "max_tracking_error": budget, "lam": lam})
        np.testing.assert_allclose(record.decisions, expected, atol=1e-12)
    plain = backtest(PANEL, "pas", {**CLOSE, "side": "none"}).decisions
    assert np.abs(expected - plain).max() > 0.01


@pytest.mark.parametrize(
    ("name", "coordinates"), [(name, way) for name in TILTED for way in ("weights", "shares") if (name, way) != ONE_WAY]
)
def test_both_engines_agree_in_all_coordinates(name, coordinates):
    params = {"max_tracking_error": "20%", "coordinates": coordinates, "fill": "next_open"}
    engine, arrays = backtest(PANEL, name, params, diagnostics=True), replay(PANEL, name, params)
    np.testing.assert_allclose(engine.decisions, arrays.decisions, atol=1e-12)
    np.testing.assert_allclose(engine.value, arrays.value, rtol=1e-9)
    said = engine.diagnostics
    assert {"tilt", "tilt_asked", "tilt_share", "te_year", "budget_used"} <= set(said.columns)
    assert said["tilt"].max() > 0.0


@pytest.mark.parametrize("name", TILTED)
def test_a_budget_looks_at_no_later_bar(name):
    check_no_lookahead(name, PANEL, {"max_tracking_error": "20%"}, cuts=(0.3, 0.6))


def test_limits_of_the_learner_hold_for_both_parts():
    record = backtest(PANEL, "apas", {**CLOSE, "max_weight": 0.3, "max_tracking_error": "30%"})
    assert record.decisions.max() <= 0.3 + 1e-12


def test_a_margin_counts_as_no_error():
    """A target that is lifted by 40 % per year, 13 bp per bar, would use up a budget of 4 % for ever."""
    panel = real_market("nasdaq100_2019_2020_daily")
    params = {**CLOSE, "max_tracking_error": "4%", "margin": "40%"}
    said = backtest(panel, "tilted-ensemble", params, diagnostics=True).diagnostics
    assert said["tilt_share"].iloc[-100:].mean() > 0.2


def test_strategies_with_a_tilt_are_those_that_are_named():
    assert sorted(cls.alias_name for cls in STRATEGIES if cls.tilts) == sorted(TILTED)


@pytest.mark.parametrize("cls", [cls for cls in STRATEGIES if not cls.tilts], ids=lambda cls: cls.alias_name)
def test_who_has_no_tilt_refuses_a_budget_by_name(cls):
    for run in (backtest, replay):
        with pytest.raises(ParameterError, match=f"{cls.alias_name} has no tilt to reduce.*choose one of tilted-ensemble, pas"):
            run(PANEL, cls, {"max_tracking_error": "2%"})


def test_none_of_several_runs_begins_when_one_cannot(tmp_path):
    out = tmp_path / "runs"
    done = process("compare", "pas", "pa", "--param", "max_tracking_error=2%", "--out", str(out))
    assert done.returncode != 0
    assert "pa has no tilt to reduce" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("run", [backtest, replay])
def test_the_old_budget_per_bar_is_refused_with_the_conversion(run):
    weekly = pd.date_range("2001-01-05", periods=120, freq="W-FRI").to_numpy()
    weeks = MarketPanel(weekly, PANEL.symbols, PANEL.close, PANEL.targets, PANEL.target_close)
    with pytest.raises(
        ParameterError,
        match=r"te_budget=0.001, a budget per bar, .* use max_tracking_error=1.6% instead, a budget per year of 252 bars",
    ):
        run(PANEL, "apas", {"te_budget": 0.001})
    with pytest.raises(ParameterError, match=r"use max_tracking_error=2.2% instead, a budget per year of 52 bars"):
        run(weeks, "pa", {"te_budget": 0.003})
    with pytest.raises(ParameterError, match=r"te_budget='much', a budget per bar, .* use max_tracking_error=2%"):
        run(PANEL, "apas", {"te_budget": "much"})
    with pytest.raises(ParameterError, match=r"budget_bars=100 was removed"):
        run(PANEL, "apas", {"budget_bars": 100})


def test_in_a_cerebro_of_ones_own_too():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(APASTracker, te_budget=0.001)
    with pytest.raises(ParameterError, match=r"te_budget=0.001, a budget per bar, was removed"):
        cerebro.run()


@pytest.mark.parametrize(
    ("bars", "params", "words"),
    [
        (62, {}, "62 bars are too few to measure it; use at least 63"),
        (39, {"bars_per_year": 52}, "39 bars are too few to measure it; use at least 40"),
        (120, {"bars_per_year": 12}, "a year of 12 bars is too short"),
    ],
)
def test_too_few_bars_are_refused(bars, params, words):
    for run in (backtest, replay):
        with pytest.raises(ParameterError, match=words):
            run(PANEL.rows(0, bars), "pas", {"max_tracking_error": "2%", **params})
    replay(PANEL.rows(0, 63), "pas", {"max_tracking_error": "2%"})


def test_feeds_that_do_not_tell_a_year_are_refused():
    class Untold(APASTracker):
        def __init__(self):
            self.p.bars_per_year = None
            super().__init__()

    cerebro = bt.Cerebro(stdstats=False, preload=False, runonce=False)
    for feed in ordinary_feeds(PANEL):
        feed._timeframe = bt.TimeFrame.Minutes
        feed._dataname = feed.p.dataname
        cerebro.adddata(feed, name=feed.p.name)
    cerebro.addstrategy(Untold, max_tracking_error="2%")
    with pytest.raises(ParameterError, match=r"do not show how many bars a year has; give bars_per_year, 252 for daily bars"):
        cerebro.run()


@pytest.mark.parametrize("bad", [0, -0.1, 2, "2 percent", True, float("nan"), [0.02]])
def test_a_budget_that_is_none_is_named(bad):
    with pytest.raises(ParameterError, match="max_tracking_error must be a fraction above 0"):
        replay(PANEL, "pas", {"max_tracking_error": bad})


def test_what_was_asked_and_used_is_in_the_figures(tmp_path):
    record = backtest(PANEL, "pas", {**CLOSE, "max_tracking_error": "30%", "margin": "2%"})
    place = write_run(record, tmp_path / "run", PANEL)
    told = json.loads((place / "metrics.json").read_text())
    assert told["max_tracking_error"] == 0.3
    assert told["te_year"] == pytest.approx(per_year(record))
    assert told["budget_used"] == pytest.approx(told["te_year"] / 0.3)
    assert told["margin"] == 0.02
    assert told["excess_per_year"] == pytest.approx(math.expm1(told["excess_log_return"] * 252 / told["n_bars"]))
    assert set(told) - set(backtest(PANEL, "pas", CLOSE).metrics_by_target()) == {
        "max_tracking_error",
        "te_year",
        "budget_used",
        "margin",
        "excess_per_year",
    }


def test_several_margins_are_told_as_they_are_blended():
    two = MarketPanel(
        PANEL.dates, PANEL.symbols, PANEL.close, ("A", "B"), np.column_stack([PANEL.target_close[:, 0], 2.0 * PANEL.close[:, 0]])
    )
    for blend, expected in ((None, 0.03), ("3,1", 0.025)):
        assert replay(two, "pa", {"margin": "2%,4%", "blend": blend}).metrics_by_target()["margin"] == pytest.approx(expected)


def test_the_table_ends_with_the_budget():
    done = process(
        "run", "pas", "--data", "synthetic:n_assets=5,n_bars=90", "--param", "max_tracking_error=1%", "--param", "margin=2%"
    )
    assert done.returncode == 0, done.stderr
    assert "% of the budget of 1 %" in done.stdout
    assert "target excess return" in done.stdout


def test_a_paper_account_keeps_the_year_of_its_source(tmp_path):
    account = PaperAccount.create(
        tmp_path / "a", "pas", "days", {"max_tracking_error": "2%"}, panel=PANEL, start=str(PANEL.dates[0])[:10]
    )
    assert account.config.params["bars_per_year"] == 252.0


def test_a_strategy_of_ones_own_says_that_it_tilts():
    class Mine(TrackerStrategy):
        learner = PAS

    with pytest.raises(ParameterError, match="has no tilt to reduce"):
        backtest(PANEL, Mine, {"max_tracking_error": "2%"})
