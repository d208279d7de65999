"""The entry: figures count from the first bar that begins at the target, and what it took to get there is told apart."""

import json
import math
from dataclasses import replace

import backtrader as bt
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from datafeeds import IndexData, MarketPanel
from tests.markets import ordinary_feeds, random_panel, real_market
from tracker_strategies import (
    CostModel,
    HoldingsAnalyzer,
    MandateAnalyzer,
    PATracker,
    TrackingAnalyzer,
    backtest,
    charge,
    comparison,
    read_run,
    record_of,
    tearsheet,
)
from tracker_strategies.analysis.entry import Entry
from tracker_strategies.analysis.metrics import LIMIT_KEYS, METRIC_KEYS, TRACKING_KEYS
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.cli import app
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard.run import entrant, entrants, run_leaderboard

PANEL = random_panel(60, 5, seed=21, ohlc=True)
LIVING = random_panel(60, 5, seed=22, ohlc=True, gaps=True)
COSTS = CostModel(bps=7, slippage_bps=3)


def index_returns(panel):
    return panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0


def growth(returns):
    return float(np.prod(1.0 + np.asarray(returns)))


# -- which bars are scored ----------


@pytest.mark.parametrize("fill", ["next_open", "open"])
@pytest.mark.parametrize("run", [backtest, replay])
def test_with_fills_at_the_open_the_second_bar_after_the_decision_is_the_first(run, fill):
    record = run(PANEL, "pa", {"fill": fill}, costs=COSTS)
    m, y = record.metrics(), index_returns(PANEL)
    r = record.value[1:] / record.value[:-1] - 1.0
    assert (m["n_bars"], m["entry_bars"]) == (58, 1)
    assert m["te_rms"] == pytest.approx(math.sqrt(np.mean((r - y)[1:] ** 2)), rel=1e-12)
    assert m["turnover"] == pytest.approx(record.turnover[2:].mean(), rel=1e-12)
    assert m["entry_active_return"] == pytest.approx(r[0] - y[0], abs=1e-12)
    assert m["entry_turnover"] == record.turnover[1] > 0.9
    assert m["entry_cost_bps"] == pytest.approx(1e4 * record.cost[1] / record.value[0], rel=1e-12)


@pytest.mark.parametrize("run", [backtest, replay])
def test_with_fills_at_the_close_the_first_bar_after_the_decision_is_the_first(run):
    record = run(PANEL, "pa", {"fill": "close"}, costs=COSTS)
    m, y = record.metrics(), index_returns(PANEL)
    assert (m["n_bars"], m["entry_bars"]) == (59, 0)
    # What was bought at the close of bar 0, and what that cost, is the entry: bar 1 begins with what was left after it.
    value = np.r_[record.value[0] - record.cost[1], record.value[1:]]
    e = value[1:] / value[:-1] - 1.0 - y
    assert m["te_rms"] == pytest.approx(math.sqrt(np.mean(e**2)), rel=1e-12)
    assert m["turnover"] == pytest.approx(record.turnover[2:].sum() / 59, rel=1e-12)
    assert m["entry_turnover"] == record.turnover[1] > 0.9
    assert m["entry_active_return"] == pytest.approx(-record.cost[1] / record.value[0], rel=1e-9)
    assert m["entry_cost_bps"] == pytest.approx(-1e4 * m["entry_active_return"], rel=1e-9)


def test_the_day_in_cash_is_in_no_figure_of_a_real_market():
    """On the NASDAQ-100 it was 81 % of the squared error."""
    panel = real_market("nasdaq100_2019_2020_daily", gaps="freeze")
    record = replay(panel, "ensemble")
    e = record.returns - index_returns(panel)
    shown, before = record.metrics()["te_rms"], math.sqrt(np.mean(e**2))
    assert 1e4 * shown < 8.0 < 16.0 < 1e4 * before
    assert shown == pytest.approx(math.sqrt(np.mean(e[1:] ** 2)), rel=1e-12)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_scoring_from_a_later_bar_is_as_it_was(fill):
    record = replay(PANEL, "pa", {"fill": fill}, costs=COSTS)
    late, e = record.since(0.5), record.returns - index_returns(PANEL)
    assert late.metrics()["te_rms"] == pytest.approx(math.sqrt(np.mean(e[29:] ** 2)), rel=1e-12)
    assert late.metrics()["turnover"] == pytest.approx(record.turnover[30:].mean(), rel=1e-12)
    entry = {key: value for key, value in record.metrics().items() if key.startswith("entry")}
    assert late.metrics() | entry == late.metrics()
    assert record.since(0.01).metrics() == record.metrics()  # the entry is later


