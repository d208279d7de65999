"""The examples in the docstrings of all packages are true, as pasted into a fresh interpreter.

A module gets a test as soon as it has an example.
"""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = re.compile(r"^\s*>>> ", re.M)


def modules_with_examples():
    for package in ("datafeeds", "indicators", "tracker_strategies"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if EXAMPLE.search(path.read_text(encoding="utf-8")):
                yield ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", list(modules_with_examples()))
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes, it writes here
    runner = doctest.DocTestRunner(verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name)):
        test.globs = {"__name__": "__main__"}  # as pasted into a fresh interpreter: nothing of the module is there
        runner.run(test)
    assert runner.failures == 0


def test_most_examples_are_run_rather_than_skipped():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in modules_with_examples() for test in finder.find(importlib.import_module(name))]
    examples = [example for test in tests for example in test.examples]
    run = [example for example in examples if not example.options.get(doctest.SKIP)]
    assert len(run) > 0.85 * len(examples) > 100
