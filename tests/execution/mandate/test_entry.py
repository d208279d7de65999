"""An account that enters step by step: every step spends what it may, no step more, whatever else is limited."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies.research import replay

PANEL = random_panel(14, 12, seed=4)
SECTORS = {symbol: "even" if i % 2 else "odd" for i, symbol in enumerate(PANEL.symbols)}
OTHERS: list[dict[str, Any]] = [
    {},
    {"max_turnover": 0.05},
    {"max_weight": 0.3},
    {"max_weight": 0.26, "min_weight": 0.05},
    {"min_weight": 0.05, "min_cash": 0.02},
    {"sectors": SECTORS, "max_sector": 0.6},
]


@pytest.mark.parametrize("strategy", ["ensemble", "pa", "equal-weight"])
@pytest.mark.parametrize("others", OTHERS, ids=lambda limits: ",".join(limits) or "alone")
@pytest.mark.parametrize("max_names", [None, 4])
def test_every_step_of_an_entry_spends_what_it_may(strategy: str, others: dict[str, Any], max_names: int | None) -> None:
    entry = 0.1
    if max_names is None and "min_weight" in others:
        others = {**others, "min_weight": 0.02}
    record = replay(PANEL, strategy, {"fill": "close", "entry_turnover": entry, "max_names": max_names, **others})
    decided, total = record.decisions, 1.0 - others.get("min_cash", 0.0)
    assert decided is not None
    for t in range(14):
        held = record.weights[t]
        if held.sum() >= total - 0.05:
            break
        assert np.abs(decided[t] - held).sum() <= entry + 1e-9, t
        over = np.maximum(held - others.get("max_weight", 1.0), 0.0).sum()  # to be sold first
        assert decided[t].sum() >= min(total, held.sum() + entry - 2.0 * over) - 1e-9, t
    assert t <= 10
    assert record.metrics()["breaches_active"] == 0
