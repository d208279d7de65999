"""Fingerprints of the sources that decide a result: equal fingerprints, equal results.

What decides is said by folder, and folders are read to the bottom: a file that is added or moved inside one counts by itself.
Pages, charts and the command line are in none: changing them makes no sweep start anew and no account replay its history.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tracker_strategies._version import __version__
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.strategies.registry import is_strategy, load_strategy

_ROOT = Path(__file__).parents[1]
#: Packages whose classes a strategy is made of without being a user's.
_OTHERS = ("tracker_strategies", "backtrader", "builtins", "abc", "typing")
#: From a bar to an order: learners, execution, strategies.
TRADES = ("algorithms", "execution", "strategies", "_checks.py", "errors.py")
#: Files and folders of this package that decide the row of a sweep, beside all of ``datafeeds``.
SCORES = (
    *TRADES,
    "analysis/account_rows.py",
    "analysis/analyzers.py",
    "analysis/attribution",
    "analysis/breaches.py",
    "analysis/diagnostics_analyzer.py",
    "analysis/entry.py",
    "analysis/eval_from.py",
    "analysis/held_rows.py",
    "analysis/metrics.py",
    "analysis/order_log.py",
    "analysis/record.py",
    "analysis/recording.py",
    "research/_fast_replay.py",
    "research/numpy_replay.py",
    "research/sweeps/asking/cells.py",
    "research/sweeps/running/worker.py",
    "_version.py",
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
    digest = hashlib.sha256(np.__version__.encode())
    for _, path in _sources(f"tracker_strategies/{part}" for part in TRADES):
        digest.update(path.read_bytes())
    return str(_with_own(digest, strategy).hexdigest()[:16])


def own_code(strategy: str) -> str:
    """Class and file of a user's own strategy, whatever folder it lies in; empty for those of this project."""
    if is_strategy(strategy):
        return ""
    cls = load_strategy(strategy)
    return f"{cls.__qualname__}@{_with_own(hashlib.sha256(), cls).hexdigest()}"


def _with_own(digest: Any, strategy: type) -> Any:
    """The digest with the files of a user's classes: the strategy, its learner, and what they derive from."""
    classes = (*strategy.__mro__, *getattr(getattr(strategy, "learner", None), "__mro__", ()))
    own = dict.fromkeys(cls.__module__ for cls in classes if cls.__module__.partition(".")[0] not in _OTHERS)
    for file in (getattr(sys.modules.get(module), "__file__", None) for module in own):
        if file is not None:
            digest.update(Path(file).read_bytes())
    return digest


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
