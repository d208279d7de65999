"""Limits on the command line: one set of options for all commands, held by all strategies, or refused before anything runs."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from datafeeds import load_sample
from tests.cli.commands import refused, tracker
from tests.markets import random_panel
from tracker_strategies.cli.limits import sector_notes
from tracker_strategies.cli.options import RunOptions
from tracker_strategies.errors import ParameterError, TrackerError, UniverseError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest, check_mandate
from tracker_strategies.strategies import EqualWeight, PATracker
from tracker_strategies.strategies.registry import load_strategy

NAMES = load_sample().symbols


@pytest.fixture(scope="module")
def sectors(tmp_path_factory):
    """Every name but the last in one of two sectors."""
    path = tmp_path_factory.mktemp("sectors") / "sectors.csv"
    rows = [f"{name},{'first' if i % 2 else 'second'}" for i, name in enumerate(NAMES[:-1])]
    path.write_text("\n".join(["symbol,sector", *rows]) + "\n")
    return path


@pytest.fixture
def toml(tmp_path):
    def write(text):
        path = tmp_path / "mandate.toml"
        path.write_text(text)
        return path

    return write


# -- words ----------


def test_every_limit_is_an_option_and_every_help_says_what_it_means():
    for command in (("run",), ("compare",), ("leaderboard",), ("sweep", "run"), ("tune",), ("paper", "init")):
        text = " ".join(tracker(*command, "--help").stdout.split())
        for key in (*KEYS, "mandate", "whole_shares"):
            assert key in ("groups", "fees") or f"--{key.replace('_', '-')} " in text, (command, key)
        assert "per rebalance: buys plus sells" in text


def test_the_list_of_strategies_says_what_limits_mean():
    text = " ".join(tracker("list").stdout.split())
    assert "Largest sum of buys and sells in one rebalance, at fill prices" in text
    for key in KEYS:
        assert key in text


def test_options_win_over_the_file_and_none_lifts_a_limit_of_it(toml):
    file = str(toml('max_weight = "5%"\nmax_names = 30\nmin_cash = 0.01\nlot = 100\n'))
    limits = RunOptions(mandate=file, max_weight="*:6%,AAPL:8%", max_names="none", whole_shares=True).limits
    assert limits == Mandate(max_weight={"*": 0.06, "AAPL": 0.08}, min_cash=0.01, lot=1)


def test_a_percent_sign_is_understood_wherever_a_fraction_is():
    flags = RunOptions(max_weight="5%", min_cash="1%", band="0.1%", headroom="5 %", max_turnover="2.5%").limits
    params = [f"--param {key}" for key in ("max_weight=5%", "min_cash=1%", "band=0.1%", "headroom=5 %", "max_turnover=2.5%")]
    assert flags == RunOptions(param=[text.removeprefix("--param ") for text in params]).limits
    assert flags == Mandate(max_weight=0.05, min_cash=0.01, band=0.001, headroom=0.05, max_turnover=0.025)


def test_a_param_says_a_limit_too_but_not_against_an_option(toml):
    assert RunOptions(max_weight="5%", param=["max_weight=0.05", "exclude=600000,005930"]).limits == Mandate(
        max_weight=0.05, exclude=("600000", "005930")
    )
    file = str(toml("max_names = 12\n"))
    assert RunOptions(param=[f"mandate={file}", "min_cash=1%"]).limits == Mandate(max_names=12, min_cash=0.01)
    for options in (
        RunOptions(max_weight="5%", param=["max_weight=4%"]),
        RunOptions(max_weight="5%", param=["max_weight=none"]),
        RunOptions(mandate=file, param=["max_names=11"]),
        RunOptions(max_names="11", param=[f"mandate={file}"]),
    ):
        with pytest.raises(ParameterError, match="contradict"):
            _ = options.limits


def test_whole_shares_are_lots_of_one():
    assert RunOptions(whole_shares=True).limits == RunOptions(lot="1").limits == RunOptions(lot="1", whole_shares=True).limits
    refused(tracker("run", "pa", "--lot", "100", "--whole-shares"), "ParameterError", "--lot 100", "--whole-shares")


def test_a_limit_that_a_strategy_has_by_default_is_lifted_by_none():
    sparse = load_strategy("sparse-pls")
    assert "max_names" not in RunOptions().params_of(sparse)
    for options in (RunOptions(max_names="none"), RunOptions(param=["max_names=none"])):
        assert options.params_of(sparse)["max_names"] is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--max-weight", "5"), "write 5% for 5 percent"),
        (("--max-weight", "heavy"), "max_weight"),
        (("--max-names", "2.5"), "max_names"),
        (("--unmapped", "perhaps"), "unmapped"),
        (("--max-sector", "20%"), "needs the sector of each name"),
        (("--max-turnover", "0.1%", "--min-weight", "0.2%"), "could never be sold completely"),
        (("--mandate", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_a_limit_that_means_nothing_is_one_named_line(words, told, csv):
    refused(tracker("run", "pa", "--data", csv, *words), "ParameterError", told)


def test_a_key_that_is_no_limit_is_told_with_the_nearest(toml, csv):
    refused(tracker("run", "pa", "--data", csv, "--mandate", toml("max_wieght = 0.1\n")), "max_wieght", "max_weight")


# -- refused before anything runs ----------

IMPOSSIBLE = {
    "too few names": (
        ("--max-names", "10", "--max-weight", "5%"),
        "10 names of at most 5 % hold 50 % together, but 100 % must be invested",
    ),
    "too few with cash": (
        ("--max-names", "10", "--max-weight", "5%", "--min-cash", "1%"),
        "10 names of at most 5 % hold 50 % together, but 99 % must be invested",
    ),
    "an unknown name": (("--exclude", "APPL"), "did you mean 'AAPL'?"),
    "everything excluded": (("--exclude", ",".join(NAMES)), "nothing is left to hold"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_limits_that_cannot_hold_are_refused_by_every_command(case, csv, tmp_path):
    words, told = IMPOSSIBLE[case]
    out = tmp_path / "out"
    for command in (
        ("run", "equal-weight", "--data", csv, "--out", out),
        ("compare", "equal-weight", "buy-and-hold", "--data", csv, "--out", out),
        ("leaderboard", "--data", csv, "--strategies", "equal-weight", "--out", out),
        ("sweep", "equal-weight", "--data", csv, "--out", out, "-j", 1),
        ("tune", "pa", "--grid", "eps=1e-4,1e-3", "--data", csv, "--folds", 2, "--out", out, "-j", 1),
        ("paper", "init", out, "equal-weight", "--data", csv),
    ):
        refused(tracker(*command, *words), told)
        assert not out.exists(), command


def test_no_run_begins_before_all_have_been_checked(csv, tmp_path):
    """The second strategy cannot keep the limits with those that it has by default: the first is not run either."""
    own = tmp_path / "few.py"
    own.write_text(
        "from tracker_strategies.strategies import EqualWeight\nclass Few(EqualWeight):\n    params = (('max_names', 5),)\n"
    )
    words = ("compare", "pa", f"{own}:Few", "--data", csv, "--max-weight", "10%", "--out", tmp_path / "out")
    refused(tracker(*words), "ParameterError", "Few", "5 names of at most 10 % hold 50 %")
    assert not (tmp_path / "out").exists()


def test_an_account_too_small_for_a_lot_is_refused(csv):
    refused(tracker("run", "pa", "--data", csv, "--whole-shares", "--cash", "5"), "the cheapest lot", "the account has 5")


def test_the_engines_refuse_alike():
    panel = random_panel(40, 6, seed=3)
    for run in (backtest, replay):
        with pytest.raises(ParameterError, match="3 names of at most 30 % hold 90 % together, but 100 % must be invested"):
            run(panel, "equal-weight", {"max_names": 3, "max_weight": 0.3})


def verdict(panel, limits, cash=1e6):
    """What the check says: the words of the refusal, or nothing."""
    try:
        check_mandate(panel, EqualWeight, limits, cash)
    except TrackerError as problem:
        return str(problem)
    return ""


def test_a_refusal_knows_nothing_after_the_first_bar():
    """Prices, gaps, listings and delistings of all later rows are others: the same verdict, in the same words."""
    rng = np.random.default_rng(0)
    panel = random_panel(60, 8, seed=4, gaps=True)
    first = panel.close[:1]
    limits = [
        {"max_weight": 0.12},
        {"max_weight": 0.2, "max_names": 5},
        {"max_weight": 0.2, "max_names": 4},
        {"lot": 1, "max_weight": 0.3},
        {"min_weight": 0.3, "max_names": 3},
        {"min_weight": 0.35, "max_weight": 0.4},
        {"must_hold": {panel.symbols[-1]: 0.02}},
    ]
    cashes = (1e6, 3.0 * float(np.nanmax(first)), 0.5 * float(np.nanmin(first)))
    seen = [verdict(panel, given, cash) for given in limits for cash in cashes]
    assert "" in seen
    assert any(seen)
    for _ in range(10):
        close = panel.close.copy()
        later = close[1:]
        later[:] = np.exp(rng.normal(3.0, 2.0, later.shape))
        close[1:][rng.random(later.shape) < 0.2] = np.nan
        close[-1] = np.where(np.isnan(close).all(axis=0), 1.0, close[-1])
        other = replace(panel, close=close)
        assert [verdict(other, given, cash) for given in limits for cash in cashes] == seen


def test_a_name_that_is_not_listed_on_the_first_bar_holds_nothing():
    panel = random_panel(30, 4, seed=5)
    close = panel.close.copy()
    close[:5, 0] = np.nan
    late = replace(panel, close=close)
    assert verdict(panel, {"max_weight": 0.25}) == ""
    assert "3 names of at most 25 % hold 75 %" in verdict(late, {"max_weight": 0.25})


def test_only_the_chosen_assets_count():
    panel = random_panel(30, 4, seed=5)
    chosen = ",".join(panel.symbols[:2])
    with pytest.raises(ParameterError, match="2 names of at most 30 % hold 60 %"):
        check_mandate(panel, PATracker, {"max_weight": 0.3, "assets": chosen}, 1e6)
    with pytest.raises(UniverseError, match="NONE"):
        check_mandate(panel, PATracker, {"max_weight": 0.3, "assets": "NONE"}, 1e6)


# -- held by all ----------


def test_compare_applies_the_limits_to_all_and_says_so(csv, tmp_path):
    strategies = ("ensemble", "pa", "equal-weight", "buy-and-hold")
    words = ("--max-weight", "8%", "--exclude", NAMES[0], "--min-cash", "1%", "--param", "eps=0.0003", "--fill", "close")
    result = tracker("compare", *strategies, "--data", csv, *words, "--out", tmp_path, "--no-tearsheet")
    assert result.returncode == 0, result.stderr
    told = " ".join(result.stdout.split())
    assert f"Limits of all: max_weight=8%, exclude={NAMES[0]}, min_cash=1%." in told
    assert "eps is not a parameter of ensemble, equal-weight, buy-and-hold" in " ".join(result.stderr.split())
    for name in strategies:
        decided = pd.read_parquet(tmp_path / name / "decisions.parquet")
        assert decided.to_numpy().max() <= 0.08 + 1e-9, name
        assert not decided[NAMES[0]].any()
        np.testing.assert_allclose(decided.sum(axis=1), 0.99, atol=1e-9)
        params = json.loads((tmp_path / name / "run.json").read_text())["params"]
        assert (params["max_weight"], params["exclude"], params["min_cash"]) == (0.08, [NAMES[0]], 0.01)


def test_a_file_is_the_same_as_options_and_its_paths_are_relative_to_it(csv, sectors, tmp_path):
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "s.csv").write_text(sectors.read_text())
    (folder / "m.toml").write_text('max_sector = "55%"\nsectors = "s.csv"\nunmapped = "free"\n')
    words = ("run", "equal-weight", "--data", csv, "--json")
    file = tracker(*words, "--mandate", folder / "m.toml")
    flags = tracker(*words, "--max-sector", "55%", "--sectors", sectors, "--unmapped", "free")
    assert file.returncode == 0, file.stderr
    assert file.stdout == flags.stdout


def test_sectors_say_what_they_are_used_for_and_whom_they_miss(csv, sectors):
    words = ("run", "equal-weight", "--data", csv, "--sectors", sectors)
    drawn = tracker(*words)
    assert drawn.returncode == 0, drawn.stderr
    assert "they appear on the tear sheet only" in drawn.stderr
    assert f"has no sector for 1 of {len(NAMES)} names: {NAMES[-1]}" in drawn.stderr
    assert "Limits of all" not in drawn.stdout
    limited = tracker(*words, "--max-sector", "60%", "--unmapped", "group")
    assert limited.returncode == 0, limited.stderr
    assert "they appear on the tear sheet only" not in limited.stderr
    assert f"which are limited together, as the sector 'unmapped': {NAMES[-1]}" in limited.stderr
    refused(tracker(*words, "--max-sector", "60%"), "UniverseError", f"1 of {len(NAMES)} names have no sector", NAMES[-1])


def test_a_name_that_is_barred_needs_no_sector():
    of, names = {"A": "x", "B": "y"}, ("A", "B", "C")
    mandate = Mandate(sectors=of, max_sector=0.6, unmapped="free", exclude="C")
    assert sector_notes(mandate, of, names) == []
    assert sector_notes(replace(mandate, exclude=()), of, names) != []


# -- tracker mandate check ----------


def test_check_tells_what_can_be_bought_and_what_it_costs(csv, sectors, toml):
    prices = pd.read_csv(csv, index_col=0).iloc[0].drop("INDEX")
    cap = float(np.sort(prices)[-3])  # two names are dearer than it
    file = toml(
        f'max_weight = 0.1\nlot = 1\nsectors = "{sectors}"\nunmapped = "free"\nmax_sector = "60%"\nmin_sector = {{first = 0.1}}\n'
        f'exclude = ["{NAMES[3]}"]\n'
    )
    words = ("mandate", "check", file, "--data", csv, "--cash", cap / 0.1)
    result = tracker(*words, "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["feasible"] is True
    lost = found["cannot_be_bought"]
    dear = set(prices.index[prices > cap])
    assert set(lost) == dear | {NAMES[3]}
    assert lost[NAMES[3]] == "excluded"
    assert all("one share costs" in lost[name] for name in dear - {NAMES[3]})
    assert found["no_sector"] == [NAMES[-1]]
    groups = {g["name"]: g for g in found["groups"]}
    assert {name: g["names"] for name, g in groups.items()} == {"first": 9, "second": 10}
    assert (groups["first"]["min"], groups["first"]["max"], groups["second"]["min"]) == (0.1, 0.6, 0.0)
    without, within = found["price"]["without"], found["price"]["within"]
    panel_te = replay(load_sample().rows(-80, None), "ensemble", {"fill": "close"}).metrics()["te_rms"]
    assert without["te_rms"] == pytest.approx(panel_te, rel=1e-12)
    assert within["te_per_year"] == pytest.approx(within["te_rms"] * np.sqrt(252), rel=1e-9)
    assert within["n_holdings"] <= len(NAMES) - len(lost)
    shown = tracker(*words)
    assert shown.returncode == 0, shown.stderr
    for word in ("feasible", "cannot be bought", "excluded", "first", "60 %", "TE", "per year", "without the mandate"):
        assert word in shown.stdout


def test_check_refuses_with_the_arithmetic(csv, toml):
    file = toml("max_names = 10\nmax_weight = 0.05\n")
    refused(
        tracker("mandate", "check", file, "--data", csv), "10 names of at most 5 % hold 50 % together, but 100 % must be invested"
    )
    result = tracker("mandate", "check", file, "--data", csv, "--json")
    assert result.returncode == 2
    assert json.loads(result.stdout)["feasible"] is False
    refused(tracker("mandate", "check", "nowhere.toml", "--data", csv), "ParameterError", "nowhere.toml")


def test_a_mandate_without_limits_costs_nothing(csv, toml):
    found = json.loads(tracker("mandate", "check", toml(""), "--data", csv, "--strategy", "pa", "--json").stdout)
    assert found["price"]["within"] == found["price"]["without"]
    assert found["cannot_be_bought"] == {}


# -- paper accounts ----------


def test_an_account_keeps_its_limits_when_the_file_is_gone(csv, sectors, tmp_path):
    (tmp_path / "s.csv").write_text(sectors.read_text())
    file = tmp_path / "m.toml"
    file.write_text('max_sector = "60%"\nsectors = "s.csv"\nunmapped = "group"\nexclude = ["AAPL"]\n')
    place = tmp_path / "account"
    words = ("paper", "init", place, "equal-weight", "--data", csv, "--mandate", file, "--max-weight", "9%")
    done = tracker(*words, "--replay", "2022-12-01", "--fill", "close")
    assert done.returncode == 0, done.stderr
    params = PaperAccount(place).config.params
    assert "mandate" not in params
    assert params["max_weight"] == 0.09
    assert params["sectors"] == {name: "first" if i % 2 else "second" for i, name in enumerate(NAMES[:-1])}
    file.unlink()
    (tmp_path / "s.csv").unlink()
    assert PaperAccount(place).step().sent == len(NAMES) - 1
