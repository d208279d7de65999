"""Sweeps whose cells, processes or driver are killed: no result is lost or doubled, and no failure goes unreported."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.storm.hostile_cells.trying import CELLS, Case, Result, make_case, try_case

COUNT = 300


def add_options(parser: argparse.ArgumentParser) -> None:
    """This storm has no options of its own."""


def storm(count: int, seed: int, *, first: int = 0, jobs: int = 1) -> Iterator[Result]:
    """The results of the cases, in their order."""
    with ThreadPoolExecutor(jobs) as pool:  # each case is a process of its own
        yield from pool.map(try_case, (make_case(seed, index) for index in range(first, first + count)))


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    results: list[Result] = []
    for result in storm(given.count, given.seed, first=given.first, jobs=given.jobs):
        results.append(result)
        if result.findings or given.case:
            print(told(result.case), *(result.findings or ["nothing found"]), sep="\n    ", flush=True)
            print(f"    repeat: python -m tests.storm sweeps --case {result.case.name}", flush=True)
    print(table(results))
    failed = sum(bool(result.findings) for result in results)
    starts, seconds = sum(result.starts for result in results), sum(result.seconds for result in results)
    print(f"{len(results)} sweeps of {CELLS} cells, {starts} starts of a driver, {seconds:.0f} s: findings in {failed}")
    return failed


def told(case: Case) -> str:
    """A case in words."""
    hostile = [act for act in case.acts if not act.startswith("nothing")]
    done = ", ".join(f"{what} at {at}" for what, at in case.disturbances) or "undisturbed"
    return f"{case.name}: {case.jobs} processes; {', '.join(hostile)}; {done}"


def table(results: list[Result]) -> str:
    """What was tried, how often, and in how many cases with it something was found."""
    tried: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for result in results:
        case = result.case
        kinds = {f"cell: {act.partition('-')[0]}" for act in case.acts} | {f"driver: {what}" for what, _ in case.disturbances}
        kinds |= {f"processes: {case.jobs}"}
        tried.update(kinds)
        wrong.update(kinds if result.findings else ())
    lines = [f"{kind:34} {tried[kind]:6} {wrong[kind]:6}" for kind in sorted(tried)]
    return "\n".join([f"{'tried':34} {'cases':>6} {'found':>6}", *lines])
