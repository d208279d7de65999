"""Which names may be held: near the best choice, and no churn from bar to bar."""

import itertools

import numpy as np
import pytest

from tests.execution.mandate.names.cases import amounts, assert_kept, distance, free, limits, market
from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import Group, Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.execution.mandate.names import choosing as rule
from tracker_strategies.execution.mandate.names.choosing import choose
from tracker_strategies.execution.mandate.names.support import Bar, groups_of


def random_case(seed, fewest, most):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(fewest, most + 1)), int(rng.integers(0, 4))
    wish = rng.dirichlet(np.full(n, rng.choice([0.5, 1.0, 5.0])))
    metric = Metric(10 ** rng.uniform(-5, -3.5, n), rng.normal(0, 10 ** rng.uniform(-2.5, -1.5), (n, k)))
    max_names = int(rng.integers(1, n)) if rng.random() < 0.85 else None
    caps = [np.ones(n), rng.uniform(0.15, 0.7, n), np.full(n, max(rng.uniform(0.1, 0.6), 1.05 / (max_names or n)))]
    cap = caps[int(rng.integers(3))]
    least = np.minimum(rng.choice([0.0, rng.uniform(0.01, 0.25)]), cap)
    must = np.where((np.arange(n) == rng.integers(n)) & (rng.random() < 0.2), 0.4 * cap, 0.0)
    groups = []
    for grouping in range(int(rng.integers(0, 3))):
        label = rng.integers(0, 3, n)
        for name in np.unique(label):
            lower = rng.uniform(0, 0.2) if rng.random() < 0.4 else 0.0
            upper = rng.uniform(0.3, 0.9) if rng.random() < 0.6 else 1.0
            count = int(rng.integers(1, 4)) if rng.random() < 0.3 else None
            groups.append(Group(f"grouping {grouping}", str(name), np.flatnonzero(label == name), lower, upper, count))
    return wish, limits(n, cap, least, must, groups, max_names, float(rng.choice([0.0, 0.01, 0.1]))), metric


def best_of_all(wish, asked, metric):
    """Least squared distance over every choice of names; infinite if none is feasible."""
    n, best = len(wish), np.inf
    groups, low = groups_of(asked), np.maximum(asked.least, asked.must)
    for bits in itertools.product((False, True), repeat=n):
        on = np.array(bits)
        few = asked.max_names is None or on.sum() <= asked.max_names
        if not few or np.any((asked.must > 0) & ~on) or np.any(groups.rows @ on > groups.most):
            continue
        if asked.upper[on].sum() < asked.total - 1e-12 or low[on].sum() > asked.total + 1e-12:
            continue
        bounds = np.where(on, low, 0.0), np.where(on, asked.upper, 0.0)
        found = nearest(wish, Region(*bounds, np.zeros(n), asked.total, groups.members, groups.lower, groups.upper), metric)
        if found.feasible:
            best = min(best, distance(found.weights, wish, metric))
    return best


def share_near_the_best(seeds, fewest, most):
    near = []
    for seed in seeds:
        wish, asked, metric = random_case(seed, fewest, most)
        best, held = best_of_all(wish, asked, metric), np.zeros(len(wish))
        chosen = choose(wish, held, asked, metric, **free(len(wish)))
        found = nearest(wish, chosen.region(asked, held), metric)  # where every name may be held, only this tells
        assert (chosen.feasible and found.feasible) == np.isfinite(best)
        if found.feasible:
            w = found.weights
            assert_kept(w, asked)
            near.append(distance(w, wish, metric) <= 1.05 * best + 1e-15)
    return np.mean(near)


def test_the_choice_is_near_the_best_of_all():
    assert share_near_the_best(range(60), 3, 8) >= 0.95


@pytest.mark.slow
def test_the_choice_is_near_the_best_of_all_in_larger_markets():
    assert share_near_the_best(range(100, 400), 3, 8) >= 0.95
    assert share_near_the_best(range(1000, 1080), 9, 12) >= 0.95


def test_a_wish_that_chose_its_names_keeps_them():
    rng = np.random.default_rng(3)
    wish = np.zeros(40)
    wish[[3, 8, 20]] = 0.2, 0.3, 0.5
    metric = Metric(rng.uniform(1, 2, 40), rng.normal(size=(40, 2)))
    held = np.full(40, 1 / 40)
    chosen = choose(wish, held, limits(40, 0.6, 0.05, max_names=5), metric, **free(40))
    np.testing.assert_array_equal(chosen.support, wish > 0)
    # Three names of at least 35 % are too many: it did not choose by the rules.
    chosen = choose(wish, held, limits(40, 0.6, 0.35, max_names=5), metric, **free(40))
    assert chosen.feasible
    assert chosen.support.sum() == 2


