"""The tilted ensemble: what the tilt is, and how far it goes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.markets import random_panel
from tracker_strategies.algorithms import PA, AlphaSignal, ConstantWeights, NegativeLogReturn, Round, Simplex, Tilted
from tracker_strategies.errors import InputError, ParameterError
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest

PANEL = random_panel(120, 5, seed=4)
CLOSE = {"fill": "close"}


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), lam=st.floats(1e-4, 10.0))
def test_the_weights_are_the_exact_prox_around_those_of_the_learner(seed, lam):
    rng = np.random.default_rng(seed)
    X, y = 0.02 * rng.standard_normal((5, 4)), 0.01 * rng.standard_normal(5)
    plain, tilted = PA(4), Tilted(4, learner=PA(4), lam=lam)
    for x_t, y_t in zip(X, y, strict=True):
        held = tilted.weights
        expected = NegativeLogReturn().prox(plain.update(x_t, y_t), lam, Simplex(), Round(x_t, held))
        np.testing.assert_allclose(tilted.update(x_t, y_t), expected, atol=1e-12)


def test_tilts_do_not_add_up():
    learner = Tilted(3, learner=ConstantWeights(3), lam=1.0)
    for _ in range(50):
        w = learner.update([0.03, 0.0, -0.03], 0.0)
    np.testing.assert_array_equal(w, Tilted(3, learner=ConstantWeights(3), lam=1.0).update([0.03, 0.0, -0.03], 0.0))
    assert w[0] > 1.0 / 3.0 > w[2]


def test_a_round_that_the_side_information_refuses_changes_nothing():
    learner = Tilted(2, learner=PA(2), side=AlphaSignal())
    learner.update([0.02, -0.01], 0.01, signal=[1.0, 0.0])
    before = learner.state_dict()
    with pytest.raises(InputError, match="signal"):
        learner.update([0.05, -0.01], 0.01)
    with pytest.raises(InputError, match="finite"):
        learner.update([0.05, -0.01], 0.01, signal=[np.nan, 0.0])
    assert learner.state_dict() == before


def test_a_tiny_tilt_is_the_ensemble():
    plain, tilted = (replay(PANEL, s, {**CLOSE, **p}) for s, p in (("ensemble", {}), ("tilted-ensemble", {"lam": 1e-9})))
    np.testing.assert_allclose(tilted.decisions, plain.decisions, atol=1e-9)


def test_the_tilt_goes_to_what_a_signal_prefers_and_no_number_is_no_view():
    def first_name(bar):
        return np.eye(5)[0] if len(bar.close) else None

    plain = replay(PANEL, "ensemble", CLOSE)
    params = {**CLOSE, "side": "signal", "lam": 0.1}
    tilted = replay(PANEL, "tilted-ensemble", {**params, "signal": first_name})
    assert (tilted.decisions[1:, 0] > plain.decisions[1:, 0]).all()
    silent = replay(PANEL, "tilted-ensemble", {**params, "signal": lambda bar: np.full(5, np.nan)})
    np.testing.assert_allclose(silent.decisions, plain.decisions, atol=1e-12)


def test_foresight_as_a_signal_earns_more_and_tracks_worse():
    panel = random_panel(200, 5, seed=5)
    ahead = {str(day): x for day, x in zip(panel.dates[:-1].astype("datetime64[D]"), panel.returns, strict=True)}

    def tomorrow(bar):
        return ahead.get(str(np.datetime64(bar.date, "D")), np.zeros(5))

    plain = replay(panel, "ensemble", CLOSE).since(0.5).metrics()
    params = {**CLOSE, "side": "signal", "signal": tomorrow, "lam": 3.0}
    informed = replay(panel, "tilted-ensemble", params).since(0.5).metrics()
    assert informed["excess_log_return"] > plain["excess_log_return"] + 0.05
    assert informed["te_rms"] > plain["te_rms"]


def test_the_tilt_and_the_parts_are_lines():
    said = backtest(PANEL, "tilted-ensemble", CLOSE, diagnostics=True).diagnostics
    assert {"tilt", "p_1", "p_4"} <= set(said.columns)
    assert (said["tilt"].iloc[1:] > 0.0).all()
    assert (said["tilt"] <= 1.0).all()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"lam": -1.0}, "lam"),
        ({"max_tracking_error": -1.0}, "max_tracking_error"),
        ({"side": "moon"}, "side"),
        ({"max_names": 2, "mandate": {"max_names": 3}}, "max_names=3 in the mandate and max_names=2 as params"),
    ],
)
def test_bad_params_are_named(params, words):
    with pytest.raises(ParameterError, match=words):
        backtest(PANEL, "tilted-ensemble", params)
