"""The same run twice, on backtrader's own feeds and on panel feeds, and the comparison of what was seen."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Callable
from typing import Any

import backtrader as bt
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import ordinary_feeds

#: Every mode of cerebro.
MODES = [
    {"runonce": runonce, "preload": preload, "exactbars": exactbars}
    for runonce, preload, exactbars in itertools.product((True, False), (True, False), (False, 1, -1, -2))
]

STOCK, PANEL = "stock", "panel"


def seeds(count: int) -> list[int]:
    """Seeds of random strategies: always the same, or new ones with HYPOTHESIS_PROFILE=explore, as elsewhere in the tests."""
    if os.environ.get("HYPOTHESIS_PROFILE") != "explore":
        return list(range(count))
    draw = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))  # alike in all processes of a test run
    return [draw.randrange(10**6) for _ in range(3 * count)]


def some_slow(cases: list[Any], quick: int) -> list[Any]:
    """Cases of a parametrised test: the first `quick` of them on every run, the others marked ``slow``."""
    return [*cases[:quick], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[quick:])]


def cerebro_with(kind: str, panel: MarketPanel, **mode: Any) -> bt.Cerebro:
    """A cerebro with all feeds of a panel: backtrader's own, or ours."""
    cerebro = bt.Cerebro(**{"stdstats": False, **mode})
    if kind == PANEL:
        IndexData(panel).add_to(cerebro)
    else:
        for feed in ordinary_feeds(panel):
            cerebro.adddata(feed, name=feed.p.name)
    return cerebro


def outcome(run: Callable[[], Any]) -> Any:
    """What a run gives, or the kind of error it ends with."""
    try:
        return run()
    except Exception as error:  # the kind is compared
        return f"{type(error).__name__}"


def assert_same(ours: Any, theirs: Any, where: str = "") -> None:
    """Equal value by value: numbers to 1e-9 relative, NaN to NaN."""
    if isinstance(theirs, dict):
        assert list(map(str, ours)) == list(map(str, theirs)), where
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{where}.{key}")
    elif isinstance(theirs, (list, tuple)) or (hasattr(theirs, "__len__") and not isinstance(theirs, str)):
        assert len(ours) == len(theirs), f"{where}: {len(ours)} entries instead of {len(theirs)}"
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(theirs, (int, float)) and not isinstance(theirs, bool):
        same = (math.isnan(ours) and math.isnan(theirs)) or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
        assert same, f"{where}: {ours!r} instead of {theirs!r}"
    else:
        assert ours == theirs, f"{where}: {ours!r} instead of {theirs!r}"
