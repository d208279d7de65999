"""What the tests of the choice of names share: limits, a market, and the amounts that go with a choice."""

import numpy as np

from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import Group, Limits
from tracker_strategies.execution.mandate.metric import Metric


def limits(n, cap=1.0, least=0.0, must=0.0, groups=(), max_names=None, min_cash=0.0):
    spread = [np.array(np.broadcast_to(np.asarray(value, float), (n,))) for value in (cap, least, must)]
    return Limits(*spread, np.zeros(n, bool), tuple(groups), max_names, min_cash)


def free(n):
    return {"can_buy": np.ones(n, bool), "must_keep": np.zeros(n, bool)}


def distance(w, wish, metric):
    error = w - wish
    return float(error @ (metric.d * error) + np.sum((error @ metric.B) ** 2))


def amounts(chosen, asked, wish, held, metric, turnover=np.inf):
    found = nearest(wish, chosen.region(asked, held, turnover), metric)
    assert found.feasible
    return found.weights


def assert_kept(w, asked):
    """Counts and minimum weights, which no convex set knows."""
    on = w > 0
    assert asked.max_names is None or on.sum() <= asked.max_names
    assert all(g.max_names is None or on[g.members].sum() <= g.max_names for g in asked.groups)
    assert np.all(w[on] >= asked.least[on] - 1e-12)
    assert np.all(w >= asked.must - 1e-12)


def market(n, max_names, seed=0, least=0.0):
    rng = np.random.default_rng(seed)
    wish = rng.pareto(1.2, n) + 0.05
    metric = Metric(rng.uniform(1e-4, 4e-4, n), rng.normal(0, 0.006, (n, 4)))
    groups = [Group("sector", str(k), np.arange(k, n, 5), 0.01, 0.4) for k in range(5)]
    return rng, wish / wish.sum(), metric, limits(n, 0.15, least, groups=groups, max_names=max_names, min_cash=0.01)
