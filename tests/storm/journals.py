"""Damage to the journal or to the broker's file changes no value that is read, or is reported before any order is sent."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.storm.damage.accounts import Accounts, accounts
from tests.storm.damage.trying import KINDS, Result, table, try_case

COUNT = 2000


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this storm beside ``--count``, ``--seed``, ``--case`` and ``--jobs``."""
    parser.add_argument("--kind", choices=KINDS, help="only damage of this kind")
    parser.add_argument("--show", action="store_true", help="print every case, also those without a fault")


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    results = []
    with accounts() as all_of_them:
        for result in _results(all_of_them, given):
            results.append(result)
            if result.findings or given.case or given.show:
                print(f"{result.case}  {result.kind}  {result.told}", flush=True)
                for words in (*result.named, *(f"FAILED: {found}" for found in result.findings)):
                    print(f"    {words}", flush=True)
    print(table(results))
    failed = sum(bool(r.findings) for r in results)
    print(f"{len(results)} damages, {failed} failed; repeat one with --case SEED:INDEX")
    return failed


def _results(all_of_them: Accounts, given: argparse.Namespace) -> Iterator[Result]:
    cases = range(given.first, given.first + given.count)
    if given.jobs == 1:
        for index in cases:
            yield try_case(all_of_them, given.seed, index, given.kind)
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        waiting = [pool.submit(try_case, all_of_them, given.seed, index, given.kind) for index in cases]
        for one in waiting:
            yield one.result()
