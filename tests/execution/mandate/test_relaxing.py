"""Limits that cannot hold together give way in the stated order, each by the least amount."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tests.execution.mandate import problems
from tracker_strategies.execution.mandate.amounts.relaxing import ORDER, relax
from tracker_strategies.execution.mandate.amounts.solver import nearest
from tracker_strategies.execution.mandate.limits import Region

CLOSE = 1e-9


def _region(held: list[float], **changes: Any) -> Region:
    """Names without limits and without turnover limit, fully invested."""
    h = np.array(held)
    whole = Region(np.zeros(len(h)), np.ones(len(h)), h, 1.0)
    arrays = {k: np.array(v, dtype=float) if isinstance(v, list) else v for k, v in changes.items()}
    return replace(whole, **arrays)


def _group(*positions: int) -> tuple[Any, ...]:
    return (np.array(positions, dtype=np.int64),)


def _same(found: list[tuple[str, int | None, float, float]], expected: list[tuple[str, int | None, float, float]]) -> None:
    assert [row[:2] for row in found] == [row[:2] for row in expected]
    np.testing.assert_allclose([row[2:] for row in found], [row[2:] for row in expected], rtol=0, atol=CLOSE)


# Each case: region, must, what gave way, idle cash. Worked by hand.
CASES: dict[str, tuple[Region, list[float] | None, list[tuple[str, int | None, float, float]], float]] = {
    "caps hold 60 %: the rest is idle, no limit breaks": (_region([0.5, 0.5], upper=[0.3, 0.3]), None, [], 0.4),
    "a turnover of 10 % from cash buys 10 %": (_region([0.0, 0.0], turnover=0.1), None, [], 0.9),
    "minima of 120 % give 20 %": (_region([1.0], lower=[1.2], upper=[2.0]), None, [("min_weight", 0, 1.2, 1.0)], 0.0),
    "a halted name leaves less than the minimum of the other": (
        _region([0.7, 0.3], lower=[0.7, 0.4], upper=[0.7, 1.0]),
        None,
        [("min_weight", 1, 0.4, 0.3)],
        0.0,
    ),
    "a halted name leaves less than the floor of a group": (
        _region([0.7, 0.3], lower=[0.7, 0.0], upper=[0.7, 1.0], members=_group(1), group_lower=[0.4], group_upper=[1.0]),
        None,
        [("min_sector", 0, 0.4, 0.3)],
        0.0,
    ),
    "a halted name leaves less than must be held": (
        _region([0.7, 0.3], lower=[0.7, 0.4], upper=[0.7, 1.0]),
        [0.0, 0.4],
        [("must_hold", 1, 0.4, 0.3)],
        0.0,
    ),
    "a minimum gives before what must be held": (
        _region([0.7, 0.3, 0.0], lower=[0.7, 0.2, 0.2], upper=[0.7, 1.0, 1.0]),
        [0.0, 0.0, 0.2],
        [("min_weight", 1, 0.2, 0.1)],
        0.0,
    ),
    "a minimum gives before the floor of a group": (
        _region(
            [0.7, 0.3, 0.0], lower=[0.7, 0.2, 0.0], upper=[0.7, 1, 1], members=_group(2), group_lower=[0.2], group_upper=[1.0]
        ),
        None,
        [("min_weight", 1, 0.2, 0.1)],
        0.0,
    ),
    "a minimum gives before the turnover": (
        _region([1.0, 0.0], lower=[0.0, 0.3], turnover=0.2),
        None,
        [("min_weight", 1, 0.3, 0.1)],
        0.0,
    ),
    "the floor of a group gives before the turnover": (
        _region([1.0, 0.0], members=_group(1), group_lower=[0.3], group_upper=[1.0], turnover=0.2),
        None,
        [("min_sector", 0, 0.3, 0.1)],
        0.0,
    ),
    "investment gives before the turnover": (_region([1.0, 0.0], upper=[0.7, 1.0], turnover=0.4), None, [], 0.2),
    "a cure that needs more than the turnover": (
        _region([1.0, 0.0], upper=[0.7, 1.0], turnover=0.2),
        None,
        [("max_turnover", None, 0.2, 0.3)],
        0.3,
    ),
    "the turnover gives before the cash": (
        _region([0.5, 0.5], total=0.9, turnover=0.04),
        None,
        [("max_turnover", None, 0.04, 0.1)],
        0.0,
    ),
    "halted names hold more than the cash allows": (
        _region([0.6, 0.4], lower=[0.6, 0.4], upper=[0.6, 0.4], total=0.9),
        None,
        [("min_cash", None, 0.1, 0.0)],
        0.0,
    ),
    "a halted name above the most of its group": (
        _region([0.6, 0.4], lower=[0.6, 0.0], upper=[0.6, 1.0], members=_group(0), group_lower=[0.0], group_upper=[0.5]),
        None,
        [("max_sector", 0, 0.5, 0.6)],
        0.0,
    ),
    "the turnover gives before the most of a group": (
        _region([0.6, 0.4], members=_group(0), group_lower=[0.0], group_upper=[0.5], turnover=0.05),
        None,
        [("max_turnover", None, 0.05, 0.1)],
        0.1,
    ),
    "the floor of a group gives before the most of another": (
        _region(
            [0.5, 0.5],
            members=(np.array([0]), np.array([0, 1])),
            group_lower=[0.5, 0.0],
            group_upper=[1.0, 0.4],
            total=0.4,
        ),
        None,
        [("min_sector", 0, 0.5, 0.4)],
        0.0,
    ),
    "what must be held gives before the most of a name": (
        _region([0.5, 0.5], lower=[0.3, 0.0], upper=[0.2, 1.0]),
        [0.3, 0.0],
        [("must_hold", 0, 0.3, 0.2)],
        0.0,
    ),
    "an excluded name is sold with more turnover rather than kept": (
        _region([0.4, 0.6], upper=[0.0, 1.0], turnover=0.1),
        None,
        [("max_turnover", None, 0.1, 0.4)],
        0.4,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_worked_by_hand(case: str) -> None:
    region, must, relaxed, idle = CASES[case]
    now, gave = relax(region, must=None if must is None else np.array(must))
    _same(gave["relaxed"], relaxed)
    assert gave["idle_cash"] == pytest.approx(idle, abs=CLOSE)
    assert nearest(region.held, now, problems.metric(np.random.default_rng(0), len(region.held))).feasible


def test_the_least_amount_of_several_names_is_a_sum() -> None:
    region = _region([0.8, 0.1, 0.1], lower=[0.8, 0.15, 0.15], upper=[0.8, 1.0, 1.0])
    _, gave = relax(region)
    assert {row[0] for row in gave["relaxed"]} == {"min_weight"}
    assert sum(row[2] - row[3] for row in gave["relaxed"]) == pytest.approx(0.1, abs=CLOSE)


def test_caps_give_way_last_and_only_to_what_cannot_be_traded() -> None:
    # A name above its cap that is said to be untradable keeps its weight; the caps of the others are not touched.
    region = _region([0.5, 0.5], upper=[0.2, 0.6])
    now, gave = relax(region, tradable=np.array([False, True]))
    assert gave == {}
    assert now.lower[0] == now.upper[0] == 0.5
    assert now.upper[1] == 0.6


def test_names_that_cannot_be_traded_keep_their_weight_exactly() -> None:
    held = [0.3, 0.37, 0.33]
    region = _region(held, lower=[0.3, 0.2, 0.3], upper=[0.3, 0.2, 0.3], total=0.7, turnover=0.01)
    now, _ = relax(region)
    w = nearest(np.full(3, 0.2), now, problems.metric(np.random.default_rng(0), 3)).weights
    assert w[0] == 0.3


def test_an_excluded_name_is_never_bought() -> None:
    region = _region([0.0, 0.5], upper=[0.0, 0.3], lower=[0.0, 0.3], members=_group(0), group_lower=[0.2], group_upper=[1.0])
    now, gave = relax(region)
    assert now.upper[0] == 0.0
    _same(gave["relaxed"], [("min_sector", 0, 0.2, 0.0)])


def test_a_region_with_a_portfolio_comes_back_as_it_is() -> None:
    region = _region([0.5, 0.5], upper=[0.6, 0.6], turnover=0.1)
    now, gave = relax(region)
    assert now is region
    assert gave == {}


def _least_slack(region: Region, fixed: np.ndarray, kind: str) -> float:
    """The least sum of slacks of a kind if all softer ones may give without limit, by a dense program of its own."""
    n, g = len(region.held), len(region.members)
    softer = ORDER[: ORDER.index(kind)]
    names = ["w", "trade", *ORDER]
    sizes = [n, n, 1, n, g, 1, 1, g, n]
    at = dict(zip(names, np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]), strict=True))
    rows, right = [], []

    def below(bound: float, **parts: tuple[Any, float]) -> None:
        row = np.zeros(sum(sizes))
        for name, (positions, value) in parts.items():
            row[at[name][positions]] = value
        rows.append(row)
        right.append(bound)

    for i in range(n):
        below(region.upper[i], w=(i, 1), max_weight=(i, -1))
        below(-region.lower[i], w=(i, -1), min_weight=(i, -1))
        below(region.held[i], w=(i, 1), trade=(i, -1))
        below(-region.held[i], w=(i, -1), trade=(i, -1))
    for j, positions in enumerate(region.members):
        below(region.group_upper[j], w=(positions, 1), max_sector=(j, -1))
        below(-region.group_lower[j], w=(positions, -1), min_sector=(j, -1))
    every = np.arange(n)
    below(region.total, w=(every, 1), min_cash=(0, -1))
    below(-region.total, w=(every, -1), total=(0, -1))
    if np.isfinite(region.turnover):
        below(region.turnover, trade=(every, 1), max_turnover=(0, -1))
    bounds = [
        (h, h) if f else (0.0, 1.0 if u > 0 else max(h, 0.0)) for h, f, u in zip(region.held, fixed, region.upper, strict=True)
    ]
    bounds += [(0.0, None)] * n
    for name, size in zip(names[2:], sizes[2:], strict=True):
        may = name in softer or name == kind
        most = [1.0 - region.total] if name == "min_cash" else [None] * size
        bounds += [(0.0, m if may else 0.0) for m in most]
    cost = np.zeros(sum(sizes))
    cost[at[kind]] = 1.0
    answer = linprog(cost, A_ub=np.array(rows), b_ub=right, bounds=bounds)
    return float(answer.fun) if answer.status == 0 else np.inf if answer.status == 2 else np.nan


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 14))
def test_random_regions_with_halts(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    region = problems.region(rng, n, halts=True)
    if rng.random() < 0.5:
        region = replace(region, turnover=float(rng.random()) * 0.3)
    fixed = (region.lower == region.held) & (region.upper == region.held)
    now, gave = relax(region)
    m, z = problems.metric(rng, n), problems.wish(rng, region)
    found = nearest(z, now, m)
    assert found.feasible
    w = found.weights
    assert (w >= 0.0).all()
    assert w.sum() <= max(1.0, region.held[fixed].sum()) + 1e-12
    np.testing.assert_array_equal(w[fixed], region.held[fixed])
    if not gave:
        assert now is region
        return
    # The hardest limit that gave: nothing softer would have sufficed, and it gave no more than it had to.
    amounts = dict.fromkeys(ORDER, 0.0) | {"total": gave["idle_cash"]}
    for limit, _, asked, got in gave["relaxed"]:
        amounts["min_sector" if limit == "must_hold" else limit] += abs(got - asked)
    hardest = max((kind for kind in ORDER if amounts[kind] > 1e-8), key=ORDER.index, default="total")
    least = _least_slack(region, fixed, hardest)
    assume(not np.isnan(least))
    assert amounts[hardest] == pytest.approx(least, abs=1e-6)
    if hardest != "total":
        assert _least_slack(region, fixed, ORDER[ORDER.index(hardest) - 1]) == np.inf
