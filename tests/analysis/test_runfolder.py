"""A run is the same run, whether it comes from memory, from its folder or from the strategy that cerebro returned."""

import json
import shutil
from dataclasses import fields, replace
from importlib.util import find_spec

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import random_panel
from tracker_strategies import (
    CostModel,
    DiagnosticsAnalyzer,
    HoldingsAnalyzer,
    PATracker,
    TrackingAnalyzer,
    backtest,
    comparison,
    read_run,
    record_of,
    tearsheet,
)
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.errors import DataError
from tracker_strategies.research import replay

PANEL = random_panel(80, 5, seed=9)
SECTORS = {"S0": "Energy", "S1": "Banks", "S2": "Energy", "S4": "Banks"}


@pytest.fixture(scope="module")
def record():
    found = backtest(PANEL, "apas", costs=CostModel(5), diagnostics=True)
    return replace(found, sectors=SECTORS)


@pytest.fixture(scope="module")
def folder(record, tmp_path_factory):
    return write_run(record, tmp_path_factory.mktemp("run") / "apas", PANEL, eval_from=0.5)


def assert_same(a, b):
    for name in (f.name for f in fields(a) if f.name not in ("orders", "diagnostics", "seen", "params", "whole")):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    pd.testing.assert_frame_equal(a.orders, b.orders, check_dtype=False)
    pd.testing.assert_frame_equal(a.diagnostics, b.diagnostics, check_freq=False, check_index_type=False)
    assert b.diagnostics.attrs == a.diagnostics.attrs


def test_a_folder_gives_back_what_was_written_bit_by_bit(record, folder):
    assert_same(record, read_run(folder, whole=True))
    scored = read_run(folder)
    assert_same(record.since(0.5), scored)
    assert scored.metrics() == json.loads((folder / "metrics.json").read_text())


def test_some_of_the_targets_in_another_order_and_odd_names_come_back(tmp_path):
    frame = random_panel(60, 6, seed=3).to_frame()
    frame.columns = ["value", "B", "C", *frame.columns[3:]]
    panel = MarketPanel.from_frame(frame, ("value", "B", "C"))
    found = backtest(panel, "pa", {"target": ("C", "value"), "blend": "0.7,0.3"})
    back = read_run(write_run(found, tmp_path / "run", panel))
    assert back.targets == ("C", "value")
    assert back.metrics() == found.metrics()


def test_holidays_of_an_index_come_back_as_holidays(record, tmp_path):
    seen = np.ones((80, 1), dtype=bool)
    seen[[10, 40, 41]] = False
    index = record.index.copy()
    index[10], index[40:42] = index[9], index[39]
    run = replace(record, seen=seen, index=index)
    again = read_run(write_run(run, tmp_path / "run", PANEL), whole=True)
    np.testing.assert_array_equal(again.seen, seen)
    assert again.metrics() == run.metrics()


@pytest.mark.parametrize(
    "name",
    ["numpy", pytest.param("numba", marks=pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra [numba]"))],
)
@pytest.mark.parametrize("run", [backtest, replay])
def test_a_folder_tells_which_kernels_computed_it_whatever_is_in_use_when_it_is_written(run, name, tmp_path, monkeypatch):
    before = kernels.in_use()
    monkeypatch.setenv(kernels.ENVIRONMENT, before)
    try:
        kernels.use(name)
        found = run(PANEL, "pa")
    finally:
        kernels.use(before)
    told = json.loads((write_run(found, tmp_path / "run", PANEL) / "run.json").read_text())
    assert told["kernels"] == name
    assert set(told["versions"]) >= {"numpy", "numba"}
    assert read_run(tmp_path / "run").kernels == name


def test_a_folder_that_does_not_tell_its_kernels_can_be_read(folder, tmp_path):
    older = shutil.copytree(folder, tmp_path / "older")
    told = json.loads((older / "run.json").read_text())
    assert told.pop("kernels") == kernels.in_use()
    (older / "run.json").write_text(json.dumps(told))
    assert read_run(older).kernels is None
    assert read_run(older).metrics() == read_run(folder).metrics()


@pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")
def test_record_folder_and_strategy_make_the_same_pages(tmp_path):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.broker.setcash(1e6)
    cerebro.addstrategy(PATracker)
    for analyzer, name in ((TrackingAnalyzer, "tracking"), (HoldingsAnalyzer, "holdings"), (DiagnosticsAnalyzer, "diagnostics")):
        cerebro.addanalyzer(analyzer, _name=name)
    (strategy,) = cerebro.run()
    sources = {
        "strategy": strategy,
        "record": record_of(strategy),
        "folder": write_run(record_of(strategy), tmp_path / "run", PANEL),
    }
    for page in (tearsheet, lambda run, path: comparison([run], path)):
        written = {name: page(run, tmp_path / f"{name}.html").read_bytes() for name, run in sources.items()}
        assert written["strategy"] == written["record"] == written["folder"]


def test_a_strategy_without_the_analyzers_is_told_which_to_add():
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(PATracker)
    (strategy,) = cerebro.run()
    with pytest.raises(DataError, match=r"addanalyzer\(TrackingAnalyzer, _name='tracking'\)"):
        record_of(strategy)


def test_a_folder_that_is_no_run_or_is_damaged_is_named(folder, tmp_path):
    with pytest.raises(DataError, match=r"not a run folder: it has no run\.json"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text((folder / "run.json").read_text())
    with pytest.raises(DataError, match="cannot be read"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(DataError, match="cannot be read"):
        read_run(tmp_path)


def test_sectors_are_drawn_where_they_are_known(record):
    from tracker_strategies.analysis.pages.charts import chart_style
    from tracker_strategies.analysis.pages.charts_held import sectors_over_time

    with chart_style():
        chart = sectors_over_time(record)
        assert sectors_over_time(replace(record, sectors={})) is None
    shares = dict.fromkeys(("Energy", "Banks", "No sector known"), 0.0)
    for symbol, weight in zip(record.symbols, record.weights.mean(axis=0), strict=True):
        shares[SECTORS.get(symbol, "No sector known")] += weight
    assert [key.label for key in chart.legend] == [*sorted(shares, key=lambda name: -shares[name]), "Cash"]
