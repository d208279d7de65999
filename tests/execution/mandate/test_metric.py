"""The mandate's own metric: second moments of the returns over the index, as a diagonal plus a few factors."""

import numpy as np
import pytest

from tests.markets import real_market
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.metric import FLOOR, UNKNOWN, ErrorModel


def market(n, bars, seed=0, factors=2):
    """Returns of names that share factors, and of an index."""
    rng = np.random.default_rng(seed)
    loads = rng.standard_normal((n, factors))
    y = 0.01 * rng.standard_normal(bars)
    own = 0.01 * np.exp(0.5 * rng.standard_normal(n))
    X = y[:, None] + 0.005 * rng.standard_normal((bars, factors)) @ loads.T + own * rng.standard_normal((bars, n))
    return X, y


def fed(model, X, y, seen=None):
    for t in range(len(y)):
        model.update(X[t], float(y[t]), None if seen is None else seen[t])
    return model


def dense(metric):
    return np.diag(metric.d) + metric.B @ metric.B.T


def batch(X, y, memory):
    Z = X - y[:, None]
    weights = memory ** np.arange(len(y) - 1, -1, -1)
    return (Z * weights[:, None]).T @ Z / weights.sum()


@pytest.mark.parametrize("memory", [1.0, 0.97])
def test_with_as_many_factors_as_names_it_is_the_discounted_covariance(memory):
    X, y = market(5, 80)
    found = fed(ErrorModel(5, factors=8, memory=memory, prior=0.0), X, y).metric()
    expected = batch(X, y, memory)
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(dense(found)[off], expected[off], rtol=1e-9)
    # The floor is all that a name has on its own when its factors say everything.
    floor = FLOOR * np.median(expected.diagonal())
    np.testing.assert_allclose(found.d, floor, rtol=1e-9)
    np.testing.assert_allclose((found.B**2).sum(axis=1), expected.diagonal(), rtol=1e-9)


def test_with_few_factors_the_diagonal_is_exact_and_the_common_factors_are_found():
    X, y = market(40, 600, factors=2)
    model = fed(ErrorModel(40, factors=6, memory=1.0, prior=0.0), X, y)
    found, expected = dense(model.metric()), batch(X, y, 1.0)
    np.testing.assert_allclose(found.diagonal(), expected.diagonal(), rtol=1e-9)
    off = ~np.eye(40, dtype=bool)
    values, vectors = np.linalg.eigh(expected)
    best = (vectors[:, -6:] * values[-6:]) @ vectors[:, -6:].T
    assert np.linalg.norm((found - expected)[off]) < 1.3 * np.linalg.norm((best - expected)[off])


def test_on_a_real_market_it_is_close_to_the_discounted_covariance():
    panel = real_market("nasdaq100_2019_2020_daily")
    X, y = panel.returns, panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    model = fed(ErrorModel(panel.n_assets), X, y)
    found, expected = dense(model.metric()), batch(X, y, 0.99)
    assert np.linalg.norm(found - expected) < 0.3 * np.linalg.norm(expected)


def test_returns_twice_as_large_give_four_times_the_metric():
    X, y = market(20, 100)
    one, two = (fed(ErrorModel(20), scale * X, scale * y) for scale in (1.0, 2.0))
    np.testing.assert_allclose(dense(two.metric()), 4.0 * dense(one.metric()), rtol=1e-9)
    assert two.index_variance == pytest.approx(4.0 * one.index_variance)


def test_the_order_of_the_names_does_not_matter():
    X, y = market(20, 100)
    order = np.random.default_rng(1).permutation(20)
    straight, mixed = dense(fed(ErrorModel(20), X, y).metric()), dense(fed(ErrorModel(20), X[:, order], y).metric())
    np.testing.assert_allclose(mixed, straight[np.ix_(order, order)], rtol=1e-7, atol=1e-12)


def test_variance_of_a_name_that_is_not_seen_stays_as_it_was():
    X, y = market(10, 90)
    model = fed(ErrorModel(10, prior=0.0), X[:60], y[:60])
    before = model._squares / model._weights
    seen = np.ones((30, 10), dtype=bool)
    seen[:, 3] = False
    wild = X[60:].copy()
    wild[:, 3] = 5.0
    after = fed(model, wild, y[60:], seen)._squares / model._weights
    assert after[3] == pytest.approx(before[3], rel=1e-12)
    assert (np.delete(after, 3) != np.delete(before, 3)).all()


