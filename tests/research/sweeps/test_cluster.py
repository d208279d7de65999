"""The same sweep on a Dask cluster: the same rows, whoever joins, dies or does not fit."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from datafeeds import synthetic_market
from tests.research.sweeps.test_run import rows_of
from tests.storm.hostile_cells.driver import sweep_of as hostile
from tracker_strategies import CostModel
from tracker_strategies.research.sweeps import Space, Sweep, WorkerError, run_sweep
from tracker_strategies.research.sweeps.running.driver import Unwatched

pytest.importorskip("distributed", reason="the extra 'cluster' is not installed")

ROOT = Path(__file__).resolve().parents[3]
EPS = tuple(np.geomspace(1e-5, 1e-2, 40).tolist())


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    """Half of the cells on a file, whose panel has to be shipped, half on a market that workers draw themselves."""
    path = tmp_path_factory.mktemp("data") / "market.parquet"
    synthetic_market(15, 260, seed=5).to_frame().to_parquet(path)
    drawn = "synthetic:n_assets=15,n_bars=260"
    return Sweep(Space(("pa",), {"eps": EPS}), data=(str(path), drawn), costs=(CostModel(5),), baselines=())


@pytest.fixture(scope="module")
def undisturbed(sweep, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_sweep(sweep, folder, jobs=1).ran == 80
    return rows_of(folder)


def start(module, *words, path=ROOT):
    environment = {**os.environ, "PYTHONPATH": str(path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", f"distributed.cli.{module}", *map(str, words), "--no-dashboard"]
    return subprocess.Popen(command, env=environment, cwd=path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def start_worker(address, path=ROOT):
    return start("dask_worker", address, "--nthreads", 1, "--no-nanny", path=path)


@pytest.fixture(scope="module")
def scheduler():
    """The address of a scheduler without workers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = start("dask_scheduler", "--host", "127.0.0.1", "--port", port)
    yield f"tcp://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture
def worker(scheduler):
    """Starts workers; they are gone after the test."""
    begun = []

    def begin(path=ROOT):
        begun.append(start_worker(scheduler, path))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill()
        process.wait()


def wait_for_workers(address, n):
    from distributed import Client

    with Client(address, timeout=30, set_as_default=False) as client:
        until = time.monotonic() + 60
        while len(client.scheduler_info()["workers"]) != n:
            assert time.monotonic() < until, f"no {n} workers"
            time.sleep(0.05)


class Act(Unwatched):
    """Does something after so many rows, and then perhaps something else."""

    def __init__(self, after, act):
        self.acts = [(after, act)]

    def then(self, after, act):
        self.acts.append((after, act))
        return self

    def row(self, row):
        if self.acts:
            (left, act), *later = self.acts
            self.acts = [(left - 1, act), *later] if left > 1 else later
            if left == 1:
                act()


def test_a_cluster_gives_the_same_rows_as_one_process(sweep, undisturbed, scheduler, worker, tmp_path):
    worker(), worker()
    wait_for_workers(scheduler, 2)
    seen = set()

    class Who(Unwatched):
        def row(self, row):
            seen.add(row["worker"])

    assert run_sweep(sweep, tmp_path, scheduler=scheduler, watcher=Who()).ran == 80
    assert rows_of(tmp_path) == undisturbed
    assert len(seen) == 2
    assert not any(who.endswith(f":{os.getpid()}") for who in seen)


def test_workers_killed_in_the_middle_and_one_that_joins_later_leave_no_trace(sweep, undisturbed, scheduler, worker, tmp_path):
    """First one of two dies, then the other too: panels are not lost with the workers that held them."""
    first, second = worker(), worker()
    wait_for_workers(scheduler, 2)

    def disturb_again():
        os.kill(second.pid, signal.SIGKILL)
        worker()

    watcher = Act(10, lambda: os.kill(first.pid, signal.SIGKILL)).then(15, disturb_again)
    summary = run_sweep(sweep, tmp_path, scheduler=scheduler, watcher=watcher)
    assert (summary.ran, summary.failed) == (80, 0)
    assert first.wait() == second.wait() == -signal.SIGKILL
    assert rows_of(tmp_path) == undisturbed


def test_ctrl_c_on_a_cluster_and_going_on_without_it(sweep, undisturbed, scheduler, worker, tmp_path):
    worker()
    wait_for_workers(scheduler, 1)
    summary = run_sweep(sweep, tmp_path, scheduler=scheduler, watcher=Act(10, lambda: os.kill(os.getpid(), signal.SIGINT)))
    assert summary.stopped
    assert 10 <= summary.ran < 80
    assert run_sweep(sweep, tmp_path, jobs=1).before == summary.ran
    assert rows_of(tmp_path) == undisturbed


