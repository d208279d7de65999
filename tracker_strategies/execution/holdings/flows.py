"""Money that is paid in or taken out on known dates: when it is booked, and how it is invested.

A flow is booked at the instant of the fills: at the open of the first bar that is not before its date, with fills at the close at
that bar's close. It is invested in proportion: whatever the decision of that instant makes of the account without the flow, the
account with it holds the same portfolio. So a deposit, in fractions and without costs, changes no return; and no flow waits for a
rebalance that is not due.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds.errors import DataError
from tracker_strategies.errors import AccountError, ParameterError
from tracker_strategies.execution.order_route import Fills, OrderRoute
from tracker_strategies.execution.rebalancer import LOT_SLACK, Rebalancer

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
#: Periods of a contribution, and what counts them in numpy.
PERIODS = {"week": "W", "month": "M", "quarter": "M", "year": "Y"}
_FORMS = "a mapping of date to amount, a table with columns date and amount, or contributions such as 1000/month"


@dataclass(frozen=True)
class Flows:
    """What is paid in (+) and taken out (-), and when.

    Attributes
    ----------
    days : tuple of str
        ISO dates, in order.
    amounts : tuple of float
        One for each.
    each : float
        Paid in on the first bar of every period after the first one.
    period : str
        week, month, quarter or year.
    """

    days: tuple[str, ...] = ()
    amounts: tuple[float, ...] = ()
    each: float = 0.0
    period: str = "month"

    def due(self, before: Any, now: Any) -> float:
        """What is booked on a bar of the date `now`, when the bar before was of the date `before`."""
        first, last = (np.datetime64(date, "D") for date in (before, now))
        found = sum(amount for day, amount in zip(self.days, self.amounts, strict=True) if str(first) < day <= str(last))
        return found + (self.each * (self._period(last) - self._period(first)) if self.each else 0.0)

    def _period(self, day: np.datetime64) -> int:
        if self.period == "week":  # of Mondays; numpy counts weeks from a Thursday
            return int((day - np.datetime64("1969-12-29", "D")).astype(int) // 7)
        count = int(day.astype(f"datetime64[{PERIODS[self.period]}]").astype(int))
        return count // 3 if self.period == "quarter" else count

    def plain(self) -> Any:
        """As the param ``cash_flows`` takes it, in plain values."""
        found: dict[str, Any] = dict(zip(self.days, self.amounts, strict=True))
        return found | ({"each": f"{self.each!r}/{self.period}"} if self.each else {})

    def check(self, first: Any, last: Any, *, limited: bool = False) -> list[str]:
        """Refuse flows before the first decision, or together with a limit on volume; return messages on late flows."""
        if limited:
            raise ParameterError(
                "flows and max_participation cannot be combined: a withdrawal cannot wait for volume; remove one of them"
            )
        begin, end = (str(np.datetime64(date, "D")) for date in (first, last))
        early = [day for day in self.days if day <= begin]
        if early:
            raise ParameterError(
                f"flows has an entry on {early[0]}, but the first bar is {begin}: money paid in before the first decision is "
                "starting cash; add it to --cash and remove the entry"
            )
        late = [day for day in self.days if day > end]
        return [f"flows: {len(late)} after the last bar ({end}) are not booked, the first on {late[0]}"] if late else []


def flows_of(given: Any) -> Flows | None:
    """The param ``cash_flows``: a mapping, a path, contributions in words, or :class:`Flows`; None for none.

    Examples
    --------
    >>> from tracker_strategies.execution.holdings.flows import flows_of
    >>> flows_of("1000/month").each
    1000.0
    >>> flows_of({"2024-01-31": -500.0}).due("2024-01-30", "2024-02-01")
    -500.0
    """
    if given is None or isinstance(given, Flows):
        return given
    if isinstance(given, Mapping):
        each, period = contribution(given["each"]) if "each" in given else (0.0, "month")
        return _checked({day: amount for day, amount in given.items() if day != "each"}, each, period)
    if isinstance(given, str) and "/" in given and re.fullmatch(r"\s*[-+\d.,_e]+\s*/\s*\w+\s*", given):
        return Flows((), (), *contribution(given))
    if isinstance(given, str | os.PathLike):
        from datafeeds import read_flows

        try:
            return _checked(read_flows(given))
        except (DataError, OSError) as problem:
            raise ParameterError(f"flows={str(given)!r} cannot be read: {problem}") from None
    raise ParameterError(f"flows={given!r} must be {_FORMS}")


def contribution(text: str) -> tuple[float, str]:
    """``1000/month`` as an amount and a period."""
    amount, _, period = str(text).partition("/")
    try:
        value = float(amount.strip().replace("_", ""))
    except ValueError:
        value = np.nan
    if not (np.isfinite(value) and value != 0.0) or period.strip() not in PERIODS:
        raise ParameterError(
            f"{text!r} is not a contribution; write an amount and one of {', '.join(PERIODS)}, such as 1000/month"
        )
    return value, period.strip()


def _checked(given: Mapping[Any, Any], each: float = 0.0, period: str = "month") -> Flows:
    found: dict[str, float] = {}
    for date, amount in given.items():
        try:
            day, value = np.datetime64(date, "D"), float(amount)
        except (TypeError, ValueError):
            day, value = np.datetime64("NaT", "s"), np.nan
        if np.isnat(day) or not np.isfinite(value):
            raise ParameterError(
                f"flows has {date!r}: {amount!r}; each entry must be a date and an amount, such as 2024-01-31: 1000"
            )
        found[str(day)] = found.get(str(day), 0.0) + value
    if not found and not each:
        raise ParameterError(f"flows={dict(given)!r} is empty; it must be {_FORMS}")
    return Flows(tuple(sorted(found)), tuple(found[day] for day in sorted(found)), each, period)


class BeforeTheFlow:
    """An order route as it would be without a flow: it keeps the orders, to which :meth:`with_flow` adds what the flow trades."""

    def __init__(self, route: OrderRoute, cash: float) -> None:
        self._route, self._cash = route, cash
        self.deltas: FloatArray | None = None

    def cash(self) -> float:
        """Cash without the flow."""
        return self._cash

    def sizes(self) -> FloatArray:
        """Shares held."""
        return self._route.sizes()

    def pending(self) -> FloatArray | None:
        """Shares in open orders."""
        return self._route.pending()

    def submit(self, deltas: FloatArray) -> None:
        """Keep orders."""
        self.deltas = deltas

    def book_out(self, asset: int, price: float) -> None:
        """Book a position out; what it brings is cash."""
        self._cash += float(self._route.sizes()[asset]) * price
        self._route.book_out(asset, price)

    def fills(self) -> Fills | None:
        """What was executed."""
        return self._route.fills()

    def with_flow(self, rebalancer: Rebalancer, bar: Any, prices: FloatArray, flow: float) -> FloatArray:
        """What to trade at these prices: see :func:`with_flow`."""
        held, cash, waiting = self.sizes(), self.cash(), self.pending()
        return with_flow(rebalancer, held, self.deltas, cash, prices, flow, bar.date, current=bar.current, pending=waiting)


def with_flow(
    rebalancer: Rebalancer,
    sizes: FloatArray,
    deltas: FloatArray | None,
    cash: float,
    prices: FloatArray,
    flow: float,
    day: Any,
    *,
    current: BoolArray | None = None,
    pending: FloatArray | None = None,
) -> FloatArray:
    """(N,) shares to trade so that the account with the flow holds what it would hold without, in proportion.

    Parameters
    ----------
    rebalancer : Rebalancer
    sizes, deltas : (N,) float
        Shares held, and what would be traded without the flow; None for nothing.
    cash : float
        Without the flow.
    prices : (N,) float
        At which all of it fills.
    flow : float
        Paid in (+) or taken out (-).
    day : date
        Of the flow, for messages.
    current : (N,) bool, optional
        Names that trade.
    pending : (N,) float, optional
        Shares in orders that are open.

    Raises
    ------
    AccountError
        More is taken out than there is, or than can be sold.
    """
    prices = np.where(np.isfinite(prices) & (prices > 0.0), prices, 0.0)
    deltas = np.zeros(len(sizes)) if deltas is None else deltas
    value, when = cash + float(sizes @ prices), str(np.datetime64(day, "D"))
    check_withdrawal(value, flow, when)
    if rebalancer.costs.free and not rebalancer.lot and pending is None and (current is None or bool(current.all())):
        exact = (sizes + deltas) * ((value + flow) / value) - sizes
        if cash + flow - float(exact @ prices) >= 0.0:  # a plan would keep a little aside against rounding
            return np.asarray(exact)
    after = value - float(rebalancer.costs.outcome(deltas, prices)[2])
    weights = np.maximum((sizes + deltas) * prices / after, 0.0)
    weights /= max(float(weights.sum()), 1.0)
    usable = prices > 0.0 if current is None else current & (prices > 0.0)
    safe = np.where(prices > 0.0, prices, 1.0)
    plan = rebalancer.plan(weights, sizes, safe, cash + flow, tradable=None if usable.all() else usable, pending=pending)
    if rebalancer.lot:
        whole = np.floor((sizes + plan) / rebalancer.lot + LOT_SLACK) * rebalancer.lot
        plan = np.where(usable, np.where(plan == 0.0, 0.0, whole - sizes), 0.0)
        plan = rebalancer.fit(plan, sizes, safe, cash + flow, pending=pending)
    left = cash + flow + rebalancer.costs.cash_flow(plan, np.where(plan != 0.0, safe, 0.0))
    if left < -1e-9 * value:
        raise AccountError(
            f"the withdrawal of {-flow:,.2f} on {when} cannot be paid: {-left:,.2f} of it is held in names that do not "
            "trade on that day; withdraw less, or later"
        )
    return plan


def check_withdrawal(value: float, flow: float, when: str) -> None:
    """Refuse to take out more than an account is worth."""
    if not value + flow > 0.0:
        raise AccountError(
            f"the withdrawal of {-flow:,.2f} on {when} is larger than the account, which is worth {value:,.2f}; withdraw less"
        )


def closed(tracker: Any, bar: Any, route: OrderRoute, flow: float) -> None:
    """Close of a bar for a tracker that fills there, when so much is to be booked with these fills."""
    if not flow:
        tracker.close(bar, route)
        return
    before = BeforeTheFlow(route, route.cash())
    tracker.close(bar, before)
    route.submit(before.with_flow(tracker.rebalancer, bar, bar.close, flow))


def opened(tracker: Any, bar: Any, route: OrderRoute, flow: float) -> None:
    """Open of a bar for a tracker, when so much has just been booked."""
    if not flow:
        tracker.open(bar, route)
        return
    before = BeforeTheFlow(route, route.cash() - flow)
    tracker.open(bar, before)
    route.submit(before.with_flow(tracker.rebalancer, bar, bar.open, flow))


def worth_at_open(sizes: FloatArray, bar: Any) -> float:
    """Value of positions at the open of a bar; a name that does not trade is worth its last close."""
    prices = np.where(np.isfinite(bar.open), bar.open, bar.close)
    own = sizes != 0.0
    return float(sizes[own] @ prices[own])
