"""Random strategies send orders of every kind to a paper account, and get the same notifications as from backtrader's broker."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tests.papertrade.live.order_by_order import KINDS, case
from tracker_strategies.execution.costs import CostModel

COUNT = 100


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this storm beside ``--count``, ``--seed``, ``--case`` and ``--jobs``."""
    parser.add_argument("--kind", choices=KINDS, help="only orders of this kind")


def drawn(seed: int, index: int, kind: str | None = None) -> dict[str, Any]:
    """A case, from its numbers alone."""
    rng = np.random.default_rng([seed, index])
    n_bars = int(rng.integers(8, 30))
    kinds = tuple(rng.permutation(KINDS)[: rng.integers(1, len(KINDS) + 1)].tolist()) if kind is None else (kind,)
    return {
        "seed": int(rng.integers(1 << 30)),
        "kinds": kinds,
        "cash": float(rng.choice([3e3, 6e3, 2e4, 1e6])),
        "costs": CostModel(bps=float(rng.choice([0.0, 5.0])), min_fee=float(rng.choice([0.0, 1.0]))),
        "n_bars": n_bars,
        "ends": tuple(sorted(set(rng.integers(1, n_bars, rng.integers(0, 4)).tolist()))),
    }


def tried(numbers: tuple[int, int, str | None]) -> tuple[dict[str, Any], list[str]]:
    """A case and what is wrong with it."""
    told = drawn(*numbers)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="orders-", dir=memory) as folder:
        try:
            return told, case(Path(folder) / "a", **told)
        except Exception as problem:  # whatever it is, it is a finding
            return told, [f"{type(problem).__name__}: {problem}"]


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    numbers = [(given.seed, given.first + k, given.kind) for k in range(given.count)]
    failed, seen = 0, Counter[str]()
    with ProcessPoolExecutor(given.jobs) as pool:
        for (seed, index, _), (told, wrong) in zip(numbers, pool.map(tried, numbers), strict=True):
            seen.update([*told["kinds"], f"{len(told['ends'])} restarts", f"cash {told['cash']:g}"])
            if wrong or given.case:
                failed += bool(wrong)
                print(f"--case {seed}:{index}  {told}", *(wrong[:5] or ["nothing found"]), sep="\n    ", flush=True)
    for kind, times in sorted(seen.items()):
        print(f"{kind:<14}{times:>6}")
    print(f"{len(numbers)} cases, findings in {failed}")
    return failed
