"""A run lists what happened to its names: in the record, in run.json, the same in cerebro and in the replay."""

import json
from dataclasses import replace

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData
from tests.markets import ordinary_feeds, random_panel
from tests.strategies.test_index_members import BACK, OUT, point_in_time
from tracker_strategies.analysis.analyzers import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest, record_of
from tracker_strategies.strategies.registry import load_strategy

PARAMS = {"listing_warmup": 4, "delist_after": 5}
PANEL = random_panel(n_bars=60, n_assets=6, seed=31, ohlc=True, gaps=True)
LISTED, LEFT, GONE = 15, 30, 35  # S1 has its first bar at row 15, S2 its last at row 29; five bars later it counts as gone


def told(record):
    return [(e["date"], e["symbol"], e["event"]) for e in record.events]


@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
@pytest.mark.parametrize("strategy", ["pa", "equal-weight", "buy-and-hold"])
def test_listings_delistings_and_settlements_are_listed(strategy, fill):
    record = backtest(PANEL, strategy, {**PARAMS, "fill": fill})
    assert told(record) == [
        (PANEL.day(LISTED), "S1", "listed"),
        (PANEL.day(GONE), "S2", "delisted"),
        (PANEL.day(GONE), "S2", "settled"),
    ]  # a pause of three bars is no event
    settled = record.events[-1]
    assert settled["price"] == PANEL.close[LEFT - 1, 2]
    worth = record.weights[GONE - 1, 2] * record.value[GONE - 1]
    assert settled["shares"] * settled["price"] == pytest.approx(worth)


@pytest.mark.parametrize("broker", ["basket", "ordinary"])
def test_the_replay_and_every_way_through_cerebro_list_the_same(broker):
    panel = point_in_time(PANEL)
    record, quick = backtest(panel, "pa", {**PARAMS, "broker": broker}), replay(panel, "pa", PARAMS)
    assert told(record) == told(quick)
    for a, b in zip(record.events, quick.events, strict=True):
        assert a.get("shares") == pytest.approx(b.get("shares"))
        assert a.get("price") == b.get("price")


def test_feeds_of_any_origin_have_events_too():
    cerebro = bt.Cerebro(stdstats=False)
    for feed in ordinary_feeds(PANEL):
        cerebro.adddata(feed)
    cerebro.addstrategy(load_strategy("pa"), **PARAMS)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    (run,) = cerebro.run()
    assert told(record_of(run)) == told(backtest(PANEL, "pa", PARAMS))


def test_a_name_that_was_gone_is_relisted():
    close = PANEL.close.copy()
    close[45:, 2] = 10.0
    bars = {k: np.where(np.isnan(PANEL.close) & ~np.isnan(close), 10.0, getattr(PANEL, k)) for k in ("open", "high", "low")}
    record = backtest(replace(PANEL, close=close, **bars), "pa", PARAMS)
    assert told(record)[1:] == [
        (PANEL.day(GONE), "S2", "delisted"),
        (PANEL.day(GONE), "S2", "settled"),
        (PANEL.day(45), "S2", "relisted"),
    ]


def test_changes_of_the_members_are_listed():
    panel = point_in_time()
    assert told(backtest(panel, "apas", PARAMS)) == [
        (panel.day(12), "S3", "joined"),
        (panel.day(OUT), "S1", "left"),
        (panel.day(BACK), "S1", "joined"),
    ]


def test_with_no_patience_a_first_pause_is_a_delisting():
    record = backtest(PANEL, "pa", {**PARAMS, "delist_after": 0})
    pause = len(PANEL.dates) // 3
    assert (PANEL.day(pause), "S3", "delisted") in told(record)
    assert (PANEL.day(pause + 3), "S3", "relisted") in told(record)


def test_nothing_happens_in_a_complete_panel():
    panel = random_panel(n_bars=30)
    assert backtest(panel, "pa").events == replay(panel, "pa").events == ()


def test_two_runs_of_one_panel_share_no_events():
    data = IndexData(PANEL)
    for _ in range(2):
        cerebro = bt.Cerebro(stdstats=False)
        data.add_to(cerebro)
        cerebro.addstrategy(load_strategy("pa"), **PARAMS)
        assert len(cerebro.run()[0].tracker.universe.events) == 3


def test_run_json_lists_them(tmp_path):
    record = backtest(PANEL, "pa", PARAMS)
    folder = write_run(record, tmp_path / "run", PANEL, eval_from=0.9)
    written = json.loads((folder / "run.json").read_text())
    assert written["events"] == [dict(e) for e in record.events]
    assert written["events"][0] == {"date": PANEL.day(LISTED), "symbol": "S1", "event": "listed"}
    assert written["data"]["cleaning"] is None
