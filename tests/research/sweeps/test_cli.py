"""`tracker sweep` and `tracker tune` as a user meets them: their output and their exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path

import pytest
from typer.testing import CliRunner

from datafeeds import synthetic_market
from tests.cli.commands import refused, tracker
from tests.research.sweeps.test_run import rows_of
from tests.research.sweeps.test_store import small_files
from tracker_strategies.cli import app
from tracker_strategies.errors import TrackerError
from tracker_strategies.research.sweeps import Sweep, WalkForward

ROOT = Path(__file__).resolve().parents[3]
SMALL = ("--data", "synthetic:n_assets=4,n_bars=80")


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A small sweep that was run from flags."""
    out = tmp_path_factory.mktemp("cli") / "sweep"
    words = ("--grid", "eps=1e-4,1e-3", "--grid", "apas.lam=0.01,0.1", "--cost-bps", "0,5", "--out", out, "-j", 1)
    result = tracker("sweep", "pa", "apas", *SMALL, *words)
    assert result.returncode == 0, result.stderr
    return out, result


def test_a_sweep_from_flags_says_what_it_did_and_what_to_do_next(swept):
    out, result = swept
    assert "14 of 14 cells: 14 run now, 0 failed" in result.stderr
    assert f"tracker sweep report {out}" in result.stderr.replace("\n", "")
    assert len(rows_of(out)) == 14


def test_a_sweep_from_a_file_is_the_same_sweep(swept, tmp_path):
    config = tmp_path / "sweep.toml"
    config.write_text(
        'strategies = ["pa", "apas"]\ndata = "synthetic:n_assets=4,n_bars=80"\ncost_bps = [0, 5]\n'
        "[params]\neps = [1e-4, 1e-3]\n[params.apas]\nlam = [0.01, 0.1]\n"
    )
    result = tracker("sweep", "--config", config, "--out", tmp_path / "out", "-j", 1)
    assert result.returncode == 0, result.stderr
    assert rows_of(tmp_path / "out") == rows_of(swept[0])


def test_status_and_report(swept):
    out, _ = swept
    result = tracker("sweep", "status", out)
    assert result.returncode == 0, result.stderr
    assert "finished, 14 of 14 cells, 0 failed" in " ".join(result.stdout.split())
    report = tracker("sweep", "report", out, "--draws", "200")
    assert report.returncode == 0, report.stderr
    for words in ("equal-weight", "ahead of", "report.html", "interval"):
        assert words in report.stdout
    said = CliRunner().invoke(app, ["sweep", "report", str(out), "--json", "--draws", "200", "--x", "lam", "--y", "eps"])
    found = json.loads(said.stdout)
    assert len(found["settings"]) == 2
    assert (out / "report.html").exists()


def test_the_same_command_again_runs_nothing(swept):
    out, _ = swept
    words = ("--grid", "eps=1e-4,1e-3", "--grid", "apas.lam=0.01,0.1", "--cost-bps", "0,5", "--out", out, "-j", 1)
    again = tracker("sweep", "run", "pa", "apas", *SMALL, *words)
    assert "14 were there before, 0 run now" in again.stderr
    refused(tracker("sweep", "pa", *SMALL, "--out", out, "-j", 1), "OutputError", "holds another sweep")
    more = CliRunner().invoke(app, ["sweep", "pas", *SMALL, "--out", str(out), "-j", "1", "--extend"])
    assert more.exit_code == 0, more.output
    assert len(rows_of(out)) == 15


def test_tune_prints_what_was_chosen(tmp_path):
    words = ("--grid", "eps=1e-4,1e-2", "--folds", 2, "--burn-in", 5, "--out", tmp_path / "tune", "-j", 1)
    result = tracker("tune", "pa", *SMALL, *words)
    assert result.returncode == 0, result.stderr
    for words in ("chosen", "tuned", "equal-weight", "tune.html"):
        assert words in result.stdout
    assert {"tune.json", "tune.html", "path.parquet", "sweep.json"} <= {p.name for p in (tmp_path / "tune").iterdir()}


def test_help_teaches():
    runner = CliRunner()
    group, detail, tune = (runner.invoke(app, [*words, "--help"]).output for words in (["sweep"], ["sweep", "pa"], ["tune"]))
    for word in ("tracker sweep pa apas --grid", "Ctrl-C", "status", "report"):
        assert word in group
    for word in ("--config", "--grid", "--range", "--search", "--scheduler", "--engine", "--folds", "--purge", "For example"):
        assert word in detail
    for word in ("--te-budget", "--turnover-budget", "tpe", "For example"):
        assert word in tune
    assert runner.invoke(app, ["sweep"]).output.strip() == group.strip()


