"""Run every vector of a directory: python tests/run_vectors.py DIR [--family F]

Prints `family: N passed, N failed` for each family and, on stderr, what failed. Exit code 0 only if all pass; a vector whose op
is not known fails; no tolerance is loosened.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.vector_ops import check_case, load_family


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when every vector passes, 1 when one fails, 2 when there is nothing to run."""
    parser = argparse.ArgumentParser(description="Run every vector of a directory.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="directory with one JSON file per family")
    parser.add_argument("--family", help="run this family only")
    options = parser.parse_args(arguments)

    families = [load_family(path) for path in sorted(options.directory.glob("*.json"))]
    chosen = [(name, cases) for name, cases in families if options.family in (None, name)]
    if not chosen:
        known = ", ".join(name for name, _ in families) or "none"
        print(f"no vectors to run in {options.directory} (family {options.family or 'any'}; there: {known})", file=sys.stderr)
        return 2

    all_pass = True
    for name, cases in chosen:
        failed = 0
        for case in cases:
            problems = check_case(name, case)
            failed += bool(problems)
            for problem in problems:
                print(f"  {case['id']} ({case['op']}): {problem}", file=sys.stderr)
        print(f"{name}: {len(cases) - failed} passed, {failed} failed")
        all_pass &= not failed
    return 0 if all_pass else 1


if __name__ == "__main__":
    sys.exit(main())
