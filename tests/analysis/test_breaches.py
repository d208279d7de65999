"""Every bar outside a limit is on record, with its kind; and the same in cerebro, in a run folder and in a table."""

from __future__ import annotations

from pathlib import Path

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from tests.markets import random_panel
from tracker_strategies import Mandate, MandateAnalyzer, PATracker, read_run
from tracker_strategies.analysis.breaches import COLUMNS, limits_told
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.research import replay

LIMITS = {"max_weight": 0.15, "min_cash": 0.02, "fill": "close"}
PANEL = random_panel(60, 9, seed=5)


def with_a_halt(rows: slice, name: int) -> MarketPanel:
    close = PANEL.close.copy()
    close[rows, name] = np.nan
    return MarketPanel(PANEL.dates, PANEL.symbols, close, PANEL.targets, PANEL.target_close)


def test_what_prices_do_after_a_decision_is_passive() -> None:
    record = replay(PANEL, "pa", LIMITS | {"rebalance": 10})
    table = record.breaches
    assert table is not None
    assert tuple(table.columns) == COLUMNS
    held = record.weights[1:]
    over = {(pd.Timestamp(record.dates[1 + t]), record.symbols[i]) for t, i in np.argwhere(held > 0.15 + 1e-9)}
    told = table[table["limit"] == "max_weight"]
    assert {(row.date, row.item) for row in told.itertuples()} == over
    assert over
    assert set(table["kind"]) == {"passive"}
    assert record.metrics()["breaches_passive"] == table["date"].nunique()
    assert record.metrics()["breaches_active"] == 0


def test_a_name_that_is_halted_above_its_cap_is_forced() -> None:
    panel = with_a_halt(slice(20, 24), 6)
    record = replay(panel, "equal-weight", {"max_weight": 0.1112, "fill": "close"})
    table = record.breaches
    assert table is not None
    forced = table[table["kind"] == "forced"]
    halted = record.weights[20:24, 6] > 0.1112 + 1e-9
    assert halted.any()
    assert len(forced) == int(halted.sum())
    assert set(forced["item"]) == {panel.symbols[6]}
    assert not (table["kind"] == "active").any()
    assert record.metrics()["breaches_forced"] == int(halted.sum())


def test_idle_cash_is_what_limits_leave() -> None:
    record = replay(PANEL, "equal-weight", {"max_weight": 0.2, "entry_turnover": 0.25, "fill": "close"})
    assert record.idle_cash[0] == pytest.approx(0.75)
    assert record.idle_cash[-1] == pytest.approx(0.0, abs=1e-9)
    assert record.metrics()["idle_cash"] < 0.05


def test_a_decision_that_breaks_a_limit_would_be_told() -> None:
    """The table judges by itself: it does not take the keeper's word."""
    record = replay(PANEL, "pa", LIMITS)
    from tracker_strategies.analysis.breaches import breach_table
    from tracker_strategies.execution.mandate.keeper import Keeper

    keeper = Keeper(Mandate(max_weight=0.15, min_cash=0.02), PANEL.symbols)
    assert record.decisions is not None
    wrong = record.decisions.copy()
    wrong[7, 3] += 0.2
    table = breach_table(keeper, PANEL.symbols, PANEL.dates, record.weights, wrong)
    active = table[table["kind"] == "active"]
    assert set(active["limit"]) == {"max_weight", "min_cash"}
    assert set(active["date"]) == {pd.Timestamp(PANEL.dates[7])}


def test_the_analyzer_says_the_same() -> None:
    record = replay(PANEL, "pa", LIMITS)
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.broker.setcash(1e6)
    cerebro.addstrategy(PATracker, mandate=Mandate(max_weight=0.15, min_cash=0.02), fill="close")
    cerebro.addanalyzer(MandateAnalyzer, _name="mandate")
    (run,) = cerebro.run()
    found = run.analyzers.mandate.get_analysis()
    assert record.breaches is not None
    pd.testing.assert_frame_equal(run.analyzers.mandate.breaches, record.breaches)
    assert found["breaches_passive"] == record.breaches["date"].nunique()
    assert found["breaches_active"] == 0
    assert found["decisions"] == 60
    assert found["sentence"].startswith("limits kept in 60 of 60 decisions; passive on ")