def test_without_counts_and_minima_every_name_may_be_held():
    n = 6
    asked = limits(n, [0.5, 0.0, 0.5, 0.5, 0.5, 0.5])
    buy = np.arange(n) != 2
    held = np.array([0.5, 0.0, 0.2, 0.3, 0.0, 0.0])
    chosen = choose(
        np.full(n, 1 / n), held, asked, Metric(np.ones(n), np.zeros((n, 0))), can_buy=buy, must_keep=np.zeros(n, bool)
    )
    np.testing.assert_array_equal(chosen.support, [True, False, True, True, True, True])
    assert chosen.upper[2] == 0.2


@pytest.mark.parametrize("least", [0.0, 0.04])
def test_names_do_not_churn(least):
    """200 bars of a slowly moving wish: few names change, and the choice stays near one made anew."""
    rng, wish, metric, asked = market(60, 15, least=least)
    held, changes, before, start = np.zeros(60), 0, None, None
    for _ in range(200):
        wish = wish * np.exp(rng.normal(0, 0.02, 60))
        wish /= wish.sum()
        chosen = choose(wish, held, asked, metric, start=start, **free(60))
        assert chosen.feasible
        w, start = amounts(chosen, asked, wish, held, metric), chosen.start
        assert_kept(w, asked)
        if before is not None:
            changes += int(np.count_nonzero((w > 0) & ~before))
        before = w > 0
        held = w * np.exp(rng.normal(0, 0.01, 60))
        held *= 0.99 / held.sum()
    assert changes <= 10
    anew = choose(wish, np.zeros(60), asked, metric, **free(60))
    assert distance(w, wish, metric) <= 1.15 * distance(amounts(anew, asked, wish, held, metric), wish, metric)


def test_an_exchange_has_to_pay():
    """Names held are kept for a wish that is as near to others; they give way to one that is much better."""
    n = 8
    metric, asked = Metric(np.ones(n), np.zeros((n, 0))), limits(n, max_names=4)
    held = np.array([0.25] * 4 + [0.0] * 4)
    slightly = np.array([0.124] * 4 + [0.126] * 4)
    np.testing.assert_array_equal(choose(slightly, held, asked, metric, **free(n)).support, held > 0)
    clearly = np.array([0.02, 0.1, 0.1, 0.1, 0.38, 0.1, 0.1, 0.1])
    chosen = choose(clearly, held, asked, metric, **free(n))
    assert chosen.support[4]
    assert not chosen.support[0]


@pytest.mark.parametrize("n_held", [1, 4, 12])
def test_free_places_are_filled_with_what_is_worth_most(n_held):
    """Where fewer names are held than allowed they stay, and the others are chosen as well as from nothing."""
    _, wish, metric, asked = market(60, 15)
    anew = amounts(choose(wish, np.zeros(60), asked, metric, **free(60)), asked, wish, np.zeros(60), metric)
    held = np.where(np.argsort(np.argsort(-anew, kind="stable")) < n_held, anew, 0.0)
    chosen = choose(wish, held, asked, metric, **free(60))
    w = amounts(chosen, asked, wish, held, metric)
    assert np.all(chosen.support[held > 0])
    assert_kept(w, asked)
    assert distance(w, wish, metric) <= 1.05 * distance(anew, wish, metric)


def test_a_start_changes_nothing():
    _, wish, metric, asked = market(60, 15)
    first = choose(wish, np.zeros(60), asked, metric, **free(60))
    held = amounts(first, asked, wish, np.zeros(60), metric)
    moved = wish[::-1] / 2 + wish / 2
    with_start, without = (choose(moved, held, asked, metric, start=s, **free(60)) for s in (first.start, None))
    np.testing.assert_array_equal(with_start.support, without.support)


def test_the_usual_bar_solves_once(monkeypatch):
    """Where no exchange can pay the multipliers say so, and nothing is tried."""
    _, wish, metric, asked = market(60, 15)
    first = choose(wish, np.zeros(60), asked, metric, **free(60))
    held = amounts(first, asked, wish, np.zeros(60), metric)
    solved = []
    best = rule.Bar.best
    monkeypatch.setattr(rule.Bar, "best", lambda *a, **k: solved.append(1) or best(*a, **k))
    np.testing.assert_array_equal(choose(wish, held, asked, metric, **free(60)).support, first.support)
    assert len(solved) <= 1 + rule.TRIES


def test_names_outside_a_choice_are_as_if_they_were_not_there():
    """The best portfolio of some names is that of a market which has no others, for names that share no factor."""
    rng, wish, metric, asked = market(30, None)
    on = np.sort(rng.choice(30, 18, replace=False))
    chosen = np.isin(np.arange(30), on)
    found = Bar(wish, np.zeros(30), asked, Metric(metric.d, metric.B[:, :0]), **free(30)).best(chosen)
    members = tuple(np.flatnonzero(np.isin(on, group.members)) for group in asked.groups)
    groups = groups_of(asked)
    alone = Region(np.zeros(18), np.full(18, 0.15), np.zeros(18), 0.99, members, groups.lower, groups.upper)
    expected = nearest(wish[on], alone, Metric(metric.d[on], metric.B[on, :0])).weights
    np.testing.assert_allclose(found.weights[on], expected, rtol=0, atol=1e-12)
    assert not found.weights[~chosen].any()