def changed_copy(folder):
    """The packages with another version of a strategy."""
    for package in ("datafeeds", "tracker_strategies", "indicators"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / "tracker_strategies" / "strategies" / "baselines" / "trackers.py"
    file.write_text(file.read_text() + "\nCHANGED = True\n")
    return folder


def test_a_worker_with_another_version_is_refused(sweep, scheduler, worker, tmp_path):
    worker(changed_copy(tmp_path / "old"))
    wait_for_workers(scheduler, 1)
    with pytest.raises(
        WorkerError, match=r"worker tcp://.* runs version .* of the package, but this sweep runs .*install the same"
    ):
        run_sweep(sweep, tmp_path / "sweep", scheduler=scheduler)
    assert rows_of(tmp_path / "sweep") == []


def test_a_worker_with_another_version_that_joins_later_does_not_answer(sweep, undisturbed, scheduler, worker, tmp_path):
    """With the first row: sixteen cells are out then, and the others are sent when the first worker is gone."""
    good = worker()
    wait_for_workers(scheduler, 1)
    old = changed_copy(tmp_path / "old")

    def swap():
        worker(old)
        wait_for_workers(scheduler, 2)
        os.kill(good.pid, signal.SIGKILL)

    with pytest.raises(WorkerError, match="runs version"):
        run_sweep(sweep, tmp_path / "sweep", scheduler=scheduler, watcher=Act(1, swap))
    kept = rows_of(tmp_path / "sweep")
    assert 1 <= len(kept) <= 16
    assert run_sweep(sweep, tmp_path / "sweep", jobs=1).before == len(kept)
    assert rows_of(tmp_path / "sweep") == undisturbed


def test_a_scheduler_that_goes_away_is_a_named_error_and_rows_are_kept(sweep, undisturbed, tmp_path, monkeypatch):
    from distributed import LocalCluster

    from tracker_strategies.research.sweeps.running import engines

    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    with pytest.raises(WorkerError, match=r"was lost; finished rows are kept"):
        run_sweep(sweep, tmp_path, scheduler=cluster.scheduler_address, watcher=Act(1, cluster.close))
    kept = rows_of(tmp_path)
    assert 1 <= len(kept) <= 16
    assert [r for r in undisturbed if r["key"] in {k["key"] for k in kept}] == kept


def test_a_cell_that_takes_its_worker_down_is_a_row_with_its_error(sweep, undisturbed, tmp_path):
    import dask
    from distributed import LocalCluster

    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    with cluster:
        killer = Act(1, lambda: os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL))
        summary = run_sweep(sweep, tmp_path, scheduler=cluster.scheduler_address, watcher=killer)
        assert summary.ran == 80
        bad = [r for r in rows_of(tmp_path) if r["status"] == "error"]
        assert len(bad) == summary.failed >= 1
        assert all(r["error"].startswith("KilledWorker") for r in bad)
        again = run_sweep(sweep, tmp_path, scheduler=cluster.scheduler_address, retry=True)
        assert (again.ran, again.failed) == (len(bad), 0)
    assert rows_of(tmp_path) == undisturbed


@pytest.mark.slow
def test_hostile_cells_take_no_worker_down(worker, scheduler, tmp_path):
    one, acts = worker(), ("nothing-0", "segfault-1", "sleep-2", "leave-3", "nothing-4")
    wait_for_workers(scheduler, 1)
    summary = run_sweep(hostile(acts, str(tmp_path)), tmp_path / "sweep", scheduler=scheduler, cell_seconds=6.0)
    assert (summary.ran, summary.failed) == (6, 3)
    errors = sorted(r["error"].partition(":")[0] for r in rows_of(tmp_path / "sweep") if r["status"] == "error")
    assert errors == ["CellDiedError", "CellTimeError", "SystemExit"]
    assert one.poll() is None


def test_a_scheduler_without_workers_is_a_named_error(sweep, scheduler, tmp_path, monkeypatch):
    from tracker_strategies.research.sweeps.running import engines

    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    wait_for_workers(scheduler, 0)
    with pytest.raises(WorkerError, match=r"has no workers; start some: dask worker tcp://"):
        run_sweep(sweep, tmp_path, scheduler=scheduler)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nonsense", "http://127.0.0.1:1"])
def test_a_scheduler_that_cannot_be_reached_is_a_named_error(sweep, tmp_path, monkeypatch, address):
    from tracker_strategies.research.sweeps.running import engines

    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    with pytest.raises(WorkerError, match=rf"no Dask scheduler answers at {address}"):
        run_sweep(sweep, tmp_path, scheduler=address)


def test_something_else_that_listens_there_is_a_named_error(sweep, tmp_path, monkeypatch):
    import http.server
    import threading

    from tracker_strategies.research.sweeps.running import engines

    monkeypatch.setattr(engines, "PATIENCE", 1.0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(WorkerError, match="no Dask scheduler answers"):
            run_sweep(sweep, tmp_path, scheduler=f"tcp://127.0.0.1:{server.server_port}")
        server.shutdown()
