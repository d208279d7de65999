"""Where numba's kernels are in use, mandates decide what they decide by numpy; in mid-stream too, and from any start."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.execution.mandate import lot_cases, problems
from tests.markets import random_panel
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.account import AccountState
from tracker_strategies.execution.mandate.amounts.dual import group_rows
from tracker_strategies.execution.mandate.amounts.solver import COMPILED, Solution, inside, nearest
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.mandate.limits import Region
from tracker_strategies.execution.mandate.metric import Metric
from tracker_strategies.papertrade.deciding.checkpoint import freeze, thaw
from tracker_strategies.research import replay

EXACT = 1e-9
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("numba") is None, reason="numba is not installed: pip install 'backtrader-index-tracker[numba]'"
)


@pytest.fixture(autouse=True)
def numba_in_use(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Choices end with the test, in the environment too."""
    before = kernels.in_use()
    monkeypatch.setenv(kernels.ENVIRONMENT, before)
    kernels.use("numba")
    yield
    kernels.use(before)


def by_numpy(wish: np.ndarray, region: Region, metric: Metric, price: float) -> Solution:
    kernels.use("numpy")
    found = nearest(wish, region, metric, no_trade=price)
    kernels.use("numba")
    return found


def drawn(seed: int) -> tuple[np.ndarray, Region, Metric, float]:
    rng = np.random.default_rng([18, seed])
    n = int(rng.integers(1, 60))
    region, metric = problems.region(rng, n, halts=seed % 3 == 0), problems.metric(rng, n)
    return problems.wish(rng, region), region, metric, float(np.mean(problems.price(rng, n)))


def test_random_problems_have_the_answer_of_numpy() -> None:
    """And nearly all are solved, or found to have no answer, by the kernel itself."""
    compiled: Any = kernels.counterpart(COMPILED)
    left = empty = 0
    for seed in range(250):
        wish, region, metric, price = drawn(seed)
        found, other = nearest(wish, region, metric, no_trade=price), by_numpy(wish, region, metric, price)
        assert found.feasible == other.feasible, seed
        empty += not found.feasible
        if found.feasible:
            np.testing.assert_allclose(found.weights, other.weights, rtol=0, atol=EXACT, err_msg=str(seed))
            assert problems.excess(found.weights, region) <= 1e-12
            assert (found.weights >= region.lower).all()
            assert (found.weights <= region.upper).all()
        sums = group_rows(region.members, len(wish))
        left += compiled.nearest(wish, region, sums, metric, price, None)[1] is None
    assert 5 <= empty <= 100
    assert left <= 10


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng([19, seed])
    region, m = problems.region(rng, 50), problems.metric(rng, 50)
    z, c = problems.wish(rng, region), float(np.mean(problems.price(rng, 50)))
    w = nearest(z, region, m, no_trade=c).weights
    status, other = problems.by_cvxpy(z, region, m, c)
    if status == "optimal" and other is not None and problems.excess(other, region) <= 1e-11:
        assert np.abs(w - other).max() <= EXACT
    assert problems.gap_by_linprog(w, z, region, m, c) <= 1e-12


def test_a_start_changes_the_way_and_not_the_answer() -> None:
    rng = np.random.default_rng(4)
    for seed in range(40):
        wish, region, metric, price = drawn(seed)
        first = nearest(wish, region, metric, no_trade=price)
        if first.multipliers is None:
            continue
        pull, sums, theta = first.multipliers
        noise = np.exp(rng.normal(0.0, 1.0, len(pull)))
        for start in (first.multipliers, (pull * noise, sums[::-1].copy(), 2.0 * theta), (np.ones(3), np.ones(1), 0.5)):
            again = nearest(wish, region, metric, no_trade=price, start=start)
            np.testing.assert_allclose(again.weights, first.weights, rtol=0, atol=1e-11, err_msg=str(seed))


def test_arrays_of_any_layout_are_taken() -> None:
    wish, region, metric, price = drawn(1)
    expected = nearest(wish, region, metric, no_trade=price).weights
    spread = np.zeros(2 * len(wish))
    spread[::2] = wish
    turned = Metric(metric.d, np.asfortranarray(metric.B))
    np.testing.assert_allclose(nearest(spread[::2], region, turned, no_trade=price).weights, expected, rtol=0, atol=EXACT)
    assert inside(spread[::2], region) == inside(wish, region)


