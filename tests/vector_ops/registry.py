"""The table of operations, and the comparison of what they return with what a vector expects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Op = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

OPS: dict[tuple[str, str], Op] = {}
NOT_EXPOSED: dict[tuple[str, str], frozenset[str]] = {}
PROJECT_ROOT = Path(__file__).resolve().parents[2]
HEAVY_TAILED = PROJECT_ROOT.parent / "shared" / "vectors_heavy_tailed"


def register(family: str, *ops: str, not_exposed: tuple[str, ...] = ()) -> Callable[[Op], Op]:
    """Register a function of (params, inputs) that returns the keys of `expected`, except those the API does not expose."""

    def add(function: Op) -> Op:
        for op in ops:
            assert (family, op) not in OPS, f"{family}/{op} is registered twice"
            OPS[family, op] = function
            NOT_EXPOSED[family, op] = frozenset(not_exposed)
        return function

    return add


def vector_directory() -> Path:
    """The shared vectors beside the project."""
    return PROJECT_ROOT.parent / "shared" / "vectors"


def vector_files() -> list[Path]:
    """The files of shared vectors beside the project, one per family."""
    return [path for folder in (vector_directory(), HEAVY_TAILED) for path in sorted(folder.glob("*.json"))]


def load_family(path: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return the name and the cases of one file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return content["family"], content["cases"]


def check_case(family: str, case: dict[str, Any]) -> list[str]:
    """Run one vector; return what is wrong with the outcome, nothing when it passes."""
    key = (family, case["op"])
    if key not in OPS:
        return [f"op {case['op']!r} is not known"]
    problems = []
    try:
        got, wanted = without_skipped(OPS[key](case["params"], case["inputs"]), case["expected"])
        for name, expected in wanted.items():
            if name in got:
                problems += differences(name, got[name], expected, **case["tol"])
            elif name not in NOT_EXPOSED[key]:
                problems.append(f"{name}: expected, not returned")
    except Exception as problem:
        problems.append(f"{type(problem).__name__}: {problem}")
    return problems


def without_skipped(got: dict[str, Any], expected: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Drop the rounds of g and gtilde that a vector excludes: there eps_t = zeta_t up to rounding, and either branch is right."""
    wanted = dict(expected)
    skipped = wanted.pop("skip_gtilde_rounds", [])
    for name in ("g", "gtilde") if skipped else ():
        if name in got and name in wanted and len(got[name]) == len(wanted[name]):
            got = got | {name: [v for t, v in enumerate(got[name]) if t not in skipped]}
            wanted[name] = [v for t, v in enumerate(wanted[name]) if t not in skipped]
    return got, wanted


def differences(name: str, got: Any, expected: Any, atol: float, rtol: float) -> list[str]:
    """Compare elementwise, |got - expected| <= atol + rtol |expected|; text and truth values must be equal."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{name}: got {type(got).__name__}, expected keys {sorted(expected)}"]
        return [d for k, v in expected.items() for d in differences(f"{name}.{k}", got.get(k), v, atol, rtol)]
    if expected is None or isinstance(expected, str | bool):
        return [] if got == expected else [f"{name}: got {got!r}, expected {expected!r}"]
    if isinstance(expected, list) and (len({np.shape(e) for e in expected}) > 1 or any(isinstance(e, dict) for e in expected)):
        if len(got) != len(expected):
            return [f"{name}: got {len(got)} entries, expected {len(expected)}"]
        return [d for i, e in enumerate(expected) for d in differences(f"{name}[{i}]", got[i], e, atol, rtol)]
    actual, wanted = np.asarray(got, dtype=float), np.asarray(expected, dtype=float)
    if actual.shape != wanted.shape:
        return [f"{name}: got shape {actual.shape}, expected {wanted.shape}"]
    excess = np.abs(actual - wanted) - (atol + rtol * np.abs(wanted))
    if np.all(excess <= 0.0):  # False for NaN
        return []
    if np.isnan(excess).any():
        return [f"{name}: holds NaN"]
    worst = np.unravel_index(int(np.argmax(excess)), excess.shape)
    return [f"{name}{[int(i) for i in worst]}: got {float(actual[worst])!r}, expected {float(wanted[worst])!r}"]
