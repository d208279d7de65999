"""Fingerprints of the sources that decide a result: equal fingerprints, equal results.

What decides is said by folder, and folders are read to the bottom: a file that is added or moved inside one counts by itself.
Pages, charts and the command line are in none: changing them makes no sweep start anew and no account replay its history.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from tracker_strategies._version import __version__
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.strategies.registry import is_strategy, load_strategy

_ROOT = Path(__file__).parents[1]
#: From a bar to an order: learners, execution, strategies.
TRADES = ("algorithms", "execution", "strategies")
#: Files and folders of this package that decide the row of a sweep, beside all of ``datafeeds``.
SCORES = (
    *TRADES,
    "analysis/account_rows.py",
    "analysis/analyzers.py",
    "analysis/entry.py",
    "analysis/metrics.py",
    "analysis/order_log.py",
    "analysis/record.py",
    "analysis/recording.py",
    "research/_fast_replay.py",
    "research/numpy_replay.py",
    "research/sweeps/asking/cells.py",
    "research/sweeps/running/worker.py",
    "errors.py",
    "runner.py",
)


def deciding_sources() -> Iterator[tuple[str, Path]]:
    """Name and path of every source that decides the row of a sweep."""
    yield from _sources(("datafeeds", *(f"tracker_strategies/{part}" for part in SCORES)))


def code_version() -> str:
    """Version of the distribution, a hash of the sources that decide a row, and the kernels in use unless they are numpy's.

    Kernels agree to 1e-12, and equal keys promise equal rows.
    """
    return _version_of_sources() + ("" if kernels.in_use() == "numpy" else f".{kernels.in_use()}")


def strategy_fingerprint(strategy: type) -> str:
    """Changes with the strategy's file, with this project's learners, execution and strategies, and with numpy's version."""
    own = inspect.getsourcefile(strategy)
    digest = hashlib.sha256(np.__version__.encode())
    for _, path in _sources(f"tracker_strategies/{part}" for part in TRADES):
        digest.update(path.read_bytes())
    if own is not None:
        digest.update(Path(own).read_bytes())
    return digest.hexdigest()[:16]


def own_code(strategy: str) -> str:
    """Class and file of a user's own strategy, whatever folder it lies in; empty for those of this project."""
    if is_strategy(strategy):
        return ""
    cls = load_strategy(strategy)
    source = inspect.getsourcefile(cls)
    return str(cls.__qualname__) + ("" if source is None else f"@{hashlib.sha256(Path(source).read_bytes()).hexdigest()}")


@cache
def _version_of_sources() -> str:
    digest = hashlib.sha256()
    for name, path in deciding_sources():
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return f"{__version__}+{digest.hexdigest()[:12]}"


def _sources(parts: Iterable[str]) -> Iterator[tuple[str, Path]]:
    for part in parts:
        place = _ROOT / part
        if not place.exists():
            raise FileNotFoundError(f"{part} decides results and is not there; mend the list in {__file__}")
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield path.relative_to(_ROOT).as_posix(), path
