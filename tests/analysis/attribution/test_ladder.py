"""Where the error comes from: each rung recomputed from the run's files by other code, and no effect without its friction."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tracker_strategies import CostModel, backtest
from tracker_strategies.analysis.attribution import CAUSES, attribute
from tracker_strategies.analysis.attribution.ladder import Bars
from tracker_strategies.analysis.recording import attribution_of
from tracker_strategies.analysis.runfolder import read_run, write_run
from tracker_strategies.errors import DataError

PANEL = random_panel(130, 7, seed=4, ohlc=True)
RUNS = {
    "free": ("pa", {}, None),
    "at the close": ("pa", {"fill": "close"}, None),
    "at the open": ("apas", {"fill": "open"}, CostModel(bps=4)),
    "weekly, slipping": ("pa", {"rebalance": 5}, CostModel(bps=5, slippage_bps=8)),
    "lots, band, limits": ("ensemble", {"max_weight": 0.18, "lot": 10, "band": 0.01}, CostModel(bps=5)),
    "few names, little turnover": ("pa", {"max_names": 4, "max_turnover": 0.1, "min_cash": 0.02}, None),
    "priced trades at the close": ("pa", {"max_weight": 0.3, "fill": "close", "cost_aware": 10}, CostModel(bps=10)),
}


@pytest.fixture(scope="module", params=sorted(RUNS))
def run(request):
    name, params, costs = RUNS[request.param]
    return request.param, backtest(PANEL, name, params, costs=costs, cash=50_000.0, stages=True)


def test_both_attributions_add_up_to_every_bar_and_linked_to_the_tracking_difference(run):
    _, record = run
    found = attribute(record)
    active = np.subtract(*record.scored())
    for effects in (found.causes, found.names, found.by_sector):
        np.testing.assert_allclose(effects.to_numpy().sum(axis=1), active, rtol=0, atol=1e-12)
        assert found.linked(effects).sum() == pytest.approx(record.metrics()["tracking_difference"], abs=1e-10)
        assert found.shares(effects).sum() == pytest.approx(1.0, abs=1e-10)


def test_each_rung_is_what_the_files_of_the_run_say(run, tmp_path):
    """By loops over orders, prices and decisions, without a line of the code that made them."""
    label, record = run
    folder = write_run(record, tmp_path / "run", PANEL)
    stages, returns = pd.read_parquet(folder / "stages.parquet"), pd.read_parquet(folder / "returns.parquet")
    orders, found = pd.read_parquet(folder / "orders.parquet"), pd.read_parquet(folder / "attribution.parquet")
    symbols, dates = PANEL.symbols, pd.DatetimeIndex(PANEL.dates)
    at_close = RUNS[label][1].get("fill") == "close"
    held, value, cost = np.zeros(7), returns["value"].to_numpy().copy(), returns["cost"].to_numpy().copy()
    rungs = {}
    for t in range(1, len(dates)):
        before = held.copy()
        for _, order in orders[orders["date"] == dates[t - 1 if at_close else t]].iterrows():
            held[symbols.index(order["symbol"])] += order["size"]
        reference = PANEL.close[t - 1] if at_close else PANEL.open[t]
        gained = 0.0
        for i in range(7):
            gained += before[i] * (reference[i] - PANEL.close[t - 1, i]) + held[i] * (PANEL.close[t, i] - reference[i])
        rungs[dates[t]] = (t, gained)
    first = returns.index.get_loc(found.index[0])
    if at_close:  # the trades of the entry are paid before the first scored bar
        value[first - 1] -= cost[first]
        cost[first] = 0.0
    for date, row in found.iterrows():
        t, gained = rungs[date]
        x = [PANEL.close[t, i] / PANEL.close[t - 1, i] - 1.0 for i in range(7)]
        before = stages.iloc[t - 1]
        rung, expected = None, [returns[PANEL.targets[0]].iloc[t]]
        for name in ("wish", "allowed", "traded", "rounded"):
            if f"{name} {symbols[0]}" in stages:
                rung = sum(before[f"{name} {symbol}"] * move for symbol, move in zip(symbols, x, strict=True))
            expected.append(rung)
        expected.append(gained / value[t - 1])
        expected.append(value[t] / value[t - 1] - 1.0)
        steps = [after - step for step, after in pairwise(expected)]
        assert [row[cause] for cause in CAUSES] == pytest.approx(steps, abs=1e-12)
        assert row["costs"] == pytest.approx(-cost[t] / value[t - 1], abs=1e-12)


@pytest.mark.parametrize(
    ("cause", "without"),
    [
        ("limits", ("free", "at the close", "at the open", "weekly, slipping")),
        ("waiting", ("free", "at the close", "at the open")),
        ("lots", tuple(label for label in RUNS if label != "lots, band, limits")),
        ("costs", ("free", "at the close", "few names, little turnover")),
    ],
)
def test_a_run_without_a_friction_has_that_effect_exactly_zero(run, cause, without):
    label, record = run
    effect = attribute(record).causes[cause].to_numpy()
    assert (effect == 0.0).all() if label in without else np.abs(effect).max() > 1e-7


def test_what_limits_allow_waits_for_its_pace_only_where_one_binds():
    bound = attribute(backtest(PANEL, "pa", {"max_weight": 0.25, "max_names": 5}, stages=True))
    assert np.abs(bound.causes["limits"]).max() > 1e-5
    assert np.abs(bound.causes["waiting"]).max() > 1e-7
    assert (attribute(backtest(PANEL, "pa", {"max_weight": 0.99}, stages=True)).causes["waiting"] == 0.0).all()


def test_free_fills_at_the_close_miss_nothing():
    assert np.abs(attribute(backtest(PANEL, "pa", {"fill": "close"}, stages=True)).causes["fills"]).max() < 1e-12


@pytest.mark.parametrize("label", sorted(RUNS))
def test_to_keep_the_stages_changes_no_decision(label):
    name, params, costs = RUNS[label]
    plain = backtest(PANEL, name, params, costs=costs, cash=50_000.0)
    kept = backtest(PANEL, name, params, costs=costs, cash=50_000.0, stages=True)
    np.testing.assert_array_equal(plain.value, kept.value)
    np.testing.assert_array_equal(plain.decisions, kept.decisions)
    assert plain.stages is None
    pd.testing.assert_frame_equal(plain.orders, kept.orders)


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_listings_halts_and_delistings_leave_nothing_unexplained(fill):
    panel = random_panel(130, 6, seed=2, ohlc=True, gaps=True)
    record = backtest(panel, "pa", {"fill": fill, "max_weight": 0.4}, costs=CostModel(bps=5), stages=True)
    found = attribute(record)
    for effects in (found.causes, found.names):
        np.testing.assert_allclose(effects.sum(axis=1), found.active, atol=1e-12)
    bars = Bars(record)  # no interest is paid: what names earned is what the account earned before costs
    np.testing.assert_allclose(bars.earned.sum(axis=1), bars.growth - 1.0 + bars.paid, atol=1e-12)


def test_money_paid_in_is_no_effect_of_anything():
    record = backtest(PANEL, "pa", {"fill": "close"}, costs=CostModel(bps=5), stages=True)
    flow = np.zeros(len(record.value))
    flow[70] = 0.5 * record.value[70]
    paid_in = replace(record, value=record.value + np.where(np.arange(len(flow)) >= 70, flow[70], 0.0), flow=flow)
    found, before = attribute(paid_in), attribute(record)
    row = 70 - len(record.value) + len(found.dates)
    np.testing.assert_allclose(found.causes.iloc[row], before.causes.iloc[row], atol=1e-15)
    np.testing.assert_allclose(found.causes.sum(axis=1), found.active, atol=1e-12)
    np.testing.assert_allclose(found.names.sum(axis=1), found.active, atol=1e-12)


def test_bars_without_a_level_of_the_index_count_with_the_next_that_has_one():
    record = backtest(PANEL, "pa", {"rebalance": 3}, costs=CostModel(bps=5), stages=True)
    seen = np.ones((len(record.value), 1), dtype=bool)
    seen[[50, 51, 90]] = False
    closed = replace(record, seen=seen)
    found = attribute(closed)
    np.testing.assert_allclose(found.active, np.subtract(*closed.scored()), atol=1e-15)
    assert len(found.dates) == len(attribute(record).dates) - 3
    for effects in (found.causes, found.names):
        np.testing.assert_allclose(effects.sum(axis=1), found.active, atol=1e-12)
        assert found.linked(effects).sum() == pytest.approx(closed.metrics()["tracking_difference"], abs=1e-10)


def test_names_are_what_each_earned_less_what_the_index_earned_on_its_weight():
    record = backtest(PANEL, "equal-weight", {"fill": "close"}, stages=True)
    found = attribute(record)
    x, y = PANEL.close[-1] / PANEL.close[-2] - 1.0, found.index[-1]
    np.testing.assert_allclose(found.names.iloc[-1][list(PANEL.symbols)], (x - y) / 7.0, atol=1e-9)


def test_with_the_weights_of_the_index_names_show_what_they_add_to_them():
    record = backtest(PANEL, "pa", {}, stages=True)
    b = np.full(record.weights.shape, 1.0 / 8.0)  # an eighth of the index is not in the data
    plain, found = attribute(record), attribute(record, b)
    np.testing.assert_allclose(found.names.sum(axis=1), found.active, atol=1e-12)
    line = found.names["(index not explained by its weights)"].to_numpy()
    x = PANEL.close[-1] / PANEL.close[-2] - 1.0
    assert line[-1] == pytest.approx(x.sum() / 8.0 + found.index[-1] / 8.0 - found.index[-1], abs=1e-12)
    own = plain.names[PANEL.symbols[0]].iloc[-1] - (x[0] - found.index[-1]) / 8.0
    assert found.names[PANEL.symbols[0]].iloc[-1] == pytest.approx(own, abs=1e-15)
    with pytest.raises(DataError, match="must be finite, one row per bar"):
        attribute(record, b[1:])


def test_sectors_are_sums_of_names():
    sectors = dict(zip(PANEL.symbols[:5], ["a", "a", "b", "b", "b"], strict=True))
    found = attribute(replace(backtest(PANEL, "pa", {}, stages=True), sectors=sectors))
    by = found.by_sector
    np.testing.assert_allclose(by["b"], found.names[list(PANEL.symbols[2:5])].sum(axis=1), atol=1e-15)
    np.testing.assert_allclose(by["(no sector)"], found.names[list(PANEL.symbols[5:])].sum(axis=1), atol=1e-15)


def test_a_run_folder_gives_back_its_attribution(tmp_path):
    record = backtest(PANEL, "pa", {"max_weight": 0.3}, costs=CostModel(bps=5), stages=True)
    folder = write_run(record, tmp_path / "run", PANEL, eval_from=0.5)
    found, expected = attribution_of(folder), attribute(record.since(0.5))
    pd.testing.assert_frame_equal(found.causes, expected.causes, check_names=False, check_freq=False)
    pd.testing.assert_frame_equal(found.names, expected.names, check_names=False, check_freq=False)
    metrics = read_run(folder).metrics()
    assert found.linked(found.causes).sum() == pytest.approx(metrics["tracking_difference"], abs=1e-10)
    assert np.sqrt((found.active**2).mean()) == pytest.approx(metrics["te_rms"], rel=1e-12)
    plain = write_run(backtest(PANEL, "pa", {}), tmp_path / "plain", PANEL)
    assert attribution_of(plain) is None
    assert not (plain / "stages.parquet").exists()


def test_a_run_without_its_stages_is_refused_by_name():
    with pytest.raises(DataError, match="stages=True"):
        attribute(backtest(PANEL, "pa", {}))
