"""Classes of one's own on the command line: what is wrong with them is one line that says where, and nothing is written."""

import json

import pytest

from tests.cli.commands import refused, tracker
from tracker_strategies import read_run

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
        (["{own}:Nope"], "it has no class Nope; its classes are Mine, Shadow, Raises"),
        (["{own}"], "write path/to/file.py:Class"),
        ([":Mine"], "write path/to/file.py:Class"),
        (["{own}:Shadow"], "its alias_name 'pa' is the name of a built-in strategy"),
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


def test_namesakes_can_be_told_apart_on_a_leaderboard(own, csv, tmp_path):
    other = tmp_path / "other.py"
    other.write_text(FILE)
    names = f"{own}:Mine,{other}:Mine,equal-weight"
    said = tracker("leaderboard", "--data", csv, "--strategies", names, "--json")
    assert said.returncode == 0, said.stderr
    assert {row["strategy"] for row in json.loads(said.stdout)["rows"]} == {"mine-1", "mine-2", "equal-weight"}


def test_what_a_killed_process_left_blocks_no_folder(csv, tmp_path):
    out = tmp_path / "run"
    words = ("run", "pa", "--data", csv, "--out", out, "--no-tearsheet")
    assert tracker(*words).returncode == 0
    (out / "tearsheet.html.deadbeef.unfinished").write_text("half a page")
    again = tracker(*words)
    assert again.returncode == 0, again.stderr
    assert not list(out.glob("*.unfinished"))
    swept = tmp_path / "sweep"
    swept.mkdir()
    (swept / "sweep.json.deadbeef.unfinished").write_text("{")
    done = tracker("sweep", "pa", "--data", csv, "--grid", "eps=1e-4,1e-3", "--out", swept, "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert not list(swept.glob("*.unfinished"))


def test_a_run_folder_from_before_the_blend_had_its_name_is_read(csv, tmp_path):
    out = tmp_path / "run"
    assert tracker("run", "pa", "--data", csv, "--out", out, "--no-tearsheet").returncode == 0
    told = json.loads((out / "run.json").read_text())
    told["omega"] = told.pop("blend")
    (out / "run.json").write_text(json.dumps(told))
    assert read_run(out).blend.tolist() == [1.0]


@pytest.mark.parametrize("name", ["tracker_strategies:PATracker", "tracker_strategies.strategies:PATracker"])
def test_classes_of_this_project_may_be_named_by_their_module(name, csv):
    by_name, by_module = (tracker("run", words, "--data", csv, "--json") for words in ("pa", name))
    assert by_module.returncode == 0, by_module.stderr
    assert by_module.stdout == by_name.stdout
