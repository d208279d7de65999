"""Limits are kept in every decision, by every strategy, in every way to run: replay, baskets, ordinary orders, paper account."""

from __future__ import annotations

import argparse
from collections import Counter

from tests.storm.limits.cases import STRATEGIES, WAYS, Market
from tests.storm.limits.trying import Result, shown, storm, table

#: 190 cases are each limit alone and in pairs once.
COUNT = 190


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this storm beside ``--count``, ``--seed``, ``--case`` and ``--jobs``."""
    parser.add_argument("--data", help="a wide file of prices instead of small random markets")
    parser.add_argument("--sectors", help="a table of symbol and sector for --data; all other names form one more group")
    parser.add_argument("--bars", type=int, help="bars of the market (default 60 of a random market, 120 of a file)")
    parser.add_argument("--names", type=int, default=12, help="names in a random market (default %(default)s)")
    parser.add_argument("--leavers", action="store_true", help="names leave the index and join it while they trade")
    parser.add_argument("--more", type=int, default=0, help="number of extra limits in every case (default %(default)s)")
    parser.add_argument("--strategy", choices=STRATEGIES, help="only cases of this strategy")
    parser.add_argument("--way", choices=WAYS, help="only cases run in this way")
    parser.add_argument("--limits", help="only cases of this limit, or of these two, separated by a comma")


def run(given: argparse.Namespace) -> int:
    """Try the cases, print what was found, and return how many cases failed."""
    market = Market(given.data, given.sectors, given.bars or (120 if given.data else 60), given.names, given.leavers, given.more)
    chosen = {"strategy": given.strategy, "way": given.way, "limits": tuple(given.limits.split(",")) if given.limits else None}
    results: list[Result] = []
    kinds: Counter[str] = Counter()
    for result in storm(given.count, given.seed, market, jobs=given.jobs, first=given.first, **chosen):
        results.append(result)
        if result.findings:
            kinds.update({kind for kind, _, _ in result.findings})
            print(shown(result), flush=True)
        elif given.case:
            print(result.told, "\n    nothing found", flush=True)
    print(table(results))
    failed = sum(bool(r.findings) for r in results)
    print(f"{len(results)} cases, findings in {failed}: {dict(kinds)}")
    return failed
