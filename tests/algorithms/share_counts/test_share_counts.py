"""Share counts with heavy-tailed priors: what they find, what they survive, and how names come and go."""

import numpy as np
import pytest

from tests.markets import real_market
from tracker_strategies.algorithms import Holdings, ShareCounts
from tracker_strategies.algorithms.share_counts import _moments, _steps
from tracker_strategies.algorithms.share_counts._members import JOINS
from tracker_strategies.errors import InputError, ParameterError

MEMBER = {"gamma": 0.98, "ridge": 0.01, "prior": "inverse_volatility", "inertia": 3.0, "kappa": 2.0}


def index_of(shares, X):
    """Returns of an index that holds these shares, and its weights after each bar."""
    prices = np.vstack([np.ones(X.shape[1]), np.cumprod(1.0 + X, axis=0)])
    level = prices @ shares
    return level[1:] / level[:-1] - 1.0, prices * shares / level[:, None]


def market(n, bars, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.01 * rng.standard_normal((bars, 1)) + 0.015 * rng.standard_normal((bars, n))
    shares = rng.lognormal(0.0, 1.2, n)
    return X, *index_of(shares / shares.sum(), X)


def errors(W, X, y):
    return (W[:-1] * X).sum(axis=1) - y


def test_share_counts_are_found_with_fewer_bars_than_names():
    X, y, weights = market(80, 60)
    found = ShareCounts(80).run(X, y)
    equal = np.full(80, 1.0 / 80)
    assert np.abs(found[-1] - weights[-1]).sum() < 0.5 * np.abs(equal - weights[-1]).sum()
    assert np.square(errors(found, X, y)[30:]).mean() < 0.3 * np.square(X[30:] @ equal - y[30:]).mean()


def test_conjugate_gradients_that_end_early_track_as_well_as_exact_steps():
    panel = real_market("orlib_hangseng31_weekly")
    X, y = panel.returns, panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    early, exact = (np.sqrt(np.square(errors(ShareCounts(31, exact=e).run(X, y), X, y)[145:]).mean()) for e in (False, True))
    assert early == pytest.approx(exact, rel=5e-3)


def test_rows_and_matrices_track_alike_at_the_border(monkeypatch):
    """With 225 names the member with the shortest memory is kept as its rows; here also none, and all."""
    panel = real_market("orlib_nikkei225_weekly")
    X, y = panel.returns, panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    found = []
    for wide in (1e9, _moments.WIDE, 0.0):
        monkeypatch.setattr(_moments, "WIDE", wide)
        W = ShareCounts(225).run(X, y)
        found.append(np.sqrt(np.square(errors(W, X, y)[145:]).mean()))
    np.testing.assert_allclose(found[1:], found[0], rtol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2, 7])
def test_rows_in_single_precision_survive_returns_of_no_market(n, monkeypatch):
    monkeypatch.setattr(_moments, "WIDE", 0.0)
    rng, learner = np.random.default_rng(3), ShareCounts(n)
    assert learner._members._moments.precision == np.float32
    for t in range(3000):
        x = rng.standard_normal(n) * 10.0 ** rng.integers(-12, 1)
        if t % 5 == 0:
            x = np.where(rng.random(n) < 0.5, -0.999999, 1e6)
        y = float(x.mean() if t % 3 else rng.standard_normal() * 10.0 ** rng.integers(-12, 2))
        w = learner.update(np.clip(x, -0.9999999, 1e9), max(y, -0.999))
        assert w.min() >= 0.0
        assert w.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(("inertia", "ridge"), [(3.0, 0.01), (1e-3, 1e-6)], ids=["usual", "little"])
def test_old_rows_tell_where_to_go_but_not_how_far(inertia, ridge, monkeypatch):
    """Faint rows are left out of the curvature of a step, never of its gradient: the way ends where it would with all of them.
    Where so little holds a step back that they would steady it, none is left out.
    """
    X, y, _ = market(400, 260, seed=4)
    setting = MEMBER | {"gamma": 0.9, "inertia": inertia, "ridge": ridge}
    found, read = [], []
    times = _moments.Moments.times

    def counted(self, vectors, members, out, lengths=None):
        read.append(0 if lengths is None else lengths[0])
        times(self, vectors, members, out, lengths)

    monkeypatch.setattr(_moments.Moments, "times", counted)
    for faint in (0.0, _steps.FAINT):
        monkeypatch.setattr(_steps, "FAINT", faint)
        read.clear()
        W = ShareCounts(400, **setting).run(X, y)
        found.append(np.sqrt(np.square(errors(W, X, y)[100:]).mean()))
        assert (max(read) == 81) == (faint == 0.0 or inertia < 1.0), "81 rows are kept"
    assert found[1] == pytest.approx(found[0], rel=1e-3)


def test_a_copy_goes_on_bit_by_bit_after_the_rows_have_moved():
    X, y, _ = market(50, 180, seed=3)
    learner = ShareCounts(50, **(MEMBER | {"gamma": 0.6}))  # twenty rows
    learner.run(X[:150], y[:150])
    again = ShareCounts.from_state(learner.state_dict())
    np.testing.assert_array_equal(again.run(X[150:], y[150:]), learner.run(X[150:], y[150:]))


