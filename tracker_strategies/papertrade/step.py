"""One step: settle, reconcile, bring in new sessions, let the strategy decide about the newest, write it down, send it in time.

A step may die at any moment. Whatever it had written down is then the truth, and the next step goes on from there: bars that
are in are not read again, a decision that was made is not made again, an order that the broker has is not sent again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from datafeeds import MarketPanel
from tracker_strategies.papertrade.brokers.base import Broker
from tracker_strategies.papertrade.brokers.booked_ahead import confirmed_actions
from tracker_strategies.papertrade.brokers.sending import Sender
from tracker_strategies.papertrade.brokers.sending_hours import SendingHours
from tracker_strategies.papertrade.brokers.settling import cancel_open, drop_intents, reconcile, settle
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.deciding.by_cerebro import Wish
from tracker_strategies.papertrade.deciding.decider import Decider
from tracker_strategies.papertrade.deciding.risk import TOLD, untold_loss
from tracker_strategies.papertrade.errors import ReconcileError, RiskError, StaleDataError
from tracker_strategies.papertrade.journal.fills import DUST
from tracker_strategies.papertrade.journal.history import Bars, History
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.lock_and_halt import HaltSwitch
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.market.corporate_actions import Action, read_actions
from tracker_strategies.papertrade.market.lost_rows import note_lost_rows
from tracker_strategies.papertrade.market.new_sessions import OVERLAP, Intake, read_source
from tracker_strategies.papertrade.market.session_clocks import SessionClock
from tracker_strategies.papertrade.market_turn import market_turn
from tracker_strategies.papertrade.risk_limits import RiskLimits


@dataclass
class StepResult:
    """What a step did.

    Attributes
    ----------
    session : str
        The newest session of the account; empty before the first.
    taken : list of str
        Sessions that were brought in.
    decision : Kind or ""
        What was decided by this step; empty when there was nothing to decide.
    sent, refused : int
        Orders that the broker took, and that it refused.
    waits : str
        Why orders that were decided are not sent yet.
    early : bool
        Whether they only wait for the hour at which they may be sent.
    halted : str
        Why nothing is decided or sent until a person resumes.
    way : str
        How the strategy's state was found: "checkpoint" or "replay".
    messages : list of str
        For people.

    Examples
    --------
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> account = PaperAccount.create("account", "pa", "sample", replay="2022-12-20")
    >>> result = account.step()
    >>> result.session, result.decision, result.sent
    ('2022-12-20', <Kind.ACT: 'act'>, 20)
    """

    session: str = ""
    taken: list[str] = field(default_factory=list)
    decision: Kind | Literal[""] = ""
    sent: int = 0
    refused: int = 0
    waits: str = ""
    early: bool = False
    halted: str = ""
    way: str = ""
    messages: list[str] = field(default_factory=list)


class Step:
    """Everything that one step needs; see :meth:`run`.

    With ``decide=False`` it takes sessions in and sends what was decided before; with a ``wish`` it does not ask the strategy but
    decides that. With ``move_on`` recorded history goes on after a session whose rebalance was refused.
    """

    def __init__(
        self,
        journal: Journal,
        config: AccountConfig,
        limits: RiskLimits,
        broker: Broker,
        clock: SessionClock,
        halt: HaltSwitch,
        *,
        panel: MarketPanel | None = None,
        pause: Callable[[float], None] = time.sleep,
        verify: bool = False,
        wish: Wish | None = None,
        decide: bool = True,
        move_on: bool = False,
    ) -> None:
        self.journal, self.config, self.limits, self.broker, self.clock, self.halt = journal, config, limits, broker, clock, halt
        self.ledger = Ledger(journal, config)
        self._panel, self._pause, self._verify, self._wish, self._decides = panel, pause, verify, wish, decide
        self._move_on = move_on
        self._hours = SendingHours(config, broker, clock)
        self._ahead = ""  # what the broker has booked and the account has not
        self.result = StepResult()

    def run(self) -> StepResult:
        """Do all that can be done now."""
        listed = read_actions(self.config.actions)
        known = self.ledger.last_session(back=OVERLAP)
        panel = self.config.open() if self._panel is None else self._panel
        source, notes = read_source(self.config, self.ledger.tickers(), listed, panel, after=known)
        self.result.messages += [*notes, *note_lost_rows(self.journal, panel)]
        self._finish_sessions()
        settle(self.ledger, self.broker)
        known = self.ledger.last_session()
        visible = self.clock.visible(source.sessions, known, done=self._is_done(known))
        source, self._goes_on = source.rows(0, visible), visible < len(source.sessions)
        if self._wish is None:  # a wish is about the sessions that are known
            self._take_sessions(source, [*listed, *confirmed_actions(self.ledger, source, listed)])
        if not self.result.taken:  # otherwise they agreed after the last session that was taken
            self._ahead = reconcile(self.ledger, self.broker)
        self.result.session = newest = self.ledger.last_session("balances")
        if not newest:
            self.result.messages.append(f"no session yet: the account begins on {self.config.start}")
            return self.result
        self._act(newest)
        return self.result

    def _is_done(self, session: str) -> bool:
        """Whether recorded history may go on after a session: it was decided about, and what was decided is sent."""
        if session < self.config.start:
            return True
        waits = self.journal.one("select 1 from orders where status = 'intent' and session = ?", (session,))
        kind = self.journal.one("select kind from decisions where session = ?", (session,))
        return not waits and (self._is_decided(session) or (self._move_on and kind == Kind.REFUSED))

    def _is_decided(self, session: str) -> bool:
        """Whether a session was decided about. What was refused may be decided anew."""
        kind = self.journal.one("select kind from decisions where session = ?", (session,))
        return kind is not None and kind != Kind.REFUSED

    # -- sessions ----------

    def _take_sessions(self, source: Bars, listed: list[Action]) -> None:
        warm_up = self._intake(listed).warm_up(source)
        if warm_up is not None:
            self.ledger.take_bars(warm_up.bars, warm_up.actions)
        for session in self._intake(listed).sessions(source, goes_on=self._goes_on):
            self._leave_the_past()
            self.ledger.take_bars(session.bars, session.actions, session.notes, pays=self.broker.simulated)
            self.result.messages += [*session.notes, *map(str, session.actions)]
            self._finish_sessions()
            self.result.taken.append(session.name)

    def _intake(self, listed: list[Action]) -> Intake:
        tail = History.load(self.journal, self.config, after=self.ledger.last_session(back=OVERLAP)).bars
        past = partial(History.load, self.journal, self.config)
        return Intake(self.config, self.limits, tail, self.ledger.lasts(), self.ledger.tickers(), listed, past)

    def _leave_the_past(self) -> None:
        """A new session is here: orders for the one before are over, and nothing is sent late."""
        newest = self.ledger.last_session("balances")
        drop_intents(self.ledger, f"not sent before the next session; orders of {newest} are not sent late")
        if not self.broker.simulated:
            cancel_open(self.ledger, self.broker)

    def _finish_sessions(self) -> None:
        """Settle every session whose bar is in and whose balance is not."""
        for (session,) in self.journal.rows(
            "select session from bars where session >= ? and session > (select coalesce(max(session), '') from balances) "
            "order by session",
            (self.config.start,),
        ):
            if self.broker.simulated:
                self.result.messages += market_turn(self.ledger, self.broker, self.limits, self.halt, session)
            settle(self.ledger, self.broker)
            self._ahead = reconcile(self.ledger, self.broker)
            self._miss(session)
            self.ledger.close_session(session)

    def _miss(self, session: str) -> None:
        """Sessions before this one that nobody decided about stay undecided."""
        late = self.journal.rows(
            "select session from balances where session < ? and session > (select coalesce(max(session), '') from decisions)",
            (session,),
        )
        for (missed,) in late:
            why = "no step ran while it was the newest session; orders are never sent late"
            self.ledger.decide(missed, Kind.MISSED, why)
            self.result.messages.append(f"{missed} was missed: its orders are not sent late")

    # -- the newest session ----------

    def _act(self, newest: str) -> None:
        """Decide about the newest session, unless that was done, and send what was decided."""
        stale = self.clock.late(newest)
        if stale and self._decides:
            raise StaleDataError(f"{stale}. Nothing is decided or sent; step again when the source is up to date")
        if self._ahead and self._decides:
            raise ReconcileError(
                f"{self._ahead}. Nothing is traded until this is clear. Step again when the source or the file of actions shows "
                "it. To confirm it now: tracker paper adopt; if it did not happen: tracker paper adopt --as-shares; or sell "
                "everything: tracker paper flatten"
            )
        if self._decides and (self.ledger.sizes() < -DUST).any():
            short = [s for s, size in zip(self.config.symbols, self.ledger.sizes(), strict=True) if size < -DUST]
            raise ReconcileError(
                f"the broker reports a short position in {', '.join(short[:5])}, but this account is long only: nothing is "
                "decided. Buy the shares back there, then: tracker paper adopt; or close all positions: tracker paper flatten"
            )
        if not self._is_decided(newest):
            if not self._decides:
                return
            self._decide(newest)
        elif self._verify:
            self.result.messages += Decider(self.ledger, self.limits, self.broker).verify(newest)
        if not (stale or self._ahead):
            self._send(newest)

    def _decide(self, newest: str) -> None:
        self._refuse_after_a_loss(newest)
        self.result.halted = self.halt.reason() or ""
        if self.result.halted:
            self.result.messages.append(f"halted ({self.result.halted}): nothing is decided; continue with: tracker paper resume")
            return
        late = self._hours.verdict(newest).late
        if late:
            self._leave(newest, late)
            return
        decider = Decider(self.ledger, self.limits, self.broker)
        refused = decider.decide(newest, verify=self._verify, wish=self._wish)
        self.result.decision, self.result.way = decider.kind, decider.way
        self.result.messages += decider.messages
        if refused:
            raise RiskError(
                f"the rebalance of {newest} was rejected as a whole: {'; '.join(refused)}. No order was recorded or sent. Check "
                "the reason, then change the limit (tracker paper limits) and step again, or wait for the next session"
            )

    def _refuse_after_a_loss(self, newest: str) -> None:
        """After a large loss the account halts. Looked for before a halt is: a step that was killed in between ends the same."""
        loss, others = untold_loss(self.limits, self.ledger), self.halt.reason()
        if not loss or (others is not None and not others.startswith(loss)):  # halted by a person: looked for when that is over
            return
        self.halt.set(loss)
        self.ledger.decide(newest, Kind.REFUSED, loss, facts={TOLD: newest})
        raise RiskError(
            f"{loss}. The account is halted: nothing is decided or sent, on this session or a later one. Check the "
            "cause, then continue with: tracker paper resume; or sell everything: tracker paper flatten"
        )

    def _leave(self, newest: str, why: str) -> None:
        """The hour of the newest session has passed."""
        missed = self.ledger.miss(newest, why)
        self.result.decision = Kind.MISSED if missed else self.result.decision
        what = "was missed" if missed else "was not carried out in full"
        late = "Orders are never sent late; the next session is decided from scratch"
        self.result.messages.append(f"{newest} {what}: {why}. {late}")

    def _send(self, newest: str) -> None:
        if not self.journal.one("select 1 from orders where status = 'intent' and session = ?", (newest,)):
            return
        sent = Sender(self.ledger, self.broker, self.halt, self._hours, self._pause).send(newest)
        self.result.sent, self.result.refused, self.result.waits, self.result.early = (
            sent.count,
            sent.refused,
            sent.waits,
            sent.early,
        )
        if sent.refused:
            self.result.messages.append(f"{sent.refused} orders were refused by the broker: see tracker paper status")
        if sent.waits:
            self.result.messages.append(sent.waits)
        if sent.late:
            self._leave(newest, sent.late)
