"""Capacity: how large an account can become before trading costs too much or stays unfilled."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datafeeds import MarketPanel, synthetic_market
from tests.cli.commands import refused, tracker
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import account_sizes, capacity, replay
from tracker_strategies.research.account_size_page import capacity_page, money, verdict


@pytest.fixture(scope="module")
def panel() -> MarketPanel:
    return synthetic_market(n_assets=8, n_bars=90, seed=3, ohlc=True)


@pytest.fixture(scope="module")
def found(panel: MarketPanel) -> dict[str, Any]:
    return capacity(panel, "equal-weight", accounts=(1e4, 1e5, 1e6, 1e7, 1e8, 1e9), max_cost_bps=100, jobs=1)


def test_every_account_is_a_run_of_its_own(panel: MarketPanel, found: dict[str, Any]) -> None:
    row = found["accounts"][2]
    record = replay(panel, "equal-weight", {"max_participation": 0.1, "impact": "sqrt"}, cash=row["cash"])
    assert row["final_value"] == pytest.approx(record.value[-1], rel=1e-12)
    assert row["unfilled"] == pytest.approx(record.unfilled.sum() / (record.unfilled.sum() + record.turnover.sum()))


def test_cost_grows_with_the_square_root_of_the_account_while_all_is_filled(found: dict[str, Any]) -> None:
    rows = found["accounts"]
    assert rows[1]["cost_bps_per_year"] / rows[0]["cost_bps_per_year"] == pytest.approx(np.sqrt(10), rel=0.05)
    assert [row["unfilled"] for row in rows] == sorted(row["unfilled"] for row in rows)
    assert rows[-1]["unfilled"] > 0.5
    assert rows[-1]["te_per_year"] > rows[0]["te_per_year"]
    assert found["n_bars"] < 90


def test_the_capacity_is_where_the_first_limit_is_met(panel: MarketPanel, found: dict[str, Any]) -> None:
    rows = found["accounts"]
    assert found["bound"] in ("cost", "unfilled")
    below = [row for row in rows if row["cash"] <= found["capacity"]]
    assert below
    assert all(row["cost_bps_per_year"] <= 100 and row["unfilled"] <= 0.05 for row in below)
    # A run with just this account is at the limit, or its neighbours on the grid are too far apart to tell.
    exact = capacity(panel, "equal-weight", accounts=(rows[0]["cash"], found["capacity"]), max_cost_bps=100, jobs=1)["accounts"][
        1
    ]
    reached = exact["cost_bps_per_year"] / 100 if found["bound"] == "cost" else exact["unfilled"] / 0.05
    assert 0.3 < reached < 3.0


def test_an_account_that_cannot_trade_is_not_called_cheap(panel: MarketPanel) -> None:
    found = capacity(panel, "equal-weight", accounts=(1e4, 1e12), max_cost_bps=1000, jobs=1)
    assert found["accounts"][1]["cost_bps_per_year"] < 1000
    assert found["bound"] == "unfilled"
    assert found["capacity"] < 1e12


def test_limits_that_none_or_all_break(panel: MarketPanel) -> None:
    costs = CostModel(bps=50)
    none = capacity(panel, "pa", accounts=(1e4, 1e5), max_cost_bps=0.001, costs=costs, jobs=1)
    assert none["capacity"] is None
    assert "even the smallest account, 10 k" in verdict(none)
    free = capacity(panel, "equal-weight", accounts=(1.0, 10.0), max_cost_bps=1e4, jobs=1)
    assert (free["capacity"], free["bound"]) == (10.0, "grid")


def test_the_page_shows_three_curves_and_the_figures(found: dict[str, Any]) -> None:
    page = capacity_page(found)
    assert page.count('role="img"') == 3
    for words in ("Tracking error", "Unfilled orders", "bp per year", money(found["capacity"])):
        assert words in page
    assert page == capacity_page(json.loads(json.dumps(found)))


def test_the_command_writes_a_folder_and_prints_json(tmp_path: Path) -> None:
    words = ("--data", "synthetic:n_assets=5,n_bars=60,ohlc=1", "--smallest", "1e4", "--largest", "1e6", "--per-decade", "1")
    done = tracker("capacity", "equal-weight", *words, "--jobs", "1", "--json", "--out", tmp_path / "capacity")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["cash"] for row in found["accounts"]] == [1e4, 1e5, 1e6]
    assert found["params"]["max_participation"] == 0.1
    assert json.loads((tmp_path / "capacity" / "capacity.json").read_text()) == found
    assert "<h1>Capacity of equal-weight</h1>" in (tmp_path / "capacity" / "capacity.html").read_text()


def test_what_cannot_work_is_refused_before_anything_runs(panel: MarketPanel, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no volume"):
        capacity(replace(panel, volume=None), "pa")
    with pytest.raises(ParameterError, match="must be larger than the smallest"):
        account_sizes(1e6, 1e5)
    with pytest.raises(ParameterError, match="max_cost_bps"):
        capacity(panel, "pa", max_cost_bps=-1)
    with pytest.raises(DataError, match="does not reach its target"):
        capacity(panel, "equal-weight", accounts=(1e12, 1e13), jobs=1)
    refused(tracker("capacity", "pa", "--data", "sample"), "has no volume")
    refused(tracker("capacity", "nonsense"), "unknown strategy")
    refused(tracker("capacity", "pa", "--max-unfilled", "much"), "--max-unfilled")
    (tmp_path / "other.txt").write_text("mine")
    refused(tracker("capacity", "pa", "--out", tmp_path), "do not belong to a capacity")
