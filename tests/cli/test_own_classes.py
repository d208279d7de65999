"""Classes of one's own on the command line: what is wrong with them is one line that says where, and nothing is written."""

import pytest

from tests.cli.commands import refused, tracker

FILE = '''
from tracker_strategies import EqualWeight
from tracker_strategies.algorithms import OnlineAlgorithm, Simplex, learner


@learner("mine")
class Mine(OnlineAlgorithm):
    """Stays where it is."""

    def __init__(self, n_assets, *, eta=0.3, feasible=Simplex()):
        super().__init__(n_assets, feasible=feasible)
        self.eta = float(eta)

    def _learn(self, w, x, y, xx, W, free):
        if self.eta > 1:
            raise ValueError("too large")
        return w


@learner("pa")
class Shadow(Mine):
    """Under a name that is taken."""


class Raises(EqualWeight):
    """Raises two lines on its first bar."""

    def next(self):
        raise RuntimeError("boom\\non two lines")
'''


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "a folder" / "own.py"
    path.parent.mkdir()
    path.write_text(FILE)
    (path.parent / "exits.py").write_text("import sys; sys.exit(3)")
    return path


def test_a_learner_in_a_file_runs(own, csv):
    assert '"te_rms"' in tracker("run", f"{own}:Mine", "--data", csv, "--json").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{own}:Nope"], "no Nope in it; its classes are Mine, Shadow, Raises"),
        (["{own}"], "write path/to/file.py:Class"),
        ([":Mine"], "write path/to/file.py:Class"),
        (["{own}:Shadow"], "calls itself 'pa'"),
        (["{folder}/exits.py:X"], "SystemExit: 3"),
        (["{own}:Raises"], "Raises raised RuntimeError: boom on two lines (line 29 of {own})"),
        (["{own}:Mine", "--param", "eta=abc"], "could not convert string to float: 'abc' (line 12 of {own})"),
        (["{own}:Mine", "--param", "eta=2"], "Mine raised ValueError: too large (line 16 of {own})"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value)[-20:],
)
def test_what_is_wrong_with_it_is_one_line(own, csv, tmp_path, words, said):
    places = {"own": own, "folder": own.parent}
    out = tmp_path / "out"
    result = tracker("run", *(word.format(**places) for word in words), "--data", csv, "--out", out)
    refused(result, said.format(**places))
    assert not out.exists()
