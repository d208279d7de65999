"""Limits in every engine: replay and cerebro in all its modes decide the same, and nothing is known before its time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.markets import random_panel
from tracker_strategies.strategies import EnsembleTracker, PATracker
from tracker_strategies.testing import check_strategy

PANEL = random_panel(50, 9, seed=3, ohlc=True, gaps=True)
SECTORS = {symbol: ("one", "two", "three")[i % 3] for i, symbol in enumerate(PANEL.symbols)}
LIVING = {"listing_warmup": 3, "delist_after": 4}
CASES: list[dict[str, Any]] = [
    {"max_names": 4, "min_weight": 0.05, "max_turnover": 0.2},
    {"lot": 1.0, "max_weight": 0.3},
    {"sectors": SECTORS, "max_sector": 0.5, "min_cash": 0.02, "band": 0.005, "cost_aware": 10.0},
]


@pytest.mark.parametrize("params", CASES, ids=lambda p: "-".join(p))
@pytest.mark.parametrize("cls", [EnsembleTracker, PATracker], ids=lambda c: c.alias_name)
def test_all_engines_decide_alike_and_nobody_looks_ahead(cls: Any, params: dict[str, Any]) -> None:
    check_strategy(cls, PANEL, LIVING | params, only=["parity", "lookahead"])
