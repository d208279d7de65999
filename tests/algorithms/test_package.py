"""The package as a whole: light to import, exports what it says, and its examples are true."""

import doctest
import importlib
import pkgutil
import subprocess
import sys

import pytest

from tests.vector_ops.registry import PROJECT_ROOT
from tracker_strategies import algorithms

MODULES = [f"{algorithms.__name__}.{module.name}" for module in pkgutil.iter_modules(algorithms.__path__)]


def test_importing_the_mathematics_imports_neither_pandas_nor_backtrader() -> None:
    script = (
        "import sys, tracker_strategies.algorithms\n"
        "print(sorted({'pandas', 'backtrader', 'matplotlib', 'scipy', 'yfinance', 'quantstats'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_exports_exist() -> None:
    assert sorted(algorithms.__all__) == sorted(set(algorithms.__all__))
    for name in algorithms.__all__:
        assert hasattr(algorithms, name)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
