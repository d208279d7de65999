"""The four ways to run a case, and what each of them leaves to be judged."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.storm.limits.books import Seen
from tests.storm.limits.cases import Case
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.registry import load_strategy


def run(case: Case, way: str | None = None) -> Seen:
    """Run a case in its way, or in another."""
    way = way or case.way
    if way == "paper":
        return _paper(case)
    options: dict[str, Any] = {"costs": case.cost_model, "cash": case.cash, "orders": True}
    params = case.params | ({"broker": "ordinary"} if way == "ordinary" else {})
    record = (replay if way == "replay" else backtest)(case.panel, load_strategy(case.strategy), params, **options)
    return _seen(case, record)


def _seen(case: Case, record: RunRecord) -> Seen:
    assert record.decisions is not None
    return Seen(case.panel, record.decisions, record.weights, record.value, record.orders, record.breaches, case.cash)


def _paper(case: Case) -> Seen:
    """A paper account, opened again for each session. What gave way is told by the backtest, which decides the same."""
    panel = case.panel
    first = str(panel.dates[0].astype("datetime64[D]"))
    with tempfile.TemporaryDirectory(prefix="storm-") as place:
        account = PaperAccount.create(
            Path(place) / "account",
            case.strategy,
            "memory",
            case.params,
            panel=panel,
            targets=panel.targets,
            start=first,
            costs=case.cost_model,
            cash=case.cash,
        )
        for k in range(1, panel.n_bars + 1):
            PaperAccount(account.folder).step(panel.rows(0, k))
        with account.journal(readonly=True) as journal:
            decided = np.array([np.frombuffer(row[0]) for row in journal.rows("select weights from decisions order by session")])
            books = journal.rows("select value, sizes from balances order by session")
            fills = journal.rows(
                "select case o.due when 'close' then o.session else f.session end, o.symbol, f.size, f.price, f.fee "
                "from fills f join orders o on o.cid = f.cid where o.due != 'settle' order by f.id"
            )
    value, sizes = np.array([row[0] for row in books]), np.array([np.frombuffer(row[1]) for row in books])
    last = pd.DataFrame(panel.close).ffill().fillna(0.0).to_numpy()
    orders = pd.DataFrame([tuple(row) for row in fills], columns=["date", "symbol", "size", "price", "commission"])
    orders["date"] = pd.to_datetime(orders["date"])
    truth = run(case, "basket")
    return Seen(panel, decided, sizes * last / value[:, None], value, orders, truth.breaches, case.cash)
