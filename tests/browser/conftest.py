"""A real browser, and the pages that it opens: each written by the command that writes it for users."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.markets import random_panel
from tracker_strategies.cli import app

HERE = Path(__file__).parent
#: Headless, and silent towards the network: the browser itself asks for nothing either.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: As hostile as the name of a folder can be.
NASTY = "<script>alert(1)<script><img src=x onerror=alert(2)>&quot;"


def pytest_collection_modifyitems(items):
    """All on one worker: they share a browser."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


def find_chromium():
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="package")
def browser():
    """Closed when the package is done: while it is open, an event loop runs in this thread."""
    program = find_chromium()
    if program is None:
        pytest.skip("no chromium found, pages not tested in a browser: apt-get install chromium, or set CHROMIUM to its path")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: extra 'dev'")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, headless=True, args=list(FLAGS))
        yield opened
        opened.close()


@dataclass
class Opened:
    """A page in the browser, with all that it asked for and complained about."""

    page: object
    requests: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser):
    """Open a file without a network: ``visit(path, width=1024, scheme="light")``."""
    contexts = []

    def visit(path, width=1024, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
        contexts.append(context)
        opened = Opened(context.new_page())
        page = opened.page
        page.on("request", lambda request: opened.requests.append(request.url))
        page.on("requestfailed", lambda request: opened.failed.append(request.failure))
        page.on("console", lambda said: opened.complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (opened.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        return opened

    yield visit
    for context in contexts:
        context.close()


def tracker(*words):
    said = CliRunner().invoke(app, [str(word) for word in words])
    assert said.exit_code == 0, said.output


@dataclass(frozen=True)
class Written:
    """Where the pages are, and the folders of the runs that the comparison shows."""

    pages: dict[str, Path]
    runs: dict[str, Path]


@pytest.fixture(scope="package")
def written(tmp_path_factory, browser):
    """Every page that the project writes, on a small market."""
    folder = tmp_path_factory.mktemp("pages")
    market, second = folder / "market.csv", folder / "second.csv"
    random_panel(320, 6, seed=3).to_frame().to_csv(market, index_label="date")
    random_panel(200, 5, seed=4).to_frame().to_csv(second, index_label="date")
    costs = ("--data", market, "--cost-bps", "5", "--no-tearsheet")
    tracker("run", "apas", *costs, "--out", folder / "runs" / NASTY)
    tracker("compare", "pa", "equal-weight", "buy-and-hold", *costs, "--out", folder / "runs", "--html", folder / "three.html")
    runs = {path.name: path for path in sorted((folder / "runs").iterdir())}
    tracker("compare", *runs.values(), "--html", folder / "comparison.html")
    tracker("tearsheet", runs["pa"], "--out", folder / "tearsheet.html")
    tracker("leaderboard", "--data", market, "--data", second, "--strategies", "pa,equal-weight", "--out", folder / "board")
    sweep = ("--grid", "eps=1e-4,1e-3", "--cost-bps", "0,5", "--out", folder / "sweep", "-j", "1")
    tracker("sweep", "run", "pa", "--data", market, *sweep)
    tracker("sweep", "report", folder / "sweep", "--draws", "100")
    tracker("tune", "pa", "--grid", "eps=1e-4,1e-3", "--data", market, "--out", folder / "tuned", "-j", "1")
    bars = ("--data", "synthetic:ohlc=1,n_assets=5,n_bars=90", "--max-cost", "100")
    tracker("capacity", "pa", *bars, "--out", folder / "capacity")
    tracker("reproduce", "adagrad", "--out", folder / "paper")
    pages = {
        "comparison of folders": folder / "comparison.html",
        "comparison of strategies": folder / "three.html",
        "tear sheet": folder / "tearsheet.html",
        "leaderboard": folder / "board" / "leaderboard.html",
        "comparison of a leaderboard": folder / "board" / "comparison.html",
        "sweep": folder / "sweep" / "report.html",
        "comparison of a sweep": folder / "sweep" / "comparison.html",
        "tuning": folder / "tuned" / "tune.html",
        "capacity": folder / "capacity" / "capacity.html",
        "paper": folder / "paper" / "adagrad.html",
    }
    return Written(pages, runs)
