"""Wrong answers from Yahoo: every series has a named outcome or plausible prices, and what was cached before is unchanged."""

from __future__ import annotations

import argparse
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from datafeeds import Patience, fetch_yahoo
from datafeeds.errors import TrackerError
from datafeeds.yahoo.cache import PriceCache
from tests.datafeeds.yahoo.market import START, market
from tests.datafeeds.yahoo.server import YahooServer
from tests.storm.bad_input.many import storm
from tests.storm.bad_input.yahoo_lies import fault

COUNT = 200
FAST = Patience(timeout=2.0, retries=1, pause=0.001, rate_limit_pause=0.001, longest_wait=0.01, lock_wait=5.0)


def add_options(parser: argparse.ArgumentParser) -> None:
    """None beside the usual."""


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    return storm("yahoo", trial, given, most_mb=300.0)


@cache
def server() -> Any:
    """One server for all cases of a process."""
    return YahooServer({}).__enter__()


def trial(rng: np.random.Generator) -> tuple[str, str, str]:
    """One series of three is lied about, in a first fetch or in one that brings a cache up to date."""
    yahoo = server()
    yahoo.listings, yahoo.faults, days = market(), {}, market()["^GEN"].days
    ticker, warm = str(rng.choice(["^GEN", "AAA", "BBB"])), bool(rng.random() < 0.5)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask = lambda **more: fetch_yahoo("^GEN", "AAA,BBB", START, cache=folder, patience=FAST, session=yahoo.session(), **more)  # noqa: E731
        kept = PriceCache(folder)
        yahoo.today = days[60 + int(rng.integers(5))]
        if warm:
            ask()
        before = {path.name: path.read_bytes() for path in kept.series.glob("*.parquet")}
        yahoo.today = days[-1]
        query = {"period1": ["0"], "period2": ["99999999999"]}
        kind, lie = fault(yahoo.chart(ticker, query)[1], rng)
        yahoo.fail(ticker, lie)
        try:
            fetched = ask()
        except TrackerError as problem:
            return kind, "refused", "" if "\n" not in str(problem) else f"several lines: {problem}"
        except Exception as problem:
            return kind, "raised", f"fetch_yahoo: {type(problem).__name__}: {problem!s:.300}"
        became, wrong = judged(fetched)
        return kind, became, wrong or cached(kept, fetched, before, Path(folder))


def judged(fetched: Any) -> tuple[str, str]:
    """Whether a panel is made of it only if it can be one."""
    try:
        panel = fetched.panel(policy="drop", gaps="freeze")
    except TrackerError as problem:
        return "refused", "" if "\n" not in str(problem) else f"several lines: {problem}"
    except Exception as problem:
        return "raised", f"panel: {type(problem).__name__}: {problem!s:.300}"
    prices = np.concatenate([panel.close.ravel(), panel.target_close.ravel()])
    prices = prices[~np.isnan(prices)]
    if not (np.isfinite(prices).all() and (prices > 0.0).all()):
        return "a panel", "prices that are none"
    return "a panel" if not fetched.report.failed else "without it", ""


def cached(kept: PriceCache, fetched: Any, before: dict[str, bytes], folder: Path) -> str:
    """Whether the cache can be read, and a series that failed is as it was."""
    for outcome in fetched.report:
        path = kept.path(outcome.ticker)
        if not outcome.status.ok and before.get(path.name) != (path.read_bytes() if path.exists() else None):
            return f"{outcome.ticker} {outcome.status}, and its file has changed"
        if outcome.status.ok and kept.read(outcome.ticker) is None:
            return f"{outcome.ticker} {outcome.status}, and it is not in the cache"
    left = [path.name for path in folder.rglob("*.unfinished*")]
    return f"left behind: {left[0]}" if left else ""
