"""Tuning: parameters chosen on the past under a budget, an out-of-sample path of the chosen ones only, and no claims on noise."""

import json

import numpy as np
import pandas as pd
import pytest

from datafeeds import synthetic_market
from tests.research.sweeps.test_report import NOISE_MARKETS, noise_market, parquet
from tests.research.sweeps.test_run import StopAfter, rows_of
from tracker_strategies import CostModel
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research import replay
from tracker_strategies.research.sweeps import Candidate, Range, Space, Sweep, WalkForward, write_report
from tracker_strategies.research.sweeps.tuning.report import findings, out_of_sample, write_tuning
from tracker_strategies.research.sweeps.tuning.stitch import stitch
from tracker_strategies.research.sweeps.tuning.tuner import Tuning, run_tuning
from tracker_strategies.testing.lookahead import scramble_future

WALK = WalkForward(folds=3, test_from=0.4, purge=2, burn_in=10)
EPS = (1e-4, 1e-3, 5e-3, 2e-2)
COSTS = CostModel(bps=10)


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    panel = synthetic_market(8, 240, seed=9, ohlc=False)
    return panel, parquet(panel, tmp_path_factory.mktemp("tune"))


def tuning_of(source, budgets=None, **options):
    chosen = {"data": (source,), "costs": (COSTS,), "walk_forward": WALK, "objective": "te_rms", **options}
    space = chosen.pop("space", Space(("pa",), {"eps": EPS}))
    return Tuning(Sweep(space, **chosen), **(budgets or {}))


def train_rows(folder, fold):
    return {json.loads(r["params"]).get("eps", 1e-4): r for r in rows_of(folder) if r["fold"] == fold}


def test_the_best_in_training_is_chosen_fold_by_fold(market, tmp_path):
    panel, source = market
    tuned = run_tuning(tuning_of(source), tmp_path, jobs=1)
    with pytest.raises(OutputError, match=r"training runs only.*tune\.html"):
        write_report(tmp_path)
    assert len(tuned.choices) == 3
    for choice in tuned.choices:
        rows = train_rows(tmp_path, choice.fold)
        assert set(rows) == set(EPS)
        best = min(rows, key=lambda eps: rows[eps]["te_rms"])
        assert choice.candidate.params.get("eps", 1e-4) == best
        assert choice.trained["te_rms"] == rows[best]["te_rms"]
        assert (choice.tried, choice.failed, choice.within_budget) == (4, 0, True)
        assert choice.train.stop + WALK.purge == choice.test.score_from
    assert {r["part"] for r in rows_of(tmp_path)} == {"train"}, "no candidate that was not chosen may see a test bar"
    assert max(r["last_day"] for r in rows_of(tmp_path)) < panel.day(tuned.choices[-1].test.score_from)


def test_a_budget_comes_before_the_objective(market, tmp_path):
    _, source = market
    free = run_tuning(tuning_of(source, objective="excess_log_return"), tmp_path / "free", jobs=1)
    rows = [train_rows(tmp_path / "free", k) for k in range(3)]
    budget = float(np.median([r["te_rms"] for fold in rows for r in fold.values()]))
    tight = run_tuning(tuning_of(source, {"te_budget": budget}, objective="excess_log_return"), tmp_path / "tight", jobs=1)
    for choice, own in zip(tight.choices, rows, strict=True):
        allowed = [r for r in own.values() if r["te_rms"] <= budget]
        assert choice.within_budget == bool(allowed)
        if allowed:
            assert choice.trained["excess_log_return"] == max(r["excess_log_return"] for r in allowed)
        else:
            assert choice.trained["te_rms"] == min(r["te_rms"] for r in own.values())
    for choice, own in zip(free.choices, rows, strict=True):
        assert choice.trained["excess_log_return"] == max(r["excess_log_return"] for r in own.values())


def test_a_turnover_budget_and_one_that_nobody_keeps(market, tmp_path):
    _, source = market
    tuned = run_tuning(tuning_of(source, {"turnover_budget": 1e-9}), tmp_path, jobs=1)
    found = write_tuning(tuned, draws=200)
    for choice in tuned.choices:
        assert not choice.within_budget
        assert choice.trained["turnover"] == min(r["turnover"] for r in train_rows(tmp_path, choice.fold).values())
    assert sum("no candidate kept to the budget" in words for words in found["warnings"]) == 3
    assert not found["within_budget"]


