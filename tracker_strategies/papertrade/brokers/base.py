"""What the account needs from a broker, simulated or real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.execution.volume.depth import Depth
from tracker_strategies.papertrade.market.corporate_actions import Action

FloatArray = NDArray[np.float64]


class Status(StrEnum):
    """Where an order stands.

    ``intent`` (decided, not known to be at the broker), ``open``, ``partial``; and the ends: ``filled``, ``cancelled`` (by us, at
    the close, or for want of cash or of a bar), ``rejected`` (refused by the broker), ``unsent`` (its session passed before it
    could be sent).
    """

    INTENT = "intent"
    OPEN = "open"
    PARTIAL = "partial"
    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    UNSENT = "unsent"

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        return self not in (Status.INTENT, Status.OPEN, Status.PARTIAL)


#: Why a simulated order was not filled in full although nothing went wrong: the strategy expects both and deals with them itself.
SHORT_OF_CASH, NO_BAR = "cash ran short at the open", "no bar to fill on"
KEPT_BACK = "kept back by the mandate at the open"
#: Why a single order was not filled on a session: see :mod:`tracker_strategies.papertrade.brokers.order_types`.
NOT_REACHED, TRIGGERED = "its price was not reached", "triggered, and not filled at its limit"
GROUP_ENDED, EXPIRED = "another order of its group has ended", "its time was over"
NOT_PAID, LONG_ONLY = "more than the cash can pay", "long only: it sells more than is held"
PARTLY = "partly filled"
#: Why the rest of an order was not filled: the session's volume did not take it.
TOO_LARGE = "more than the session's volume takes"
#: After these nothing was missed: the order did not ask to be filled on that session.
NOT_DUE = (NOT_REACHED, TRIGGERED, GROUP_ENDED, EXPIRED)
#: Reasons for which a backtest would not have filled an order either.
AS_IN_A_BACKTEST = (SHORT_OF_CASH, NO_BAR, KEPT_BACK, TOO_LARGE, NOT_PAID, *NOT_DUE)


@dataclass(frozen=True)
class Ticket:
    """An order to be sent: positive sizes buy.

    ``due`` says at which price: "open" of the next session, "close" of the session that decided, "flow": where a payment was
    booked, to invest it, or "settle": booked out at ``price``, because there is no market left. For a single order it has its
    :class:`~tracker_strategies.papertrade.brokers.order_types.Terms`. ``session`` is the one that decided it: a simulated broker,
    which lives by sessions, refuses it when another one has passed. ``opg``: for the opening auction only.
    """

    cid: str
    ticker: str
    size: float
    price: float
    due: str = "open"
    session: str = ""
    opg: bool = False


@dataclass(frozen=True)
class Report:
    """What a broker says about an order. ``filled``, ``average`` and ``fee`` are totals up to now; sizes are signed."""

    cid: str
    ticker: str
    size: float
    status: Status
    filled: float = 0.0
    average: float = 0.0
    fee: float = 0.0
    broker_id: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Holdings:
    """Cash, and shares by ticker."""

    cash: float
    sizes: Mapping[str, float]


@dataclass(frozen=True)
class Hours:
    """A market by somebody's clock, in UTC."""

    now: datetime
    is_open: bool
    next_open: datetime


@dataclass(frozen=True)
class Payment:
    """Money that a simulated broker books with the fills of a session.

    Parameters
    ----------
    amount : float
        Paid in (+) or out (-).
    due : {"open", "close"}
        With the orders for which of them.
    day : str
        Of these fills.
    cids : tuple of str
        Ids of the orders, one for each name, that invest it in proportion; none to leave it in cash.
    """

    amount: float
    due: str
    day: str
    cids: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Quotes:
    """A session's opens by ticker, for brokers that have no market of their own: NaN where a name has no bar.

    ``closes`` are those of the session before, under the tickers that the names had then. ``turnover`` is the most that its
    orders may buy and sell, as a share of the account, None for no limit; ``lasts`` are the latest prices known, also of names
    without a bar, by which the account is worth what it is, and ``lasts_before`` those that were known at the close of the
    session before. ``high``, ``low`` and ``close`` are those of the session itself, where bars have them. ``depth`` is what was
    traded on the session, in shares, and ``depth_before`` on the one before; None where fills do not depend on it. ``paid``: what
    is paid in or out with the fills.
    """

    session: str
    tickers: tuple[str, ...]
    open: FloatArray
    old_tickers: tuple[str, ...]
    closes: FloatArray
    turnover: float | None = None
    lasts: FloatArray | None = None
    high: FloatArray | None = None
    low: FloatArray | None = None
    close: FloatArray | None = None
    depth: Depth | None = None
    depth_before: Depth | None = None
    paid: Payment | None = None
    lasts_before: FloatArray | None = None


class Broker(Protocol):
    """A broker's account. Calls raise :class:`~tracker_strategies.papertrade.errors.BrokerError` and nothing else.

    Attributes
    ----------
    simulated : bool
        Whether it only moves when :meth:`advance` is called, and settles corporate actions as it is told.
    nets : bool
        Whether the sells of a session pay for its buys at the moment of the fill, so that both can be sent at once.
    quantum : float
        Smallest step of a quantity; 0 for any.
    least_value : float
        Orders worth less than this are not accepted.
    """

    simulated: bool
    nets: bool
    quantum: float
    least_value: float

    def submit(self, ticket: Ticket) -> Report:
        """Place an order; raises OrderRefusedError, DuplicateOrderError, BrokerUnavailableError or BrokerKeysError."""

    def reports(self, cids: Sequence[str]) -> dict[str, Report]:
        """Where orders stand, by client id; those that the broker does not know are absent."""

    def open_orders(self) -> list[Report]:
        """Every order that waits, also those placed by others."""

    def cancel(self, report: Report) -> None:
        """Ask for an order to be cancelled. One that has ended in the meantime is not an error."""

    def holdings(self) -> Holdings:
        """Cash and shares."""

    def advance(self, quotes: Quotes, actions: Sequence[Action]) -> None:
        """A session has passed: simulated brokers fill what waits. Once per session, however often it is called."""

    def has_had(self, session: str) -> bool:
        """Whether :meth:`advance` was called for a session; False where the market moves by itself."""

    def hours(self) -> Hours | None:
        """The broker's own clock, queried now; None if it has none."""

    def listen(self, seconds: float) -> bool:
        """Wait until something happens to an order, at most so long; True when it did."""

    def close(self) -> None:
        """Let go of files and connections."""
