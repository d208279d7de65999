"""Which run is better: seldom wrong where nothing is, found where something is, and the same in every order."""

import numpy as np
import pytest

from tests.analysis.inference.laws import LAWS, coverage, pairs
from tracker_strategies.analysis.inference.best_set import confidence_set
from tracker_strategies.analysis.inference.bootstrap import Resamples, block_length
from tracker_strategies.analysis.inference.fixed_b import critical_value, standard_errors
from tracker_strategies.analysis.inference.objectives import OBJECTIVES
from tracker_strategies.analysis.inference.verdicts import Judged, holm, interval, judge
from tracker_strategies.errors import DataError, ParameterError


def errors(seed=0, bars=500, runs=4, common=1.0):
    rng = np.random.default_rng(seed)
    return 1e-3 * (common * rng.standard_normal(bars) + rng.standard_normal((runs, bars)))


def named(paths):
    return dict(zip("abcdefghij", paths, strict=False))


def test_identical_runs_are_no_difference_however_often_they_come():
    e = errors(runs=2)
    found = judge({"a": e[0], "copy": e[0].copy(), "b": e[1], "rounded": e[0] * (1 + 1e-13)})
    for name in ("copy", "rounded"):
        v = found[name].versus
        assert (v.verdict, v.delta, v.low, v.high, v.p, v.p_adjusted) == ("no difference", 0.0, 0.0, 0.0, 1.0, 1.0)
        assert found[name].among_best == found["a"].among_best
    nothing = judge({"a": np.zeros(50), "b": np.zeros(50)})
    assert nothing["b"].verdict == "no difference"
    assert (nothing["b"].low, nothing["b"].high) == (0.0, 0.0)


def test_a_verdict_follows_the_sign_and_a_better_run_is_told_in_both_directions():
    e = errors(runs=3)
    e[1] = 0.5 * e[0]
    e[2] = 2.0 * e[0]
    found = judge(named(e))
    assert [run.verdict for run in found.values()] == ["reference", "better", "worse"]
    assert [run.among_best for run in found.values()] == [False, True, False]
    te = np.sqrt((e**2).mean(axis=1))
    for k, name in enumerate("bc", start=1):
        v = found[name].versus
        assert v.delta == pytest.approx(te[0] - te[k], rel=1e-9)
        assert v.low < v.delta < v.high
        back = judge(named(e), name)["a"].versus
        assert (back.delta, back.p) == (pytest.approx(-v.delta, rel=1e-9), v.p)


def test_an_interval_of_a_pair_leaves_zero_out_exactly_where_its_own_p_value_is_below_the_level():
    seen = set()
    for seed in range(60):
        e = errors(seed, bars=200, runs=2)
        e[1] *= 0.9
        v = judge(named(e))["b"].versus
        assert (v.low > 0.0 or v.high < 0.0) == (v.p < 0.05)
        seen.add(v.p < 0.05)
    assert seen == {True, False}


def test_a_pair_is_the_diebold_mariano_test_computed_by_hand():
    e = errors(3, runs=2)
    d = e[0] ** 2 - e[1] ** 2
    t = d.mean() / standard_errors(d[None])[0]
    v = judge(named(e))["b"].versus
    assert (v.p < 0.05) == (abs(t) > critical_value(500))
    gain = d.mean() + critical_value(500) * standard_errors(d[None])[0]
    base = (e[0] ** 2).mean()
    assert v.high == pytest.approx(np.sqrt(base) - np.sqrt(base - gain), rel=1e-9)


def test_holm_raises_p_values_as_by_hand_and_more_runs_make_every_claim_harder():
    p = np.ones((3, 3))
    for (i, j), value in {(0, 1): 0.01, (0, 2): 0.04, (1, 2): 0.03}.items():
        p[i, j] = p[j, i] = value
    np.testing.assert_allclose(holm(p)[np.triu_indices(3, 1)], [0.03, 0.06, 0.06])
    e = errors(5, runs=8)
    e[1] *= 0.8
    few, many = judge(named(e[:2]))["b"].versus, judge(named(e))["b"].versus
    assert few.p == many.p == few.p_adjusted
    assert many.p_adjusted > few.p_adjusted


def test_the_order_of_runs_changes_nothing():
    e = errors(6, runs=5)
    ahead, back = judge(named(e), "c"), judge(dict(reversed(named(e).items())), "c")
    for name, run in ahead.items():
        assert back[name].verdict == run.verdict
        assert back[name].among_best == run.among_best
        assert (back[name].low, back[name].high) == (run.low, run.high)


