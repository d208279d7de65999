"""A paper account keeps its mandate as a backtest does, whatever its broker does with the orders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tests.papertrade.deciding.test_parity import LIVING, assert_parity
from tests.papertrade.harness import at_the_broker, open_account, step_through
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers.base import KEPT_BACK
from tracker_strategies.papertrade.views.report import report_of

#: Half of the orders fill in part, a third are refused: sells as well as buys.
FAULTS = {"partial": 0.5, "reject": 0.3, "seed": 3}
SECTORS = {f"S{i}": ("one", "two")[i % 2] for i in range(6)}


@pytest.mark.parametrize(
    "params",
    [
        {"max_names": 3},
        {"max_names": 3, "max_turnover": 0.1},
        {"max_weight": 0.25, "min_cash": 0.05},
        {"sectors": SECTORS, "max_sector": 0.6, "max_names_per_group": 2},
        {"lot": 1.0, "max_names": 4, "entry_turnover": 0.5},
        {"exclude": ["S1"], "cost_aware": 20.0, "band": 0.01},
    ],
    ids=str,
)
def test_limits_decide_and_fill_as_in_a_backtest(folder: Path, params: dict[str, Any]) -> None:
    panel = random_panel(n_bars=22, n_assets=6, seed=4, ohlc=True, gaps=True)
    account = open_account(folder / "a", panel, "pa", {**LIVING, **params}, verify_every=9)
    step_through(account, panel)
    assert_parity(account, panel, "pa", {**LIVING, **params})


def holdings(account: PaperAccount) -> np.ndarray:
    """(T, N) shares after each session."""
    with account.journal(readonly=True) as journal:
        rows = journal.rows("select sizes from balances order by session")
        return np.array([np.frombuffer(row["sizes"], dtype="<f8") for row in rows])


@pytest.mark.parametrize("fill", ["next_open", "close"])
def test_a_sell_that_does_not_fill_takes_the_entering_buy_with_it(folder: Path, fill: str) -> None:
    panel = random_panel(n_bars=30, n_assets=8, seed=6, ohlc=True)
    params = {"max_names": 3, "coordinates": "weights", "fill": fill}
    account = open_account(folder / "a", panel, "adaptive-lasso", {**LIVING, **params, "theta": 3}, faults=FAULTS)
    step_through(account, panel)
    counts = np.count_nonzero(holdings(account), axis=1)
    assert counts.max() <= 3
    with account.journal(readonly=True) as journal:
        kept_back = journal.one("select count(*) from orders where reason = ?", (KEPT_BACK,))
        refused = journal.one("select count(*) from orders where size < 0 and status in ('rejected', 'cancelled')")
    assert refused > 0
    assert kept_back > 0


def test_limits_that_cannot_hold_together_open_no_account(folder: Path) -> None:
    panel = random_panel(n_bars=20, n_assets=6, seed=1, ohlc=True)
    with pytest.raises(ParameterError, match="2 names of at most 30 % hold 60 % together, but 100 % must be invested"):
        open_account(folder / "a", panel, "pa", {"max_names": 2, "max_weight": 0.3})
    assert not (folder / "a").exists()


def test_what_was_taken_over_from_the_broker_is_inherited_until_it_is_back_within(folder: Path) -> None:
    panel = random_panel(n_bars=26, n_assets=6, seed=4, ohlc=True)
    account = open_account(folder / "a", panel, "equal-weight", {**LIVING, "max_weight": 0.2})
    step_through(account, panel, stop=14)
    at_the_broker(account, "update positions set size = size * 2.7351 where ticker = 'S2'")
    account.adopt()
    step_through(account, panel, start=15)
    table = report_of(account).paper.breaches
    assert table is not None
    inherited = table[table["kind"] == "inherited"]
    assert set(zip(inherited["limit"], inherited["item"], strict=True)) == {("max_weight", "S2")}
    assert inherited["date"].tolist() == [pd.Timestamp(panel.dates[14])]
    assert not (table["kind"] == "active").any()


def test_weights_of_the_index_are_kept_as_they_were_when_the_account_was_opened(folder: Path) -> None:
    panel = random_panel(n_bars=12, n_assets=3, seed=4, ohlc=True)
    file = folder / "weights.csv"
    file.write_text("date,symbol,weight\n2020-01-01,S0,3\n2020-01-01,S1,1\n2020-01-08,S2,2\n")
    account = open_account(folder / "a", panel, "ensemble", {"prior_weights": str(file)})
    file.unlink()
    step_through(account, panel)
    assert account.config.params["prior_weights"] == {
        "2020-01-01": {"S0": 3.0, "S1": 1.0, "S2": 0.0},
        "2020-01-08": {"S0": 0.0, "S1": 0.0, "S2": 2.0},
    }
    assert report_of(account).gap["weights_gap"] < 1e-12
