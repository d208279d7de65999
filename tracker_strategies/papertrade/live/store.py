"""The account inside a cerebro that runs on and on: a store, a broker and feeds, in backtrader's manners.

Bars of the past are delivered first (DELAYED), with the account as it was; then the feeds are LIVE. A session is released as a
whole: ``next()`` is called once for it. In the night after it, what the strategy has ordered is decided, written down and sent
by the same code as ``tracker paper step``, and the process waits for the next session. It may be killed and started again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies._checks import count
from tracker_strategies.errors import LockedError, TrackerError, UniverseError
from tracker_strategies.execution.commission import charge, charge_by_name
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.deciding.by_checkpoint import bar_before_the_open
from tracker_strategies.papertrade.errors import BrokerUnavailableError, PaperError, RiskError, StaleDataError
from tracker_strategies.papertrade.journal.lock_and_halt import account_lock
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.live.broker import PaperBroker
from tracker_strategies.papertrade.live.feed import PaperData
from tracker_strategies.papertrade.live.mistakes import check_cerebro
from tracker_strategies.papertrade.live.session_memory import Known, SessionMemory, read
from tracker_strategies.strategies import TrackerStrategy

FloatArray = NDArray[np.float64]

#: Least pause, in seconds, before something that failed is tried again.
_BREATH = 0.05


class PaperStore:
    """Feeds and broker of one paper account, for one run of one cerebro with one strategy.

    >>> import backtrader as bt
    >>> from tracker_strategies.papertrade import PaperAccount, PaperStore
    >>> store = PaperStore(PaperAccount.create("account", "pa", "sample", replay="2022-12-20"), poll=0.0)
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> broker = cerebro.setbroker(store.getbroker())

    Parameters
    ----------
    account : PaperAccount or path
    panel : callable, optional
        Gives the present market as a MarketPanel, instead of the account's source.
    poll : float, default 30
        Seconds between two looks for a new session.
    sessions : int, optional
        End the run after this number of decided sessions.
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
        self._panel, self._poll = panel, poll
        self._left = None if sessions is None else count("sessions", sessions)
        self._notes: deque[tuple[str, tuple[Any, ...], dict[str, Any]]] = deque()
        self._broker: PaperBroker | None = None
        self._cerebro: Any = None
        self._asked = 0.0
        self._failed = ""
        self._runs = self._stopped = False
        self._wish: Wish | None = None  # of the night, while it cannot be carried out
        self._done = ""  # the session whose night is over
        #: Said of a strategy that the account was not opened for, until it is in the journal.
        self.foreign = ""
        #: Whether the last session has been delivered.
        self.over = False
        self._take_in(move_on=False)
        self.memory = SessionMemory(self._read())
        self.past = self.memory.count

    # -- what cerebro asks of a store ----------

    def start(self, data: Any = None, broker: Any = None) -> None:
        """No connection is kept open. A cerebro that cannot work is refused."""
        if self._runs:
            raise PaperError("a PaperStore is for one run; make another one: it continues where this one ended")
        self._runs = True
        self.check()

    def check(self) -> None:
        """Raise for a mistake in the cerebro around the account."""
        cerebro = self._cerebro or getattr(self._broker, "cerebro", None)
        if cerebro is None:
            raise PaperError("call store.add_to(cerebro), which adds the account's feeds")
        check_cerebro(self, cerebro)

    def stop(self) -> None:
        """End the run as soon as possible."""
        self._stopped = True

    def put_notification(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Notify the strategy (``notify_store``)."""
        self._notes.append((message, args, kwargs))

    def get_notifications(self) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        """Notifications that wait to be delivered."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def __getstate__(self) -> NoReturn:
        """Backtrader copies what it optimises into other processes."""
        raise PaperError("optstrategy runs a strategy many times, but a paper account can run only once: use addstrategy")

    def getbroker(self) -> PaperBroker:
        """The account as a broker."""
        if self._broker is None:
            self._broker = PaperBroker()
            self._broker.prepare(self)
            config = self.account.config
            charge(self._broker, config.costs)
            charge_by_name(self._broker, config.costs_by_name, config.symbols)
        return self._broker

    def getdata(self, dataname: str) -> PaperData:
        """The feed of one name or target."""
        config = self.account.config
        if dataname not in (*config.targets, *config.symbols):
            raise UniverseError(
                f"the account has no asset named {dataname!r}; it has {', '.join((*config.targets, *config.symbols)[:6])}, ... "
                f"({len(config.symbols)} names)"
            )
        feed = PaperData(store=self, dataname=dataname)
        feed.is_target = dataname in config.targets
        return feed

    def add_to(self, cerebro: bt.Cerebro) -> list[PaperData]:
        """Add the feeds of all targets and names, under their names, and this store."""
        self._cerebro = cerebro
        cerebro.addstore(self)
        feeds = [self.getdata(name) for name in (*self.account.config.targets, *self.account.config.symbols)]
        for feed in feeds:
            cerebro.adddata(feed, name=feed.p.dataname)
        return feeds

    # -- the night ----------

    def wait(self, longest: float) -> bool | None:
        """After a session: carry out what was ordered, then look for the next one, for some seconds.

        Returns True when there is one, None when there is none yet, False when there will be none.
        """
        pause = self._asked + max(self._poll, _BREATH if self._failed else 0.0) - time.monotonic()
        session = self.memory.session(self.memory.row)
        tries = self._done != session
        if self._stopped:
            self.over = True
        elif pause > 0.0 and (self._failed or not tries):
            time.sleep(min(pause, longest))
            return None
        elif tries:
            again = bool(self._failed)
            self._asked = time.monotonic()
            if self._carry_out(session):
                self._done, self._wish, self._asked = session, None, 0.0
                self.over = self._left == 0
            elif again and not self.over and self._look():  # a newer session has come meanwhile, and nothing is sent late
                self._done, self._wish = session, None
                return True
        else:
            self._asked = time.monotonic()
            if self._look():
                self._asked = 0.0  # there may be another one at once
                return True
            self.over = not self._failed and self.account.config.clock == "replay"  # recorded history ends
        return False if self.over else None

    def _look(self) -> bool:
        """Whether another session is in the journal now."""
        try:
            taken = self._take_in(move_on=True)
        except TrackerError as problem:
            self._complain(problem)
            return False
        self._failed = ""
        if taken:
            self.memory.renew(self._read())
        return bool(taken)

    def _complain(self, problem: TrackerError) -> None:
        """Tell what went wrong, once. Recorded history does not mend itself: there it ends the run."""
        text = f"{type(problem).__name__}: {problem}"
        if self.account.config.clock == "replay" and not isinstance(problem, (LockedError, BrokerUnavailableError)):
            raise problem
        if text != self._failed:
            self.put_notification(text, problem)
        self._failed = text

    def _take_in(self, *, move_on: bool) -> list[str]:
        """Sessions that have come. Of recorded history, which has a next one at any time, one after the other."""
        if self.account.config.clock == "replay" and (newest := self._newest()):
            if self._kind(newest) in ((None,) if move_on else (None, Kind.REFUSED)):
                return []
            self._send_on()
        result = self.account.step(None if self._panel is None else self._panel(), decide=False, move_on=move_on)
        for message in result.messages:
            self.put_notification(message)
        return result.taken

    def _send_on(self) -> None:
        """A process that died between decision and sending left orders behind, and recorded history waits for them."""
        with self.account.journal(readonly=True) as journal:
            left = journal.one("select count(*) from orders where status = 'intent'")
        if left:
            self.account.step(None if self._panel is None else self._panel(), wish=Wish(None, None, [], "", None))

    def _newest(self) -> str:
        with self.account.journal(readonly=True) as journal:
            return str(journal.one("select max(session) from balances") or "")

    def _kind(self, session: str) -> Kind | None:
        """What was decided about a session; None when nothing was."""
        with self.account.journal(readonly=True) as journal:
            kind = journal.one("select kind from decisions where session = ?", (session,))
        return None if kind is None else Kind(kind)

    def _read(self) -> Known:
        with self.account.journal(readonly=True) as journal:
            return read(journal, self.account.config)

    def _carry_out(self, session: str) -> bool:
        """Turn the orders of a session into a decision, and send it; False when it must be tried again."""
        before = self._kind(session)
        if self.memory.row < self.memory.opening or (before not in (None, Kind.REFUSED) and self._wish is None):
            return True
        if self._wish is None:
            self._wish = self._make_wish()
        broker = self.getbroker()
        try:
            result = self.account.step(None if self._panel is None else self._panel(), wish=self._wish)
        except RiskError as problem:
            broker.turn_down(str(problem))
            self.put_notification(f"{type(problem).__name__}: {problem}", problem)
        except StaleDataError as problem:  # a newer session has closed; it is waited for
            self.put_notification(f"{type(problem).__name__}: {problem}", problem)
        except (PaperError, LockedError) as problem:
            self._complain(problem)
            return False
        else:
            for message in result.messages:
                self.put_notification(message)
            if self._kind(session) is None:  # halted
                self.over = self.account.config.clock == "replay"
                self._failed = "; ".join(result.messages) or "nothing was decided"
                return False
        self._failed = ""
        if before is None:
            self._log(
                [*((("strategy", self.foreign),) if self.foreign else ()), *(("rejected", t) for t in broker.rejected)], session
            )
            self.foreign = ""
            self._left = None if self._left is None else self._left - 1
        return True

    def _log(self, events: list[tuple[str, str]], session: str) -> None:
        """Who trades the account, and orders that it could not take, are events of its journal."""
        if events:
            with account_lock(self.account.folder), self.account.journal() as journal, journal.transaction("events"):
                for kind, text in events:
                    journal.note(kind, text, session)

    def _make_wish(self) -> Wish:
        """What the strategy wants tonight."""
        broker = self.getbroker()
        (strategy,) = broker.cerebro.runningstrats
        if isinstance(strategy, TrackerStrategy) and strategy.tracker.fill is not FillMode.CLOSE and strategy.bar is not None:
            strategy.tracker.open(bar_before_the_open(strategy.bar), strategy.route)
        deltas, out, singles = broker.wanted()
        weights = getattr(strategy, "weights", None) if isinstance(strategy, TrackerStrategy) else None
        known = None if weights is None else np.array(weights, dtype=np.float64)
        return Wish(known, deltas, out, "", None, singles=singles)

    def begins(self, row: int, *, due: bool) -> None:
        """A row is delivered: on the account's first session, and when a rebalance was due and not carried out, trade again."""
        for strategy in self.getbroker().cerebro.runningstrats:
            if not isinstance(strategy, TrackerStrategy):
                continue
            if row == 0:
                strategy.tracker.start = np.datetime64(self.account.config.start, "ns")
            elif due and self.memory.owed(row):
                strategy.tracker.owe()
