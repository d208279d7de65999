"""``python -m benchmarks [NAME ...] [--json]``: run benchmarks and print their ratios. Exit code 1 when a claim was not kept.

``python -m benchmarks ensemble --page FILE`` also writes the page of results.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks._measure import Report, machine


def modules() -> dict[str, str]:
    """Module of each benchmark by its name; files that begin with an underscore are none."""
    found = pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
    named = ((m.name.rpartition(".")[2], m.name) for m in found if not m.ispkg)
    return dict(sorted((name, module) for name, module in named if not name.startswith("_")))


def show(report: Report, console: Console) -> None:
    if report.rows:
        columns = list(dict.fromkeys(key for row in report.rows for key in row))
        table = Table(*columns, title=report.name)
        for row in report.rows:
            table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in (row.get(c, "") for c in columns)))
        console.print(table)
    for claim in report.claims:
        mark = "[green]kept[/]" if claim["kept"] else "[bold red]NOT KEPT[/]"
        console.print(f"{mark}  {claim['claim']}: {claim['reached']:.4g} (wanted {claim['wanted']})")
    for note in report.notes:
        console.print(note, style="dim")


def main() -> int:
    known = modules()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(known)}; all by default")
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
    parser.add_argument("--page", type=Path, metavar="FILE", help="also write the page that a benchmark makes of its rows")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(known)}")
    console = Console(stderr=arguments.json)
    reports = []
    for name in arguments.names or known:
        module = importlib.import_module(known[name])
        report = module.run()
        reports.append(report)
        if arguments.page and hasattr(module, "page"):
            arguments.page.write_text(module.page(report), encoding="utf-8")
        show(report, console)
    about = machine()
    if arguments.json:
        print(json.dumps({"machine": about, "reports": [vars(r) for r in reports]}, indent=2))
    else:
        console.print(", ".join(f"{k} {v}" for k, v in about.items()), style="dim")
    return 0 if all(c["kept"] for r in reports for c in r.claims) else 1


if __name__ == "__main__":
    sys.exit(main())
