"""Side-by-side timing: interleaved repeats, minima and medians, ratios."""

from __future__ import annotations

import gc
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any


@dataclass
class Timing:
    """Seconds of each repeat of one contender."""

    seconds: list[float] = field(default_factory=list)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def side_by_side(
    contenders: Mapping[str, Callable[[], Any]], repeats: Mapping[str, int] | int = 3
) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Run all contenders in turn, round after round, so that a busy moment hits all alike. A contender with fewer repeats sits
    out the rest.

    Returns the timings and what each contender returned last.
    """
    wanted = {name: repeats if isinstance(repeats, int) else repeats[name] for name in contenders}
    timings = {name: Timing() for name in contenders}
    results: dict[str, Any] = {}
    for turn in range(max(wanted.values())):
        for name, run in contenders.items():
            if turn >= wanted[name]:
                continue
            gc.collect()
            start = time.perf_counter()
            results[name] = run()
            timings[name].seconds.append(time.perf_counter() - start)
    return timings, results


def machine() -> dict[str, str]:
    """Python, machine and versions, printed with every result."""
    names = (
        "numpy",
        "scipy",
        "pandas",
        "backtrader",
        "bt",
        "vectorbt",
        "cvxportfolio",
        "cvxpy",
        "river",
        "scikit-learn",
        "numba",
    )
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return {"python": platform.python_version(), "machine": f"{platform.machine()} {platform.system()}", **found}


@dataclass
class Report:
    """What a benchmark found: rows of figures and claims (name, reached, wanted)."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def timings(self, timings: Mapping[str, Timing], base: str) -> None:
        """A row per contender, with its ratio to the base (how many times faster)."""
        for name, timing in timings.items():
            ratio = timings[base].least / timing.least
            row = {
                "contender": name,
                "min s": timing.least,
                "median s": timing.median,
                f"x {base}": ratio,
                "repeats": len(timing.seconds),
            }
            self.rows.append(row)

    def claim(self, text: str, reached: float, *, at_least: float | None = None, at_most: float | None = None) -> None:
        """A figure that the project promises, and whether this run kept it."""
        kept = (at_least is None or reached >= at_least) and (at_most is None or reached <= at_most)
        wanted = f">= {at_least:g}" if at_least is not None else f"<= {at_most:g}"
        self.claims.append({"claim": text, "reached": reached, "wanted": wanted, "kept": kept})
