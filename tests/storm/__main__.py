"""``python -m tests.storm NAME --count N --seed S``: try many random cases of one kind. Exit code 1 if a fault was found."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import tests.storm


def names() -> list[str]:
    """The storms: every module beside this one has ``COUNT``, ``add_options`` and ``run``."""
    return sorted(
        module.name for module in pkgutil.iter_modules(tests.storm.__path__) if not module.ispkg and module.name[0] != "_"
    )


def main() -> int:
    """Read the command line and let it storm."""
    parser = argparse.ArgumentParser(prog="python -m tests.storm", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in names():
        module = importlib.import_module(f"tests.storm.{name}")
        one = commands.add_parser(name, help=module.__doc__, description=module.__doc__)
        one.add_argument("--count", type=int, default=module.COUNT, help="number of cases (default %(default)s)")
        one.add_argument("--seed", type=int, default=0, help="seed of the random cases (default %(default)s)")
        one.add_argument("--case", metavar="SEED:INDEX", help="repeat one case, as printed by an earlier run")
        one.add_argument("--jobs", type=int, default=1, help="number of cases to try in parallel (default %(default)s)")
        module.add_options(one)
        one.set_defaults(run=module.run)
    given = parser.parse_args()
    given.first = 0
    if given.case:
        given.seed, given.first = (int(number) for number in given.case.split(":"))
        given.count = 1
    return int(given.run(given) > 0)


if __name__ == "__main__":
    sys.exit(main())