def test_what_is_chosen_and_earned_up_to_a_bar_does_not_depend_on_later_ones(market, tmp_path):
    panel, source = market
    truth = run_tuning(tuning_of(source), tmp_path / "truth", jobs=1)
    path = out_of_sample(truth, [c.candidate for c in truth.choices], "tuned")
    for fold in range(3):
        row = truth.choices[fold].test.score_from - 1
        changed = scramble_future(panel, row, np.random.default_rng(fold))
        other = run_tuning(tuning_of(parquet(changed, tmp_path, f"scrambled{fold}")), tmp_path / f"{fold}", jobs=1)
        assert [c.candidate for c in other.choices[: fold + 1]] == [c.candidate for c in truth.choices[: fold + 1]]
        if len(other.panel.symbols) == len(panel.symbols) and fold:
            again = out_of_sample(other, [c.candidate for c in other.choices], "tuned")
            bars = row - truth.choices[0].test.score_from + 2
            np.testing.assert_array_equal(again.value[:bars], path.value[:bars])


def test_the_path_is_stitched_from_the_chosen_runs_and_pays_for_each_change(market, tmp_path):
    panel, source = market
    tuned = run_tuning(tuning_of(source), tmp_path, jobs=1)
    path = out_of_sample(tuned, [Candidate("pa", {"eps": 1e-3}), Candidate("equal-weight"), Candidate("pa")], "tuned")
    first = tuned.choices[0].test.score_from
    assert path.dates[0] == panel.dates[first - 1]
    assert len(path.active) == panel.n_bars - first
    runs = []
    for choice, (name, params) in zip(tuned.choices, (("pa", {"eps": 1e-3}), ("equal-weight", {}), ("pa", {})), strict=True):
        record = replay(panel.rows(choice.test.start, choice.test.stop), name, params, costs=COSTS)
        runs.append(record.since(str(panel.dates[choice.test.score_from])))
    value, at = tuned.tuning.sweep.cash, 0
    for k, run in enumerate(runs):
        paid = traded = 0.0
        if k:
            traded = float(np.abs(run.weights[0] - runs[k - 1].weights[-1]).sum())
            paid = traded * COSTS.bps * 1e-4
        n = len(run.returns)
        expected = value * (1.0 - paid) * np.cumprod(1.0 + run.returns)
        np.testing.assert_allclose(path.value[at + 1 : at + n + 1], expected, rtol=1e-12)
        np.testing.assert_allclose(path.turnover[at + 1], traded + run.turnover[1], rtol=1e-9)
        np.testing.assert_allclose(path.turnover[at + 2 : at + n + 1], run.turnover[2:], rtol=1e-12)
        value, at = float(expected[-1]), at + n
    assert path.turnover[1 + len(runs[0].returns)] > 0.1


def test_a_path_without_changes_is_the_run_itself(market):
    panel, _ = market
    whole = replay(panel, "pa", costs=COSTS)
    pieces = [replay(panel.rows(0, 150), "pa", costs=COSTS).since(str(panel.dates[60])), whole.since(str(panel.dates[150]))]
    path, truth = stitch(pieces, panel, COSTS, float(whole.value[59]), strategy="x"), whole.since(str(panel.dates[60]))
    for name in ("dates", "value", "index", "weights", "turnover", "cost"):
        np.testing.assert_allclose(getattr(path, name).astype(float), getattr(truth, name).astype(float), rtol=1e-9, atol=1e-12)


def test_a_change_between_folds_pays_what_each_name_pays(market, tmp_path):
    panel, source = market
    dear = panel.symbols[0]
    fees = {dear: {"bps": 90.0}}
    tuned = run_tuning(tuning_of(source, mandate={"fees": fees}), tmp_path, jobs=1)
    names = ("equal-weight", "pa", "equal-weight")
    path = out_of_sample(tuned, [Candidate(name) for name in names], "tuned")
    value, at = tuned.tuning.sweep.cash, 0
    rate = np.where(np.array(panel.symbols) == dear, 90.0, COSTS.bps) * 1e-4
    before = None
    for choice, name in zip(tuned.choices, names, strict=True):
        run = replay(panel.rows(choice.test.start, choice.test.stop), name, {"fees": fees}, costs=COSTS)
        run = run.since(str(panel.dates[choice.test.score_from]))
        paid = 0.0 if before is None else float(np.abs(run.weights[0] - before) @ rate)
        expected = value * (1.0 - paid) * np.cumprod(1.0 + run.returns)
        np.testing.assert_allclose(path.value[at + 1 : at + len(expected) + 1], expected, rtol=1e-12)
        value, at, before = float(expected[-1]), at + len(expected), run.weights[-1]


def test_what_is_written_says_all_and_the_page_stands_alone(market, tmp_path):
    _, source = market
    tuned = run_tuning(tuning_of(source), tmp_path, jobs=1)
    found = write_tuning(tuned, draws=200)
    assert found == json.loads((tmp_path / "tune.json").read_text())
    frame = pd.read_parquet(tmp_path / "path.parquet")
    active = frame["active"].to_numpy()[1:]
    assert found["metrics"]["te_rms"] == pytest.approx(float(np.sqrt((active**2).mean())), rel=1e-12)
    assert {"equal-weight_active", "pa_active", "turnover", "cost"} <= set(frame.columns)
    page = (tmp_path / "tune.html").read_text()
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    for words in ("What was chosen", "Out of sample", "equal-weight", found["folds"][1]["test"][0]):
        assert words in page
    assert f"{FillMode.NEXT_OPEN.in_words(opens=tuned.panel.open is not None)}, " in page
    assert "next_open" not in page
    assert [f["fold"] for f in found["folds"]] == [1, 2, 3]
    assert found["best"][0]["versus"].keys() == {"equal-weight", "pa"}


