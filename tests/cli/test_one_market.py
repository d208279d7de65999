"""What can be run can be compared, swept, tuned and paper-traded: with the same options and defaults, with one's own classes."""

import json
from dataclasses import fields

import pandas as pd
import pytest
import typer

from datafeeds import MarketSource, load_sample, synthetic_market
from tests.cli.commands import refused, tracker
from tests.research.sweeps.test_run import rows_of
from tracker_strategies._version import __version__
from tracker_strategies.cli import app
from tracker_strategies.papertrade import PaperAccount

COMMANDS = (("run",), ("compare",), ("sweep", "run"), ("tune",), ("leaderboard",), ("paper", "init"))
OWN = '''
from tracker_strategies import PATracker

class Cautious(PATracker):
    """PA with a wide tube."""

    params = (("eps", 0.002),)
'''


def options_of(words):
    command = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    return {p.name: p for p in command.params}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_market_is_described_alike_in_every_command(words):
    first, own = options_of(("run",)), options_of(words)
    for name in ("index", "gaps", "adjust", "members", "renames", "clean", "data"):
        assert own[name].opts == first[name].opts
        if not (name == "data" and own[name].multiple):
            assert own[name].default == first[name].default
    for name in ("gaps", "adjust", "members", "renames", "clean"):
        assert own[name].default == MarketSource.__dataclass_fields__[name].default
    for name in {
        "cost_bps",
        "per_share",
        "min_fee",
        "slippage_bps",
    } & own.keys():  # a leaderboard has its own
        assert float(own[name].default) == 0.0


def test_every_part_of_a_description_can_be_said():
    own = options_of(("run",))
    otherwise = {"source", "targets", "not_assets"}  # --data, --index, and --exclude or --only
    assert {f.name for f in fields(MarketSource)} - own.keys() == otherwise


def test_the_arguments_of_a_synthetic_market_are_taken_everywhere(tmp_path):
    market = ("--data", "synthetic:n_assets=4,n_bars=60", "--index", "INDEX2")
    ran = tracker("run", "pa", *market, "--seed", 3, "--out", tmp_path / "run", "--no-tearsheet")
    assert ran.returncode == 0, ran.stderr
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    panel = synthetic_market(4, 60, seed=3, n_indices=2)
    assert (told["seed"], told["data"]["assets"], told["targets"]) == (3, list(panel.symbols), ["INDEX2"])
    opened = tracker("paper", "init", tmp_path / "account", "pa", *market, "--seed", 3)
    assert opened.returncode == 0, opened.stderr
    config = PaperAccount(tmp_path / "account").config
    assert (config.source, config.symbols) == ("synthetic:n_assets=4,n_bars=60", panel.symbols)
    refused(tracker("run", "pa", "--data", "synthetic:n_assets"), "ParameterError", "key=value")
    refused(tracker("run", "pa", "--data", "synthetic:colour=1"), "ParameterError", "colour")


def test_members_reach_the_cells_of_a_sweep(csv, tmp_path):
    names = load_sample().symbols
    (tmp_path / "members.csv").write_text("symbol,from,to\n" + "".join(f"{name},,\n" for name in names[:4]))
    held = {}
    for words in ((), ("--members", tmp_path / "members.csv")):
        out = tmp_path / f"sweep{len(words)}"
        done = tracker("sweep", "equal-weight", "--data", csv, *words, "--baselines", "none", "--out", out, "-j", 1)
        assert done.returncode == 0, done.stderr
        held[len(words)] = rows_of(out)[0]["n_holdings"]
        one = tracker("run", "equal-weight", "--data", csv, *words, "--json")
        assert json.loads(one.stdout)["n_holdings"] == held[len(words)]
    assert held == {0: 20.0, 2: 4.0}
    drawn = ("--data", "synthetic", "--members", tmp_path / "members.csv")
    refused(tracker("sweep", "pa", *drawn, "--out", tmp_path / "no"), "ParameterError", "members", "synthetic")
    refused(tracker("paper", "init", tmp_path / "no", "pa", "--data", csv, *drawn[2:]), "ParameterError", "members")


def test_a_class_of_ones_own_goes_wherever_a_name_goes(csv, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    own = f"{tmp_path / 'own.py'}:Cautious"
    numbers = json.loads(tracker("compare", "pa", own, "--data", csv, "--json").stdout)
    assert list(numbers) == ["pa", "Cautious"]
    assert numbers["Cautious"].pop("judged")  # a comparison says more than a run
    assert numbers["Cautious"] == json.loads(tracker("run", own, "--data", csv, "--json").stdout)
    assert numbers["Cautious"] == json.loads(tracker("run", "pa", "--param", "eps=0.002", "--data", csv, "--json").stdout)
    words = ("sweep", "own.py:Cautious", "--data", csv, "--grid", "own.py:Cautious.eps=0.001,0.002", "--out", "swept", "-j", 1)
    done = tracker(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = {(row["strategy"], row["params"]): row["te_rms"] for row in rows_of(tmp_path / "swept")}
    assert found[own, "{}"] == pytest.approx(numbers["Cautious"]["te_rms"], rel=1e-9)
    assert found["pa", "{}"] == pytest.approx(numbers["pa"]["te_rms"], rel=1e-9)
    assert "0 run now" in tracker(*words, cwd=tmp_path).stderr
    (tmp_path / "own.py").write_text(OWN.replace("0.002", "0.003"))
    assert "2 run now" in tracker(*words, cwd=tmp_path).stderr  # another file, another strategy
    refused(tracker("sweep", "own.py:Bold", cwd=tmp_path), "ParameterError", "own.py:Bold")


def test_a_hole_in_the_past_is_refused_and_a_halt_to_come_is_not(csv, tmp_path):
    """One default for every command. An account that was opened with it takes what happens later for a halt."""
    whole = pd.read_csv(csv, index_col=0)
    hole = whole.copy()
    hole.iloc[10, 3] = None
    hole.to_csv(tmp_path / "hole.csv")
    for words in (("run", "pa"), ("sweep", "pa"), ("tune", "pa"), ("leaderboard",), ("paper", "init", tmp_path / "no", "pa")):
        refused(tracker(*words, "--data", tmp_path / "hole.csv"), "DataError", "no price on", "hole.csv")
    prices = tmp_path / "prices.csv"
    whole.iloc[:-3].to_csv(prices)
    assert tracker("paper", "init", tmp_path / "account", "pa", "--data", prices).returncode == 0
    whole.iloc[-3, 3] = None
    for left in (2, 1, 0):
        whole.iloc[: len(whole) - left].to_csv(prices)
        stepped = tracker("paper", "step", tmp_path / "account", "--json")
        assert stepped.returncode == 0, stepped.stderr
        assert json.loads(stepped.stdout)["decision"] == "act"


def test_none_means_nothing_unless_it_is_a_word(csv):
    """`side` has a choice of that name; `max_names` has not."""
    words = ("run", "apas", "--data", csv, "--json")
    plain = tracker(*words).stdout
    assert tracker(*words, "--param", "max_names=none").stdout == plain
    said = tracker(*words, "--param", "side=none")
    assert said.returncode == 0, said.stderr
    assert said.stdout != plain


def test_the_version_is_told():
    result = tracker("--version")
    assert (result.returncode, result.stdout) == (0, f"tracker {__version__}\n")
