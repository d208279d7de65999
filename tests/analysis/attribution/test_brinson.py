"""Allocation and selection: by hand on one bar, and adding up on all of them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies import CostModel, backtest
from tracker_strategies.analysis.attribution import brinson_fachler
from tracker_strategies.errors import DataError

PANEL = random_panel(160, 6, seed=9)
SECTORS = dict(zip(PANEL.symbols, "aabbbc", strict=True))


def weights(total=1.0):
    b = np.random.default_rng(0).dirichlet(np.ones(6), PANEL.n_bars)
    return total * b


@pytest.mark.parametrize("total", [1.0, 0.8])
@pytest.mark.parametrize("params", [{}, {"fill": "close", "min_cash": 0.05}])
def test_it_adds_up_to_the_active_return(params, total):
    record = replace(backtest(PANEL, "pa", params, costs=CostModel(bps=5), stages=True), sectors=SECTORS)
    found = brinson_fachler(record, weights(total))
    np.testing.assert_allclose(found.active, np.subtract(*record.scored()), atol=1e-12)


def test_a_bar_by_hand():
    record = replace(backtest(PANEL, "pa", {"fill": "close"}, stages=True), sectors=SECTORS)
    b = weights()
    found = brinson_fachler(record, b)
    w, x = record.stages.shares[-1] * PANEL.close[-2] / record.value[-2], PANEL.close[-1] / PANEL.close[-2] - 1.0
    own, index = w[:2].sum(), b[-2, :2].sum()
    r_own, r_index, whole = w[:2] @ x[:2] / own, b[-2, :2] @ x[:2] / index, b[-2] @ x
    assert found.allocation["a"].iloc[-1] == pytest.approx((own - index) * (r_index - whole), abs=1e-14)
    assert found.selection["a"].iloc[-1] == pytest.approx(own * (r_own - r_index), abs=1e-14)
    assert found.unexplained[-1] == pytest.approx(whole - record.index_returns[-1, 0], abs=1e-14)
    assert np.abs(found.trades).max() < 1e-12  # at the close nothing is traded inside a bar


def test_holding_the_index_itself_allocates_and_selects_nothing():
    record = replace(backtest(PANEL, "pa", {"fill": "close"}, stages=True), sectors=SECTORS)
    held = record.stages.shares[1:] * PANEL.close[:-1] / record.value[:-1, None]
    found = brinson_fachler(record, np.vstack([held, held[-1:]]))
    assert np.abs(found.allocation.to_numpy()).max() < 1e-12
    assert np.abs(found.selection.to_numpy()).max() < 1e-12


def test_without_sectors_it_is_refused():
    with pytest.raises(DataError, match="--sectors"):
        brinson_fachler(backtest(PANEL, "pa", {}, stages=True), weights())
