"""Whole lots keep the limits, whatever is held, wanted and tradable."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execution.mandate.lot_cases import limits, rounded
from tracker_strategies.execution.mandate.limits import Group


@st.composite
def cases(draw):
    n = draw(st.integers(2, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    value = rng.uniform(draw(st.sampled_from([1e-5, 0.002])), draw(st.sampled_from([0.01, 0.05, 0.4])), n)
    held = np.floor(rng.dirichlet(np.ones(n)) * rng.uniform(0.0, 1.0) / value)
    if draw(st.booleans()):
        held[rng.random(n) < 0.5] = 0.0
    if draw(st.booleans()):
        held = np.where(rng.random(n) < 0.3, held + 0.5, held)
    wish = rng.dirichlet(np.ones(n))
    rules = {}
    if draw(st.booleans()):
        rules["upper"] = rng.uniform(0.0, 0.6, n)
    if draw(st.booleans()):
        rules["least"] = np.minimum(rng.uniform(0.0, 0.1, n), rules.get("upper", np.ones(n)))
    if draw(st.booleans()):
        rules["must"] = np.where(rng.random(n) < 0.3, np.minimum(0.05, rules.get("upper", np.ones(n))), 0.0)
    if draw(st.booleans()):
        rules["frozen"] = rng.random(n) < 0.2
    if draw(st.booleans()):
        rules["max_names"] = draw(st.integers(1, n))
    if draw(st.booleans()):
        kinds = [rng.permutation(n) for _ in range(draw(st.integers(1, 2)))]
        rules["groups"] = tuple(
            Group(
                f"kind {k}",
                str(part),
                np.sort(members),
                rng.uniform(0.0, 0.1),
                rng.uniform(0.1, 1.0),
                max_names=draw(st.sampled_from([None, 2])),
            )
            for k, order in enumerate(kinds)
            for part, members in enumerate(np.array_split(order, 2))
            if len(members)
        )
    given = {
        "support": rng.random(n) < 0.8,
        "can_buy": rng.random(n) < 0.85,
        "can_sell": rng.random(n) < 0.85,
        "total": draw(st.sampled_from([1.0, 0.95])),
        "turnover": draw(st.sampled_from([np.inf, 0.3, 0.05])),
        "cost_rate": draw(st.sampled_from([0.0, 0.002])),
        "fee": draw(st.sampled_from([0.0, 0.0005])),
    }
    return wish, held, value, limits(n, **rules), given


@settings(max_examples=300, deadline=None)
@given(cases())
def test_limits_hold_whatever_is_held_and_wanted(case):
    wish, held, value, rules, given = case
    found = rounded(wish, held, value, rules, **given)
    stuck = rules.frozen | ~given["can_sell"]
    whole, n = np.floor(held), len(wish)
    kept = np.where(stuck, held - whole, 0.0)
    change, worth = found + kept - held, (found + kept) * value
    assert found.dtype == np.int64
    assert (found >= 0).all()
    assert not change[rules.frozen].any()
    assert (change[~given["can_buy"] | ~given["support"]] <= 0).all()
    assert (change[~given["can_sell"]] >= 0).all()
    assert ((worth <= rules.upper + 1e-9) | stuck | (rules.upper == 0.0)).all()
    assert ((worth <= rules.upper + 1e-9) | (found <= whole)).all()
    paid = given["cost_rate"] * np.abs(change) @ value + given["fee"] * np.count_nonzero(change)
    needed = np.where(rules.must > 0.0, np.maximum(rules.must, rules.least), 0.0)  # a name that must be held has its least weight
    sellable = ~stuck & (found > 0) & (worth > needed + value)
    assert worth.sum() + paid <= given["total"] + 1e-11 or not sellable.any()
    entered = (held == 0.0) & (found > 0)
    for group in rules.groups:
        inside = np.isin(np.arange(n), group.members)
        assert worth[inside].sum() <= group.upper + 1e-9 or not (sellable & inside).any()
        if np.count_nonzero(worth[inside]) > (group.max_names or n):
            assert not (entered & inside & (rules.must == 0.0)).any()
    if rules.max_names is not None and np.count_nonzero(worth) > rules.max_names:
        assert not (entered & (rules.must == 0.0)).any()
    if was_fine(held, value, rules, given):
        odd = (held - whole) @ value
        assert np.abs(change) @ value <= max(given["turnover"], odd) + 1e-11
    if given["turnover"] == np.inf and not rules.groups:
        small = (found > 0) & ((found + 1) * value <= rules.least - 1e-9)
        assert not (small & ~stuck & given["can_buy"]).any()


def was_fine(held, value, rules, given):
    """Whether nothing held has to be cured: turnover gives way to cures only."""
    worth = held * value
    return (
        (worth <= rules.upper).all()
        and (worth >= rules.must).all()
        and worth.sum() <= given["total"]
        and all(worth[g.members].sum() <= g.upper for g in rules.groups)
    )
