"""Limits that a user sets together: every one of them holds on every decision, or the run is refused before it begins."""

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
from tracker_strategies.strategies.registry import default_params

SECTORS = {"S0": "one", "S1": "one", "S2": "one", "S3": "two", "S4": "two"}
SETTINGS: dict[str, dict[str, Any]] = {
    "max_names": {"max_names": 4},
    "max_weight": {"max_weight": 0.3},
    "sectors": {"sectors": SECTORS, "max_sector": 0.35},
    "cost_aware": {"cost_aware": 8.0},
    "holdings": {"coordinates": "holdings"},
}
LONGEST_WARM_UP = 40


def combinations(cls: Any) -> list[tuple[str, ...]]:
    known = [name for name, params in SETTINGS.items() if set(params) <= set(default_params(cls))]
    return [names for k in range(1, len(known) + 1) for names in itertools.combinations(known, k)]


def is_refused(cls: Any, names: tuple[str, ...]) -> bool:
    limited = "max_weight" in names or "sectors" in names
    selective = "max_names" in names or "cost_aware" in names
    own = cls.chooses_names and "max_names" in names and "cost_aware" in names
    return (limited and selective) or own


CASES = [pytest.param(cls, names, id=f"{cls.alias_name}-{'+'.join(names)}") for cls in STRATEGIES for names in combinations(cls)]


@pytest.mark.parametrize(("strategy", "names"), CASES)
def test_limits_hold_together_or_are_refused_by_name(strategy: Any, names: tuple[str, ...]) -> None:
    params: dict[str, Any] = {key: value for name in names for key, value in SETTINGS[name].items()}
    panel = random_panel(70, 9, seed=11)
    if is_refused(strategy, names):
        for run in (replay, backtest):
            with pytest.raises(ParameterError, match=r"(max_names|cost_aware)=.* together .*leave out"):
                run(panel, strategy, params)
        return
    decisions = replay(panel, strategy, params).decisions
    np.testing.assert_allclose(decisions.sum(axis=1), 1.0, atol=1e-12)
    assert decisions.min() >= 0.0
    if "max_names" in names:
        bars = decisions[LONGEST_WARM_UP:] if strategy.chooses_names else decisions
        assert (np.count_nonzero(bars, axis=1) <= 4).all()
    if "max_weight" in names:
        assert decisions.max() <= 0.3 + 1e-9
    if "sectors" in names:
        for sector in ("one", "two"):
            members = [i for i, name in enumerate(panel.symbols) if SECTORS.get(name) == sector]
            assert decisions[:, members].sum(axis=1).max() <= 0.35 + 1e-9


def test_a_limit_that_is_none_is_refused_with_nothing() -> None:
    """As many names as there are, or the thirty of a default on a small market."""
    panel = random_panel(60, 6, seed=1)
    for name in ("ensemble", "rls"):
        replay(panel, name, {"max_names": 6, "cost_aware": 5.0})
    replay(panel, "sparse-pls", {"cost_aware": 5.0})


def test_the_default_of_sparse_pls_is_a_limit_too() -> None:
    panel = random_panel(60, 40, seed=1)
    with pytest.raises(ParameterError, match="max_names=30"):
        replay(panel, "sparse-pls", {"cost_aware": 5.0})
    replay(panel, "sparse-pls", {"cost_aware": 5.0, "max_names": None})


def test_the_mean_of_random_portfolios_is_no_portfolio_of_a_few_names() -> None:
    panel = random_panel(60, 9, seed=1)
    with pytest.raises(ParameterError, match=r"max_names=3.*portfolios=5"):
        replay(panel, "random-portfolio", {"max_names": 3, "portfolios": 5})
    assert np.count_nonzero(replay(panel, "random-portfolio", {"max_names": 3}).decisions[-1]) <= 3


def test_dual_averaging_has_no_holdings() -> None:
    with pytest.raises(ParameterError, match="rule='cmd'"):
        backtest(random_panel(30, 4), "adagrad", {"rule": "rda", "coordinates": "holdings"})
    with pytest.raises(ParameterError, match="rule='cmd'"):
        replay(random_panel(30, 4), "adagrad", {"rule": "rda", "coordinates": "holdings"})


@pytest.mark.parametrize("name", ["equal-weight", "constant-weight"])
def test_equal_weights_in_holdings_are_bought_and_held(name: str) -> None:
    panel = random_panel(60, 5, seed=2)
    shares = panel.close / panel.close[0]
    expected = shares / shares.sum(axis=1, keepdims=True)
    decisions = replay(panel, name, {"coordinates": "holdings", "fill": "close"}).decisions
    np.testing.assert_allclose(decisions, expected, rtol=0, atol=1e-12)
