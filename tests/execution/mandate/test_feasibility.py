"""Limits that cannot hold together are refused before a run, with the arithmetic; those that can are not."""

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.mandate.feasibility.checking import check, unbuyable
from tracker_strategies.execution.mandate.feasibility.choices import most_invested
from tracker_strategies.execution.mandate.limits import Group, Limits


def limits(n, cap=1.0, least=0.0, must=0.0, *, frozen=(), groups=(), max_names=None, min_cash=0.0):
    spread = [np.array(np.broadcast_to(np.asarray(value, float), (n,))) for value in (cap, least, must)]
    mask = np.zeros(n, bool)
    mask[list(frozen)] = True
    return Limits(*spread, mask, tuple(groups), max_names, min_cash)


def group(name, members, lower=0.0, upper=1.0, max_names=None, grouping="sector"):
    return Group(grouping, name, np.array(members, np.int64), lower, upper, max_names)


def symbols(n):
    return [f"S{i:03d}" for i in range(n)]


def said(asked, listed=None, **options):
    n = asked.n_names
    with pytest.raises(ParameterError) as refusal:
        check(asked, np.ones(n, bool) if listed is None else np.asarray(listed), symbols(n), **options)
    text = str(refusal.value)
    assert "\n" not in text
    return text


def accepted(asked, listed=None, **options):
    n = asked.n_names
    check(asked, np.ones(n, bool) if listed is None else np.asarray(listed), symbols(n), **options)


