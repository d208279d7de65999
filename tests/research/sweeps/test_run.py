"""Sweeps on one machine: the same rows whoever runs them, in whatever order, and however often they are stopped."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from datafeeds import synthetic_market
from tracker_strategies import CostModel, backtest
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.research.sweeps import Halving, Range, Space, Sweep, WalkForward, read_rows, run_sweep
from tracker_strategies.research.sweeps.running.driver import Unwatched
from tracker_strategies.research.sweeps.running.status import how_far
from tracker_strategies.research.sweeps.running.store import SCHEMA, VOLATILE

ROOT = Path(__file__).resolve().parents[3]
SMALL = "synthetic:n_assets=6,n_bars=90"
STABLE = [name for name in SCHEMA.names if name not in VOLATILE]


def rows_of(folder):
    """All that does not depend on when and where a row was made."""
    return read_rows(folder, STABLE).to_pylist()


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "market.csv"
    synthetic_market(6, 90, seed=3).to_frame().to_csv(path)
    return str(path)


def sweep_of(csv, **options):
    space = Space(("pa", "apas"), {"eps": (1e-4, 1e-3), "apas.lam": (1e-2, 1e-1)})
    chosen = {"data": (csv, SMALL), "seeds": (0, 1), "costs": (CostModel(), CostModel(5)), "fill": ("next_open", "close")}
    return Sweep(space, **{**chosen, **options})


@pytest.fixture(scope="module")
def undisturbed(csv, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    summary = run_sweep(sweep_of(csv), folder, jobs=1)
    assert (summary.total, summary.ran, summary.failed) == (84, 84, 0)
    return rows_of(folder)


def test_every_cell_has_one_row_with_the_figures_of_the_backtest(undisturbed, csv):
    assert len({r["key"] for r in undisturbed}) == len(undisturbed) == 3 * 2 * 2 * 7  # panels, costs, fills, candidates
    wanted = (csv, '{"eps": 0.001, "lam": 0.1}', "close")
    row = next(r for r in undisturbed if (r["data"], r["params"], r["fill"]) == wanted)
    costs = CostModel(**json.loads(row["costs"]))
    panel = synthetic_market(6, 90, seed=3)
    record = backtest(panel, "apas", {"eps": 1e-3, "lam": 0.1, "fill": "close"}, costs=costs, orders=False)
    for name, value in record.metrics().items():
        assert row[name] == pytest.approx(value, rel=1e-9), name
    np.testing.assert_allclose(row["active"], record.active, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.sum(row["excess"]), row["excess_log_return"], atol=1e-5)
    assert row["sha"] == panel.fingerprint()


def test_two_processes_give_the_same_rows_as_one(undisturbed, csv, tmp_path):
    run_sweep(sweep_of(csv), tmp_path, jobs=2)
    assert rows_of(tmp_path) == undisturbed


def test_cerebro_and_the_replay_agree(undisturbed, csv, tmp_path):
    run_sweep(sweep_of(csv, engine="cerebro"), tmp_path, jobs=1)
    name = ("strategy", "params", "data", "seed", "costs", "fill")
    truth = {tuple(r[c] for c in name): r for r in rows_of(tmp_path)}
    assert len(truth) == len(undisturbed)
    for row in undisturbed:
        other = truth[tuple(row[c] for c in name)]
        assert row["key"] != other["key"]
        for figure in ("te_rms", "excess_log_return", "turnover", "cost_bps", "final_value"):
            assert row[figure] == pytest.approx(other[figure], rel=1e-9, abs=1e-12)


class StopAfter(Unwatched):
    """A watcher that presses Ctrl-C, and tells how many rows it saw."""

    def __init__(self, n):
        self.left, self.seen = n, 0

    def row(self, row):
        self.seen += 1
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_keeps_what_is_finished_and_the_same_sweep_goes_on(undisturbed, csv, tmp_path, jobs):
    before = 0
    for _ in range(3):
        summary = run_sweep(sweep_of(csv), tmp_path, jobs=jobs, watcher=StopAfter(9))
        assert summary.stopped
        assert summary.before == before
        assert 9 <= summary.ran < 84
        before += summary.ran
        assert len(rows_of(tmp_path)) == before
    summary = run_sweep(sweep_of(csv), tmp_path, jobs=jobs)
    assert (summary.before, summary.before + summary.ran, summary.stopped) == (before, 84, False)
    assert rows_of(tmp_path) == undisturbed
    again = run_sweep(sweep_of(csv), tmp_path, jobs=jobs)
    assert (again.before, again.ran) == (84, 0)


KILLED = """
import os, signal, sys
from tests.research.sweeps.test_run import sweep_of
from tracker_strategies.research.sweeps import run_sweep
from tracker_strategies.research.sweeps.running import store
from tracker_strategies.research.sweeps.running.driver import Unwatched

