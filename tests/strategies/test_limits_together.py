"""Limits that a user sets together: all of them hold in every decision of every strategy, from the first bar on."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies.errors import ParameterError
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES

SECTORS = {"S0": "one", "S1": "one", "S2": "one", "S3": "two", "S4": "two"}
SETTINGS: dict[str, dict[str, Any]] = {
    "max_names": {"max_names": 4},
    "max_weight": {"max_weight": 0.3},
    "sectors": {"sectors": SECTORS, "max_sector": 0.35, "unmapped": "free"},
    "cost_aware": {"cost_aware": 8.0},
    "holdings": {"coordinates": "shares"},
}
COMBINATIONS = [names for k in range(1, len(SETTINGS) + 1) for names in itertools.combinations(SETTINGS, k)]
EXACT = 1e-9
#: Every strategy has all settings together and one in so many of the other combinations; every combination has some strategies.
SAMPLE = 6


def cases() -> list[Any]:
    found = []
    for i, cls in enumerate(STRATEGIES):
        for j, names in enumerate(COMBINATIONS):
            quick = len(names) == len(SETTINGS) or (i + j) % SAMPLE == 0
            marks = () if quick else (pytest.mark.slow,)
            found.append(pytest.param(cls, names, id=f"{cls.alias_name}-{'+'.join(names)}", marks=marks))
    return found


@pytest.mark.parametrize(("strategy", "names"), cases())
def test_limits_hold_together_in_every_decision(strategy: Any, names: tuple[str, ...]) -> None:
    params: dict[str, Any] = {key: value for name in names for key, value in SETTINGS[name].items()}
    panel = random_panel(70, 9, seed=11)
    decisions = replay(panel, strategy, params).decisions
    assert decisions is not None
    assert len(decisions) == panel.n_bars
    np.testing.assert_allclose(decisions.sum(axis=1), 1.0, rtol=0, atol=EXACT)
    assert decisions.min() >= 0.0
    if "max_names" in names:
        assert np.count_nonzero(decisions, axis=1).max() <= 4
    if "max_weight" in names:
        assert decisions.max() <= 0.3 + EXACT
    if "sectors" in names:
        for sector in ("one", "two"):
            members = [i for i, name in enumerate(panel.symbols) if SECTORS.get(name) == sector]
            assert decisions[:, members].sum(axis=1).max() <= 0.35 + EXACT


def test_the_limits_of_these_tests_bind() -> None:
    """Without them every one is broken, so that the tests above say something."""
    panel = random_panel(70, 9, seed=11)
    decisions = replay(panel, "ensemble").decisions
    assert decisions is not None
    assert np.count_nonzero(decisions, axis=1).max() > 4
    assert decisions.max() > 0.3
    assert max(decisions[:, members].sum(axis=1).max() for members in ([0, 1, 2], [3, 4])) > 0.35


def test_as_many_names_as_there_are_is_no_limit() -> None:
    """Or the thirty of a default on a small market."""
    panel = random_panel(60, 6, seed=1)
    for name in ("ensemble", "rls"):
        np.testing.assert_array_equal(replay(panel, name, {"max_names": 6}).decisions, replay(panel, name).decisions)
    free = replay(panel, "sparse-pls", {"max_names": None}).decisions
    np.testing.assert_array_equal(replay(panel, "sparse-pls").decisions, free)


def test_the_default_of_sparse_pls_is_a_limit_too() -> None:
    panel = random_panel(60, 40, seed=1)

    def most(params: dict[str, Any]) -> int:
        decisions = replay(panel, "sparse-pls", params).decisions
        assert decisions is not None
        return int(np.count_nonzero(decisions, axis=1).max())

    assert most({"cost_aware": 5.0}) <= 30
    assert most({"cost_aware": 5.0, "max_names": None}) > 30
    assert most({"mandate": {"max_names": 7}}) <= 7  # what a mandate says goes before a default


def test_the_mean_of_random_portfolios_keeps_to_a_few_names() -> None:
    panel = random_panel(60, 9, seed=1)
    for portfolios in (1, 5):
        decisions = replay(panel, "random-portfolio", {"max_names": 3, "portfolios": portfolios}).decisions
        assert decisions is not None
        assert np.count_nonzero(decisions, axis=1).max() <= 3
        np.testing.assert_allclose(decisions.sum(axis=1), 1.0, rtol=0, atol=EXACT)


def test_dual_averaging_has_no_holdings() -> None:
    with pytest.raises(ParameterError, match="rule='cmd'"):
        backtest(random_panel(30, 4), "adagrad", {"rule": "rda", "coordinates": "shares"})
    with pytest.raises(ParameterError, match="rule='cmd'"):
        replay(random_panel(30, 4), "adagrad", {"rule": "rda", "coordinates": "shares"})


@pytest.mark.parametrize("name", ["equal-weight", "constant-weight"])
def test_equal_weights_in_holdings_are_bought_and_held(name: str) -> None:
    panel = random_panel(60, 5, seed=2)
    shares = panel.close / panel.close[0]
    expected = shares / shares.sum(axis=1, keepdims=True)
    decisions = replay(panel, name, {"coordinates": "shares", "fill": "close"}).decisions
    np.testing.assert_allclose(decisions, expected, rtol=0, atol=1e-12)
