"""``python -m tests.storm mandates --count N --seed S``: exit code 1 if anything was found."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.storm.cases import STRATEGIES, WAYS, Market
from tests.storm.mandates import Result, shown, storm, table


def main() -> int:
    """Read the command line and let it storm."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("mandates", help="limits are kept in every decision, by every strategy, in every way to run")
    one.add_argument("--count", type=int, default=200, help="number of cases; 190 are each limit alone and in pairs once")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--case", help="SEED:INDEX, to repeat one case")
    one.add_argument("--data", help="a wide file of prices instead of small random markets")
    one.add_argument("--sectors", help="a table of symbol and sector for --data; other names are a group of their own")
    one.add_argument("--bars", type=int, help="rows of the market: 60 of a random one, 120 of a file")
    one.add_argument("--names", type=int, default=12, help="names of a random market")
    one.add_argument("--leavers", action="store_true", help="names leave the index and join it while they trade")
    one.add_argument("--strategy", choices=STRATEGIES)
    one.add_argument("--way", choices=WAYS)
    one.add_argument("--limits", help="one or two limits, with a comma between them")
    one.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    market = Market(given.data, given.sectors, given.bars or (120 if given.data else 60), given.names, given.leavers)
    seed, first, count = given.seed, 0, given.count
    if given.case:
        seed, first = (int(number) for number in given.case.split(":"))
        count = 1
    chosen = {"strategy": given.strategy, "way": given.way, "limits": tuple(given.limits.split(",")) if given.limits else None}
    results: list[Result] = []
    kinds: Counter[str] = Counter()
    for result in storm(count, seed, market, jobs=given.jobs, first=first, **chosen):
        results.append(result)
        if result.findings:
            kinds.update({kind for kind, _, _ in result.findings})
            print(shown(result), flush=True)
        elif given.case:
            print(result.told, "\n    nothing found", flush=True)
    print(table(results))
    print(f"{len(results)} cases, findings in {sum(bool(r.findings) for r in results)}: {dict(kinds)}")
    return int(any(result.findings for result in results))


if __name__ == "__main__":
    sys.exit(main())