@pytest.mark.parametrize("search", ["random", "tpe"])
def test_proposals_do_not_depend_on_who_works_or_on_being_stopped(market, tmp_path, search):
    if search == "tpe":
        pytest.importorskip("optuna", reason="the extra 'tune' is not installed")
    _, source = market
    space = Space(("pa", "apas"), {"pa.eps": Range(1e-5, 1e-1, log=True), "apas.lam": Range(1e-3, 1.0, log=True)})
    tuning = tuning_of(source, space=space, search=search, trials=12, seed=4)
    stopped = run_tuning(tuning, tmp_path / "two", jobs=1, watcher=StopAfter(7))
    assert stopped.stopped
    two = run_tuning(tuning, tmp_path / "two", jobs=2)
    one = run_tuning(tuning, tmp_path / "one", jobs=1)
    assert [c.candidate for c in one.choices] == [c.candidate for c in two.choices]
    assert rows_of(tmp_path / "one") == rows_of(tmp_path / "two")


def test_tpe_looks_where_it_is_good(market, tmp_path):
    """More than half of its later proposals are better than the median of its first ones."""
    pytest.importorskip("optuna", reason="the extra 'tune' is not installed")
    from tracker_strategies.research.sweeps.tuning._tpe import propose

    space, seen = Space(("pa",), {"eps": Range(1e-6, 1.0, log=True)}), []

    def evaluate(candidates):
        seen.extend(abs(np.log10(c.params["eps"]) + 3.0) for c in candidates)
        return [(0.0, seen[i]) for i in range(len(seen) - len(candidates), len(seen))]

    propose(space, evaluate, trials=48, seed=1, batch=8)
    assert len(seen) == 48
    assert np.mean(np.array(seen[16:]) < np.median(seen[:16])) > 0.5
    assert min(seen) < 0.1


BAD = {
    "two sources": ({"data": ("sample", "synthetic")}, {}, "one value of data"),
    "two fills": ({"fill": ("open", "close")}, {}, "one value of fill"),
    "windows": ({"eval_from": 0.5}, {}, "its own windows"),
    "halving": ({"search": "halving"}, {}, "halving is for sweeps"),
    "budget": ({}, {"te_budget": 0.0}, "te_budget=0.0 must be a positive number"),
    "turnover": ({}, {"turnover_budget": -1}, "turnover_budget=-1"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_sense_is_refused(case):
    options, budgets, words = BAD[case]
    with pytest.raises(ParameterError, match=words):
        tuning_of("sample", budgets, **options)


def test_candidates_that_all_fail_are_named(market, tmp_path):
    _, source = market
    with pytest.raises(
        ParameterError, match=r"fold 1: all 2 candidates failed; the first error is: ParameterError: .*at most 1 %"
    ):
        run_tuning(tuning_of(source, space=Space(("pa",), {"max_weight": (0.01, 0.01001)})), tmp_path / "limits", jobs=1)
    with pytest.raises(ParameterError, match=r"pa eps=-1: eps must be .*; 1 more would be refused"):
        run_tuning(tuning_of(source, space=Space(("pa",), {"eps": (-1.0, -2.0)})), tmp_path / "values", jobs=1)
    assert not (tmp_path / "values").exists()


@pytest.mark.parametrize(("markets", "most"), NOISE_MARKETS)
def test_on_pure_noise_tuning_claims_an_edge_in_at_most_a_tenth_of_markets(tmp_path, markets, most):
    walk = WalkForward(folds=2, test_from=0.4, purge=2, burn_in=5)
    space = Space(("pa",), {"eps": (1e-3, 5e-3, 2e-2)})
    wrong = {"te_rms": 0, "excess_log_return": 0}
    for seed in range(markets):
        goal = ("te_rms", "excess_log_return")[seed % 2]
        sweep = Sweep(
            space, data=(parquet(noise_market(seed, 120), tmp_path),), fill=("close",), walk_forward=walk, objective=goal
        )
        tuned = run_tuning(Tuning(sweep), tmp_path / f"{seed}", jobs=1)
        path = out_of_sample(tuned, [c.candidate for c in tuned.choices], "tuned")
        base = {name: out_of_sample(tuned, [Candidate(name)] * 2, name) for name in sweep.baselines}
        wrong[goal] += findings(tuned, path, base, 150)["edge"]
    assert sum(wrong.values()) <= most
