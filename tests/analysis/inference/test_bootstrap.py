"""How sure a comparison is: resamples that keep what bars have in common, and claims that are seldom wrong."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracker_strategies.analysis.inference import bootstrap
from tracker_strategies.analysis.inference.bootstrap import Resamples, block_length, compare
from tracker_strategies.analysis.inference.objectives import LEVEL, OBJECTIVES, figure, per_bar
from tracker_strategies.analysis.metrics import tracking_metrics

GOALS = sorted(OBJECTIVES)


def noise(seed, cells, bars, memory=0.0):
    """Errors with heavy tails, volatility that comes and goes, and a common part; the baseline comes first. Nobody is better."""
    rng = np.random.default_rng(seed)
    e = 1e-3 * (0.7 * rng.standard_t(5, bars) + rng.standard_t(5, (cells + 1, bars)))
    for t in range(1, bars if memory else 0):
        e[:, t] += memory * e[:, t - 1]
    calm = np.exp(0.5 * np.cumsum(rng.standard_normal(bars) * 0.15))
    return e * np.clip(calm / calm.mean(), 0.3, 3.0)


@cache
def resamples(bars, draws):
    return Resamples(bars, draws)


def judged(e, goal, draws=300):
    bars = np.arange(e.shape[1])
    return compare([(bars, e[1:])], e[0], OBJECTIVES[goal], resamples(len(bars), draws))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), bars=st.integers(10, 400), cells=st.integers(1, 5))
def test_a_figure_is_that_of_the_metrics(seed, bars, cells):
    rng = np.random.default_rng(seed)
    r, y = rng.normal(0, 0.01, (cells, bars)), rng.normal(0, 0.01, bars)
    truth = [tracking_metrics(row, y) for row in r]
    active, excess = r - y, np.log1p(r) - np.log1p(y)
    for name, objective in OBJECTIVES.items():
        u = per_bar(active if objective.path == "active" else excess, objective)
        found = figure(u.mean(axis=1), bars, objective)
        ddof = math.sqrt(bars / (bars - 1)) if name == "te_centred" else 1.0
        np.testing.assert_allclose(found * ddof, [m[name] for m in truth], rtol=1e-9, atol=1e-15)


def test_resamples_move_a_mean_as_much_as_it_is_uncertain():
    rng = np.random.default_rng(0)
    white = rng.standard_normal((1, 2000))
    for path, spread in ((white, 1.0), (white + np.roll(white, 1) + np.roll(white, 2), 3.0)):
        moved = Resamples(2000, 2000).deviations(path)
        assert moved.mean() == pytest.approx(0.0, abs=0.01)
        assert moved.std() == pytest.approx(spread / math.sqrt(2000), rel=0.12)


def test_many_bars_are_drawn_in_pieces_to_the_same_effect():
    rng = np.random.default_rng(1)
    path = rng.standard_normal((3, 23_001))
    coarse = Resamples(23_001, 1500)
    assert coarse.deviations(path).std(axis=0) == pytest.approx(path.std(axis=1) / math.sqrt(23_001), rel=0.1)
    some = np.arange(5_000, 18_000)
    assert coarse.deviations(path[:, some], some).std(axis=0) == pytest.approx(path.std(axis=1) / math.sqrt(13_000), rel=0.12)


def test_block_lengths_grow_slowly():
    assert [round(block_length(n)) for n in (1, 250, 1000, 8000)] == [2, 13, 20, 40]


@pytest.mark.parametrize("goal", GOALS)
def test_cells_are_compared_with_the_right_sign(goal):
    e = noise(3, 2, 400)
    objective = OBJECTIVES[goal]
    e[1] = 0.4 * e[0] if objective.path == "active" else e[0] + 2e-3
    e[2] = 2.5 * e[0] if objective.path == "active" else e[0] - 2e-3
    found = judged(e, goal)
    base, *own = figure(per_bar(e, objective).mean(axis=1), 400, objective)
    np.testing.assert_allclose(found.delta, objective.sign * (np.array(own) - base), rtol=1e-9)
    assert found.p[0] < 0.01
    assert found.p[1] == 1.0
    assert found.low[0] > 0.0 > found.high[1]
    assert (found.low <= found.delta).all()
    assert (found.delta <= found.high).all()


def test_more_trials_make_every_claim_harder():
    e = noise(4, 200, 300)
    e[1] *= 0.85
    few, many = judged(e[:3], "te_rms"), judged(e, "te_rms")
    assert few.delta[0] == many.delta[0]
    assert few.p[0] < many.p[0]
    assert few.low[0] > many.low[0]


@pytest.mark.parametrize(("bars", "leave"), [(2, 0.6), (7, 1.0), (7, 0.3), (300, 0.07)])
def test_draws_are_those_of_the_stationary_bootstrap(bars, leave):
    """Against a loop that goes from bar to bar, as the bootstrap is defined: how often two bars come together."""
    rng, draws = np.random.default_rng(1), 4000
    ours = bootstrap._times_drawn(bars, draws, leave, rng).astype(float)
    theirs = np.zeros((draws, bars))
    for row in theirs:
        at = rng.integers(bars)
        for _ in range(bars):
            row[at] += 1
            at = rng.integers(bars) if rng.random() < leave else (at + 1) % bars
    assert (ours.sum(axis=1) == bars).all()
    assert ours.min() >= 0.0
    for lag in (0, 1, min(20, bars - 1)):
        together = [((x - 1.0) * np.roll(x - 1.0, -lag, axis=1)).mean(axis=1) for x in (ours, theirs)]
        spread = 4.0 * np.hypot(*(x.std() for x in together)) / math.sqrt(draws)
        assert together[0].mean() == pytest.approx(together[1].mean(), abs=spread)


def test_the_same_cell_again_and_again_is_no_further_trial():
    """What a correction for independent trials gets wrong: a grid of near copies."""
    e = noise(5, 1, 300)
    e[1] *= 0.93
    copies = np.vstack([e, np.repeat(e[1:], 300, axis=0) * (1 + 1e-5 * np.arange(300)[:, None])])
    assert judged(copies, "te_rms").p[0] == pytest.approx(judged(e, "te_rms").p[0], abs=0.02)


def test_hopeless_cells_do_not_hide_a_good_one():
    e = noise(6, 300, 300)
    e[1] *= 0.85
    e[2:] *= 4.0
    many = 2000  # the deviation of a hopeless cell, known from few draws, may put it on the wrong side of the limit
    assert judged(e, "te_rms", many).p[0] <= judged(e[:2], "te_rms", many).p[0] + 0.02


def test_the_baseline_itself_is_not_better_than_itself():
    e = noise(7, 2, 200)
    e[1:] = e[0] * (1 + 1e-9)
    found = judged(e, "te_rms")
    assert found.delta.tolist() == [0.0, 0.0]
    assert found.p.tolist() == [1.0, 1.0]
    assert found.high.tolist() == [0.0, 0.0]


def test_cells_on_a_part_of_the_bars_are_compared_on_that_part():
    e = noise(8, 3, 400)
    some = np.r_[np.arange(50), np.arange(200, 260)]
    resamples, objective = Resamples(400, 300), OBJECTIVES["te_rms"]
    found = compare([(np.arange(400), e[1:3]), (some, e[3:, some])], e[0], objective, resamples)
    te = np.sqrt((e**2).mean(axis=1))
    np.testing.assert_allclose(found.delta[:2], te[0] - te[1:3], rtol=1e-9)
    np.testing.assert_allclose(found.delta[2], np.sqrt((e[0, some] ** 2).mean()) - np.sqrt((e[3, some] ** 2).mean()), rtol=1e-9)


NOISE = [("te_rms", 30, 250, 0.0), ("te_rms", 60, 500, 0.1), ("te_centred", 1, 250, 0.0)]
NOISE += [("excess_log_return", 1, 250, 0.0), ("excess_log_return", 30, 250, 0.0), ("excess_log_return", 60, 500, 0.1)]


@pytest.mark.parametrize(("goal", "cells", "bars", "memory"), NOISE)
def test_on_noise_claims_are_wrong_in_at_most_a_tenth_of_200_markets(goal, cells, bars, memory):
    """The hardest case: all cells exactly as good as the baseline."""
    wrong = sum(judged(noise(seed, cells, bars, memory), goal, draws=200).p.min() < LEVEL for seed in range(200))
    assert wrong <= 20


def test_a_real_edge_is_found():
    found = 0
    for seed in range(40):
        e = noise(seed, 30, 500)
        e[7] *= 0.6
        result = judged(e, "te_rms", draws=200)
        found += result.p[6] < LEVEL and result.p.argmin() == 6
    assert found >= 32


# -- an independent implementation beside ours ----------


def test_resamples_move_means_as_those_of_arch():
    arch = pytest.importorskip("arch.bootstrap", reason="arch is not installed: extra 'dev'")
    e = noise(3, 4, 400, memory=0.3)[1:]
    ours = resamples(400, 4000).deviations(e).std(axis=0, ddof=1)
    theirs = arch.StationaryBootstrap(block_length(400), e.T, seed=1).var(lambda rows: rows.mean(axis=0), 4000) ** 0.5
    np.testing.assert_allclose(ours, theirs, rtol=0.06)


@pytest.mark.parametrize("edge", [0.0, 0.1, 0.2])
def test_the_best_cell_is_as_sure_as_with_archs_draws(edge):
    """Hansen's statistic on arch's resamples. (Its own SPA takes the maximum of plain means, not of studentised ones.)"""
    arch = pytest.importorskip("arch.bootstrap", reason="arch is not installed: extra 'dev'")
    for seed in range(4):
        e = noise(seed, 8, 300)
        e[1] *= 1.0 - edge
        gain = (e[0] ** 2 - e[1:] ** 2).T
        drawn = arch.StationaryBootstrap(block_length(300), gain, seed=seed).apply(lambda rows: rows.mean(axis=0), 4000)
        moved = drawn - gain.mean(axis=0)
        t = gain.mean(axis=0) / moved.std(axis=0, ddof=1)
        hopeless = t <= -math.sqrt(2.0 * math.log(math.log(300)))
        best = (moved / moved.std(axis=0, ddof=1) + np.where(hopeless, t, 0.0)).max(axis=1)
        assert judged(e, "te_rms", 4000).p.min() == pytest.approx((best >= t.max()).mean(), abs=0.04)