def test_without_limits_there_is_no_table() -> None:
    assert replay(PANEL, "pa", {"fill": "close"}).breaches is None
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(PATracker)
    cerebro.addanalyzer(MandateAnalyzer, _name="mandate")
    (run,) = cerebro.run()
    assert run.analyzers.mandate.breaches is None
    assert run.analyzers.mandate.get_analysis()["breaches_passive"] == 0


def test_a_run_folder_keeps_it(tmp_path: Path) -> None:
    record = replay(PANEL, "pa", LIMITS | {"lot": 1.0})
    write_run(record, tmp_path / "run", PANEL)
    again = read_run(tmp_path / "run", whole=True)
    assert record.breaches is not None
    assert again.breaches is not None
    pd.testing.assert_frame_equal(again.breaches, record.breaches)
    assert again.metrics() == pytest.approx(record.metrics(), rel=1e-12)
    assert again.rounding == record.rounding > 0.0
    assert (tmp_path / "run" / "breaches.parquet").exists()


def test_one_sentence_tells_it() -> None:
    day = pd.Timestamp("2020-01-02")
    rows = [(day, "max_weight", "A", 0.054, 0.05, "passive", ""), (day, "max_turnover", "", 0.03, 0.02, "forced", "")]
    text = limits_told(pd.DataFrame(rows, columns=list(COLUMNS)), 503)
    assert (
        text == "limits kept in 502 of 503 decisions; 1 forced (max_turnover); passive on 1 bars, at most 0.4 percentage points"
    )
    assert limits_told(pd.DataFrame(columns=list(COLUMNS)), 12) == "limits kept in 12 of 12 decisions"


def test_the_sentence_counts_names_where_a_count_was_exceeded() -> None:
    day = pd.Timestamp("2020-01-02")
    count, share = (day, "max_names", "", 6.0, 5.0, "passive", ""), (day, "max_sector", "Tech", 0.21, 0.2, "passive", "")
    told = [limits_told(pd.DataFrame(rows, columns=list(COLUMNS)), 9) for rows in ([count], [count, share])]
    assert told[0].endswith("passive on 1 bars, at most 1 name too many")
    assert told[1].endswith("passive on 1 bars, at most 1 percentage points and 1 name too many")


class WithHoldings(PATracker):
    """An account that holds a third of its value in one name when the run begins."""

    def start(self) -> None:
        self.broker.getposition(self.getdatabyname(PANEL.symbols[3])).update(3000, 100.0)
        super().start()


@pytest.mark.parametrize("max_turnover", [None, 0.1])
def test_what_was_held_before_the_first_decision_is_inherited(max_turnover: float | None) -> None:
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.broker.setcash(1e6)
    limits = {"max_turnover": max_turnover, "entry_turnover": max_turnover}
    cerebro.addstrategy(WithHoldings, max_weight=0.15, fill="close", **limits)
    cerebro.addanalyzer(MandateAnalyzer, _name="mandate")
    (run,) = cerebro.run()
    found, table = run.analyzers.mandate.get_analysis(), run.analyzers.mandate.breaches
    inherited = table[table["kind"] == "inherited"]
    assert set(inherited["item"]) == {PANEL.symbols[3]}
    assert set(inherited["limit"]) == {"max_weight"}
    # The first trade restores the cap, unless the turnover does not allow it.
    assert found["breaches_inherited"] == (1 if max_turnover is None else 2)
    assert found["breaches_active"] == 0
    assert set(inherited["date"]) == {pd.Timestamp(date) for date in PANEL.dates[: found["breaches_inherited"]]}