BAD = {
    "file and flags": (("sweep", "--config", "x.toml", "--cost-bps", "5"), ("ParameterError", "remove cost_bps")),
    "unknown strategy": (("sweep", "pax"), ("ParameterError", "pax")),
    "unknown parameter": (("sweep", "pa", "--grid", "epsilon=1"), ("ParameterError", "epsilon", "eps")),
    "grid without values": (("sweep", "pa", "--grid", "eps"), ("ParameterError", "eps=1e-4,3e-4")),
    "nothing to run": (("sweep", "--data", "sample"), ("ParameterError", "no strategy")),
    "no such file": (("sweep", "pa", "--data", "nowhere.csv"), ("DataError", "nowhere.csv")),
    "no such config": (("sweep", "--config", "nowhere.toml"), ("ParameterError", "nowhere.toml")),
    "costs": (("sweep", "pa", "--cost-bps", "cheap"), ("ParameterError", "cheap")),
    "seeds": (("sweep", "pa", "--seeds", "many"), ("ParameterError", "many")),
    "engine": (("sweep", "pa", "--engine", "steam"), ("ParameterError", "steam")),
    "scheduler": (("sweep", "pa", *SMALL, "--scheduler", "nonsense"), ("WorkerError", "nonsense")),
    "status of nothing": (("sweep", "status", "nowhere"), ("OutputError", "nowhere")),
    "report of nothing": (("sweep", "report", "nowhere"), ("OutputError", "nowhere")),
    "half a heat map": (("sweep", "report", "nowhere", "--x", "eps"), ("ParameterError", "--y")),
    "tune without data": (("tune", "pa", "--data", "nowhere.csv"), ("DataError", "nowhere.csv")),
    "budget": (("tune", "pa", "--te-budget", "-1"), ("ParameterError", "te_budget")),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_word_is_a_named_error(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, (kind, *expected) = BAD[case]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert isinstance(result.exception, TrackerError), result.output
    assert type(result.exception).__name__ == kind
    for word in expected:
        assert word in str(result.exception)
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_unknown_parameter_in_the_file_is_one_named_line(tmp_path):
    (tmp_path / "bad.toml").write_text('strategies = ["pa"]\n[params]\nepsilon = [1]\n')
    line = refused(tracker("sweep", "--config", "bad.toml", cwd=tmp_path), "ParameterError", "bad.toml", "epsilon", "eps")
    assert line.startswith("ParameterError: --config")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.toml"]


def test_a_full_disk_is_one_named_line(tmp_path):
    """Files may not grow beyond 3000 bytes: the description fits, rows of 800 bars do not."""
    market = ("--data", "synthetic:n_assets=3,n_bars=800")
    words = ("sweep", "pa", *market, "--grid", "eps=1e-4,1e-3", "--out", tmp_path / "out", "-j", 2)
    with small_files(3000):
        result = tracker(*words)
    refused(result, "OutputError", "File too large", "rows written before are kept")
    assert rows_of(tmp_path / "out") == []
    assert tracker(*words).returncode == 0
    assert len(rows_of(tmp_path / "out")) == 3


def test_every_cell_failing_is_a_failure(tmp_path):
    words = ("sweep", "pa", *SMALL, "--grid", "max_weight=1%,2%", "--baselines", "none", "--out", tmp_path / "out", "-j", 1)
    for failed in ("2 failed", "0 failed"):  # the second time nothing is run
        result = tracker(*words)
        assert result.returncode == 1
        assert failed in result.stderr
    assert "ParameterError" in CliRunner().invoke(app, ["sweep", "status", str(tmp_path / "out")]).output


def test_ctrl_c_in_a_terminal_ends_with_130_and_keeps_rows(tmp_path):
    """The whole process group is interrupted, as a terminal does it."""
    market = tmp_path / "market.parquet"
    # Large enough to be far from done when `status` has been asked.
    synthetic_market(200, 3000, seed=1).to_frame().to_parquet(market)
    values = ",".join(f"{10 ** (-5 + k / 100):.3g}" for k in range(300))
    words = ("sweep", "apas", "--data", market, "--grid", f"lam={values}", "--out", tmp_path / "out", "-j", 2)
    process = subprocess.Popen(
        [sys.executable, "-m", "tracker_strategies", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while not list((tmp_path / "out" / "rows").glob("p*.parquet")) and time.monotonic() < until:
        time.sleep(0.05)
    running = json.loads(tracker("sweep", "status", tmp_path / "out", "--json").stdout)
    assert running["running"]
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command resumes" in " ".join(said.split())
    assert "Traceback" not in said
    kept = len(rows_of(tmp_path / "out"))
    assert 0 < kept < 302
    assert json.loads(tracker("sweep", "status", tmp_path / "out", "--json").stdout)["running"] is False


def test_what_the_guide_says_works(tmp_path, monkeypatch):
    guide = (ROOT / "docs" / "work" / "sweeps.md").read_text(encoding="utf-8")
    (toml,) = re.findall(r"```toml\n(.*?)```", guide, re.S)
    (tmp_path / "guide.toml").write_text(toml)
    sweep = Sweep.from_toml(tmp_path / "guide.toml")
    assert sweep.walk_forward == WalkForward(4, 0.5, 750, 5, 20)
    helps = [CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).output for words in (["sweep", "run"], ["tune"])]
    flags = r"(?<![\w-])--[a-z][a-z-]+"
    assert set(re.findall(flags, guide)) - set(re.findall(flags, "".join(helps))) == {"--nthreads"}
    for key in re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\|[^|]*\|([^|]*)\|", guide, re.M))):
        assert key in {*(f.name for f in fields(Sweep)), "strategies", "cost_bps", "slippage_bps", "per_share", "min_fee"}, key
    (example,) = re.findall(r"```python\n(.*?)```", guide, re.S)
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(example.replace('("sample",)', '("synthetic:n_assets=3,n_bars=60",)').replace("jobs=2", "jobs=1"), names)
    assert len(names["rows"]) == names["found"]["rows"] == 7
