"""The examples in the docstrings of all packages are true, as pasted into a fresh interpreter.

A module gets a test as soon as it has an example.
"""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import pytest

from tracker_strategies.strategies import STRATEGIES, TrackerStrategy

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


PACKAGES = ["datafeeds", "indicators"] + [
    "tracker_strategies" + part
    for part in ("", ".algorithms", ".desk", ".papertrade", ".research", ".research.sweeps", ".testing")
]


def public_names():
    """Every class and function that a package lists as public, by its own name."""
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            thing = getattr(package, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{package.__name__}.{name}", thing


def test_every_public_name_has_an_example():
    assert [name for name, thing in public_names() if not EXAMPLE.search(thing.__doc__ or "")] == []


@pytest.mark.parametrize("cls", [*STRATEGIES, TrackerStrategy], ids=lambda cls: cls.__name__)
def test_the_example_in_the_help_of_a_strategy(cls):
    """Its docstring is made when the class is, so that no module has it."""
    runner = doctest.DocTestRunner(verbose=False)
    test = doctest.DocTestParser().get_doctest(cls.__doc__, {"__name__": "__main__"}, cls.__name__, None, None)
    assert len(test.examples) == 7
    runner.run(test)
    assert runner.failures == 0


def test_most_examples_are_run_rather_than_skipped():
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = [test for name in modules_with_examples() for test in finder.find(importlib.import_module(name))]
    examples = [example for test in tests for example in test.examples]
    run = [example for example in examples if not example.options.get(doctest.SKIP)]
    assert len(run) > 0.85 * len(examples) > 100
