"""The pages: a tear sheet against QuantStats alone, and the comparison page's size and time to be ready in a browser."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks._measure import Report, side_by_side
from datafeeds import MarketPanel, synthetic_market
from tracker_strategies.analysis.pages.comparison_page import comparison
from tracker_strategies.analysis.pages.quantstats_page import require_quantstats
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.research import replay

N_BARS, N_ASSETS, N_RUNS = 2520, 30, 10
YEAR_OF_MINUTES = 98_280
#: What the browser needs to start without a screen and to leave the network alone.
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"]


def run() -> Report:
    report = Report("pages")
    panel = synthetic_market(N_ASSETS, N_BARS + 1, seed=1)
    runs = {f"eps = {eps:.0e}, {c}": replay(panel, "pa", {"eps": eps, "coordinates": c}) for eps, c in _grid()}
    with tempfile.TemporaryDirectory() as folder:
        _tear_sheet(report, next(iter(runs.values())), Path(folder))
        page = comparison(runs, Path(folder) / "comparison.html")
        report.claim(f"comparison page, {len(runs)} runs x {N_BARS} bars, MB", page.stat().st_size / 1e6, at_most=1.5)
        _ready(report, page)
        _minutes(report, Path(folder))
    return report


def _grid() -> list[tuple[float, str]]:
    return [(eps, c) for eps in (1e-5, 1e-4, 3e-4, 1e-3, 3e-3) for c in ("weights", "holdings")][:N_RUNS]


def _tear_sheet(report: Report, record: RunRecord, folder: Path) -> None:
    reports = require_quantstats()
    dates = pd.DatetimeIndex(record.dates)
    r, y = (pd.Series(np.r_[0.0, v], dates) for v in (record.returns, record.index_returns[:, 0]))

    def alone() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return reports.html(r, y, output=str(folder / "quantstats.html"), match_dates=False)

    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # hundreds of lines about a font

    contenders: dict[str, Callable[[], Any]] = {
        "QuantStats alone": alone,
        "tear sheet": lambda: tearsheet(record, folder / "tearsheet.html"),
    }
    for warm in contenders.values():
        warm()
    timings, _ = side_by_side(contenders, 3)
    report.timings(timings, "QuantStats alone")
    ratio = timings["tear sheet"].least / timings["QuantStats alone"].least
    report.claim("time of a tear sheet / time of QuantStats alone", ratio, at_most=1.5)


def _minutes(report: Report, folder: Path) -> None:
    """The page of a year of minutes against that of ten years of days, in CPU time."""
    least: dict[str, float] = {}
    runs = {"days": _record(_days(N_BARS), 0.01), "minutes": _record(_minutes_of(YEAR_OF_MINUTES), 5e-4)}
    for _ in range(3):
        for name, record in runs.items():
            start = time.process_time()
            page = tearsheet(record, folder / f"{name}.html")
            least[name] = min(least.get(name, np.inf), time.process_time() - start)
    for name, record in runs.items():
        report.rows.append({"contender": f"page of {len(record.dates):,} bars ({name})", "CPU s": least[name]})
    size = page.stat().st_size / 1e6
    report.claim(f"page of {YEAR_OF_MINUTES:,} bars, MB", size, at_most=2.0)
    report.claim(
        f"CPU of the page of {YEAR_OF_MINUTES:,} bars / of {N_BARS:,} bars", least["minutes"] / least["days"], at_most=1.5
    )


def _record(dates: NDArray[np.datetime64], volatility: float) -> RunRecord:
    """A run over bars of these dates, on prices that walk at random."""
    steps = volatility * np.random.default_rng(1).standard_normal((len(dates), N_ASSETS))
    close = 50.0 * np.exp(np.cumsum(steps, axis=0))
    names = tuple(f"A{i:02d}" for i in range(N_ASSETS))
    return replay(MarketPanel(dates, names, close, ("INDEX",), close.mean(axis=1, keepdims=True)), "pa")


def _days(n: int) -> NDArray[np.datetime64]:
    return np.asarray(pd.bdate_range("2015-01-02", periods=n).to_numpy(), dtype="datetime64[ns]")


def _minutes_of(n: int) -> NDArray[np.datetime64]:
    """Sessions of 390 minutes."""
    since = np.timedelta64(570, "m") + np.arange(1, 391) * np.timedelta64(1, "m")
    return (_days(-(-n // 390))[:, None] + since).ravel()[:n]


def _ready(report: Report, page: Path) -> None:
    """Seconds from the start of the navigation until all is drawn, best of five, in a browser that has just been opened."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program = None
    if program is None:
        report.notes.append("no chromium or no playwright: time until the page is ready not measured")
        return
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        seconds = []
        for _ in range(5):
            context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
            opened = context.new_page()
            opened.goto(page.as_uri())
            seconds.append(opened.evaluate("performance.getEntriesByName('ready')[0].startTime") / 1000.0)
            context.close()
        browser.close()
    report.rows.append({"contender": "ready in the browser", "min s": min(seconds), "median s": sorted(seconds)[2], "repeats": 5})
    report.claim("comparison page ready in the browser, s", min(seconds), at_most=1.0)
