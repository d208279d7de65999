"""What a sweep stands for: its cells, their keys, the windows they are scored on, and the descriptions that are refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research.sweeps import Candidate, Cell, Data, Halving, Range, Space, Sweep, WalkForward, Window
from tracker_strategies.research.sweeps.asking.space import parse_domains
from tracker_strategies.research.sweeps.asking.spec import open_panels
from tracker_strategies.research.sweeps.asking.windows import windows_of

SMALL = "synthetic:n_assets=4,n_bars=60"


def dates(n):
    return pd.bdate_range("2020-01-01", periods=n).to_numpy(dtype="datetime64[ns]")


# -- keys ----------

CELL = Cell("pa", Data("prices.csv", sha="abc"), Window(0, 0, 100), {"eps": 1e-4})


def test_a_key_depends_on_everything_that_a_row_depends_on_and_on_nothing_else():
    others = [
        replace(CELL, strategy="pas"),
        replace(CELL, params={"eps": 2e-4}),
        replace(CELL, data=Data("prices.csv", sha="abd")),
        replace(CELL, window=Window(0, 10, 100)),
        replace(CELL, costs=CostModel(bps=1)),
        replace(CELL, fill="close"),
        replace(CELL, engine="cerebro"),
        replace(CELL, cash=1.0),
    ]
    keys = {cell.key("1") for cell in others} | {CELL.key("1"), CELL.key("2")}
    assert len(keys) == len(others) + 2
    same = replace(CELL, data=Data("elsewhere/prices.csv", sha="abc"), window=Window(0, 0, 100, "test", 3))
    assert same.key("1") == CELL.key("1")


def test_equal_numbers_have_equal_keys():
    one, other = (
        replace(CELL, params={"a": 1, "b": [1.0, 2]}),
        replace(CELL, params={"b": (1, np.float64(2.0)), "a": np.int64(1)}),
    )
    assert one.key("1") == other.key("1")


def test_the_key_of_a_synthetic_market_is_its_description():
    a, b = (replace(CELL, data=Data(SMALL, seed=s)) for s in (0, 1))
    assert a.key("1") != b.key("1")


# -- candidates ----------


def test_a_grid_has_every_combination_once_and_forgets_what_only_repeats_a_default():
    space = Space(("pa", "apas"), {"eps": (1e-4, 3e-4), "apas.lam": (1e-3, 1e-2, 1e-1)})
    found = list(space.grid())
    assert len(found) == 2 + 6
    assert found[0] == Candidate("pa")  # eps = 1e-4 is pa's default
    assert found[1] == Candidate("pa", {"eps": 3e-4})
    assert {c.params.get("eps") for c in found if c.strategy == "apas"} == {1e-4, 3e-4}


def test_none_and_tuples_can_be_written():
    domains = parse_domains(["max_weight=none,5%", "blend=(0.5,0.5),[1,0]", "side=none,'a,b'", "exclude=('A','B'),none"])
    assert domains["blend"] == ((0.5, 0.5), [1, 0])
    assert domains["side"] == ("none", "a,b")
    space = Space(("apas",), {key: domains[key] for key in ("max_weight", "side", "exclude")})
    tried = [tuple(c.params.get(key) for key in ("max_weight", "side", "exclude")) for c in space.grid()]
    assert {weight for weight, _, _ in tried} == {None, "5%"}  # none where a number belongs is nothing
    assert "none" in {side for _, side, _ in tried}  # where a word belongs it is a word
    assert {exclude for _, _, exclude in tried} == {None, ("A", "B")}


def test_a_strategy_of_its_own_takes_its_own_values():
    space = Space(("pa", "pas"), {"eps": (1e-3, 2e-3), "pas.eps": (5e-3,)})
    assert [c.params["eps"] for c in space.grid()] == [1e-3, 2e-3, 5e-3]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), trials=st.integers(1, 8))
def test_draws_depend_on_the_seed_and_the_strategy_alone(seed, trials):
    domains = {"eps": Range(1e-5, 1e-2, log=True), "max_weight": (0.2, 0.5)}
    alone = list(Space(("pa",), domains).random(trials, seed))
    with_others = [c for c in Space(("apas", "pa", "equal-weight"), domains).random(trials, seed) if c.strategy == "pa"]
    assert alone == with_others
    assert len(alone) == trials
    assert all(1e-5 <= c.params["eps"] <= 1e-2 for c in alone)
    assert list(Space(("pa",), domains).random(trials, seed + 1)) != alone


@given(low=st.integers(1, 50), width=st.integers(1, 100), log=st.booleans(), seed=st.integers(0, 1000))
def test_whole_numbers_stay_whole_and_in_their_range(low, width, log, seed):
    drawn = Range(low, low + width, log=log, whole=True).draw(np.random.default_rng(seed))
    assert isinstance(drawn, int)
    assert low <= drawn <= low + width


# -- windows ----------


@settings(max_examples=200, deadline=None)
@given(
    n=st.integers(60, 600),
    folds=st.integers(1, 6),
    test_from=st.floats(0.2, 0.8),
    train=st.one_of(st.none(), st.integers(30, 300)),
    purge=st.integers(0, 10),
    burn_in=st.integers(0, 10),
)
def test_folds_cover_the_test_period_once_and_never_train_on_what_they_are_judged_by(n, folds, test_from, train, purge, burn_in):
    walk = WalkForward(folds, test_from, train, purge, burn_in)
    try:
        splits = walk.splits(dates(n))
    except DataError:
        assume(False)
    judged = [row for _, test in splits for row in range(test.score_from, test.stop)]
    assert judged == list(range(int(n * test_from), n))
    for own, test in splits:
        assert own.stop + purge == test.score_from
        assert own.start == test.start >= 0
        assert own.score_from == own.start + burn_in
        assert train is None or own.stop - own.start <= train


def test_too_many_folds_are_refused_with_the_reason():
    with pytest.raises(DataError, match=r"fold 1 of 9.*scores [0-9] of 100 bars.*fewer folds"):
        WalkForward(folds=9).splits(dates(100))


def test_a_period_is_a_window_with_both_dates_in_it():
    d = dates(100)
    (window,) = windows_of(d, periods=("2020-01-06:2020-03-02",), eval_from=0.5)
    assert str(d[window.start])[:10] == "2020-01-06"
    assert str(d[window.stop - 1])[:10] == "2020-03-02"
    assert window.score_from == window.start + (window.stop - window.start) // 2
    assert windows_of(d) == [Window(0, 0, 100)]


def test_a_rung_is_the_beginning_of_its_window():
    whole = Window(10, 50, 150)
    assert [whole.cut(f, r) for r, f in enumerate(Halving(eta=2, rungs=3).fractions())] == [
        Window(10, 50, 75, rung=0),
        Window(10, 50, 100, rung=1),
        Window(10, 50, 150, rung=2),
    ]


# -- descriptions ----------

TOML = """
strategies = ["pa", "apas"]
data = ["synthetic:n_assets=4,n_bars=60"]
seeds = [0, 1]
fill = ["next_open", "close"]
cost_bps = [0, 5]
baselines = ["equal-weight"]
search = "random"
trials = 3
seed = 7