PARAMS = [
    {},
    {"fill": "close"},
    {"fill": "open"},
    {"lot": 1.0},
    {"rebalance": "monthly"},
    {"rebalance": "once", "fill": "close"},
    {"band": 0.05},
    {"entry_turnover": 0.1},
    {"entry_turnover": 0.1, "fill": "close", "lot": 10.0},
]


@pytest.mark.parametrize("params", PARAMS, ids=lambda p: ", ".join(f"{k}={v}" for k, v in p.items()) or "defaults")
@pytest.mark.parametrize("panel", [PANEL, LIVING], ids=["complete", "living"])
def test_replay_cerebro_and_the_analyzers_agree(panel, params):
    costs, params = CostModel(bps=5, min_fee=0.5), {"listing_warmup": 3, **params}
    engine, arrays = backtest(panel, "pa", params, costs=costs), replay(panel, "pa", params, costs=costs)
    assert engine.entry == arrays.entry
    assert engine.metrics() == pytest.approx(arrays.metrics(), rel=1e-9, abs=1e-12)
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro)
    charge(cerebro.broker, costs)
    cerebro.broker.setcash(1e6)
    cerebro.addstrategy(PATracker, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    cerebro.addanalyzer(MandateAnalyzer, _name="limits")
    (run,) = cerebro.run()
    limits = run.analyzers.limits.get_analysis()
    said = {**run.analyzers.tracking.get_analysis(), **run.analyzers.holdings.get_analysis()}
    assert set(said) == set(METRIC_KEYS)
    assert {key: limits[key] for key in LIMIT_KEYS} == {key: said[key] for key in LIMIT_KEYS}
    assert said == pytest.approx(engine.metrics(), rel=1e-9, abs=1e-12)
    assert record_of(run).metrics() == pytest.approx(engine.metrics(), rel=1e-9, abs=1e-12)


def test_an_entry_in_steps_ends_when_the_account_is_invested():
    record = backtest(PANEL, "pa", {"entry_turnover": 0.1}, costs=COSTS)
    m = record.metrics()
    there = 1 + m["entry_bars"]
    assert m["n_bars"] == 60 - there
    invested = record.weights.sum(axis=1)
    assert (invested[: there - 1] < 0.95).all()
    assert invested[there - 1] >= 0.9
    y, r = index_returns(PANEL), record.returns
    assert m["entry_active_return"] == pytest.approx(growth(r[: there - 1]) - growth(y[: there - 1]), abs=1e-12)
    assert m["entry_turnover"] == pytest.approx(record.turnover[1:there].sum(), rel=1e-12)


def test_a_market_that_moves_before_the_fill_delays_nothing():
    """Monthly bars without opens fill at the next close. What was planned is bought, and cash is left over; or all cash is spent
    on less than was planned.
    """
    panel = random_panel(30, 4, seed=5)
    close = panel.close.copy()
    close[1:] *= 0.8
    panel = replace(panel, close=close, dates=pd.date_range("2015-01-31", periods=30, freq="ME").to_numpy())
    record = backtest(panel, "pa")
    assert 0.75 < record.weights[1].sum() < 0.85
    assert record.entry == Entry(0, 1, 1)
    close = panel.close.copy()
    close[1:] *= 1.5
    record = replay(replace(panel, close=close), "pa", {"lot": 1e-6})
    assert record.weights[1].sum() > 0.99
    assert record.entry == Entry(0, 1, 1)


def test_an_account_that_lots_keep_a_third_in_cash_is_at_its_target():
    """One lot is all that it can pay."""
    panel = replace(PANEL, close=np.full_like(PANEL.close, 100.0) * PANEL.close / PANEL.close[0], open=None, high=None, low=None)
    record = backtest(panel, "equal-weight", {"lot": 1.0, "must_hold": {"S1": 0.01}}, cash=150.0)
    assert 0.6 < record.weights[1].sum() < 0.75
    assert record.metrics()["n_bars"] == 58
    assert record.metrics()["idle_cash"] > 0.25


def test_a_name_that_cannot_be_bought_on_the_first_bar_is_waited_for():
    panel = random_panel(40, 3, seed=8)
    close = panel.close.copy()
    close[1:4, 0] = np.nan
    panel = MarketPanel(panel.dates, panel.symbols, close, panel.targets, panel.target_close)
    record = backtest(panel, "equal-weight")
    assert (record.weights[1:4, 0] == 0.0).all()
    assert record.entry == Entry(0, 5, 5)  # it trades again on bar 4, at whose close it is ordered
    assert record.metrics()["n_bars"] == 34


def test_a_target_that_begins_late_is_waited_for_and_is_no_entry():
    panel = random_panel(40, 4, seed=9, ohlc=True)
    cerebro = bt.Cerebro(stdstats=False)
    for feed in ordinary_feeds(panel, holidays={"INDEX": range(12)}):
        cerebro.adddata(feed)
    cerebro.addstrategy(PATracker)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    (run,) = cerebro.run()
    record = record_of(run)
    assert record.entry == Entry(12, 13, 13)
    m = run.analyzers.tracking.get_analysis()
    assert (m["n_bars"], m["entry_bars"]) == (26, 1)
    assert m["te_rms"] == pytest.approx(record.metrics()["te_rms"], rel=1e-12)
    e = record.returns[13:] - index_returns(panel)[13:]
    assert m["te_rms"] == pytest.approx(math.sqrt(np.mean(e**2)), rel=1e-12)


# -- strategies of other origin ----------


class Plain(bt.Strategy):
    """Buys on one bar and holds."""

    params = (("when", 5), ("coc", False))

    def next(self):
        if len(self) == self.p.when:
            self.buy(self.getdatabyname("S0"), size=10, coc=self.p.coc)


def plain(panel, *, coc=False, feeds=None, **params):
    cerebro = bt.Cerebro(stdstats=False)
    if feeds is None:
        IndexData(panel).add_to(cerebro)
    for feed in feeds or ():
        cerebro.adddata(feed)
    cerebro.broker.set_coc(coc)
    cerebro.addstrategy(Plain, coc=coc, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    return cerebro.run()[0]


@pytest.mark.parametrize(("coc", "bars"), [(False, 54), (True, 55)])
def test_a_strategy_of_other_origin_counts_from_its_first_position_on(coc, bars):
    run = plain(PANEL, coc=coc)
    m = run.analyzers.tracking.get_analysis()
    assert (m["n_bars"], m["entry_bars"]) == (bars, int(not coc))
    value = run.analyzers.tracking.value
    e = value[1:] / value[:-1] - 1.0 - index_returns(PANEL)
    assert m["te_rms"] == pytest.approx(math.sqrt(np.mean(e[-bars:] ** 2)), rel=1e-12)
    record = record_of(run)
    said = {**m, **run.analyzers.holdings.get_analysis()}
    assert said == pytest.approx(record.metrics(), rel=1e-12)


def test_a_holiday_of_the_index_is_no_return_of_zero_for_a_strategy_of_other_origin():
    feeds = ordinary_feeds(PANEL, holidays={"INDEX": [20, 21]})
    run = plain(PANEL, feeds=[feeds[1], feeds[0], *feeds[2:]])
    assert run.analyzers.tracking.get_analysis()["n_bars"] == 52
    whole = plain(PANEL).analyzers.tracking.get_analysis()
    assert run.analyzers.tracking.get_analysis()["tracking_difference"] == pytest.approx(whole["tracking_difference"], rel=1e-9)


# -- accounts that never get there ----------

#: Sixty bars are not enough to spend a twentieth of the account.
SLOW = {"entry_turnover": 0.001}


@pytest.mark.parametrize("run", [backtest, replay])
def test_an_account_too_small_for_any_lot_is_refused(run):
    with pytest.raises(ParameterError, match=r"cheapest lot of 1e\+09 shares of S3 costs .*, but the account has 1e\+06"):
        run(PANEL, "pa", {"lot": 1e9})


def test_an_account_that_never_trades_has_no_scored_bar(tmp_path):
    run = plain(PANEL, when=1000)
    told = ("n_bars", "final_value", *LIMIT_KEYS)
    for said in (run.analyzers.tracking.get_analysis(), run.analyzers.holdings.get_analysis(), record_of(run).metrics()):
        assert all(math.isnan(v) for k, v in said.items() if k not in told and not k.startswith("entry"))
    m = record_of(run).metrics()
    assert {m[key] for key in LIMIT_KEYS} == {0}
    assert (m["n_bars"], m["entry_bars"], m["entry_turnover"]) == (0, 59, 0.0)
    assert m["entry_active_return"] == pytest.approx(1.0 - growth(index_returns(PANEL)), rel=1e-9)
    with pytest.raises(DataError, match="never bought anything"):
        tearsheet(run, tmp_path / "page.html")


def test_a_run_folder_of_an_account_that_never_got_there_is_valid_and_reads_back(tmp_path):
    record = backtest(PANEL, "pa", SLOW)
    place = write_run(record, tmp_path / "run", PANEL)
    found = json.loads((place / "metrics.json").read_text(), parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    assert (found["n_bars"], found["te_rms"], found["final_value"]) == (0, None, record.value[-1])
    assert json.loads((place / "run.json").read_text())["first_scored"] is None
    assert read_run(place).metrics()["n_bars"] == 0
    with pytest.raises(DataError, match="no bar is scored"):
        tearsheet(place, place / "tearsheet.html")
    assert not (place / "tearsheet.html").exists()


def test_an_account_that_gets_there_at_the_last_bar_says_to_give_more_bars(tmp_path):
    record = backtest(PANEL.rows(0, 3), "pa", {"entry_turnover": 0.5})
    assert record.metrics()["n_bars"] == 0
    with pytest.raises(DataError, match="give more bars"):
        tearsheet(record, tmp_path / "page.html")


def test_the_command_line_says_it_in_words_and_prints_valid_json(tmp_path):
    data = tmp_path / "prices.csv"
    PANEL.to_frame().to_csv(data)
    page = tmp_path / "page.html"
    common = ["compare", "pa", "equal-weight", "--data", str(data), "--param", "entry_turnover=0.001", "--json"]
    result = CliRunner().invoke(app, common)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout, parse_constant=lambda c: pytest.fail(f"{c} is not JSON"))
    assert (found["pa"]["n_bars"], found["pa"]["te_rms"]) == (0, None)
    assert "no bar is scored, because the account never got to its target: raise entry_turnover" in " ".join(
        result.stderr.split()
    )
    result = CliRunner().invoke(app, [*common[:-1], "--html", str(page)])
    assert result.exit_code == 0, result.output
    assert "nan" not in result.stdout
    assert not page.exists()


# -- runs that get there on different bars ----------


def test_runs_that_got_there_on_different_bars_are_compared_on_those_that_all_have(tmp_path):
    fast, slow = backtest(PANEL, "pa"), backtest(PANEL, "pa", {"entry_turnover": 0.1})
    text = comparison({"fast": fast, "slow": slow}, tmp_path / "page.html").read_text()
    n = slow.metrics()["n_bars"]
    assert text.count(f'data-metric="n_bars" value="{n}"') == 2
    assert f'value="{fast.since(str(slow.part.dates[1])).metrics()["te_rms"]!r}"' in text
    sheet = tearsheet(fast, tmp_path / "sheet.html", baselines=[slow]).read_text()
    for run in (fast, slow):  # each on its own bars, which the table tells
        assert f'data-metric="te_rms" value="{run.metrics()["te_rms"]!r}"' in sheet


def test_the_leaderboard_scores_what_the_metrics_do_and_names_who_never_got_there():
    result = run_leaderboard({"m": PANEL}, entrants(["pa", "equal-weight"]), eval_from="0")
    for row in result["rows"]:
        m = replay(PANEL, row["strategy"]).metrics()
        assert (row["te_rms"], row["n_bars"]) == (m["te_rms"], m["n_bars"])
    assert result["settings"]["fill"] == "next_open"
    (row,) = run_leaderboard({"m": PANEL}, [entrant("pa", SLOW)])["rows"]
    assert "no bar is scored" in row["error"]


def test_figures_against_each_of_several_targets_count_from_the_same_bar():
    two = MarketPanel(
        PANEL.dates, PANEL.symbols, PANEL.close, ("A", "B"), np.column_stack([PANEL.target_close[:, 0], PANEL.close[:, 0]])
    )
    record = backtest(two, "pa", {"blend": "0.6,0.4"})
    found = record.metrics_by_target()
    assert set(found["targets"]["A"]) == set(TRACKING_KEYS)
    assert {m["n_bars"] for m in (found, *found["targets"].values())} == {58}
    y = two.target_close[1] / two.target_close[0] - 1.0
    for j, name in enumerate(two.targets):
        assert found["targets"][name]["entry_active_return"] == pytest.approx(record.returns[0] - y[j], abs=1e-12)


def test_a_run_folder_of_an_older_version_counts_from_its_first_fill(tmp_path):
    for fill in ("next_open", "close"):
        record = backtest(PANEL, "pa", {"fill": fill}, costs=COSTS)
        place = write_run(record, tmp_path / fill, PANEL)
        told = json.loads((place / "run.json").read_text())
        for key in ("entry", "bars_per_year", "first_scored"):
            del told[key]
        (place / "run.json").write_text(json.dumps(told))
        pd.read_parquet(place / "returns.parquet").drop(columns="flow").to_parquet(place / "returns.parquet")
        assert read_run(place).metrics() == record.metrics()