def test_a_member_alone_is_the_learner_with_its_setting():
    X, y, _ = market(12, 40)
    alone = ShareCounts(12, **MEMBER)
    W = alone.run(X, y)
    assert alone.members.shape == (1, 12)
    np.testing.assert_array_equal(alone.p, [1.0])
    np.testing.assert_allclose(alone.members.sum(axis=1), 1.0, atol=1e-12)
    way = ShareCounts(12, **MEMBER, eta=1.0)
    np.testing.assert_allclose(way.run(X, y)[-1], way.members[0], atol=1e-12)
    assert np.abs(W[-1] - way.weights).max() > 1e-6, "half of the way is another portfolio"


def index_itself(X, y):
    X[:, 1] = y


def constant_index(X, y):
    y[:] = 0.0


def no_variance(X, y):
    X[:, 2] = 0.0


def holidays(X, y):
    X[::3] = 0.0
    y[::3] = 0.0


def all_alike(X, y):
    X[:] = y[:, None]


@pytest.mark.parametrize("change", [index_itself, constant_index, no_variance, holidays, all_alike], ids=lambda f: f.__name__)
@pytest.mark.parametrize("exact", [False, True])
def test_odd_markets_give_portfolios(change, exact):
    X, y, _ = market(6, 120, seed=5)
    change(X, y)
    learner = ShareCounts(6, exact=exact)
    W = learner.run(X, y)
    assert np.isfinite(W).all()
    assert W.min() >= 0.0
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    assert all(np.isfinite(value) for value in learner.diagnostics().values())


def test_a_name_that_lists_begins_at_a_part_of_its_prior_and_what_leaves_goes_in_proportion():
    X, y, _ = market(5, 60, seed=7)
    early = np.array([True, True, True, True, False])
    learner = ShareCounts(5)
    learner.restrict(early)
    for x_t, y_t in zip(X[:30], y[:30], strict=True):
        learner.update(x_t, y_t, active=early)
    assert learner.update(X[30], y[30])[4] == 0.0
    before = learner.members[:, 4]
    assert not before.any()
    learner._members.admit(None, learner._settings)
    prior = learner._members._priors(learner._settings)[:, 4]
    assert (learner.members[:, 4] < 1.01 * JOINS * prior).all()
    assert (learner.members[:, 4] > 0.5 * JOINS * prior).all()
    learner.update(X[31], y[31])
    held = learner.weights
    gone = learner.restrict(np.array([True, False, True, True, True]))
    np.testing.assert_allclose(gone[[0, 2, 3, 4]] / held[[0, 2, 3, 4]], 1.0 / (1.0 - held[1]), rtol=1e-12)


def test_known_weights_are_better_than_the_volatility_and_may_be_told_later():
    X, y, weights = market(60, 60, seed=2)

    def missed(W):
        return np.square(errors(W, X, y)[5:25]).mean()

    plain, told = ShareCounts(60), ShareCounts(60, prior_weights=weights[0])
    assert missed(told.run(X, y)) < 0.7 * missed(plain.run(X, y))
    late = ShareCounts(60)
    late.run(X[:10], y[:10])
    late.publish(1000.0 * weights[10])
    np.testing.assert_allclose(late._members._published * late._members._a, weights[10], rtol=1e-12)
    again = ShareCounts.from_state(late.state_dict())
    np.testing.assert_array_equal(again.run(X[10:], y[10:]), late.run(X[10:], y[10:]))


def test_a_published_zero_is_a_small_weight():
    learner = ShareCounts(4, prior_weights=[0.5, 0.3, 0.2, 0.0])
    np.testing.assert_allclose(learner._members._published, np.array([0.5, 0.3, 0.2, 2e-4]) / 1.0002, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": [0.9, 0.8, 0.7]}, "one for each member"),
        ({"prior": "flat"}, "prior must be one of inverse_volatility, equal"),
        ({"kappa": -1.0}, "kappa"),
        ({"eta": 0.0}, "eta"),
        ({"rho": 0.0}, "rho"),
        ({"ramp": 0}, "ramp"),
        ({"exact": "yes"}, "exact"),
        ({"prior_weights": [1.0, -1.0, 1.0]}, "prior_weights must be >= 0"),
        ({"prior_weights": [0.0, 0.0, 0.0]}, "positive sum"),
        ({"prior_weights": [1.0, 1.0]}, "prior_weights must have shape"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(options, words):
    with pytest.raises(ParameterError, match=words):
        ShareCounts(3, **options)


def test_bad_weights_later_change_nothing():
    learner = ShareCounts(3)
    before = learner.state_dict()
    for bad in ([1.0, np.nan, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0]):
        with pytest.raises(InputError, match="prior_weights"):
            learner.publish(bad)
    assert repr(learner.state_dict()) == repr(before)


def test_it_is_in_holdings_already():
    with pytest.raises(ParameterError, match="does not compute its next weights from those it holds"):
        Holdings(4, learner=ShareCounts(4))
