"""Proof by experiment that a strategy does not look ahead: scramble the future and see whether the past moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.testing.errors import LookAheadError


def check_no_lookahead(
    strategy: type[TrackerStrategy] | str | Callable[[MarketPanel], RunRecord],
    panel: MarketPanel,
    params: Mapping[str, Any] | None = None,
    *,
    cuts: Sequence[float] = (0.25, 0.5, 0.9),
    seed: int = 0,
    **options: Any,
) -> None:
    """Run a strategy through the whole engine on a panel and on the same panel with another future; compare the past bit by bit.

    Parameters
    ----------
    strategy : Strategy class, its name, or a function from a panel to a :class:`RunRecord`
        What to test. A function may build its cerebro in its own way.
    panel : MarketPanel
    params, **options
        For :func:`tracker_strategies.runner.backtest`.
    cuts : sequence of float
        Where the future begins, as fractions of the bars.
    seed : int
        Of the invented future.

    Raises
    ------
    LookAheadError
        Naming the first date on which weights, orders or the account's value differ.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies.testing import check_no_lookahead
    >>> check_no_lookahead("pa", load_sample().rows(0, 60))
    """
    run = strategy if callable(strategy) and not isinstance(strategy, type) else _runner(strategy, params, options)
    truth = run(panel)
    for cut in cuts:
        row = max(1, int(panel.n_bars * cut))
        _compare(truth, run(scramble_future(panel, row, np.random.default_rng([seed, row]))), panel, row)


def scramble_future(panel: MarketPanel, row: int, rng: np.random.Generator) -> MarketPanel:
    """The same panel up to and including a row; after it other prices, and other listings, halts, delistings, dates without a
    level of a target, and members of the index.
    """
    ahead = panel.n_bars - row - 1

    def walk(last: Any) -> Any:
        steps = rng.standard_normal((ahead, last.shape[0])) * 0.05
        return np.where(np.isfinite(last), last, 50.0) * np.exp(steps.cumsum(axis=0))

    last = np.where(panel.last_bar[row] >= 0, panel.close[panel.last_bar[row], np.arange(panel.n_assets)], np.nan)
    future = walk(last)
    if not panel.complete:  # another pattern of bars; every name keeps one, or a panel could not hold it
        absent = rng.random(future.shape) < 0.1
        absent[-1] = False
        future = np.where(absent, np.nan, future)
    close = np.vstack([panel.close[: row + 1], future])
    target = np.vstack([panel.target_close[: row + 1], walk(panel.target_close[row])])
    bars: dict[str, Any] = {}
    shape = {"open": 0.0, "high": 0.02, "low": -0.02}
    for name, edge in shape.items():
        old = getattr(panel, name)
        if old is not None:
            jump = 1.0 + (edge if edge else 0.015 * rng.uniform(-1.0, 1.0, future.shape))
            bars[name] = np.vstack([old[: row + 1], future * jump])
    if panel.volume is not None:
        bars["volume"] = np.vstack([panel.volume[: row + 1], rng.integers(1, 10**6, future.shape).astype(float)])
    masks: dict[str, Any] = {}
    for name in ("target_seen", "members"):
        old = getattr(panel, name)
        if old is not None:
            other = rng.random(old[row + 1 :].shape) < 0.9
            other[~other.any(axis=1)] = True
            masks[name] = np.vstack([old[: row + 1], other])
    return replace(panel, close=close, target_close=target, source="scrambled", **bars, **masks)


def _runner(strategy: Any, params: Mapping[str, Any] | None, options: dict[str, Any]) -> Callable[[MarketPanel], RunRecord]:
    return lambda panel: backtest(panel, strategy, params, **options)


def _compare(truth: RunRecord, other: RunRecord, panel: MarketPanel, row: int) -> None:
    until = panel.dates[row]
    for what in ("decisions", "weights", "value", "turnover", "cost"):
        a, b = getattr(truth, what), getattr(other, what)
        if a is None or b is None:
            continue
        a, b = a[truth.dates <= until], b[other.dates <= until]
        if a.shape != b.shape or not np.array_equal(a, b, equal_nan=True):
            rows = min(len(a), len(b))
            differ = [t for t in range(rows) if not np.array_equal(a[t], b[t], equal_nan=True)]
            day = truth.dates[differ[0]] if differ else until
            raise LookAheadError(f"{what} on {day.astype('datetime64[D]')} depend on data after {panel.day(row)}")
    a, b = (r.orders[r.orders["date"] <= until].reset_index(drop=True) for r in (truth, other))
    if not a.equals(b):
        raise LookAheadError(f"orders up to {panel.day(row)} depend on data after it")