REFUSED = {
    "names and caps": (
        limits(100, 0.05, max_names=10, min_cash=0.01),
        "max_names=10 and max_weight=5 %: 10 names of at most 5 % hold 50 % together, but 99 % "
        "must be invested; raise one of them or min_cash",
    ),
    "caps alone": (limits(12, 0.05), "max_weight=5 %: 12 names of at most 5 % hold 60 % together, but 100 % must be invested"),
    "caps that differ": (
        limits(3, [0.1, 0.2, 0.3]),
        "max_weight: 3 names of at most 10 % to 30 % hold 60 % together, but 100 % must be invested",
    ),
    "a hair too little": (limits(3, 0.33333), "hold 99.999 % together, but 100 % must be invested"),
    "sector caps": (
        limits(4, groups=[group("A", [0, 1], upper=0.3), group("B", [2, 3], upper=0.4)]),
        "max_sector: 2 sectors hold at most 70 %, but 100 % must be invested; raise max_sector or min_cash",
    ),
    "sector caps and caps": (
        limits(5, 0.25, groups=[group("A", [0], upper=0.3), group("B", [1, 2, 3, 4], upper=0.4)]),
        "max_sector and max_weight=25 %: 2 sectors hold at most 65 %, but 100 % must be invested",
    ),
    "countries": (
        limits(4, groups=[group(c, [i, i + 2], upper=0.4, grouping="country") for i, c in enumerate(("US", "CH"))]),
        "max_country: 2 countries hold at most 80 %, but 100 % must be invested",
    ),
    "floor above cap": (
        limits(4, groups=[group("A", [0, 1], 0.3, 0.2)]),
        "min_sector A=30 % is above max_sector A=20 %",
    ),
    "floor above its names": (
        limits(9, 0.2, groups=[group("A", [0, 1], 0.5)]),
        "min_sector A=50 %: its 2 names of at most 20 % hold 40 %",
    ),
    "floor above its few names": (
        limits(9, 0.2, groups=[group("A", [0, 1, 2, 3], 0.5, max_names=2)]),
        "min_sector A=50 % and max_names_per_group=2: 2 names of at most 20 % hold 40 %",
    ),
    "floors above everything": (
        limits(4, min_cash=0.01, groups=[group("A", [0, 1], 0.6), group("B", [2, 3], 0.5)]),
        "min_sector: the floors of 2 sectors sum to 110 %, but only 99 % can be invested",
    ),
    "floors need names": (
        limits(9, 0.2, max_names=5, groups=[group("A", [0, 1, 2], 0.5), group("B", [3, 4, 5], 0.41)]),
        "max_names=5 and min_sector: the floors of 2 sectors need at least 6 names",
    ),
    "must above cap": (limits(9, 0.2, [0] * 9, [0.3] + [0] * 8), "must_hold S000=30 % is above its max_weight=20 %"),
    "must above everything": (limits(3, 1.0, 0.0, 0.4), "must_hold: 3 names take at least 120 %, but only 100 % can be invested"),
    "must above names": (limits(3, 1.0, 0.0, 0.1, max_names=2), "max_names=2 and must_hold: 3 names must be held"),
    "must above sector": (
        limits(4, 1.0, 0.0, [0.2, 0.2, 0, 0], groups=[group("A", [0, 1], upper=0.3)]),
        "max_sector A=30 %: its names in must_hold take at least 40 %",
    ),
    "must excluded": (limits(2, [0.0, 1.0], 0.0, [0.1, 0]), "must_hold S000=10 %: it is excluded"),
    "must frozen": (limits(2, 1.0, 0.0, [0.1, 0], frozen=[0]), "must_hold S000=10 %: it is frozen"),
    "min above max": (limits(30, 0.05, 0.06), "min_weight=6 % is above max_weight=5 % for S000 and 29 more"),
    "a gap": (
        limits(9, 0.3, 0.28, min_cash=0.01),
        "min_weight=28 % and max_weight=30 %: 3 names of at most 30 % hold 90 % together and 4 names at least 112 %",
    ),
    "one name is too much": (
        limits(9, 1.0, 0.995, min_cash=0.01),
        "one name takes at least 99.5 %, but only 99 % can be invested",
    ),
    "all excluded": (limits(3, 0.0), "none of the 3 listed names may be bought: 3 are excluded"),
    "all frozen": (limits(3, frozen=[0, 1, 2]), "0 are excluded or capped at 0, 3 are frozen without a holding"),
    "no money": (limits(3, min_cash=1.0), "min_cash=100 %: nothing is left to invest"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_contradiction_is_refused_with_its_arithmetic(case):
    asked, text = REFUSED[case]
    assert text in said(asked)


def test_names_that_are_not_listed_hold_nothing():
    listed = np.arange(30) < 12
    assert "12 names of at most 5 % hold 60 %" in said(limits(30, 0.05), listed)
    floor = limits(30, groups=[group("A", [20, 21], 0.1)])
    assert "min_sector A=10 %: none of its 2 names can be bought at the first bar" in said(floor, listed)
    must = limits(30, 1.0, 0.0, [0] * 29 + [0.1])
    assert "not listed at the first bar" in said(must, listed)


def test_the_last_feasible_value_is_accepted():
    """20 names of 5 % hold everything, although their sum in floating point need not be 1."""
    accepted(limits(100, 0.05, max_names=20))
    accepted(limits(100, 0.1, 0.1, max_names=10))
    accepted(limits(7, 1 / 7, 1 / 7))
    accepted(limits(4, groups=[group("A", [0, 1], 0.3, 0.3), group("B", [2, 3], 0.7, 0.7)]))


def test_a_frozen_name_without_a_holding_is_never_held():
    asked = limits(4, 0.25, frozen=[1])
    assert "3 names of at most 25 % hold 75 %" in said(asked)
    accepted(asked, held=np.array([0, 0.25, 0, 0]))
    # What a frozen holding breaks was inherited: nobody can be asked to change it.
    accepted(limits(4, [1, 0.1, 1, 1], frozen=[1], max_names=1, min_cash=0.2), held=np.array([0, 0.9, 0, 0]))


def test_only_together_contradictions_name_their_limits():
    """Eight names of two sectors: each limit can hold with any two of the others."""
    groups = [group("A", range(4), 0.3, 0.5), group("B", range(4, 8), 0.3, 0.45)]
    text = said(limits(8, 0.5, groups=groups))
    assert "max_sector: 2 sectors hold at most 95 %" in text
    text = said(limits(40, 0.06, max_names=16, groups=[group("A", range(20), upper=0.5), group("B", range(20, 40), upper=0.5)]))
    assert text.startswith("max_names=16 and max_weight=6 %")
    # 10 names hold 10 % each only if no sector is cut off in the middle of a name.
    groups = [group(f"G{k}", range(k, 40, 4), upper=0.25) for k in range(4)]
    text = said(limits(40, 0.1, max_names=10, groups=groups))
    assert text == (
        "max_names=10, max_sector and max_weight=10 % cannot hold together: at most 90 % can be invested, but 100 % must be; "
        "loosen one of them or raise min_cash"
    )


def test_a_minimum_weight_that_does_not_fit_between_floor_and_cap_of_a_sector():
    groups = [group("A", range(5), 0.1, 0.12), group("B", range(5, 10))]
    text = said(limits(10, 0.3, [0.13] * 5 + [0.0] * 5, max_names=4, groups=groups))
    assert text == "max_sector, min_sector and min_weight cannot hold together, even if nothing is invested; loosen one of them"


def test_several_contradictions_at_once_still_name_one():
    groups = [group(f"G{k}", range(k, 40, 4), upper=0.25) for k in range(4)]
    groups += [group(f"C{k}", range(20 * k, 20 * k + 20), 0.0, 0.5, 4, "country") for k in range(2)]
    text = said(limits(40, 0.1, max_names=10, groups=groups))
    assert re.search("cannot hold together: at most .* can be invested, but 100 % must be", text)


def test_headroom_is_mentioned():
    text = said(limits(20, 0.05 * 0.95), headroom=0.05)
    assert text.endswith(
        "hold 95 % together, but 100 % must be invested; raise max_weight or min_cash (caps and floors with headroom=5 %)"
    )


def test_an_account_too_small_for_any_lot():
    prices = np.array([300.0, 105.3, np.nan])
    listed = np.isfinite(prices)
    text = said(limits(3), listed, prices=prices, cash=100.0, lot=1.0)
    assert text.startswith("the cheapest lot of 1 share of S001 costs 105.3, but the account has 100")
    text = said(limits(3, min_cash=0.1), listed, prices=prices, cash=110.0, lot=1.0)
    assert "of which min_cash=10 % must stay in cash" in text
    text = said(limits(3, 0.5), listed, prices=prices, cash=200.0, lot=1.0)
    assert "max_weight=50 % of it is 100, so no name can be bought" in text
    text = said(limits(3), listed, prices=prices, cash=10_000.0, lot=100.0)
    assert "the cheapest lot of 100 shares of S001 costs 10530" in text
    accepted(limits(3), listed, prices=prices, cash=106.0, lot=1.0)
    accepted(limits(3), listed, prices=prices, cash=1.0)  # fractional shares


def test_a_lot_dearer_than_its_cap_can_never_be_bought():
    prices = np.array([10.0] * 10 + [60.0] * 10)
    asked = limits(20, 0.05)
    np.testing.assert_array_equal(unbuyable(asked, prices, 1000.0, 1.0), prices > 50)
    text = said(asked, prices=prices, cash=1000.0, lot=1.0)
    assert "10 names of at most 5 % hold 50 % together, but 100 % must be invested" in text
    assert "10 names are left out because one lot costs more than their cap, such as S010 at 60" in text
    accepted(asked, prices=prices, cash=1200.0, lot=1.0)
    must = limits(20, 0.05, 0.0, [0] * 19 + [0.01])
    assert "must_hold S019=1 %: one lot costs more than its cap of 5 %" in said(must, prices=prices, cash=1000.0, lot=1.0)


def test_excluded_names_and_names_without_a_price_are_not_called_too_dear():
    assert not unbuyable(limits(2, [0.0, 0.5]), np.array([100.0, np.nan]), 50.0, 1.0).any()


def by_every_choice(asked):
    """Whether some choice of names admits weights, by one linear program per choice."""
    n = asked.n_names
    for support in itertools.product((0.0, 1.0), repeat=n):
        chosen = np.array(support)
        if asked.max_names is not None and chosen.sum() > asked.max_names:
            continue
        if any(g.max_names is not None and chosen[g.members].sum() > g.max_names for g in asked.groups):
            continue
        low, high = np.maximum(asked.must, asked.least * chosen), asked.upper * chosen * ~asked.frozen
        if np.any(low > high + 1e-12):
            continue
        rows = np.zeros((len(asked.groups), n))
        for k, g in enumerate(asked.groups):
            rows[k, g.members] = 1.0
        matrix = np.vstack([rows, -rows]) if len(rows) else None
        bound = np.array([g.upper for g in asked.groups] + [-g.lower for g in asked.groups]) if len(rows) else None
        bounds = np.column_stack([low, np.maximum(low, high)])
        if linprog(np.zeros(n), matrix, bound, np.ones((1, n)), [asked.total], bounds).status == 0:
            return True
    return False


grid = st.integers(0, 20).map(lambda k: k / 20)


@st.composite
def mandates(draw):
    n = draw(st.integers(1, 6))
    row = st.lists(grid, min_size=n, max_size=n)
    cap = np.maximum(np.array(draw(row)), draw(st.sampled_from([0.0, 0.2, 0.5])))
    least = np.where(cap > 0, np.minimum(np.array(draw(row)) * draw(st.sampled_from([0.0, 0.3, 1.0])), cap), 0.0)
    must = np.where(np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))) == 0, cap / 4, 0.0)
    groups = []
    for grouping in draw(st.sampled_from([(), ("sector",), ("sector", "country")])):
        label = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
        for k in range(2):
            low, high = sorted(draw(st.tuples(grid, grid)))
            names = draw(st.sampled_from([None, None, 1, 2]))
            inside = np.flatnonzero(label == k)
            groups.append(Group(grouping, f"{k}", inside, low * draw(st.sampled_from([0.0, 0.5, 1.0])), high, names))
    return limits(
        n, cap, least, must, groups=groups, max_names=draw(st.sampled_from([None, 1, 2, 3, 4])), min_cash=draw(grid) / 2
    )


@settings(max_examples=150)
@given(mandates())
def test_what_is_refused_is_what_no_choice_of_names_can_hold(asked):
    try:
        accepted(asked)
    except ParameterError:
        assert not by_every_choice(asked)
    else:
        assert by_every_choice(asked)


@settings(max_examples=60)
@given(mandates())
def test_where_nothing_is_feasible_the_least_breach_still_keeps_counts_and_caps(asked):
    found = most_invested(asked, elastic=True)
    forced = int(np.count_nonzero((asked.must > 0) & (asked.upper > 0)))
    if found is None:
        return_is_right = (asked.max_names is not None and forced > asked.max_names) or any(
            g.max_names is not None and np.count_nonzero((asked.must > 0)[g.members]) > g.max_names for g in asked.groups
        )
        assert return_is_right
        return
    assert asked.max_names is None or found.support.sum() <= asked.max_names
    assert all(g.max_names is None or found.support[g.members].sum() <= g.max_names for g in asked.groups)
    assert np.all(found.weights <= asked.upper + 1e-9)
    assert np.all(found.weights[~found.support] == 0)
