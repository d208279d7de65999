"""Every strategy keeps every limit, alone and in pairs, in every way to run: a small storm. The large one is ``tests.storm``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.storm.limits.cases import LIMITS, PAIRS, STRATEGIES, WAYS, Market, make_case
from tests.storm.limits.trying import shown, try_case

SEED = 18
#: Ways of the cases, one after the other: a paper account takes twenty times as long as a replay.
ROUND = ("replay", "basket", "replay", "ordinary", "replay") * 4
PAPER_EVERY = 20


def covering() -> list[tuple[tuple[str, ...], str, str]]:
    """(limits, strategy, way) in which every limit stands alone, every two stand together, and every strategy meets each."""
    cases = []
    met: set[tuple[str, str]] = set()
    strategies = itertools.cycle(STRATEGIES)
    for k, limits in enumerate(PAIRS):
        fresh = [name for name in STRATEGIES if any((name, limit) not in met for limit in limits)]
        strategy = max(fresh, key=lambda name: sum((name, limit) not in met for limit in limits)) if fresh else next(strategies)
        met |= {(strategy, limit) for limit in limits}
        cases.append((limits, strategy, "paper" if k % PAPER_EVERY == 0 else ROUND[k % len(ROUND)]))
    missing = [(name, limit) for name in STRATEGIES for limit in LIMITS if (name, limit) not in met]
    while missing:
        name, limit = missing.pop()
        partner = next((other for whose, other in missing if whose == name and other != limit), None)
        if partner is not None:
            missing.remove((name, partner))
        together = (limit,) if partner is None else tuple(sorted((limit, partner), key=list(LIMITS).index))
        cases.append((together, name, ROUND[len(missing) % len(ROUND)]))
    return cases


COVERING = covering()
#: Cases of one test: enough of them to be worth a process of its own.
LOAD = 24


def test_the_sample_covers_strategies_limits_pairs_and_ways() -> None:
    """Else the next test promises too much."""
    assert {(name, limit) for limits, name, _ in COVERING for limit in limits} == set(itertools.product(STRATEGIES, LIMITS))
    assert {limits for limits, _, _ in COVERING} >= set(PAIRS)
    assert {way for _, _, way in COVERING} == set(WAYS)


@pytest.mark.parametrize("load", range(0, len(COVERING), LOAD))
def test_every_limit_is_kept_or_refused(load: int) -> None:
    """Judged by arithmetic that is not the product's: see :mod:`tests.storm.limits.checks`."""
    found = []
    for number, (limits, strategy, way) in enumerate(COVERING[load : load + LOAD], load):
        result = try_case(make_case(SEED, number, limits=limits, strategy=strategy, way=way))
        found += [shown(result)] if result.findings else []
    assert not found, "\n".join(found)


@given(
    seed=st.integers(0, 10**6),
    limits=st.lists(st.sampled_from(list(LIMITS)), min_size=1, max_size=4, unique=True).map(tuple),
    market=st.builds(Market, n_bars=st.integers(12, 40), n_names=st.integers(3, 14), leavers=st.booleans()),
    strategy=st.sampled_from(STRATEGIES),
)
@settings(max_examples=40, deadline=None)
def test_random_mandates_are_kept_or_refused(seed: int, limits: tuple[str, ...], market: Market, strategy: str) -> None:
    """The same checks, for up to four limits at once, on random markets with halts."""
    result = try_case(make_case(seed, 0, market, limits=limits, strategy=strategy, way="replay"))
    assert not result.findings, shown(result)


def test_the_judge_sees_what_is_wrong() -> None:
    """A run that breaks its limits is found out: here the limits are those of another run."""
    from dataclasses import replace

    from tests.storm.limits.checks import Judge
    from tests.storm.limits.ways import run

    case = replace(make_case(SEED, 0, limits=("max_weight",), strategy="equal-weight", way="replay"), costs="none")
    case.params.update(max_weight=0.5, fill="close", rebalance=1)
    seen = run(case)
    tighter = {
        "max_weight": {"max_weight": 0.05},
        "max_names": {"max_names": 3},
        "min_cash": {"min_cash": 0.2},
        "exclude": {"exclude": [case.panel.symbols[int(np.argmax(seen.decided[0]))]]},
        "max_turnover": {"max_turnover": 1e-4},
        "lot": {"lot": 1000},
        "min_weight": {"min_weight": 0.3},
        "max_sector": {"sectors": dict.fromkeys(case.panel.symbols[:6], "A"), "max_sector": {"A": 0.1}},
        "min_sector": {"sectors": dict.fromkeys(case.panel.symbols[:2], "A"), "min_sector": {"A": 0.9}},
    }
    for kind, limits in tighter.items():
        other = replace(case, params=case.params | {"max_weight": 1.0} | limits)
        assert kind in {found for found, _, _ in Judge(other, seen).judge().findings}, kind