[params]
eps = { low = 1e-5, high = 1e-2, log = true }

[params.apas]
lam = [0.001, 0.01]

[walk_forward]
folds = 2
purge = 1
burn_in = 5
"""


def test_a_toml_file_says_what_the_python_object_says(tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(TOML)
    sweep = Sweep.from_toml(path)
    assert sweep == Sweep(
        Space(("pa", "apas"), {"eps": Range(1e-5, 1e-2, log=True), "apas.lam": (0.001, 0.01)}),
        data=(SMALL,),
        seeds=(0, 1),
        fill=("next_open", "close"),
        costs=(CostModel(0), CostModel(5)),
        baselines=("equal-weight",),
        search="random",
        trials=3,
        seed=7,
        walk_forward=WalkForward(folds=2, purge=1, burn_in=5),
    )
    assert Sweep.from_mapping(sweep.tell()) == sweep
    contexts = list(sweep.contexts(open_panels(sweep)))
    assert len(contexts) == 2 * 2 * 2 * (2 * 2)  # seeds, costs, fills, folds with a training and a test window each
    assert len(set(contexts)) == len(contexts)
    assert len(list(sweep.candidates())) == 1 + 3 + 3


BAD = {
    "unknown parameter": ('strategies = "pa"\n[params]\nepsilon = [1]', "pa has no parameter 'epsilon'; it has eps"),
    "unknown parameter of a strategy": ('strategies = ["pa", "apas"]\n[params.pa]\nlam = [1]', "pa has no parameter 'lam'"),
    "parameter of a stranger": ('strategies = "pa"\n[params.apas]\nlam = [1]', "apas is not one of the strategies"),
    "unknown key": ('strategies = "pa"\nstrategy = "pa"', "unknown key 'strategy'; the keys of a sweep are adjust, baselines"),
    "unknown strategy": ('strategies = ["pax"]', "unknown strategy 'pax'"),
    "no strategy": ('data = "sample"', "no strategy to run"),
    "unknown search": ('strategies = "pa"\nsearch = "magic"', "search='magic' is unknown; choose one of grid"),
    "unknown engine": ('strategies = "pa"\nengine = "steam"', "engine='steam' is unknown"),
    "unknown fill": ('strategies = "pa"\nfill = "yesterday"', "fill='yesterday' is unknown"),
    "fill in the grid": ('strategies = "pa"\n[params]\nfill = ["close"]', "fill cannot be a parameter of the grid"),
    "range in a grid": ('strategies = "pa"\n[params]\neps = {low = 1e-5, high = 1}', "eps is a range, but a grid needs values"),
    "empty range": ('strategies = "pa"\nsearch = "random"\n[params]\neps = {low = 1, high = 1}', "needs low < high"),
    "unknown part of a range": ('strategies = "pa"\n[params]\neps = {low = 1, high = 2, step = 1}', "not 'step'"),
    "empty values": ('strategies = "pa"\n[params]\neps = []', "eps has no values"),
    "unknown key of a table": ('strategies = "pa"\n[halving]\nspeed = 1', "halving has no key 'speed'; its keys are eta, rungs"),
    "bad fold": ('strategies = "pa"\n[walk_forward]\nfolds = 0', "folds=0 must be a whole number >= 1"),
    "negative costs": ('strategies = "pa"\ncost_bps = -1', "bps=-1"),
    "trials of a grid": ('strategies = "pa"\ntrials = 3', "omit trials"),
    "negative seed": ('strategies = "pa"\nseeds = [-1]', "seed -1 must be"),
    "number where text belongs": ('strategies = "pa"\ndata = [1]', "data: 1 must be text"),
    "no TOML": ("strategies = [", "is not a TOML file"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_description_is_refused_with_the_reason(case, tmp_path):
    text, words = BAD[case]
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ParameterError) as problem:
        Sweep.from_toml(path)
    assert words in str(problem.value)
    assert "bad.toml" in str(problem.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"nowhere.toml: No such file"):
        Sweep.from_toml(tmp_path / "nowhere.toml")


def test_domains_on_the_command_line():
    found = parse_domains(
        ["eps=1e-4,3e-4", "apas.side=switching,none", "rebalance=1,weekly"], ["lam=1e-3:1:log", "window=20:90:int"]
    )
    assert found == {
        "eps": (1e-4, 3e-4),
        "apas.side": ("switching", "none"),
        "rebalance": (1, "weekly"),
        "lam": Range(1e-3, 1.0, log=True),
        "window": Range(20, 90, whole=True),
    }
    for text in ("eps", "=3", "eps="):
        with pytest.raises(ParameterError, match="must look like"):
            parse_domains([text])
    with pytest.raises(ParameterError, match="twice"):
        parse_domains(["eps=1", "eps=2"])
    with pytest.raises(ParameterError, match="must look like"):
        parse_domains([], ["lam=1:2:cubic"])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("synthetic:n_assets", "must look like key=value"),
        ("synthetic:colour=1", "colour"),
        ("synthetic:seed=1", "set the seeds with seeds"),
    ],
)
def test_a_bad_synthetic_market_is_refused(source, words):
    with pytest.raises(ParameterError, match=words):
        Data(source).open()