def test_other_objectives_are_judged_by_what_they_are_the_mean_of():
    e = errors(7, runs=2, bars=800)
    e[1] = e[0] + 3e-4
    found = judge(named(e), objective=OBJECTIVES["excess_log_return"])
    assert found["b"].verdict == "better"
    assert found["b"].versus.delta == pytest.approx(800 * 3e-4, rel=1e-9)
    assert judge(named(e), objective=OBJECTIVES["te_centred"])["b"].verdict == "no difference"


def test_what_cannot_be_judged_is_refused_by_name_or_left_open():
    e = errors()
    with pytest.raises(ParameterError, match="'z' is not one of the runs: choose one of a, b"):
        judge(named(e), "z")
    with pytest.raises(ParameterError, match="at least one"):
        judge({})
    with pytest.raises(DataError, match=r"500 bars \(a\), 499 bars \(b\)"):
        judge({"a": e[0], "b": e[1][1:]})
    with pytest.raises(DataError, match="not finite"):
        judge({"a": e[0], "b": np.where(np.arange(500) == 7, np.nan, e[1])})
    few = judge(named(e[:, :5]))
    assert few["b"].verdict == "no difference shown"
    assert few["a"].told()["interval"] == [None, None]


def test_what_is_told_as_json_comes_back():
    for run in judge(named(errors())).values():
        assert Judged.from_told(run.name, run.figure, run.told()) == run


# -- how often it is right ----------


@pytest.mark.parametrize(("n_bars", "law"), [(250, "AR 0.3, normal"), (250, "AR 0.6, t5"), (1000, "AR 0.0, t5")])
def test_intervals_hold_what_they_promise_and_equals_are_seldom_called_different(n_bars, law):
    found = coverage(law, n_bars, 300)
    assert 0.90 <= found["difference"] <= 0.99
    assert 0.89 <= found["te"] <= 0.985
    assert found["called different"] <= 0.09


@pytest.mark.slow
@pytest.mark.parametrize("n_bars", [250, 1000])
@pytest.mark.parametrize("law", [law for law in LAWS if not law.startswith("GARCH")])
def test_coverage_on_a_thousand_pairs(law, n_bars):
    found = coverage(law, n_bars, 1000)
    assert 0.92 <= found["difference"] <= 0.97
    assert 0.91 <= found["te"] <= 0.97
    assert found["called different"] <= 0.07


def test_a_real_difference_is_found():
    better = 0
    for seed in range(40):
        e = pairs("AR 0.3, t5", 500, 1, seed)[0]
        e[1] = 0.5 * e[0] + 0.5 * e[1]
        better += judge({"a": e[0], "b": e[1]}, draws=100)["b"].verdict == "better"
    assert better >= 30


def test_the_interval_grows_with_the_memory_of_the_errors():
    def width(law):
        low, high = interval(pairs(law, 1000, 1, 3)[0, 0])
        return np.log(high / low)

    assert width("AR 0.6, normal") > 1.2 * width("AR 0.0, normal")


# -- the set of the best ----------


def test_the_set_contains_the_best_and_leaves_out_those_that_are_clearly_worse():
    held = 0
    for seed in range(60):
        e = errors(seed, bars=400, runs=8, common=0.5)
        e *= np.r_[1.0, 1.0, 1.0, 1.02, 1.05, 1.6, 1.8, 2.0][:, None]
        found = confidence_set(e**2, Resamples(400, 300, seed))
        held += found[:3].all()
        assert found.any()
        assert not found[6:].any()
    assert held >= 53


def test_one_run_and_copies_of_it_are_all_the_best():
    e = errors(runs=1)
    assert confidence_set(e**2, Resamples(500, 200)).tolist() == [True]
    assert confidence_set(np.repeat(e, 4, axis=0) ** 2, Resamples(500, 200)).all()


def test_the_set_is_that_of_arch():
    bootstrap = pytest.importorskip("arch.bootstrap", reason="arch is not installed: extra 'dev'")
    same = differ = 0
    for seed in range(12):
        e = errors(seed, bars=300, runs=7)
        e *= np.linspace(1.0, 1.3, 7)[:, None]
        ours = confidence_set(e**2, Resamples(300, 2000, seed))
        theirs = bootstrap.MCS((e**2).T, 0.05, reps=2000, block_size=round(block_length(300)), method="max", seed=seed)
        theirs.compute()
        borderline = theirs.pvalues["Pvalue"].sub(0.05).abs() < 0.015
        expected = np.isin(np.arange(7), theirs.included)
        unsure = np.isin(np.arange(7), theirs.pvalues.index[borderline])
        same += (ours == expected)[~unsure].sum()
        differ += (ours != expected)[~unsure].sum()
    assert same > 60
    assert differ <= 1
