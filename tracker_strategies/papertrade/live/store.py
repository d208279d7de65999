"""The account inside a cerebro that runs on and on: a store, a broker and feeds, in backtrader's manners.

>>> store = PaperStore("demo")                          # doctest: +SKIP
>>> cerebro.setbroker(store.getbroker())                # doctest: +SKIP
>>> store.add_to(cerebro)                               # doctest: +SKIP
>>> cerebro.addstrategy(APASTracker)                    # doctest: +SKIP
>>> cerebro.run()                                       # doctest: +SKIP

Bars of the past are delivered first (DELAYED), with the account as it was; then the feeds are LIVE. A session is released as a
whole: ``next()`` is called once for it. In the night after it, what the strategy has ordered is decided, written down and sent
by the same code as ``tracker paper step``, and the process waits for the next session. It may be killed and started again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.errors import LockedError, TrackerError
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.deciding.by_checkpoint import bar_before_the_open
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.live.feed_and_broker import PaperBroker, PaperData, SessionMemory
from tracker_strategies.strategies import TrackerStrategy

FloatArray = NDArray[np.float64]


class PaperStore:
    """Feeds and broker of one paper account, for one run of one cerebro with one strategy.

    Parameters
    ----------
    account : PaperAccount or path
    panel : callable, optional
        Gives the present market as a MarketPanel, instead of the account's source.
    poll : float, default 30
        Seconds between two looks for a new session.
    sessions : int, optional
        End the run after so many live sessions.
    """

    def __init__(
        self,
        account: PaperAccount | str | Path,
        *,
        panel: Callable[[], MarketPanel] | None = None,
        poll: float = 30.0,
        sessions: int | None = None,
    ) -> None:
        self.account = account if isinstance(account, PaperAccount) else PaperAccount(account)
        self._panel, self._poll, self._left = panel, poll, sessions
        self._notes: deque[tuple[str, tuple[Any, ...], dict[str, Any]]] = deque()
        self._broker: PaperBroker | None = None
        self._asked = 0.0
        self._stopped = False
        #: Whether the last session has been delivered.
        self.over = False
        self._take_in()
        self.memory = SessionMemory(self._history())
        self.past = self.memory.count

    # -- what cerebro asks of a store ----------

    def start(self, data: Any = None, broker: Any = None) -> None:
        """Nothing to connect: every look is a connection of its own."""

    def stop(self) -> None:
        """End the run at the next occasion."""
        self._stopped = True

    def put_notification(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Tell the strategy (``notify_store``)."""
        self._notes.append((message, args, kwargs))

    def get_notifications(self) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        """What there is to tell."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def getbroker(self) -> PaperBroker:
        """The account as a broker."""
        if self._broker is None:
            self._broker = PaperBroker()
            self._broker.prepare(self)
            charge(self._broker, self.account.config.costs)
        return self._broker

    def getdata(self, dataname: str) -> PaperData:
        """The feed of one name or target."""
        return PaperData(store=self, dataname=dataname)

    def add_to(self, cerebro: bt.Cerebro) -> list[PaperData]:
        """Add the feeds of all targets and names, under their names, and this store."""
        config = self.account.config
        cerebro.addstore(self)
        feeds = [self.getdata(name) for name in (*config.targets, *config.symbols)]
        for feed in feeds:
            feed.is_target = feed.p.dataname in config.targets
            cerebro.adddata(feed, name=feed.p.dataname)
        return feeds

    # -- the night ----------

    def wait(self, longest: float) -> bool | None:
        """After a session: carry out what was ordered, then look for the next one, for some seconds.

        Returns True when there is one, None when there is none yet, False when there will be none.
        """
        broker = self.getbroker()
        if not self.memory.carried_out:
            self._left = None if self._left is None else self._left - 1
            self._carry_out(broker)
            self.memory.carried_out = True
        if self._stopped or self._left == 0:
            self.over = True
            return False
        pause = self._asked + self._poll - time.monotonic()
        if pause > 0.0:
            time.sleep(min(pause, longest))
            return None
        self._asked = time.monotonic()
        try:
            taken = self._take_in()
        except TrackerError as problem:
            self.put_notification(f"{type(problem).__name__}: {problem}", problem)
            return None
        if not taken:
            self.over = self.account.config.clock == "replay"  # recorded history ends
            return False if self.over else None
        self._asked -= self._poll  # there may be another one at once
        self.memory.renew(self._history())
        return True

    def _take_in(self) -> list[str]:
        if self.account.config.clock == "replay" and not self._decided():
            return []  # recorded history has a next session at any time: one after the other
        result = self.account.step(None if self._panel is None else self._panel(), decide=False)
        for message in result.messages:
            self.put_notification(message)
        return result.taken

    def _decided(self) -> bool:
        """Whether nothing is left to decide."""
        with self.account.journal(readonly=True) as journal:
            return not journal.one(
                "select 1 from balances where session = (select max(session) from balances) "
                "and session not in (select session from decisions where kind != ?)",
                (Kind.REFUSED,),
            )

    def _history(self) -> tuple[History, list[Any], list[Any]]:
        with self.account.journal(readonly=True) as journal, journal.errors():
            history = History.load(journal, self.account.config)
            return (
                history,
                journal.rows("select * from balances order by session"),
                journal.rows("select * from orders order by session, seq"),
            )

    def _carry_out(self, broker: PaperBroker) -> None:
        """Turn the orders of the session into a decision, and send it."""
        (strategy,) = broker.cerebro.runningstrats
        if isinstance(strategy, TrackerStrategy) and strategy.tracker.fill is not FillMode.CLOSE and strategy.bar is not None:
            strategy.tracker.open(bar_before_the_open(strategy.bar), strategy.route)
        deltas, out = broker.wanted()
        weights = getattr(strategy, "weights", None)
        wish = Wish(None if weights is None else np.array(weights, dtype=np.float64), deltas, out, "", None)
        try:
            result = self.account.step(None if self._panel is None else self._panel(), wish=wish)
        except (PaperError, LockedError) as problem:
            broker.turn_down(str(problem))
            self.put_notification(f"{type(problem).__name__}: {problem}", problem)
            return
        for message in result.messages:
            self.put_notification(message)

    def begins(self, row: int, *, due: bool) -> None:
        """A row is delivered: on the account's first session, and when a rebalance was due and not carried out, trade again."""
        broker = self.getbroker()
        for strategy in broker.cerebro.runningstrats:
            if isinstance(strategy, TrackerStrategy) and (row == self.memory.opening or (due and self.memory.owed(row))):
                strategy.tracker.owe()
