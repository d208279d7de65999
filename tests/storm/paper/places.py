"""One account of a case on its clock: opening it, letting sessions pass, stepping it, and what there is to compare at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.papertrade.alpaca.server import Alpaca, serving
from tests.papertrade.harness import COSTS, contents, in_a_process, state
from tests.storm.paper.plans import SESSIONS, Plan
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import PaperError

#: A strategy that raises while there is a file of that name beside it.
OWN = """
from pathlib import Path
from tracker_strategies.strategies.registry import load_strategy

class Mine(load_strategy({base!r})):
    name = "mine"
    def next(self):
        if Path({flag!r}).exists():
            raise RuntimeError("not today")
        super().next()
"""


class Place:
    """An account of a plan in a folder, at its broker."""

    def __init__(self, plan: Plan, folder: Path, server: Alpaca | None) -> None:
        self.plan, self.folder, self.server, self.panel = plan, folder, server, plan.panel
        self.clock = "broker" if server is not None else plan.kind.partition(", ")[2].split()[0]
        self.moment = ""
        self.splits: dict[str, float] = {}  # that the broker has booked and the panel does not show
        self.flag = folder / "raise"
        folder.mkdir()

    def open(self, **options: Any) -> None:
        """Open the account."""
        strategy = self.plan.strategy
        if "raise" in self.plan.events:
            path = self.folder / "mine.py"
            path.write_text(OWN.format(base=strategy, flag=str(self.flag)))
            strategy = f"{path}:Mine"
        if self.server is not None:
            options |= {"broker": "alpaca", "url": self.server.url}
        else:
            options |= {"cash": 100_000.0, "costs": COSTS, "faults": self.plan.faults}
        options |= {"wall": {"clock": "wall"}, "replay": {"replay": "2024-04-29"}}.get(self.clock, {})
        if self.clock != "replay":
            options["start"] = "2024-04-29"
        params = {"cash_flows": self.plan.flows} if self.plan.flows else {}
        PaperAccount.create(self.folder / "a", strategy, "memory", params, panel=self.panel, name="test", **options)

    @property
    def account(self) -> PaperAccount:
        """The account, as a new process would open it."""
        here = datetime.fromisoformat(self.moment or "2024-04-29T20:30:00+00:00")
        return PaperAccount(self.folder / "a", clock=lambda: here, pause=lambda seconds: None)

    def step(self, k: int, panel: Any = None) -> str:
        """One step after session k (from 1 on): what it decided, or the name of its error."""
        seen = self.panel if self.clock == "replay" else self.panel.rows(0, k)
        try:
            return str(self.account.step(seen if panel is None else panel).decision)
        except PaperError as problem:
            return f"{type(problem).__name__}: {problem}"

    def struggle(self, k: int, kills: tuple[int, ...]) -> int:
        """A step that is killed at some of its transitions before it gets through; how many kills there were."""
        count = 0
        for point in kills:
            if self.is_done(k) or in_a_process(lambda: self.step(k), kill_at=point):
                return count
            count += 1
        if not self.is_done(k):
            self.step(k)
        return count

    def is_done(self, k: int) -> bool:
        """Whether a step would bring the next session of recorded history."""
        if self.clock != "replay":
            return False
        session = str(SESSIONS[k - 1].date())
        with self.account.journal(readonly=True) as journal:
            decided = journal.one("select 1 from decisions where session = ? and kind != 'refused'", (session,))
            waiting = [row[0] for row in journal.rows("select cid from orders where status = 'intent'")]
        if not decided or not waiting:
            return bool(decided)
        with self.account.broker() as broker:  # killed before it could be written down that they were sent
            return len(broker.reports(waiting)) == len(waiting)

    # -- time ----------

    def evening(self, k: int) -> None:
        """Session k has closed."""
        self.at(f"{SESSIONS[k - 1].date()}T20:30:00+00:00")
        if self.server is not None:
            self.server.steer("close")

    def morning(self, k: int) -> None:
        """The session after k opens, at its opening prices, and trades."""
        self.at(f"{SESSIONS[k].date()}T14:00:00+00:00")
        if self.server is not None:
            self.server.steer("open", prices=self.prices(k + 1))

    def at(self, moment: str) -> None:
        """Set the clocks."""
        self.moment = moment
        if self.server is not None:
            self.server.at(moment)

    def prices(self, k: int) -> dict[str, float]:
        """Opening prices of session k."""
        row = min(k, self.panel.n_bars) - 1
        opens = self.panel.close if self.panel.open is None else self.panel.open
        found = dict(zip(self.panel.symbols, np.asarray(opens[row]).tolist(), strict=True))
        return {name: price / self.splits.get(name, 1.0) for name, price in found.items()}

    # -- the end ----------

    def result(self) -> dict[str, Any]:
        """All that journal and broker hold, without the times at which it was written."""
        halted = (self.folder / "a" / "HALT").exists()
        if self.server is None:
            found = state(self.account) | {"halted": halted}
            found["journal"]["meta"] = [row for row in found["journal"]["meta"] if row[0] != "config"]  # paths are in it
            return found
        there = self.server.state
        orders = sorted((o["client_order_id"], o["qty"], o["filled_qty"], o["status"]) for o in there["orders"])
        journal = contents(self.folder / "a" / "journal.db")
        journal["meta"] = [row for row in journal["meta"] if row[0] != "config"]  # the address is in it
        return {"journal": journal, "orders": orders, "cash": there["cash"], "positions": there["positions"], "halted": halted}


@contextmanager
def place(plan: Plan, folder: Path, *, broker: bool) -> Iterator[Place]:
    """An account of a plan, opened."""
    if not broker:
        here = Place(plan, folder, None)
        here.open()
        yield here
        return
    opens = plan.panel.open
    assert opens is not None
    with serving(prices=dict(zip(plan.panel.symbols, opens[0].tolist(), strict=True))) as server:
        server.at("2024-04-29T20:30:00+00:00")
        here = Place(plan, folder, server)
        here.open(**({"actions": str(folder / "actions.csv")} if "split" in plan.kind else {}))
        yield here


Work = Callable[[], None]
