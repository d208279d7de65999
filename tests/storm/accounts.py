"""Paper accounts resume bit for bit after a kill at any moment, on every clock; and they withstand brokers that report wrong
data, split or rename names, fail, or have wrong hours.
"""

from __future__ import annotations

import argparse
from collections import Counter
from multiprocessing import get_context

from tests.storm.paper.plans import KINDS
from tests.storm.paper.trying import Result, try_case
from tracker_strategies.papertrade.market.calendars import trading_calendar

#: Twelve rounds of every kind.
COUNT = 12 * len(KINDS)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this storm beside ``--count``, ``--seed``, ``--case`` and ``--jobs``."""
    parser.add_argument("--kind", choices=KINDS, help="only cases of this kind")


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    trading_calendar("XNYS")  # once, before the processes part
    chosen = range(given.first, given.first + given.count)
    if given.kind:
        place = KINDS.index(given.kind)
        chosen = range(given.first + (place - given.first) % len(KINDS), len(KINDS) * given.count, len(KINDS))
    cases = [(given.seed, index) for index in chosen]
    results: list[Result] = []
    try:
        with get_context("fork").Pool(given.jobs, maxtasksperchild=50) as pool:
            for result in pool.imap(_case, cases):
                results.append(result)
                for finding in result.findings:
                    print(f"{result.plan}\n    {finding}", flush=True)
                if result.findings:
                    print(f"    repeat: python -m tests.storm accounts --case {result.plan.seed}:{result.plan.index}", flush=True)
                elif given.case:
                    print(f"{result.plan}\n    nothing found", flush=True)
    finally:  # stopped in the middle, it tells what was tried
        print(table(results), flush=True)
    return sum(bool(r.findings) for r in results)


def _case(case: tuple[int, int]) -> Result:
    return try_case(*case)


def table(results: list[Result]) -> str:
    """What was tried: cases, kills and failures of each kind; and what steps ended with at hostile brokers."""
    lines = [f"{'kind':24} {'cases':>6} {'kills':>6} {'failed':>6}"]
    for kind in KINDS:
        own = [r for r in results if r.plan.kind == kind]
        if own:
            lines.append(f"{kind:24} {len(own):6} {sum(r.kills for r in own):6} {sum(bool(r.findings) for r in own):6}")
    named: Counter[str] = sum((r.named for r in results), Counter())
    lines.append(
        "steps at hostile brokers: " + ", ".join(f"{count} {name or 'nothing new'}" for name, count in named.most_common())
    )
    return "\n".join(lines)
