"""One result never replaces another unasked, and none is written inside another."""

import json

import pytest

from tests.cli.commands import refused, tracker
from tracker_strategies import backtest
from tracker_strategies.analysis.places import check_outside
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.errors import OutputError

SMALL = ("--data", "synthetic:n_assets=4,n_bars=60")


def asked(folder):
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A file of prices, and another one."""
    from datafeeds import synthetic_market

    folder = tmp_path_factory.mktemp("prices")
    for seed in (1, 2):
        synthetic_market(4, 60, seed=seed).to_frame().to_csv(folder / f"{seed}.csv")
    return folder


OTHERS = {
    "another strategy": (("run", "equal-weight"), ("--cost-bps", 5), 'strategy was "pa", is "equal-weight" now'),
    "another parameter": (("run", "pa"), ("--cost-bps", 5, "--param", "eps=0.001"), "param was null"),
    "another limit": (("run", "pa"), ("--cost-bps", 5, "--max-weight", "50%"), "max_weight was null"),
    "other costs": (("run", "pa"), (), "cost_bps was 5.0, is 0.0 now"),
    "other cash": (("run", "pa"), ("--cost-bps", 5, "--cash", 5), "cash was 1000000.0, is 5.0 now"),
    "scored from another bar": (("run", "pa"), ("--cost-bps", 5, "--eval-from", 0.5), 'eval_from was null, is "0.5" now'),
}


@pytest.fixture(scope="module")
def run(market, tmp_path_factory):
    out = tmp_path_factory.mktemp("kept") / "run"
    words = ("run", "pa", "--data", market / "1.csv", "--cost-bps", 5, "--out", out, "--no-tearsheet")
    assert tracker(*words).returncode == 0
    assert tracker(*words).returncode == 0  # the same again takes its place
    return out


@pytest.mark.parametrize("other", OTHERS)
def test_another_run_is_refused(run, market, other):
    command, options, said = OTHERS[other]
    before = (run / "run.json").read_bytes()
    result = tracker(*command, "--data", market / "1.csv", *options, "--out", run, "--no-tearsheet")
    refused(result, "OutputError", "holds another result", said, "--force")
    assert (run / "run.json").read_bytes() == before


def test_the_same_prices_by_another_name_are_the_same_run_and_others_are_not(run, market, tmp_path):
    words = ("run", "pa", "--cost-bps", 5, "--out", run, "--no-tearsheet")
    moved = tmp_path / "moved.csv"
    moved.write_bytes((market / "1.csv").read_bytes())
    assert tracker(*words, "--data", moved).returncode == 0
    refused(tracker(*words, "--data", market / "2.csv"), "OutputError", "sha256 was")


def test_force_replaces(market, tmp_path):
    out = tmp_path / "run"
    words = ("--data", market / "1.csv", "--out", out, "--no-tearsheet")
    assert tracker("run", "pa", *words).returncode == 0
    assert tracker("run", "equal-weight", *words, "--force").returncode == 0
    assert asked(out)["strategy"] == "equal-weight"


def test_each_run_of_a_comparison_is_looked_at(market, tmp_path):
    words = ("--data", market / "1.csv", "--out", tmp_path / "two", "--no-tearsheet")
    assert tracker("compare", "pa", "equal-weight", *words).returncode == 0
    refused(tracker("compare", "pa", "equal-weight", *words, "--cost-bps", 1), "OutputError", "cost_bps", "--force")
    assert tracker("compare", "pa", "buy-and-hold", *words).returncode == 0  # beside the others


def test_a_program_is_refused_too(tmp_path):
    from datafeeds import synthetic_market

    panel = synthetic_market(4, 60, seed=3)
    place = write_run(backtest(panel, "pa"), tmp_path / "run", panel)
    write_run(backtest(panel, "pa"), place, panel)
    for strategy, params in (("pa", {"eps": 1e-3}), ("equal-weight", {})):
        with pytest.raises(OutputError, match=r"holds another result.*--force"):
            write_run(backtest(panel, strategy, params), place, panel)
    other = synthetic_market(4, 60, seed=4)
    with pytest.raises(OutputError, match="sha256"):
        write_run(backtest(other, "pa"), place, other)
    write_run(backtest(other, "pa"), place, other, force=True)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "pa", *SMALL),
        ("compare", "pa", "equal-weight", *SMALL),
        ("sweep", "pa", *SMALL),
        ("tune", "pa", "--data", "synthetic:n_assets=4,n_bars=300", "--grid", "eps=1e-4,1e-3"),
        ("reproduce", "adagrad"),
        ("leaderboard", *SMALL, "--strategies", "pa"),
        ("demo",),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("kind", ["run.json", "sweep.json", "leaderboard.json", "journal.db"])
def test_nothing_is_written_inside_another_result(tmp_path, words, kind):
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / kind).write_text("{}")
    refused(tracker(*words, "--out", tmp_path / "result" / "deep" / "inside"), "OutputError", "is inside", "--out")
    assert [path.name for path in (tmp_path / "result").iterdir()] == [kind]


def test_the_sweep_of_a_leaderboard_is_a_part_of_it(tmp_path):
    (tmp_path / "leaderboard.json").write_text("{}")
    check_outside(tmp_path / "sweep")
    for place in (tmp_path / "other", tmp_path / "sweep" / "deeper"):
        with pytest.raises(OutputError, match="is inside"):
            check_outside(place)


def test_another_leaderboard_and_another_reproduction_are_refused(market, tmp_path):
    board = ("leaderboard", "--data", market / "1.csv", "--out", tmp_path / "board")
    assert tracker(*board, "--strategies", "pa").returncode == 0
    assert tracker(*board, "--strategies", "pa", "--jobs", 2).returncode == 0  # who works makes no other board
    refused(tracker(*board, "--strategies", "equal-weight"), "OutputError", "command was", "--force")
    assert tracker(*board, "--strategies", "equal-weight", "--force").returncode == 0
    (tmp_path / "paper").mkdir()
    told = {"asked": {"sets": 50, "runs": 20, "seed": 1, "files": []}}
    (tmp_path / "paper" / "adagrad.json").write_text(json.dumps(told))
    refused(tracker("reproduce", "adagrad", "--out", tmp_path / "paper"), "OutputError", "seed was 1, is 0 now", "--force")


def test_a_sweep_on_changed_prices_is_another_sweep(market, tmp_path):
    path = tmp_path / "prices.csv"
    words = ("sweep", "pa", "--data", path, "--baselines", "none", "-j", 1, "--out", tmp_path / "sweep")
    path.write_bytes((market / "1.csv").read_bytes())
    assert tracker(*words).returncode == 0
    path.write_bytes((market / "2.csv").read_bytes())
    refused(tracker(*words), "OutputError", "with other prices", "--extend")