class Kill(Unwatched):
    left = 10

    def row(self, row):
        self.left -= 1
        if not self.left:
            os.killpg(0, signal.SIGKILL)

store.ROWS_PER_PART = 3
if __name__ == "__main__":
    run_sweep(sweep_of(sys.argv[1]), sys.argv[2], jobs=2, watcher=Kill())
"""


def test_a_sweep_that_was_killed_outright_goes_on(undisturbed, csv, tmp_path):
    """Twice, with its workers, at the tenth row: nine are on disk each time, in parts of three."""
    folder, script = tmp_path / "sweep", tmp_path / "killed.py"
    script.write_text(KILLED)
    for rows in (9, 18):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen([sys.executable, script, csv, folder], cwd=ROOT, env=environment, start_new_session=True)
        assert process.wait(timeout=120) == -signal.SIGKILL
        assert len(rows_of(folder)) == rows
    summary = run_sweep(sweep_of(csv), folder, jobs=2)
    assert summary.before == 18
    assert rows_of(folder) == undisturbed


def test_a_failing_cell_is_a_row_with_its_error_and_the_others_are_run(tmp_path):
    sweep = Sweep(Space(("pa",), {"eps": (1e-4, 1e-3), "max_weight": (None, 0.01, 0.02)}), data=(SMALL,))
    summary = run_sweep(sweep, tmp_path, jobs=1)
    assert (summary.total, summary.failed) == (7, 4)  # both limits are too small for six names
    bad = {r["params"]: r for r in rows_of(tmp_path) if r["status"] == "error"}
    assert bad['{"eps": 0.001, "max_weight": 0.01}']["error"].startswith("ParameterError: max_weight=1 %: 6 names")
    assert all(r["te_rms"] is None and r["active"] == [] for r in bad.values())
    told = how_far(tmp_path)
    assert (told["cells"], told["done"], told["failed"], told["running"]) == (7, 7, 4, False)
    assert sum(told["errors"].values()) == 4
    again = run_sweep(sweep, tmp_path, jobs=1)
    assert (again.ran, again.failed_before) == (0, 4)
    assert run_sweep(sweep, tmp_path, jobs=1, retry=True).ran == 4
    assert len(rows_of(tmp_path)) == 7


def test_values_that_a_strategy_refuses_are_refused_before_anything_runs(tmp_path):
    for domains, words in (
        ({"eps": (1e-4, -1.0, -2.0)}, "pa eps=-1: eps must be .*, got -1.0; 1 more would be refused"),
        ({"eps": ("much",)}, "pa eps=much: eps must be"),
        ({"rebalance": ("sometimes",)}, "pa rebalance=sometimes: "),
        ({"max_weight": (0.5, 1.5)}, "max_weight"),
    ):
        with pytest.raises(ParameterError, match=words):
            run_sweep(Sweep(Space(("pa",), domains), data=(SMALL,)), tmp_path / "never", jobs=1)
    random = Sweep(Space(("pa",), {"eps": Range(-2.0, -1.0)}), data=(SMALL,), search="random", trials=3)
    with pytest.raises(ParameterError, match="pa eps=-"):
        run_sweep(random, tmp_path / "never", jobs=1)
    assert not (tmp_path / "never").exists()


def test_combinations_of_good_values_that_do_not_go_together_fail_alone(tmp_path):
    """Of APAS, eps must not be below nu."""
    sweep = Sweep(Space(("apas",), {"eps": (1e-4, 5e-4), "nu": (1e-4, 3e-4)}), data=(SMALL,), baselines=())
    assert run_sweep(sweep, tmp_path, jobs=1).failed == 1


def test_rows_of_another_sweep_in_the_folder_are_counted(tmp_path):
    one, two = (Sweep(Space(("pa",), {"eps": eps}), data=(SMALL,), baselines=()) for eps in ((1e-3, 2e-3), (2e-3, 3e-3, 4e-3)))
    run_sweep(one, tmp_path, jobs=1)
    run_sweep(two, tmp_path, jobs=1, extend=True, watcher=StopAfter(1))
    for _ in range(2):
        told = how_far(tmp_path)
        assert told["cells"] == 4
        assert (told["done"] == 4) is (run_sweep(two, tmp_path, jobs=1).ran == 0)
    assert (how_far(tmp_path)["cells"], how_far(tmp_path)["done"]) == (4, 4)


def test_what_a_killed_process_had_is_run_by_another(undisturbed, csv, tmp_path):
    class KillAProcess(Unwatched):
        killed = False

        def row(self, row):
            if not self.killed:
                self.killed = True
                os.kill(int(row["worker"].split(":")[1]), signal.SIGKILL)

    summary = run_sweep(sweep_of(csv), tmp_path, jobs=2, watcher=KillAProcess())
    assert (summary.ran, summary.failed) == (84, 0)
    assert rows_of(tmp_path) == undisturbed


def test_random_search_is_the_same_for_any_number_of_processes(tmp_path):
    space = Space(("pa", "apas"), {"eps": Range(1e-5, 1e-2, log=True), "apas.lam": Range(1e-3, 1.0, log=True)})
    sweep = Sweep(space, data=(SMALL,), search="random", trials=6, seed=11)
    for jobs in (1, 2):
        assert run_sweep(sweep, tmp_path / str(jobs), jobs=jobs).ran == 14
    assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2")


def test_halving_keeps_the_best_and_gives_them_all_bars(tmp_path):
    lams = tuple(np.geomspace(1e-3, 1.0, 9).tolist())
    sweep = Sweep(Space(("apas",), {"lam": lams}), data=(SMALL,), seeds=(0, 1), search="halving", halving=Halving(3, 3))
    summary = run_sweep(sweep, tmp_path / "halving", jobs=2)
    assert summary.total == summary.ran == 2 * (2 + 9 + 3 + 1)  # seeds x (baselines and three rungs)
    rows = rows_of(tmp_path / "halving")
    rungs = {k: {r["params"] for r in rows if r["strategy"] == "apas" and r["rung"] == k} for k in range(3)}
    assert [len(rungs[k]) for k in range(3)] == [9, 3, 1]
    assert rungs[2] < rungs[1] < rungs[0]
    for k in range(2):
        score = {p: np.mean([r["te_rms"] for r in rows if r["params"] == p and r["rung"] == k]) for p in rungs[k]}
        assert rungs[k + 1] == set(sorted(score, key=score.get)[: math.ceil(len(score) / 3)])
    # Later bars do not change what earlier ones showed.
    survivor = next(iter(rungs[2]))
    short, long = (next(r for r in rows if r["params"] == survivor and r["rung"] == k and r["seed"] == 1) for k in (0, 2))
    assert long["active"][: len(short["active"])] == short["active"]
    assert run_sweep(sweep, tmp_path / "halving", jobs=1).ran == 0
    run_sweep(sweep, tmp_path / "alone", jobs=1)
    assert rows_of(tmp_path / "alone") == rows


def test_walk_forward_folds_are_cells_with_windows(tmp_path):
    sweep = Sweep(Space(("pa",)), data=(SMALL,), baselines=(), walk_forward=WalkForward(folds=2, purge=3, burn_in=10))
    run_sweep(sweep, tmp_path, jobs=1)
    rows = sorted(rows_of(tmp_path), key=lambda r: (r["fold"], r["part"]))
    assert [(r["fold"], r["part"], r["n_bars"]) for r in rows] == [
        (0, "test", 68 - 45),
        (0, "train", 45 - 3 - 10),
        (1, "test", 90 - 68),
        (1, "train", 68 - 3 - 10),
    ]
    assert rows[0]["last_day"] < rows[2]["first_day"]
    assert rows[1]["last_day"] < rows[0]["first_day"]


def test_what_makes_no_sense_is_refused_before_anything_is_written(tmp_path, csv):
    folder = tmp_path / "never"
    for error, sweep, options in (
        (ParameterError, Sweep(Space(("pa",)), search="tpe"), {}),
        (DataError, Sweep(Space(("pa",)), data=("nowhere.csv",)), {}),
        (DataError, Sweep(Space(("pa",)), data=(csv,), walk_forward=WalkForward(folds=20)), {}),
    ):
        with pytest.raises(error):
            run_sweep(sweep, folder, **options)
        assert not folder.exists()
    for options in ({"cell_seconds": 0}, {"cell_seconds": "long"}, {"cell_memory": -1.0}):
        with pytest.raises(ParameterError, match=next(iter(options))):
            run_sweep(Sweep(Space(("pa",)), data=(csv,)), folder, **options)
        assert not folder.exists()
    for options in ({"jobs": 0}, {"jobs": 2, "scheduler": "tcp://127.0.0.1:1"}):
        with pytest.raises(ParameterError, match="jobs"):
            run_sweep(Sweep(Space(("pa",)), data=(csv,)), tmp_path / "empty", **options)


def test_rows_of_other_code_do_not_count(tmp_path, monkeypatch):
    from tracker_strategies.research.sweeps.running import driver, engines

    sweep = Sweep(Space(("pa",)), data=(SMALL,), baselines=())
    for code in ("old", "new"):
        for module in (driver, engines):
            monkeypatch.setattr(module, "code_version", lambda code=code: code)
        assert run_sweep(sweep, tmp_path, jobs=1).ran == 1
    told = how_far(tmp_path)
    assert (told["done"], told["rows_of_other_code"]) == (1, 1)
