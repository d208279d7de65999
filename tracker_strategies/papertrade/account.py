"""PaperAccount: a paper account in a folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from datafeeds import MarketPanel, MarketSource
from tracker_strategies.errors import OutputError, TrackerError
from tracker_strategies.execution.holdings.flows import Flows, flows_of
from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.brokers.connecting import connect
from tracker_strategies.papertrade.brokers.settling import Splits
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.description import keep_description, kept_description
from tracker_strategies.papertrade.interventions import book_what_happened, cancel_waiting, flatten_account, take_over
from tracker_strategies.papertrade.journal import journal as journals
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch, account_lock
from tracker_strategies.papertrade.journal.payments import SCHEDULE, changed_schedule, schedule_of
from tracker_strategies.papertrade.market.session_clocks import SessionClock, clock_of
from tracker_strategies.papertrade.opening import write_account
from tracker_strategies.papertrade.risk_limits import RiskLimits
from tracker_strategies.papertrade.step import Step, StepResult

#: Seconds that an exit waits for a step that runs.
LONGEST_STEP = 60.0


class PaperAccount:
    """A paper account: a folder with a journal in it.

    Open one with :meth:`create`, once; then run :meth:`step` after every session. Nothing is kept in memory between two steps.

    Parameters
    ----------
    folder : path
    broker : Broker, optional
        Instead of the one that the account was opened with.
    clock : callable, optional
        The present time, in UTC, for accounts that follow a calendar.
    pause : callable, optional
        Waits for a given number of seconds before a broker is queried again.
    check : bool, default True
        False for :meth:`halt` and :meth:`flatten` of an account whose journal cannot be read.

    Examples
    --------
    >>> account = PaperAccount.create("demo", "apas", "sample", replay="2020-01-02")    # doctest: +SKIP
    >>> account.step().sent                                                             # doctest: +SKIP
    20
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        broker: Broker | None = None,
        clock: Callable[[], datetime] | None = None,
        pause: Callable[[float], None] = time.sleep,
        check: bool = True,
    ) -> None:
        self.folder = Path(folder).expanduser()
        self.halt_switch = HaltSwitch(self.folder)
        self._broker, self._clock, self._pause = broker, clock, pause
        self.troubles: list[str] = []  #: what an emergency exit could not do on its way
        if check:
            self.config  # noqa: B018 (read now, and kept)

    @cached_property
    def config(self) -> AccountConfig:
        """The account as it was opened."""
        with Journal(self.folder / journals.FILE, readonly=True, quick=True) as journal, journal.errors():
            return AccountConfig.from_json(journal.meta("config"))

    @cached_property
    def begun(self) -> bool:
        """Whether it has had a session; one whose journal cannot be read is taken to have had one."""
        try:
            with Journal(self.folder / journals.FILE, readonly=True, quick=True) as journal, journal.errors():
                return journal.one("select 1 from balances limit 1") is not None
        except TrackerError:
            return True

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str],
        strategy: str,
        source: str | MarketSource,
        params: Mapping[str, Any] | None = None,
        *,
        panel: MarketPanel | None = None,
        targets: tuple[str, ...] = ("INDEX",),
        start: str | None = None,
        replay: str | None = None,
        symbols: tuple[str, ...] | None = None,
        limits: RiskLimits | None = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Open an account in a new folder.

        Parameters
        ----------
        strategy, params, targets
            See :class:`~tracker_strategies.papertrade.config.AccountConfig`. The param ``cash_flows`` is what is paid in and out
            on dates after the first session: see :meth:`change_flows`.
        source : str or MarketSource
            Where bars come from. Its ``gaps`` are for the history that is there now: whatever happens later, a session without a
            price is a trading halt, of which an account must not die.
        panel : MarketPanel, optional
            Use this instead of opening the source.
        start : str, optional
            First session that may trade; by default the newest one in the source. Earlier bars are learned from.
        replay : str, optional
            Practise on recorded history from this date on: every step brings one more session.
        symbols : tuple of str, optional
            Names that may be held; by default all of the source (or the strategy's parameter ``assets``).
        **options
            ``cash`` or ``holdings`` (an Account), ``costs``, ``broker``, ``url``, ``clock``, ``calendar``, ``actions``,
            ``faults``, ``verify_every``: see AccountConfig; ``gaps``, ``adjust``, ``seed``, ``renames``: see MarketSource.

        Raises
        ------
        ParameterError, DataError, OutputError, StrategyError
            Before anything is written.
        """
        given: dict[str, Any] = {"panel": panel, "targets": targets, "start": start, "replay": replay, "symbols": symbols}
        place = Path(folder).expanduser()
        account = cls(write_account(place, strategy, source, params, limits=limits, name=name, **given, **options))
        keep_description(account.folder, account.config)
        return account

    # -- pieces ----------

    def journal(self, *, readonly: bool = False, from_copy: bool = False) -> Journal:
        """The journal, to be closed after use."""
        return Journal(self.folder / journals.FILE, readonly=readonly, from_copy=from_copy)

    def limits(self) -> RiskLimits:
        """The limits as they are now."""
        with self.journal(readonly=True) as journal, journal.errors():
            return RiskLimits.from_json(journal.meta("limits"))

    def change_limits(self, given: Mapping[str, Any]) -> RiskLimits:
        """Replace some of the limits."""
        with account_lock(self.folder), self.journal() as journal:
            limits = RiskLimits.from_json(journal.meta("limits")).changed(given)
            with journal.transaction("limits"):
                journal.set_meta("limits", limits.to_json())
                journal.note("limits", ", ".join(f"{k}={v}" for k, v in given.items()))
        return limits

    def flows(self) -> Flows | None:
        """Payments in and out, past and planned; None if there are none."""
        with self.journal(readonly=True) as journal:
            return schedule_of(journal)

    def change_flows(self, changes: Mapping[str, Any]) -> Flows | None:
        """Add payments on dates after the newest session, replace them, or remove them with None; ``each`` is the contribution.

        Raises FlowError for a date that has passed, and at Alpaca, where a person pays; ParameterError for what is not a payment.
        """
        with account_lock(self.folder), self.journal() as journal:
            plain = changed_schedule(Ledger(journal, self.config), changes)
            with journal.transaction("flows"):
                journal.set_meta(SCHEDULE, json.dumps(plain))
                journal.note("flows", ", ".join(f"{day}={amount}" for day, amount in changes.items()))
        return flows_of(plain or None)

    @contextmanager
    def broker(self, *, from_copy: bool = False) -> Iterator[Broker]:
        """The account's broker, connected."""
        if self._broker is not None:
            yield self._broker
            return
        broker = connect(self.config, self.folder, self._pause, lambda: self.begun, from_copy=from_copy)
        try:
            yield broker
        finally:
            broker.close()

    def session_clock(self, broker: Broker | None = None) -> SessionClock:
        """The clock that decides which sessions have ended. A broker's own clock has priority over this computer's."""
        return clock_of(self.config, broker, self._clock)

    # -- what it does ----------

    def step(
        self,
        panel: MarketPanel | None = None,
        *,
        verify: bool = False,
        max_move: float | None = None,
        wish: Wish | None = None,
        decide: bool = True,
        from_copy: bool = False,
        move_on: bool = False,
    ) -> StepResult:
        """Do everything that is due now: see :mod:`tracker_strategies.papertrade.step`.

        Parameters
        ----------
        panel : MarketPanel, optional
            Use this instead of opening the source.
        verify : bool, default False
            Replay everything, whatever the checkpoint says, and compare with what was decided.
        max_move : float, optional
            Accept price moves up to this size in this step.
        wish : Wish, optional
            This decision, instead of the strategy's.
        decide : bool, default True
            False only takes sessions in, and sends what was decided before.
        from_copy : bool, default False
            The account's files were deliberately restored from a copy: continue from there, although newer commits were made.
        move_on : bool, default False
            In recorded history, continue with the next session although the rebalance of the newest was refused.
        """
        copied = {"from_copy": from_copy}
        with account_lock(self.folder), self.journal(**copied) as journal, self.broker(**copied) as broker:
            with journal.errors():
                limits = RiskLimits.from_json(journal.meta("limits"))
            if max_move is not None:
                limits = limits.changed({"max_move": max_move})
            keep_description(self.folder, self.config)
            clock = self.session_clock(broker)
            options = {"panel": panel, "pause": self._pause, "verify": verify, "wish": wish, "decide": decide, "move_on": move_on}
            return Step(journal, self.config, limits, broker, clock, self.halt_switch, **options).run()  # type: ignore[arg-type]

    def halt(self, why: str = "by hand", *, cancel_open_orders: bool = False) -> int:
        """Stop all sending, at once, also in a step that runs now; return how many open orders were cancelled.

        The switch is set first and needs nothing but the folder. Orders are cancelled at the broker, whatever the journal says.
        """
        self.halt_switch.set(why)
        if not cancel_open_orders:
            return 0
        with self._emergency() as (config, ledger, broker):
            count = cancel_waiting(broker, config.name)
            self.troubles += book_what_happened(ledger, broker)
        return count

    def resume(self) -> None:
        """Continue after a halt."""
        self.halt_switch.clear()

    def adopt(self, *, as_shares: bool = False) -> list[str]:
        """Take the broker's account over into the journal, and return the differences.

        What looks like a split or a new ticker that only the broker has booked is taken as that, unless ``as_shares`` says that
        shares came in or went out.
        """
        with account_lock(self.folder), self.journal() as journal, self.broker() as broker:
            return take_over(Ledger(journal, self.config), broker, Splits.SHARES if as_shares else Splits.WAIT)

    def flatten(self, *, strangers: bool = False) -> StepResult:
        """Halt, cancel open orders, and sell everything that is held, if necessary without the journal.

        ``strangers``: also positions at the broker that are not of the account's names. Without it they are an error, at the end.
        """
        try:
            self.halt_switch.set("flattened by hand")  # first: killed at any moment, the strategy must not go on
        except OutputError as problem:
            self.troubles.append(str(problem))
        with self._emergency() as (config, ledger, broker):
            result = flatten_account(config, ledger, broker, self._pause, strangers=strangers)
        result.messages = [*self.troubles, *result.messages]
        return result

    @contextmanager
    def _emergency(self) -> Iterator[tuple[AccountConfig, Ledger | None, Broker]]:
        """Description, books and broker for an exit, which goes on without books that cannot be opened.

        A step that runs stops at the halt before its next order; it is waited for.
        """
        with ExitStack() as held:
            ledger = None
            try:
                held.enter_context(account_lock(self.folder, timeout=LONGEST_STEP))
                ledger = Ledger(held.enter_context(self.journal()), self.config)
            except TrackerError as problem:
                self.troubles.append(f"the journal cannot be used ({type(problem).__name__}: {problem})")
                try:
                    self.config  # noqa: B018 (from the journal, as long as that can be read)
                except TrackerError:
                    self.__dict__["config"] = kept_description(self.folder, problem)
            yield self.config, ledger, held.enter_context(self.broker())
