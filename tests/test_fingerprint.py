"""Fingerprints of the code: what decides a result is in them, wherever it lies, and what only shows it is not."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tracker_strategies._fingerprint import code_version, deciding_sources, own_code, strategy_fingerprint
from tracker_strategies.strategies import PATracker
from tracker_strategies.strategies.registry import load_strategy

ROOT = Path(__file__).resolve().parents[1]
SHOWS = ("analysis/pages/", "cli/", "papertrade/", "research/leaderboard/", "research/reproductions/", "testing/")


def source_of(module):
    """The file of a module of this project, or None."""
    place = ROOT / module.replace(".", "/")
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


def home_of(module, name):
    """The module that a name comes from which is imported from a module: packages say it in their stubs."""
    stub = ROOT / module.replace(".", "/") / "__init__.pyi"
    if source_of(f"{module}.{name}"):
        return f"{module}.{name}"
    for node in ast.parse(stub.read_text(encoding="utf-8")).body if stub.is_file() else ():
        if isinstance(node, ast.ImportFrom) and node.module and name in {alias.name for alias in node.names}:
            return home_of(f"{module}.{node.module}", name)
    return module


def imported_by(path):
    """Modules of this project that a file imports at its top: what it needs to be there at all."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (home_of(node.module, alias.name) for alias in node.names)


def needed_by(module):
    """All sources that a module needs, by their imports."""
    found, waiting = {}, [module]
    while waiting:
        path = source_of(waiting.pop())
        if path is not None and path not in found:
            found[path] = None
            waiting += imported_by(path)
    return {path.relative_to(ROOT).as_posix() for path in found if path.name != "__init__.py"}


def test_the_code_version_is_stable_and_names_the_release():
    assert code_version() == code_version()
    release, _, digest = code_version().partition("+")
    assert release
    assert len(digest) == 12


def test_whatever_decides_a_row_is_a_part_of_the_code_version():
    """A row that other code has made is not used again. What the worker imports decides, but for the words of its errors."""
    hashed = {name for name, _ in deciding_sources()}
    needed = needed_by("tracker_strategies.research.numpy_replay") | needed_by("tracker_strategies.runner")
    # Where runs are read and written, and what metrics.json says beside the figures: no figure of a row is in them.
    words = {f"tracker_strategies/analysis/{name}.py" for name in ("runfolder", "places", "goals")}
    assert needed - hashed <= words
    assert len(needed) > 50
    assert {"datafeeds/panel.py", "tracker_strategies/strategies/tracker.py", "tracker_strategies/_checks.py"} <= needed
    assert "tracker_strategies/algorithms/passive_aggressive/pa.py" in hashed
    assert "datafeeds/panel.py" in hashed


def test_what_only_shows_a_result_is_no_part_of_it():
    shown = [name for name, _ in deciding_sources() if name.removeprefix("tracker_strategies/").startswith(SHOWS)]
    assert not shown


@pytest.mark.parametrize(
    ("changed", "differs"),
    [
        ("tracker_strategies/algorithms/passive_aggressive/pa.py", True),  # two folders deep
        ("tracker_strategies/execution/rebalancer.py", True),
        ("tracker_strategies/_checks.py", True),
        ("tracker_strategies/strategies/passive_aggressive/__init__.py", True),
        ("tracker_strategies/analysis/pages/tear_sheet.py", False),
        ("tracker_strategies/cli/run.py", False),
    ],
)
def test_a_change_at_any_depth_changes_the_fingerprint_of_an_account(tmp_path, changed, differs):
    for package in ("datafeeds", "tracker_strategies"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    with (tmp_path / changed).open("a") as file:
        file.write("\n# a change\n")
    code = (
        "from tracker_strategies._fingerprint import strategy_fingerprint\n"
        "from tracker_strategies.strategies import PATracker\n"
        "print(strategy_fingerprint(PATracker))"
    )
    theirs = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
    assert (theirs != strategy_fingerprint(PATracker)) is differs


def test_the_file_of_a_learner_counts_as_that_of_its_strategy(tmp_path, monkeypatch):
    (tmp_path / "inner_of_mine.py").write_text("from tracker_strategies.algorithms import PA\n\n\nclass Inner(PA):\n    pass\n")
    (tmp_path / "mine.py").write_text(
        "from inner_of_mine import Inner\nfrom tracker_strategies import TrackerStrategy\n\n\n"
        'class Mine(TrackerStrategy):\n    """Mine."""\n\n    learner = Inner\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    name = f"{tmp_path / 'mine.py'}:Mine"
    before = own_code(name), strategy_fingerprint(load_strategy(name))
    with (tmp_path / "inner_of_mine.py").open("a") as file:
        file.write("# a change\n")
    after = own_code(name), strategy_fingerprint(load_strategy(name))
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert own_code("pa") == ""
