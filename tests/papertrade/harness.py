"""Accounts for the tests: where they live, how they are stepped and killed, and what two of them must have in common."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.brokers.base import Status
from tracker_strategies.papertrade.brokers.broker_file import FILE as BROKER_FILE
from tracker_strategies.papertrade.brokers.broker_file import BrokerFile
from tracker_strategies.papertrade.journal.crash_points import ENVIRONMENT

COSTS = CostModel(bps=5, slippage_bps=2)
#: Columns that tell when something was written, which differs from run to run.
TIMES = {"seen_at", "made_at", "at"}
#: The way in which a decision was found is no part of it: a step that was killed may have to replay.
WAYS = {"way", "verified"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses nothing there either, and writing is faster."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="paper-", dir=shared if os.access(shared, os.W_OK) else None))
    yield place
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)
    shutil.rmtree(place)


def open_account(
    place: Path, panel: MarketPanel, strategy: str = "pa", params: dict[str, Any] | None = None, **options: Any
) -> PaperAccount:
    """An account that begins on the first bar of the panel."""
    first = str(panel.dates[0].astype("datetime64[D]"))
    options = {"start": first, "costs": COSTS, "name": "test"} | options
    return PaperAccount.create(place, strategy, "memory", params, panel=panel, **options)


def step_through(account: PaperAccount, panel: MarketPanel, start: int = 1, stop: int | None = None) -> list[Any]:
    """One step per session; everything is closed and opened again between two of them."""
    return [PaperAccount(account.folder).step(panel.rows(0, k)) for k in range(start, (stop or panel.n_bars) + 1)]


def values(account: PaperAccount) -> np.ndarray:
    with account.journal(readonly=True) as journal:
        return np.array([row[0] for row in journal.rows("select value from balances order by session")])


def decided_weights(account: PaperAccount) -> np.ndarray:
    with account.journal(readonly=True) as journal:
        return np.array([np.frombuffer(row[0]) for row in journal.rows("select weights from decisions order by session")])


def contents(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of an SQLite file, without the times at which they were written."""
    found = {}
    with sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True) as db:
        for (table,) in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'").fetchall():
            columns = [c[1] for c in db.execute(f"pragma table_info({table})") if c[1] not in TIMES | WAYS | {"id"}]
            rows = db.execute(f"select {', '.join(columns)} from {table}").fetchall()
            found[table] = sorted(rows, key=repr)
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    db.close()
    for name in ("checkpoints", "seals", "chain"):  # about how and when the rest was written
        found.pop(name, None)
    found["meta"] = [row for row in found.get("meta", []) if row[0] != "opened"]
    return found


def state(account: PaperAccount) -> dict[str, Any]:
    """Everything that journal and simulated broker hold."""
    return {"journal": contents(account.folder / "journal.db"), "broker": contents(account.folder / BROKER_FILE)}


def in_a_process(work: Callable[[], Any], kill_at: int | None = None, told: list[str] | None = None) -> bool:
    """Do something in a process of its own that is killed (SIGKILL) at a transition; True when it got through.

    ``told`` collects the names of the transitions.
    """
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            if kill_at is not None:
                os.environ[ENVIRONMENT] = str(kill_at)
                os.dup2(writer, 2)
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as lines:
        words = lines.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        if told is not None:
            told += re.findall(r"killed at point \d+: (.+)", words)
        return False
    assert os.WEXITSTATUS(status) == 0, f"the step failed: {words}"
    return True


def orders(account: PaperAccount, where: str = "1") -> list[sqlite3.Row]:
    with account.journal(readonly=True) as journal:
        return journal.rows(f"select * from orders where {where} order by session, seq")


def at_the_broker(account: PaperAccount, statement: str, values: tuple[Any, ...] = ()) -> None:
    """Change something in the simulated broker's account without the journal, as its owner could."""
    with BrokerFile(account.folder / BROKER_FILE) as file, file.transaction("by hand") as db:
        db.execute(statement, values)


def events(account: PaperAccount, kind: str) -> list[str]:
    with account.journal(readonly=True) as journal:
        return [row[0] for row in journal.rows("select text from events where kind = ? order by id", (kind,))]


def books_balance(account: PaperAccount) -> None:
    """Cash is what was paid in and what the fills left; shares are the sum of the fills; no order is filled beyond its size."""
    with account.journal(readonly=True) as journal:
        assert journal.check() == "ok"
        paid = journal.one("select coalesce(sum(amount), 0) from cash")
        traded = journal.one("select coalesce(sum(-size * price - fee), 0) from fills")
        assert abs(paid + traded - float(journal.meta("cash"))) < 1e-6
        for row in journal.rows("select * from orders"):
            assert abs(row["filled"]) <= abs(row["size"]) * (1 + 1e-9)
            assert row["status"] in {str(s) for s in Status}
            total = journal.one("select coalesce(sum(size), 0) from fills where cid = ?", (row["cid"],))
            assert abs(total - row["filled"]) <= 1e-9 * max(1.0, abs(row["size"]))


def market(n_bars=12, **options):
    return random_panel(n_bars=n_bars, n_assets=4, seed=31, ohlc=True, **options)


def changed(panel, row, column, price):
    """The panel with one price replaced; NaN takes the whole bar away."""
    close = panel.close.copy()
    close[row, column] = price
    rows = {}
    for kind in ("open", "high", "low"):
        values = getattr(panel, kind).copy()
        values[row, column] = price
        rows[kind] = values
    return MarketPanel(panel.dates, panel.symbols, close, panel.targets, panel.target_close, **rows)


def day(panel, row):
    return str(panel.dates[row])[:10]
