"""The package as a whole: light to import, and exports what it says. (Its examples: tests/docs/test_doctests.py.)"""

import subprocess
import sys

from tests.vector_ops.registry import PROJECT_ROOT
from tracker_strategies import algorithms


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