def test_a_wish_inside_comes_back_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    z = rng.dirichlet(np.ones(30))
    halves = (np.arange(15), np.arange(15, 30))
    region = Region(np.zeros(30), np.full(30, float(z.max())), z[::-1].copy(), 1.0, halves, np.zeros(2), np.ones(2), 2.0)
    assert nearest(z, region, problems.metric(rng, 30)).weights is z
    for change in ({"upper": np.full(30, 0.99 * z.max())}, {"total": 1.0 - 1e-9}, {"group_upper": np.full(2, 0.4)}):
        other = Region(**{**vars(region), **change})
        assert not inside(z, other)
    assert not inside(z, Region(**{**vars(region), "turnover": 0.0}))
    assert inside(z, Region(**{**vars(region), "turnover": 0.0}), turnover=False)


def test_a_checkpoint_goes_on_bit_for_bit() -> None:
    """A keeper that was written down and read again decides every further bar as the one that went on."""
    rng, n = np.random.default_rng(7), 12
    sectors = {f"S{i:02}": ("one", "two", "three")[i % 3] for i in range(n)}
    mandate = Mandate(max_weight=0.15, sectors=sectors, max_sector=0.4, min_cash=0.01, max_turnover=0.05)
    keeper, other = Keeper(mandate, tuple(sectors)), None
    wish, prices, sizes, cash = rng.dirichlet(np.ones(n)), np.full(n, 10.0), np.zeros(n), 1000.0
    solved = 0
    for bar in range(40):
        x = 0.01 * rng.standard_normal(n) + 0.01 * rng.standard_normal()
        prices = prices * (1.0 + x)
        account = AccountState.of(sizes, prices, cash, None, None)
        keepers = [keeper] if other is None else [keeper, other]
        decided = []
        for one in keepers:
            one.learn(x, float(x.mean()), wish)
            one.look(sizes, prices, cash)
            decided.append(one.decide(wish, account, CostModel(), bar).weights.tobytes())
        assert len(set(decided)) == 1
        weights = np.frombuffer(decided[0])
        solved += not np.array_equal(weights, wish * 0.99)
        sizes, cash = weights * account.value / prices, account.value * (1.0 - float(weights.sum()))
        wish = rng.dirichlet(20.0 * wish + 0.2)
        if bar == 17:
            text = freeze(keeper)
            assert text is not None
            other = thaw(text)
    assert solved > 20


def test_a_run_within_limits_decides_as_by_numpy() -> None:
    panel = random_panel(60, 9, seed=3)
    sectors = {symbol: ("one", "two", "three")[i % 3] for i, symbol in enumerate(panel.symbols)}
    params = {"max_weight": 0.2, "sectors": sectors, "max_sector": 0.4, "min_cash": 0.02, "max_turnover": 0.1, "fill": "close"}
    found = replay(panel, "pa", params)
    kernels.use("numpy")
    other = replay(panel, "pa", params)
    assert found.decisions is not None
    assert other.decisions is not None
    np.testing.assert_allclose(found.decisions, other.decisions, rtol=0, atol=EXACT)
    assert found.metrics()["breaches_active"] == 0


def test_lots_are_those_of_numpy() -> None:
    """The kernel only says whether a pair of lots may pay: what is traded is the same, to the lot."""
    traded = 0
    for seed in range(60):
        rng = np.random.default_rng([20, seed])
        n = int(rng.integers(3, 40))
        value = rng.uniform(0.002, 0.05, n)
        wish, before = rng.dirichlet(np.full(n, 2.0)), rng.dirichlet(np.full(n, 2.0))
        held = np.floor(0.95 * before / value)
        given = {"known": lot_cases.metric(n, seed), "fee": 1e-4 * (seed % 2), "cost_rate": 1e-3 * (seed % 3), "error": 1e-3}
        found = []
        for name in ("numba", "numpy"):
            kernels.use(name)
            found.append(lot_cases.rounded(wish, held, value, **given))
        np.testing.assert_array_equal(*found, err_msg=str(seed))
        traded += int(np.abs(found[0] - held).sum())
    assert traded > 100