def test_a_return_that_is_no_number_was_not_seen():
    X, y = market(10, 60)
    seen = np.random.default_rng(2).random(X.shape) > 0.2
    told, found = fed(ErrorModel(10), X, y, seen), fed(ErrorModel(10), np.where(seen, X, np.nan), y)
    np.testing.assert_array_equal(dense(told.metric()), dense(found.metric()))


def test_a_bar_without_the_index_changes_nothing():
    X, y = market(10, 60)
    model = fed(ErrorModel(10), X, y)
    before = dense(model.metric())
    model.update(X[0], np.nan)
    np.testing.assert_array_equal(dense(model.metric()), before)


def test_a_name_never_seen_has_the_median_variance_and_no_factors():
    X, y = market(11, 60)
    seen = np.ones(X.shape, dtype=bool)
    seen[:, 4] = False
    d, B = fed(ErrorModel(11), X, y, seen).metric()
    known = np.delete(batch(X, y, 0.99).diagonal(), 4)
    assert d[4] == pytest.approx(np.median(known))
    assert not B[4].any()


def test_a_name_that_is_forgotten_is_new_and_the_others_are_as_before():
    X, y = market(11, 60)
    model = fed(ErrorModel(11), X, y)
    before = dense(model.metric())
    model.forget(np.arange(11) == 4)
    d, B = model.metric()
    others = np.arange(11) != 4
    np.testing.assert_array_equal(dense(model.metric())[np.ix_(others, others)], before[np.ix_(others, others)])
    assert not B[4].any()
    assert d[4] == pytest.approx(model._median)
    fed(model, X, y)
    assert (np.abs(model.metric().B[4]) > 0).any()


def test_nothing_known_is_a_flat_metric_of_the_usual_size():
    model = ErrorModel(7)
    d, B = model.metric()
    np.testing.assert_array_equal(d, UNKNOWN)
    assert B.shape == (7, 0)
    assert model.index_variance == UNKNOWN


def test_first_bars_have_no_factors_and_one_variance_for_all():
    X, y = market(7, 3)
    d, B = fed(ErrorModel(7), X, y).metric()
    assert B.shape == (7, 0)
    np.testing.assert_allclose(d, np.median(batch(X, y, 0.99).diagonal()))


def test_every_name_has_some_variance_of_its_own():
    X, y = market(12, 60)
    X[:, 5] = y  # a name that is the index
    d, _ = fed(ErrorModel(12, prior=0.0), X, y).metric()
    assert d[5] == d.min() > 0.0


def test_a_market_that_never_moves_is_no_division_by_zero():
    model = fed(ErrorModel(4), np.zeros((20, 4)), np.zeros(20))
    assert (model.metric().d > 0.0).all()
    assert model.index_variance > 0.0


def test_several_targets_count_by_their_mean():
    X, y = market(6, 30)
    one, several = ErrorModel(6), ErrorModel(6)
    for t in range(30):
        one.update(X[t], float(y[t]))
        several.update(X[t], np.array([y[t] - 0.01, y[t] + 0.01]))
    np.testing.assert_allclose(dense(several.metric()), dense(one.metric()), rtol=1e-9)


def test_what_its_attributes_hold_continues_it():
    X, y = market(9, 61)
    model, copy = fed(ErrorModel(9), X[:40], y[:40]), ErrorModel(9)
    for name, value in vars(model).items():
        assert isinstance(value, np.ndarray | float | int)
        setattr(copy, name, value.copy() if isinstance(value, np.ndarray) else value)
    np.testing.assert_array_equal(dense(fed(copy, X[40:], y[40:]).metric()), dense(fed(model, X[40:], y[40:]).metric()))


def test_what_was_handed_out_does_not_change_later():
    X, y = market(9, 60)
    model = fed(ErrorModel(9), X[:30], y[:30])
    metric = model.metric()
    before = dense(metric)
    fed(model, X[30:], y[30:]).forget(np.ones(9, dtype=bool))
    np.testing.assert_array_equal(dense(metric), before)


@pytest.mark.parametrize("bad", [{"factors": 0}, {"memory": 0.0}, {"memory": 1.5}, {"prior": -1.0}])
def test_values_out_of_range_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        ErrorModel(3, **bad)
