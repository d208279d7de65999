"""Very many small cases in process: each by its number alone, timed, weighed, counted by kind."""

from __future__ import annotations

import argparse
import resource
import signal
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import numpy as np

SECONDS = 20.0
"""A case that takes longer hangs."""


class TooLongError(BaseException):
    """A case took longer than it may; no ``except Exception`` of what is tried can swallow it."""


@dataclass(frozen=True)
class Outcome:
    """What came of a case: the kind of bad input, what became of it, and what is wrong with that."""

    case: str
    kind: str
    became: str
    wrong: str = ""


Trial = Callable[[np.random.Generator], tuple[str, str, str]]
"""From a generator of random numbers to the kind of a case, what became of it, and what is wrong; nothing for nothing."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise TooLongError in what runs longer."""

    def ring(signum: int, frame: FrameType | None) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def peak() -> float:
    """The most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def try_case(trial: Trial, most_mb: float, seed: int, index: int) -> Outcome:
    """Try one case; an exception, a hang and too much memory are findings."""
    case, before = f"{seed}:{index}", peak()
    try:
        with deadline(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kind, became, wrong = trial(np.random.default_rng([seed, index]))
    except TooLongError:
        return Outcome(case, "?", "hang", f"more than {SECONDS:g} seconds")
    if not wrong and peak() - before > most_mb:
        wrong = f"{peak() - before:.0f} MB of memory, at most {most_mb:g} are allowed"
    return Outcome(case, kind, became, wrong)


def outcomes(trial: Trial, given: argparse.Namespace, most_mb: float) -> Iterable[Outcome]:
    """What came of all cases, in order."""
    one = partial(try_case, trial, most_mb, given.seed)
    numbers = range(given.first, given.first + given.count)
    if given.jobs <= 1:
        yield from map(one, numbers)
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        yield from pool.map(one, numbers, chunksize=50)


def storm(name: str, trial: Trial, given: argparse.Namespace, most_mb: float = 300.0) -> int:
    """Try all cases, print what was tried and every failure with how to repeat it, and return how many failed."""
    tried: dict[str, Counter[str]] = defaultdict(Counter)
    failed = 0
    for outcome in outcomes(trial, given, most_mb):
        tried[outcome.kind][outcome.became] += 1
        if outcome.wrong:
            failed += 1
            print(f"{outcome.kind}: {outcome.wrong}\n    python -m tests.storm {name} --case {outcome.case}", flush=True)
        elif given.case:
            print(f"{outcome.kind}: {outcome.became}", flush=True)
    print(table(tried))
    print(f"{sum(sum(row.values()) for row in tried.values())} cases, {failed} failed")
    return failed


def table(tried: dict[str, Counter[str]]) -> str:
    """One line for each kind, with how often it ended how."""
    ends = sorted({end for row in tried.values() for end in row})
    width = max(map(len, [*tried, "kind"]))
    rows: list[tuple[str, Any]] = [*sorted(tried.items()), ("all", sum(tried.values(), Counter()))]
    lines = [f"{'kind':{width}} " + " ".join(f"{end:>12}" for end in ends)]
    return "\n".join(lines + [f"{kind:{width}} " + " ".join(f"{row[end]:>12}" for end in ends) for kind, row in rows])
