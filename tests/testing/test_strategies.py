"""Every strategy keeps every promise that is shipped as a check, and is found under its name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.algorithms.learners import CLASSES
from tracker_strategies.algorithms.registration import registration_of
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.strategies.registry import NAMES, NEED_WEIGHTS
from tracker_strategies.testing import check_strategy

#: Strategies with logic around their learners, or without any.
OWN_NAMES = {"ensemble", "tilted-ensemble", "equal-weight", "buy-and-hold", "constant-weight"}


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_every_strategy_keeps_every_promise(strategy: Any) -> None:
    check_strategy(strategy)


def test_the_table_of_names_agrees_with_classes_and_learners() -> None:
    ready = {name: cls for name, (_, cls) in NAMES.items() if name not in NEED_WEIGHTS}  # those run on prices alone
    assert {cls.alias_name: cls.__name__ for cls in STRATEGIES} == ready
    registered = {record.name for cls in CLASSES if (record := registration_of(cls)) and record.name}
    named = registered | OWN_NAMES | set(NEED_WEIGHTS)
    assert named == set(NAMES), "a learner's name that no strategy has, or a strategy without a learner"
    for cls in STRATEGIES:
        record = cls.learner and registration_of(cls.learner)
        assert record is None or (cls.alias_name, cls.diagnostic_lines) == (record.name, record.shows), cls.__name__
