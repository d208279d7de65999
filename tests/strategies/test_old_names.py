"""Names that have changed work for one release, and say so."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cli.commands import process
from tests.markets import random_panel
from tracker_strategies.errors import ParameterError
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import TiltedEnsembleTracker
from tracker_strategies.strategies.registry import load_strategy


@pytest.mark.parametrize("old", ["enhanced-ensemble", "EnhancedEnsembleTracker"])
def test_the_tilted_ensemble_is_found_under_its_old_names(old: str) -> None:
    with pytest.warns(FutureWarning, match=f"{old} is now called tilted-ensemble"):
        assert load_strategy(old) is TiltedEnsembleTracker


def test_the_command_says_it_in_one_line_on_stderr() -> None:
    done = process("run", "enhanced-ensemble", "--data", "synthetic:n_assets=4,n_bars=30", "--json")
    assert done.returncode == 0, done.stderr
    assert "OldNameWarning: enhanced-ensemble is now called tilted-ensemble" in done.stderr
    assert "warnings.warn" not in done.stderr


def test_a_margin_over_the_index_is_taken_under_its_old_name() -> None:
    panel = random_panel(n_bars=30)
    expected = backtest(panel, "pa", {"margin": 0.3}).decisions
    with pytest.warns(FutureWarning, match="enhance is now called margin"):
        found = backtest(panel, "pa", {"enhance": 0.3}).decisions
    assert found is not None
    assert expected is not None
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ParameterError, match=r"enhance=0.3 and margin=0.2"):
        backtest(panel, "pa", {"enhance": 0.3, "margin": 0.2})
