"""Sweeps: one process, two processes and a Dask cluster on the same 64 cells; what a cell costs beside its run; 10,000 cells."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._markets import N_ASSETS, N_BARS
from benchmarks._measure import Report, side_by_side
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.research.sweeps.asking.cells import Cell, Data, Window
from tracker_strategies.research.sweeps.asking.space import Space
from tracker_strategies.research.sweeps.asking.spec import Sweep, open_panels
from tracker_strategies.research.sweeps.judging.report import write_report
from tracker_strategies.research.sweeps.running.driver import Progress, Unwatched, description
from tracker_strategies.research.sweeps.running.engines import DaskEngine, Engine, LocalEngine
from tracker_strategies.research.sweeps.running.store import Store, read_rows
from tracker_strategies.research.sweeps.running.worker import Row, describe

ONE, TWO, DASK = "one process", "two processes", "two processes, Dask LocalCluster"
LAMS = tuple(float(x) for x in np.geomspace(1e-4, 1.0, 16))


def sixty_four() -> Sweep:
    """64 APAS runs on a market of the shape of the S&P 500, two years of days."""
    source = f"synthetic:n_assets={N_ASSETS},n_bars={N_BARS}"
    return Sweep(Space(("apas",), {"lam": LAMS, "nu": (1e-5, 3e-5, 1e-4, 2e-4)}), data=(source,), seeds=(7,), baselines=())


def tiny() -> Sweep:
    """300 runs of a millisecond or so each: what is left is the cost of handing them out and keeping their rows."""
    return Sweep(
        Space(("pa",), {"eps": tuple(np.geomspace(1e-6, 1e-2, 300).tolist())}),
        data=("synthetic:n_assets=3,n_bars=30",),
        baselines=(),
    )


def run_on(engine: Engine, sweep: Sweep) -> list[Row]:
    """All cells of a sweep through an engine that is up, rows to disk included."""
    (context,) = sweep.contexts(open_panels(sweep))
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, Store(folder, description({}, 0)) as store:
        progress = Progress(store, engine, 0, Unwatched())
        progress.run((context.cell(c, sweep) for c in sweep.candidates()), rows.append)
    return rows


def run() -> Report:
    report = Report("sweep")
    sweep, small = sixty_four(), tiny()
    with LocalEngine(1, {}) as one, LocalEngine(2, {}) as two:
        contenders: dict[str, Callable[[], Any]] = {ONE: lambda: run_on(one, sweep), TWO: lambda: run_on(two, sweep)}
        if find_spec("distributed") is None:
            report.notes.append("Dask is not installed and was not measured: pip install -e '.[cluster]'")
            overhead(report, contenders, {TWO: two}, small)
        else:
            from distributed import LocalCluster

            with (
                LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
                DaskEngine(cluster.scheduler_address, {}) as dask,
            ):
                contenders[DASK] = lambda: run_on(dask, sweep)
                overhead(report, contenders, {TWO: two, DASK: dask}, small)
    many_cells(report)
    return report


def overhead(report: Report, contenders: dict[str, Callable[[], Any]], engines: dict[str, Engine], small: Sweep) -> None:
    """Time the contenders side by side with warm workers, then the small cells on each engine."""
    for contender in contenders.values():
        contender()
    timings, rows = side_by_side(contenders, 9)
    report.timings(timings, ONE)
    truth = _figures(rows[ONE])
    off = max(float(np.abs(_figures(rows[name]) - truth).max()) for name in contenders)
    report.claim("largest difference of a figure between the engines", off, at_most=0.0)
    report.claim("two processes, times faster than one", timings[ONE].least / timings[TWO].least, at_least=1.6)
    if DASK in timings:
        report.claim("time of a Dask LocalCluster / time of two processes", timings[DASK].least / timings[TWO].least, at_most=1.2)
    for name, engine in engines.items():
        spent = []
        for _ in range(4):
            start = time.perf_counter()
            done = run_on(engine, small)
            spent.append(1e3 * (time.perf_counter() - start) / len(done) - 1e3 * float(np.mean([r["seconds"] for r in done])) / 2)
        report.claim(f"{name}: dispatch, row and disk, ms per cell", min(spent[1:]), at_most=5.0)


def _figures(rows: list[Row]) -> np.ndarray:
    return np.array([[r["te_rms"], r["turnover"], r["final_value"]] for r in sorted(rows, key=lambda r: str(r["key"]))])


class Invented:
    """An engine that makes rows up as fast as a store can take them."""

    def __enter__(self) -> Invented:
        return self

    def __exit__(self, *_: object) -> None: ...

    def drain(self) -> bool:
        return False

    def run(self, cells: Any) -> Iterator[Row]:
        rng = np.random.default_rng(0)
        for cell in cells:
            e = (1e-3 * rng.standard_normal(N_BARS - 1)).astype(np.float32)
            row = describe(cell, "invented") | dict.fromkeys(METRIC_KEYS, 0)
            te = float(np.sqrt((e**2).mean()))
            row |= {"te_rms": te, "te_centred": te, "mdte": te, "tracking_difference": 0.0, "excess_log_return": float(e.sum())}
            row |= {"turnover": 0.01, "cost_bps": 0.0, "n_holdings": 5.0, "final_value": 1e6, "n_bars": len(e)}
            row |= {"status": "ok", "error": "", "active": e, "excess": e, "first_day": "2015-01-02", "last_day": "2016-12-07"}
            yield row | {"seconds": 0.0, "finished": time.time(), "worker": "here"}


def resident() -> float:
    """Memory of this process now, in MB; its peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def many_cells(report: Report, n: int = 10_000) -> None:
    """Memory of the driver over 10,000 cells, and the time of the report on them."""
    data, window = Data(f"synthetic:n_assets=5,n_bars={N_BARS}"), Window(0, 0, N_BARS)
    grid = [{"eps": float(a), "C": float(b)} for a in np.geomspace(1e-6, 1e-2, n // 100) for b in np.geomspace(0.01, 100.0, 100)]
    cells = [Cell(name, data, window) for name in ("equal-weight", "pa")] + [Cell("pa", data, window, p) for p in grid]
    asked = {"objective": "te_rms", "baselines": ["equal-weight", "pa"]}
    with tempfile.TemporaryDirectory() as folder:
        told = description(asked, len(cells)) | {"code": "invented"}
        sizes = []
        with Store(folder, told) as store:
            progress = Progress(store, Invented(), len(cells), Unwatched())
            for at in range(0, len(cells), len(cells) // 4):
                progress.run(cells[at : at + len(cells) // 4])
                sizes.append(resident())
        kept = len(read_rows(folder, ("key",)))
        files = len(list(Path(folder, "rows").iterdir()))
        disk = sum(p.stat().st_size for p in Path(folder, "rows").iterdir()) / 2**20
        start = time.perf_counter()
        write_report(folder)
        seconds = time.perf_counter() - start
        page = Path(folder, "report.html").stat().st_size / 2**20
    report.rows.append({"contender": f"{n:,} cells: {kept:,} rows in {files} files, {disk:.0f} MB; page {page:.2f} MB"})
    report.claim(
        f"{n:,} cells: memory of the driver from the first quarter to the end, MB more", sizes[-1] - sizes[0], at_most=20.0
    )
    report.claim(f"{n:,} cells: report, s", seconds, at_most=30.0)
