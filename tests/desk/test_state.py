"""The next day: what was learned is kept, and continues as if all had been learned again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.desk.test_parity import NEEDED
from tests.markets import random_panel
from tracker_strategies import Account, orders_for
from tracker_strategies.desk.state import FILE
from tracker_strategies.errors import OutputError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import learning
from tracker_strategies.strategies.registry import NAMES

PANEL = random_panel(60, 6, seed=8, ohlc=True)
GAPS = random_panel(60, 6, seed=8, ohlc=True, gaps=True)
ACCOUNT = Account(250.0, {"S0": 120.0, "S2": 35.0})
LIVING = {"listing_warmup": 3, "delist_after": 4}


@pytest.mark.parametrize("lot", [0.0, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_every_strategy_continues_with_the_orders_of_a_full_run(tmp_path: Path, name: str, lot: float) -> None:
    params = NEEDED.get(name, {}) | ({"lot": lot} if lot else {})
    first = orders_for(PANEL.rows(0, 50), name, ACCOUNT, params, state=tmp_path)
    assert first.to_csv() == orders_for(PANEL.rows(0, 50), name, ACCOUNT, params).to_csv()
    for stop in (51, 51, 55):  # a day, the same day again, a week
        held = Account(10.0 * stop, {"S1": 10.0 + stop, "S5": 20.0})
        again = orders_for(PANEL.rows(0, stop), name, held, params, state=tmp_path)
        whole = orders_for(PANEL.rows(0, stop), name, held, params)
        assert again.notes == whole.notes
        assert again.table["symbol"].tolist() == whole.table["symbol"].tolist()
        np.testing.assert_allclose(again.table["qty"], whole.table["qty"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("params", [LIVING, {**LIVING, "max_names": 3, "max_turnover": 0.2}], ids=["free", "limits"])
def test_a_living_market_continues_too(tmp_path: Path, params: dict[str, Any]) -> None:
    there = [name for i, name in enumerate(GAPS.symbols) if np.isfinite(GAPS.close[40:, i]).all()]
    held = Account(500.0, {there[0]: 30.0})
    for stop in range(41, 60, 3):
        again = orders_for(GAPS.rows(0, stop), "pa", held, params, state=tmp_path)
        whole = orders_for(GAPS.rows(0, stop), "pa", held, params)
        assert again.to_csv() == whole.to_csv()


def test_only_the_new_bars_are_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    orders_for(PANEL.rows(0, 50), "ensemble", ACCOUNT, state=tmp_path)
    seen: list[Any] = []

    class Counting(learning.PanelGate):
        def read(self) -> Any:
            seen.append(super().read().date)
            return super().read()

    monkeypatch.setattr(learning, "PanelGate", Counting)
    orders_for(PANEL.rows(0, 52), "ensemble", ACCOUNT, state=tmp_path)
    assert set(seen) == set(PANEL.dates[50:52])


def test_a_changed_past_is_named_and_learned_anew(tmp_path: Path) -> None:
    orders_for(PANEL.rows(0, 50), "pa", ACCOUNT, state=tmp_path)
    close = PANEL.close.copy()
    close[20:25, 3] *= 0.5
    split = replace(PANEL, close=close, open=None, high=None, low=None, volume=None)
    plain = replace(PANEL, open=None, high=None, low=None, volume=None)
    plan = orders_for(split.rows(0, 51), "pa", ACCOUNT, state=tmp_path)
    (note,) = plan.notes
    assert f"the past has changed: S3 on {PANEL.day(20)} and on 4 other dates; learned from the first bar" in note
    assert plan.to_csv() == orders_for(split.rows(0, 51), "pa", ACCOUNT).to_csv()
    assert orders_for(split.rows(0, 52), "pa", ACCOUNT, state=tmp_path).notes == ()
    (note,) = orders_for(plain.rows(1, 53), "pa", ACCOUNT, state=tmp_path).notes  # the oldest bar has gone
    assert "the past has changed" in note


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"strategy": "pas"}, "kept with another strategy"),
        ({"params": {"eps": 0.001}}, "kept with other parameters or limits"),
        ({"params": {"max_weight": 0.5}}, "kept with other parameters or limits"),
        ({"costs": CostModel(bps=1)}, "kept with other costs"),
        ({"params": {"assets": "S0,S1,S2"}}, "kept with other names"),
    ],
)
def test_a_state_of_something_else_is_not_used(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    orders_for(PANEL.rows(0, 50), "pa", ACCOUNT, state=tmp_path)
    given: dict[str, Any] = {"strategy": "pa", **changes}
    plan = orders_for(PANEL.rows(0, 51), given.pop("strategy"), ACCOUNT, state=tmp_path, **given)
    assert any(words in note for note in plan.notes)
    given = {"strategy": "pa", **changes}
    assert plan.to_csv() == orders_for(PANEL.rows(0, 51), given.pop("strategy"), ACCOUNT, **given).to_csv()


def test_a_later_state_stays_when_an_earlier_day_is_asked_for(tmp_path: Path) -> None:
    orders_for(PANEL.rows(0, 50), "pa", ACCOUNT, state=tmp_path)
    kept = (tmp_path / FILE).read_bytes()
    plan = orders_for(PANEL, "pa", ACCOUNT, state=tmp_path, as_of=PANEL.day(40))
    assert any("a later session than the last bar" in note for note in plan.notes)
    assert (tmp_path / FILE).read_bytes() == kept
    assert plan.to_csv() == orders_for(PANEL.rows(0, 41), "pa", ACCOUNT).to_csv()


def test_a_damaged_state_is_said_and_learned_anew(tmp_path: Path) -> None:
    orders_for(PANEL.rows(0, 50), "pa", ACCOUNT, state=tmp_path)
    whole = orders_for(PANEL.rows(0, 51), "pa", ACCOUNT).to_csv()
    good = (tmp_path / FILE).read_bytes()
    head, text = good.split(b"\n")
    told = json.loads(head)
    for bad in (
        b"",
        b"\xff\xfe",
        good[: len(good) // 2],
        b"[]",
        b"{}",
        json.dumps({**told, "format": 7}).encode() + b"\n" + text,
        json.dumps({**told, "rows": "many"}).encode() + b"\n" + text,
        head + b"\n{}",
        head,
        json.dumps({**told, "by_row": "%%%"}).encode() + b"\n" + text,
        json.dumps({**told, "by_name": None}).encode() + b"\n" + text,
    ):
        (tmp_path / FILE).write_bytes(bad)
        plan = orders_for(PANEL.rows(0, 51), "pa", ACCOUNT, state=tmp_path)
        assert any("learned from the first bar" in note for note in plan.notes), bad[:40]
        assert plan.to_csv() == whole
        assert orders_for(PANEL.rows(0, 51), "pa", ACCOUNT, state=tmp_path).notes == ()


def test_the_state_is_the_checkpoint_of_a_paper_account(tmp_path: Path) -> None:
    from tracker_strategies.papertrade.deciding.checkpoint import Checkpoint

    orders_for(PANEL, "ensemble", ACCOUNT, state=tmp_path / "new" / "folder")
    head, text = (tmp_path / "new" / "folder" / FILE).read_text().split("\n")
    told, point = json.loads(head), Checkpoint.from_text(text)
    assert point.bar.date == PANEL.dates[-1]
    assert told["session"] == PANEL.day(-1)
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == [FILE]


def test_weights_without_dates_are_said_to_be_new_every_day(tmp_path: Path) -> None:
    weights = dict.fromkeys(PANEL.symbols, 1.0 / len(PANEL.symbols))
    dated = {PANEL.day(3): weights}
    new = "other index weights (those without dates are new on every day: add a column date)"
    for given, told in ((weights, new), (dated, "")):
        for rows in (50, 51):
            folder = tmp_path / str(bool(told))
            plan = orders_for(PANEL.rows(0, rows), "ensemble", ACCOUNT, index_weights=given, state=folder)
        assert told in " ".join(plan.notes)
        assert bool(plan.notes) is bool(told)


def test_a_change_on_one_date_is_named_with_that_date_only(tmp_path: Path) -> None:
    orders_for(PANEL, "pa", ACCOUNT, state=tmp_path)
    close = PANEL.close.copy()
    close[20, 1] *= 1.001
    high = None if PANEL.high is None else np.maximum(PANEL.high, close)
    plan = orders_for(replace(PANEL, close=close, high=high), "pa", ACCOUNT, state=tmp_path)
    assert any(f"the past has changed: {PANEL.symbols[1]} on {PANEL.day(20)}; learned" in note for note in plan.notes)


def test_a_place_that_cannot_hold_a_state_is_named_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match=r"cannot keep the state in .*file: File exists; choose another folder"):
        orders_for(PANEL, "pa", ACCOUNT, state=tmp_path / "file")
