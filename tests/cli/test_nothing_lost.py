"""Work is on disk before it is made pretty: whatever becomes of a page, no run is lost and nothing half-written stays."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from datafeeds import load_sample
from datafeeds.files import staged_folder
from tests.cli.commands import ROOT, process, refused, tracker
from tracker_strategies import backtest, read_run, tearsheet
from tracker_strategies.analysis.pages import charts_tracked as charts
from tracker_strategies.analysis.runfolder import RUN_FILES, write_run

DATA = {"run.json", "metrics.json", "weights.parquet", "decisions.parquet", "returns.parquet", "orders.parquet"}


def names(folder):
    return {p.name for p in folder.iterdir()}


def whole(folder, runs):
    """The folder is a finished run without a page, equal to one for which none was asked."""
    assert names(folder) >= DATA
    assert "tearsheet.html" not in names(folder)
    asked = runs / json.loads((folder / "run.json").read_text())["strategy"]
    for file in DATA - {"run.json"}:
        assert (folder / file).read_bytes() == (asked / file).read_bytes()
    assert read_run(folder).metrics_by_target() == json.loads((folder / "metrics.json").read_text())


# ------------------------------------------------------------------ no QuantStats


@pytest.fixture
def without_quantstats(monkeypatch):
    """quantstats cannot be imported."""
    monkeypatch.setitem(sys.modules, "quantstats.reports", None)


def test_a_missing_extra_is_one_line_and_the_run_is_there(csv, runs, tmp_path):
    """In a process of its own, with a place on the path that comes first and in which quantstats cannot be imported."""
    (tmp_path / "path" / "quantstats").mkdir(parents=True)
    (tmp_path / "path" / "quantstats" / "__init__.py").write_text("raise ImportError(\"No module named 'quantstats'\")\n")
    out = tmp_path / "pa"
    result = process("run", "pa", "--data", csv, "--json", "--out", out, PYTHONPATH=f"{tmp_path / 'path'}{os.pathsep}{ROOT}")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == json.loads((out / "metrics.json").read_text())
    said = [line for line in result.stderr.splitlines() if "wrote" not in line and line.strip()]
    assert len(said) == 1, result.stderr
    for word in ("no tear sheet", "QuantStats", 'pip install "backtrader-index-tracker[report]"', f"tracker tearsheet {out}"):
        assert word in said[0]
    whole(out, runs)
    drawn = tracker("tearsheet", out)
    assert drawn.returncode == 0, drawn.stderr
    assert "tearsheet.html" in names(out)


def test_it_is_said_once_for_several_runs(csv, tmp_path, without_quantstats):
    result = tracker("compare", "pa", "buy-and-hold", "--data", csv, "--out", tmp_path / "two")
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("no tear sheet") == 1
    assert names(tmp_path / "two") == {"pa", "buy-and-hold"}
    for name in ("pa", "buy-and-hold"):
        assert names(tmp_path / "two" / name) >= DATA


def test_a_page_that_is_asked_for_by_itself_is_refused(runs, without_quantstats):
    refused(tracker("tearsheet", runs / "pa"), "MissingExtraError: ")
    assert "tearsheet.html" not in names(runs / "pa")


# ------------------------------------------------------------------ a page that fails


def test_a_page_that_fails_costs_neither_the_run_nor_the_others(csv, runs, tmp_path, monkeypatch):
    draw = charts.growth

    def fail(record):
        if record.strategy == "pa":
            raise ZeroDivisionError("nothing to divide")
        return draw(record)

    monkeypatch.setattr(charts, "growth", fail)
    result = tracker("compare", "pa", "buy-and-hold", "--data", csv, "--out", tmp_path / "two")
    assert result.returncode == 1
    line = f"no tear sheet of pa: ZeroDivisionError: nothing to divide. The run is written: {tmp_path / 'two' / 'pa'}"
    assert line in result.stderr.splitlines()
    whole(tmp_path / "two" / "pa", runs)
    assert "tearsheet.html" in names(tmp_path / "two" / "buy-and-hold")
    monkeypatch.undo()
    assert tracker("tearsheet", tmp_path / "two" / "pa").returncode == 0


def test_in_python_the_data_are_there_when_the_page_fails(tmp_path, monkeypatch):
    panel = load_sample().rows(-60, None)
    record = backtest(panel, "pa")
    monkeypatch.setattr(charts, "growth", lambda record: 1 / 0)
    place = write_run(record, tmp_path / "run", panel)
    with pytest.raises(ZeroDivisionError):
        tearsheet(place, place / "tearsheet.html")
    assert names(tmp_path) == {"run"}
    assert names(tmp_path / "run") >= DATA
    assert read_run(tmp_path / "run").metrics() == record.metrics()


# ------------------------------------------------------------------ Ctrl-C


def test_an_interrupt_while_drawing_leaves_the_finished_run(csv, runs, tmp_path, monkeypatch):
    def interrupt(record):
        raise KeyboardInterrupt

    monkeypatch.setattr(charts, "growth", interrupt)
    result = tracker("run", "pa", "--data", csv, "--out", tmp_path / "pa")
    assert result.returncode != 0
    assert f"tracker tearsheet {tmp_path / 'pa'}" in result.stderr
    assert names(tmp_path) == {"pa"}
    whole(tmp_path / "pa", runs)


def started(*words):
    command = [sys.executable, "-m", "tracker_strategies", *map(str, words)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs are started deaf to Ctrl-C
    )


def interrupted_when(process, there):
    """Send Ctrl-C to a process as soon as something is there; its exit code."""
    while process.poll() is None and not there.exists():
        time.sleep(0.005)
    for _ in range(600):  # again, should a library have swallowed it in a callback, as users press it again
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
        return process.returncode
    process.kill()
    return None


def test_a_signal_after_the_data_leaves_the_finished_run(csv, runs, tmp_path):
    code = interrupted_when(started("run", "pa", "--data", csv, "--out", tmp_path / "pa"), tmp_path / "pa" / "run.json")
    assert code not in (0, None)
    assert names(tmp_path) == {"pa"}
    whole(tmp_path / "pa", runs)


def test_a_finished_run_is_written_before_the_next_begins(csv, tmp_path):
    """SLAIT takes many seconds on the sample; the first run is on disk long before."""
    words = ("compare", "buy-and-hold", "slait", "--data", "sample", "--param", "every=1", "--out", tmp_path / "two")
    code = interrupted_when(started(*words), tmp_path / "two" / "buy-and-hold" / "run.json")
    assert code not in (0, None)
    assert names(tmp_path / "two") == {"buy-and-hold"}
    assert len(read_run(tmp_path / "two" / "buy-and-hold", whole=True).dates) == load_sample().n_bars


@pytest.mark.parametrize("moment", ["while writing", "between the two renames"])
def test_an_older_run_stays_when_its_successor_is_interrupted(tmp_path, monkeypatch, moment):
    panel = load_sample().rows(-60, None)
    target = write_run(backtest(panel, "pa"), tmp_path / "run", panel)
    before = {name: (target / name).read_bytes() for name in names(target)}
    rename = os.replace

    def interrupt(old, new):
        if str(new) == str(target):
            monkeypatch.undo()
            raise KeyboardInterrupt
        rename(old, new)

    if moment != "while writing":
        monkeypatch.setattr(os, "replace", interrupt)

    def succeed():
        with staged_folder(target, "run", RUN_FILES) as stage:
            (stage / "run.json").write_text("{}")
            if moment == "while writing":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        succeed()
    assert names(tmp_path) == {"run"}
    assert {name: (target / name).read_bytes() for name in names(target)} == before
