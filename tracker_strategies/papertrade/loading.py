"""From the name of a strategy to its class, and a fingerprint of the code that would run."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

import numpy as np

from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade.errors import StrategyError
from tracker_strategies.runner import strategy_by_name
from tracker_strategies.strategies import TrackerStrategy

_HERE = Path(__file__).parents[1]


def load_strategy(name: str) -> type[TrackerStrategy]:
    """The class of a strategy: by its name, or ``path/to/file.py:Class``, or ``module:Class``."""
    where, found, attribute = name.rpartition(":")
    if not found:
        return strategy_by_name(name)
    try:
        module = _from_file(Path(where).expanduser()) if where.endswith(".py") else importlib.import_module(where)
        cls = getattr(module, attribute)
    except Exception as problem:  # a user's file may raise anything while it is imported
        raise StrategyError(
            f"cannot load the strategy {name!r}: {type(problem).__name__}: {problem}; mend it and step again"
        ) from problem
    if not (isinstance(cls, type) and issubclass(cls, TrackerStrategy)):
        raise ParameterError(f"{name!r} is no TrackerStrategy; derive it from one")
    return cls


def _from_file(path: Path) -> object:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    name = f"paper_strategy_{hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # backtrader looks its classes' modules up
    # From the source, not by the loader: that would take an old bytecode for a file changed within the second.
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module


def code_fingerprint(strategy: type[TrackerStrategy]) -> str:
    """Changes with the strategy's file, with this project's learners, execution and strategies, and with numpy's version."""
    digest = hashlib.sha256(np.__version__.encode())
    parts = [p for part in ("algorithms", "execution", "strategies") for p in sorted((_HERE / part).rglob("*.py"))]
    own = inspect.getsourcefile(strategy)
    for path in [*parts, *([Path(own)] if own else [])]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
