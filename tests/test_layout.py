"""One direction of dependencies, and files that stay small enough to read."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("datafeeds", "indicators", "tracker_strategies")

#: What each part may import of the project; the parts below it in this list are above it in the design.
ALLOWED = {
    "datafeeds": {"datafeeds"},
    "indicators": {
        "indicators",
        "tracker_strategies.analysis.account_rows",
        "tracker_strategies.execution.account_watch",
        "tracker_strategies.strategies.feeds",
        "tracker_strategies.errors",
    },
    "tracker_strategies/algorithms": {"tracker_strategies.algorithms", "tracker_strategies._checks", "tracker_strategies.errors"},
    "tracker_strategies/execution": {
        "datafeeds",
        "tracker_strategies.execution",
        "tracker_strategies._checks",
        "tracker_strategies.errors",
    },
    "tracker_strategies/strategies": {
        "datafeeds",
        "tracker_strategies.strategies",
        "tracker_strategies.execution",
        "tracker_strategies.algorithms",
        "tracker_strategies._checks",
        "tracker_strategies.errors",
    },
    "tracker_strategies/analysis": {
        "datafeeds",
        "tracker_strategies.analysis",
        "tracker_strategies.strategies",
        "tracker_strategies.execution",
        "tracker_strategies._checks",
        "tracker_strategies.errors",
    },
    "tracker_strategies/papertrade": {
        "datafeeds",
        "tracker_strategies.papertrade",
        "tracker_strategies._fingerprint",
        "tracker_strategies.analysis",
        "tracker_strategies.strategies",
        "tracker_strategies.execution",
        "tracker_strategies.algorithms",
        "tracker_strategies._checks",
        "tracker_strategies.errors",
    },
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("part", ALLOWED)
def test_each_part_imports_only_what_lies_below_it(part):
    for path in (ROOT / part).rglob("*.py"):
        own = [name for name in imports(path) if name.split(".")[0] in PACKAGES]
        wrong = [name for name in own if not any(name == a or name.startswith(a + ".") for a in ALLOWED[part])]
        assert not wrong, f"{path.relative_to(ROOT)} imports {wrong}"


def loaded_by(module):
    code = f"import sys, {module}; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout.split())


def test_the_mathematics_needs_no_pandas_and_no_backtrader():
    assert not loaded_by("tracker_strategies.algorithms") & {"pandas", "backtrader", "matplotlib"}


def test_the_command_line_starts_without_heavy_imports():
    assert not loaded_by("tracker_strategies.cli") & {"numpy", "pandas", "backtrader", "matplotlib", "quantstats"}


def test_no_module_has_outgrown_a_reader():
    long = {
        p.relative_to(ROOT): n
        for pkg in PACKAGES
        for p in (ROOT / pkg).rglob("*.py")
        if (n := len(p.read_text().splitlines())) > 300
    }
    assert not long


def test_every_benchmark_can_be_listed():
    output = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    for name in ("engine", "feeds", "replay", "scaling", "whole_run"):
        assert re.search(rf"\b{name}\b", output)
    refused = subprocess.run([sys.executable, "-m", "benchmarks", "nonsense"], capture_output=True, text=True, cwd=ROOT)
    assert refused.returncode == 2
    assert "nonsense" in refused.stderr
