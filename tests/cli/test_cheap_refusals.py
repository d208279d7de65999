"""A word that cannot be right is refused before anything heavy is loaded."""

import json
import os
import subprocess
import sys

import pytest

from tests.cli.commands import ROOT

HEAVY = ("numpy", "scipy", "pandas", "backtrader", "matplotlib", "rich.console")
REFUSED = {
    "an unknown strategy": ("run", "nonsense"),
    "one of several": ("compare", "pa", "nonsense"),
    "a parameter without a value": ("run", "pa", "--param", "eps"),
    "a fill mode": ("run", "pa", "--fill", "yesterday"),
    "a policy for gaps": ("run", "pa", "--gaps", "perhaps"),
    "an adjustment": ("run", "pa", "--adjust", "perhaps"),
    "a way to clean": ("compare", "pa", "pas", "--clean", "perhaps"),
    "a strategy of a sweep": ("sweep", "nonsense"),
    "a baseline": ("sweep", "pa", "--baselines", "nonsense"),
    "a market of a sweep": ("sweep", "pa", "--adjust", "perhaps"),
    "fill modes of a sweep": ("sweep", "pa", "--fill", "close,yesterday"),
    "a file and flags": ("sweep", "--config", "x.toml", "--cost-bps", "5"),
    "a strategy to tune": ("tune", "nonsense"),
    "a strategy of a leaderboard": ("leaderboard", "--data", "sample", "--strategies", "pa,nonsense"),
    "a market of a leaderboard": ("leaderboard", "--data", "sample", "--clean", "perhaps"),
    "a strategy of an account": ("paper", "init", "account", "nonsense"),
    "a parameter of an account": ("paper", "init", "account", "pa", "--param", "eps"),
    "a limit": ("run", "pa", "--max-weight", "5"),
    "a limit as a parameter": ("run", "pa", "--param", "max_weight=heavy"),
    "a limit of several": ("compare", "pa", "pas", "--unmapped", "perhaps"),
    "two limits": ("run", "pa", "--max-turnover", "0.1%", "--min-weight", "1%"),
    "limits that contradict each other": ("run", "pa", "--max-weight", "5%", "--param", "max_weight=4%"),
    "lots and whole shares": ("run", "pa", "--lot", "5", "--whole-shares"),
    "a mandate that is not there": ("run", "pa", "--mandate", "nowhere.toml"),
    "a limit of a sweep": ("sweep", "pa", "--min-cash", "200%"),
    "a limit of a tuning": ("tune", "pa", "--max-names", "none of them"),
    "a limit of a leaderboard": ("leaderboard", "--data", "sample", "--cure", "perhaps"),
    "a limit of an account": ("paper", "init", "account", "pa", "--band", "wide"),
    "a mandate to check that is not there": ("mandate", "check", "nowhere.toml"),
}
LOOK = """
import json, sys
from tracker_strategies.cli import main
found, (refused, heavy) = {}, map(json.loads, sys.argv[1:])
for name, words in refused.items():
    sys.argv = ["tracker", *words]
    try:
        main()
    except SystemExit as end:
        found[name] = [end.code, [m for m in heavy if m in sys.modules]]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    """Exit code, and what was loaded by then, of every refusal: one after the other in one process, none may load anything."""
    command = [sys.executable, "-c", LOOK, json.dumps(REFUSED), json.dumps(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert len(done.stderr.splitlines()) == len(REFUSED), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_loads_nothing_heavy(case, found):
    assert found[case] == [2, []]
