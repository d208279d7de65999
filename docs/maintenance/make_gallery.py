"""Make the pictures of docs/images: real pages of real runs on the bundled sample, seen by a real browser.

python docs/maintenance/make_gallery.py [NAME ...]      (needs the extra `report` and Debian's `chromium`)

Two minutes. Pictures are reduced to 256 colours, which halves them and cannot be seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"


def tracker(*words: str) -> None:
    """A command, as a user types it."""
    subprocess.run([sys.executable, "-m", "tracker_strategies", *words], check=True, stdout=subprocess.DEVNULL)


def run(strategy: str, *words: str) -> str:
    """The folder of a run on the sample; made once."""
    folder = f"runs/{strategy}"
    if not Path(folder).exists():
        tracker("run", strategy, "--data", "sample", "--cost-bps", "5", "--out", folder, "--no-tearsheet", *words)
    return folder


def browse(page: str, name: str, width: int, height: int) -> None:
    """What a browser shows of a page, from its top."""
    browser = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=3000"]
    view = [f"--window-size={width},{height}", f"--screenshot={Path(name).resolve()}", Path(page).resolve().as_uri()]
    subprocess.run([*browser, *view], check=True, stderr=subprocess.DEVNULL, timeout=120)


def keep(name: str) -> None:
    """Reduce the colours of a picture and put it where the pages find it."""
    picture = Image.open(name).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(IMAGES / name, optimize=True)
    print(f"docs/images/{name}: {picture.width} x {picture.height}, {(IMAGES / name).stat().st_size / 1000:.0f} kB")


def tearsheet() -> None:
    """The tracking section."""
    tracker("tearsheet", run("ensemble"), "--out", "tearsheet.html")
    browse("tearsheet.html", "tearsheet.png", 1200, 1680)


def comparison() -> None:
    """Four runs beside each other."""
    tracker("compare", *map(run, ("ensemble", "pa", "apas", "equal-weight")), "--html", "comparison.html")
    browse("comparison.html", "comparison.png", 1200, 1470)


def sweep() -> None:
    """The report of a sweep."""
    grids = ["--grid", "eps=1e-4,3e-4,1e-3", "--grid", "apas.lam=0.001,0.01,0.1"]
    tracker("sweep", "pa", "apas", "--data", "sample", *grids, "--cost-bps", "5", "--out", "runs/sweep")
    tracker("sweep", "report", "runs/sweep")
    browse("runs/sweep/report.html", "sweep.png", 1200, 1900)


def leaderboard() -> None:
    """Strategies on one market."""
    from datafeeds import load_sample

    load_sample().to_frame().to_csv("sample.csv")
    names = "ensemble,least-squares,pa,apas,adagrad,discounted-vaw,sparse-pls,equal-weight,buy-and-hold"
    tracker("leaderboard", "--data", "sample.csv", "--strategies", names, "--fill", "next_open", "--out", "runs/board")
    browse("runs/board/leaderboard.html", "leaderboard.png", 1200, 1290)


def cerebro() -> None:
    """What `cerebro.plot` draws, into a file."""
    import backtrader as bt

    from datafeeds import SingleIndexData, load_sample
    from indicators import EffectiveHoldings, PortfolioTrackingError, Turnover, diagnostics_observer, plot_to_file
    from tracker_strategies import APASTracker

    cerebro = bt.Cerebro(stdstats=False)
    SingleIndexData(load_sample().rows(-750, None)).add_to(cerebro, plot_assets=False)
    cerebro.broker.setcash(1_000_000)
    cerebro.addstrategy(APASTracker, rebalance="weekly")
    for observer in (PortfolioTrackingError, Turnover, EffectiveHoldings, diagnostics_observer("eps")):
        cerebro.addobserver(observer)
    cerebro.run()
    plot_to_file(cerebro, "cerebro.png", width=12, height=8, dpi=90)


PICTURES: dict[str, Callable[[], None]] = {
    "tearsheet": tearsheet,
    "comparison": comparison,
    "sweep": sweep,
    "leaderboard": leaderboard,
    "cerebro": cerebro,
}


def main(names: list[str]) -> None:
    """Make some pictures, or all."""
    os.environ["PYTHONPATH"] = str(ROOT)
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in names or PICTURES:
            PICTURES[name]()
            keep(f"{name}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
