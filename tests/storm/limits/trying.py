"""The storm of mandates: random cases, run and judged; a table of what was kept, and all cases in which something was not."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.storm.limits.cases import Case, Market, make_case
from tests.storm.limits.checks import Judge
from tests.storm.limits.missed import can_begin
from tests.storm.limits.ways import run
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.papertrade.errors import BadBarError

#: How exactly two ways to run agree.
SAME = 1e-9


@dataclass
class Result:
    """What came of one case; `findings` are (kind, row, words)."""

    case: str
    limits: tuple[str, ...]
    told: str
    seconds: float = 0.0
    refused: bool = False
    decisions: int = 0
    forced: int = 0
    passive: int = 0
    findings: list[tuple[str, int, str]] = field(default_factory=list)


def try_case(case: Case) -> Result:
    """Run one case in its way and (unless that is it) as a replay, and judge it."""
    result = Result(case.name, case.limits, case.told())
    begun = time.process_time()
    try:
        seen = run(case)
    except (ParameterError, UniverseError) as refusal:
        result.refused = True
        if can_begin(case) and "the mandate excludes every name in index_weights" not in str(refusal):
            result.findings.append(("refused", 0, f"limits can hold on the first bar, and yet: {refusal}"))
    except BadBarError:  # an account waits where many names have no bar: nothing that a mandate could change
        result.refused = True
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        result.findings.append(
            ("exception", 0, f"{type(problem).__name__}: {problem} ({where.filename.split('/')[-1]}:{where.lineno})")
        )
    else:
        if can_begin(case) is False:
            result.findings.append(("not-refused", 0, "limits cannot hold together on the first bar, and it ran"))
        verdict = Judge(case, seen).judge()
        result.decisions, result.forced, result.passive = verdict.decisions, verdict.forced, verdict.passive
        result.findings += verdict.findings
        if case.way != "replay":
            result.findings += _differences(seen, run(case, "replay"))
    result.seconds = time.process_time() - begun
    return result


def _differences(seen: Any, other: Any) -> list[tuple[str, int, str]]:
    """Where two ways to run the same case part."""
    found = []
    gap = np.abs(seen.decided - other.decided).max(axis=1)
    if gap.max() > SAME:
        row = int((gap > SAME).argmax())
        found.append(("parity", row, f"decisions differ from the replay's by {gap[row]:.3g} from here on"))
    gap = np.abs(seen.value / other.value - 1.0)
    if gap.max() > SAME:
        row = int((gap > SAME).argmax())
        found.append(("parity", row, f"the value differs from the replay's by {gap[row]:.3g} from here on"))
    return found


def _by_number(job: tuple[int, int, Market, dict[str, Any]]) -> Result:
    seed, index, market, chosen = job
    return try_case(make_case(seed, index, market, **chosen))


def storm(count: int, seed: int, market: Market, *, jobs: int = 1, first: int = 0, **chosen: Any) -> Iterable[Result]:
    """Results of so many cases, in order."""
    work = [(seed, index, market, chosen) for index in range(first, first + count)]
    if jobs <= 1:
        yield from map(_by_number, work)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_by_number, work, chunksize=4)


def shown(result: Result, most: int = 3) -> str:
    """A case with its findings, in lines."""
    lines = [result.told]
    kinds: dict[str, list[tuple[str, int, str]]] = {}
    for finding in result.findings:
        kinds.setdefault(finding[0], []).append(finding)
    for kind, found in kinds.items():
        lines += [f"    {kind}, row {row}: {text}" for _, row, text in found[:most]]
        if len(found) > most:
            lines.append(f"    {kind}: {len(found)} in all")
    return "\n".join(lines)


COLUMNS = ("runs", "refused", "decisions", "forced", "passive", "active", "exceptions", "seconds")


def table(results: Iterable[Result]) -> str:
    """One line for each limit alone and each pair."""
    rows: dict[str, list[float]] = {}
    for result in results:
        exceptions = sum(kind == "exception" for kind, _, _ in result.findings)
        figures: tuple[float, ...] = (1, result.refused, result.decisions, result.forced, result.passive)
        figures += (len(result.findings) - exceptions, exceptions, result.seconds)
        for name in (" + ".join(result.limits), "all"):
            rows[name] = [a + b for a, b in zip(rows.get(name, [0.0] * len(figures)), figures, strict=True)]
    width = max((len(name) for name in rows), default=3)
    lines = [f"{'limits':{width}} " + " ".join(f"{name:>10}" for name in COLUMNS)]
    for name in sorted(rows, key=lambda name: (name == "all", " + " in name, name)):
        *counts, seconds = rows[name]
        lines.append(f"{name:{width}} " + " ".join(f"{int(number):>10}" for number in counts) + f" {seconds:>10.1f}")
    return "\n".join(lines)
