"""A long process that steps an account after every session, and sleeps in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError, LockedError
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.errors import BrokerError, ClockError, PaperError, ReconcileError, RiskError
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.market.session_clocks import WallClock
from tracker_strategies.papertrade.step import StepResult

#: After the close, before a source can be expected to have the session.
AFTER_CLOSE = timedelta(minutes=20)
#: After the open, before the sells of the night can be expected to have filled.
AFTER_OPEN = timedelta(minutes=2)
#: How far this computer's clock may be from the broker's.
MAX_SKEW = timedelta(minutes=2)
#: Looks at an account that is said to be another than it should be, before a person is left to find out why.
DOUBTS = 6
#: Between two looks when something was not ready: data that are late, a broker that does not answer.
AGAIN = timedelta(minutes=5)


def practise(
    account: PaperAccount,
    say: Callable[[StepResult], None],
    *,
    sessions: int | None = None,
    speed: float = 0.0,
    max_move: float | None = None,
    pause: Callable[[float], None] = time.sleep,
    panel: MarketPanel | None = None,
) -> int:
    """Step through recorded history, one session after the other; return how many there were.

    Parameters
    ----------
    sessions : int, optional
        At most so many; by default to the end of the history.
    speed : float, default 0
        Seconds between two sessions.
    max_move : float, optional
        Believe moves of a price up to this.
    panel : MarketPanel, optional
        The history, instead of the account's source.
    """
    count, refused = 0, False
    if panel is None:
        panel = account.config.open()
    while sessions is None or count < sessions:
        try:
            result = account.step(panel, max_move=max_move, move_on=refused)
            refused = False
        except RiskError as refusal:  # the next session is another chance, unless a person is asked for
            refused = True
            result = StepResult(decision=Kind.REFUSED, halted=account.halt_switch.reason() or "", messages=[str(refusal)])
        if not (result.taken or result.decision or result.sent or result.refused or result.halted):
            break  # a step that was killed may have left something to send
        count += bool(result.taken or result.decision)
        say(result)
        if result.halted:
            break
        if speed:
            pause(speed)
    return count


def watch(
    account: PaperAccount,
    say: Callable[[StepResult], None],
    complain: Callable[[str], None],
    *,
    time_of_day: Callable[[], datetime] = lambda: datetime.now(UTC),
    pause: Callable[[float], None] = time.sleep,
    rounds: int | None = None,
    max_move: float | None = None,
) -> None:
    """Step now, and then after every close (and, while buys wait for sells, after every open), for ever.

    What is not ready, and a broker's account that is not what it should be, is looked at again every few minutes; what needs a
    person is said, and tried again after the next session.

    Parameters
    ----------
    rounds : int, optional
        Give up after so many steps.
    max_move : float, optional
        Believe moves of a price up to this.
    """
    clock = WallClock(account.config.calendar, time_of_day)
    doubted, doubts = "", 0
    while rounds is None or rounds > 0:
        rounds = None if rounds is None else rounds - 1
        soon = False
        waits = False
        try:
            _compare_clocks(account, time_of_day())
            result = account.step(max_move=max_move)
            waits = bool(result.waits) and account.halt_switch.reason() is None
            soon = result.early
            say(result)
        except (DataError, BrokerError, LockedError, ClockError) as problem:
            complain(f"{type(problem).__name__}: {problem}")
            soon = True
        except ReconcileError as problem:  # positions may be told late by the broker: they are asked for again before the night
            complain(f"{type(problem).__name__}: {problem}")
            doubted, doubts = str(problem), doubts + 1 if doubted == str(problem) else 1
            soon = doubts <= DOUBTS
        except PaperError as problem:
            complain(f"{type(problem).__name__}: {problem}")
        if rounds == 0:
            return
        moment = wake_up(clock, soon=soon, waits=waits)
        if waits and moment - time_of_day() <= AGAIN:  # the market is open, and sells are being filled
            with account.broker() as broker:
                if broker.listen((moment - time_of_day()).total_seconds()):
                    continue
        _sleep_until(moment, time_of_day, pause)


def _compare_clocks(account: PaperAccount, here: datetime) -> None:
    """A watch sleeps by this computer's clock: if that is wrong, it wakes up at the wrong hour."""
    if account.config.broker == "simulated":  # it has no clock of its own
        return
    with account.broker() as broker:
        there = broker.hours()
    gap = timedelta() if there is None else here - there.now
    if abs(gap) > MAX_SKEW:
        raise ClockError(
            f"this computer's clock is {abs(gap)} {'ahead of' if gap > timedelta() else 'behind'} the broker's, more than "
            f"{MAX_SKEW}: tracker paper watch would wake up at the wrong time. Nothing is decided; set the clock "
            "(timedatectl set-ntp true)"
        )


def wake_up(clock: WallClock, *, soon: bool = False, waits: bool = False) -> datetime:
    """When to look again: after the next close; soon, when something failed or sells are being filled; else after the open."""
    closes, opens, again = clock.next_close() + AFTER_CLOSE, clock.next_open() + AFTER_OPEN, clock.time() + AGAIN
    if soon:
        return again
    if waits:
        return again if closes - AFTER_CLOSE < opens - AFTER_OPEN else opens
    return closes


def _sleep_until(moment: datetime, time_of_day: Callable[[], datetime], pause: Callable[[float], None]) -> None:
    """In short naps: a computer that was asleep in between notices soon."""
    while (left := (moment - time_of_day()).total_seconds()) > 0.0:
        pause(min(left, 60.0))
