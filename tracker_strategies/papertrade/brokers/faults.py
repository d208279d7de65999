"""Practice with trouble: a broker that rejects, fills in part, answers late, hears twice or not at all, on purpose."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade.brokers.base import Broker, Holdings, Hours, Quotes, Report, Ticket
from tracker_strategies.papertrade.errors import BrokerUnavailableError, DuplicateOrderError, OrderRefusedError
from tracker_strategies.papertrade.market.corporate_actions import Action


@dataclass(frozen=True)
class Faults:
    """Probability of each kind of fault, per order.

    Parameters
    ----------
    reject : float
        The broker refuses the order.
    partial : float
        Only half of it fills; the rest is cancelled at the close.
    delay : float
        The broker takes the order, but its answer is lost.
    duplicate : float
        The order arrives twice.
    disconnect : float
        The first attempt does not arrive.
    seed : int
        The same seed gives the same faults: they depend only on session and name of an order.

    Examples
    --------
    >>> from tracker_strategies.papertrade import Faults
    >>> faults = Faults.build({"reject": 0.1, "partial": 0.2})
    >>> faults.reject
    0.1
    """

    reject: float = 0.0
    partial: float = 0.0
    delay: float = 0.0
    duplicate: float = 0.0
    disconnect: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Validate."""
        for name in (f.name for f in fields(self) if f.name != "seed"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not (math.isfinite(value) and 0.0 <= value <= 1.0)
            ):
                raise ParameterError(f"fault {name}={value!r} must be a probability between 0 and 1")

    @classmethod
    def build(cls, given: Mapping[str, Any]) -> Self:
        """From names and numbers."""
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise ParameterError(f"unknown fault {name!r}; choose from {', '.join(known)}")
        return cls(**given)

    def strikes(self, kind: str, cid: str) -> bool:
        """Whether an order has a kind of fault."""
        order = cid.partition("-")[2]  # without the name of the account
        digest = hashlib.sha256(f"{self.seed}/{kind}/{order}".encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < float(getattr(self, kind))

    def part(self, cid: str) -> float:
        """Share of an order that the market takes."""
        return 0.5 if self.strikes("partial", cid) else 1.0


class FaultyBroker:
    """A broker with simulated faults. Everything else is passed through.

    Examples
    --------
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> account = PaperAccount.create("account", "pa", "sample", faults={"reject": 0.1}, replay="2022-12-20")
    >>> account.step().decision
    <Kind.ACT: 'act'>
    """

    def __init__(self, broker: Broker, faults: Faults) -> None:
        self._broker, self._faults = broker, faults
        self.simulated, self.nets = broker.simulated, broker.nets
        self.quantum, self.least_value = broker.quantum, broker.least_value
        self._attempted: set[str] = set()

    def submit(self, ticket: Ticket) -> Report:
        """Place an order, unless a fault prevents it."""
        first = ticket.cid not in self._attempted
        self._attempted.add(ticket.cid)
        faults = self._faults
        if first and faults.strikes("disconnect", ticket.cid):
            raise BrokerUnavailableError("the connection was lost before the order arrived (injected fault)")
        if faults.strikes("reject", ticket.cid):
            raise OrderRefusedError("refused (practice)")
        report = self._broker.submit(ticket)
        if first and faults.strikes("delay", ticket.cid):
            raise BrokerUnavailableError("the connection was lost before the answer arrived (injected fault)")
        if first and faults.strikes("duplicate", ticket.cid):
            try:
                self._broker.submit(ticket)
            except DuplicateOrderError:
                return report
        return report

    def reports(self, cids: Sequence[str]) -> dict[str, Report]:
        """Status of orders."""
        return self._broker.reports(cids)

    def open_orders(self) -> list[Report]:
        """Every order that waits."""
        return self._broker.open_orders()

    def cancel(self, report: Report) -> None:
        """Cancel an order."""
        self._broker.cancel(report)

    def holdings(self) -> Holdings:
        """Cash and shares."""
        return self._broker.holdings()

    def advance(self, quotes: Quotes, actions: Sequence[Action]) -> None:
        """A session has passed."""
        self._broker.advance(quotes, actions)

    def has_had(self, session: str) -> bool:
        """Whether it has had a session."""
        return self._broker.has_had(session)

    def hours(self) -> Hours | None:
        """The broker's clock."""
        return self._broker.hours()

    def listen(self, seconds: float) -> bool:
        """Wait for a change of an order."""
        return self._broker.listen(seconds)

    def close(self) -> None:
        """Close the broker."""
        self._broker.close()
