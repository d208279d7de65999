"""From a broker's totals to what the books take in. A report that cannot be true is set aside: it never stops the account.

An order fills from nothing to its size and never back. What a broker reports within these bounds is booked; what lies outside is
not, and is told as an event: then the comparison with the broker's positions decides, which are what the account really has.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from tracker_strategies.papertrade.brokers.base import Report, Status

#: A change smaller than this share of its order is rounding of a report.
_ROUNDING = 1e-12
#: Brokers may write quantities with six decimals: an order that they call filled is, if no more than this is missing.
DUST = 1e-6


@dataclass(frozen=True)
class Increment:
    """What is new in a report: shares, their price and their fee; the totals after it; and what nobody can explain."""

    size: float
    price: float
    fee: float
    filled: float
    average: float
    status: Status
    problem: str = ""


def increment(order: sqlite3.Row, report: Report) -> Increment:
    """Compare a report with what is booked of its order."""
    size, before, average = order["size"], order["filled"], order["average"]
    sign = math.copysign(1.0, size)
    told, done, most = sign * report.filled, sign * before, max(sign * size, sign * before)
    if report.status is Status.FILLED and most - DUST <= told < most:
        told = most
    booked = min(max(told, done), most) if math.isfinite(told) else done
    problems = []
    if not abs(told - booked) <= 1e-9 * max(1.0, most):
        problems.append(f"reports {report.filled:.9g} shares filled after {before:.9g}; {sign * booked:.9g} are booked")
    if report.status is Status.FILLED and booked < most * (1.0 - 1e-9) - 1e-9:
        problems.append(f"reports it as filled, with {sign * booked:.9g}")
    status = Status.PARTIAL if report.status is Status.OPEN and booked > 0.0 else report.status
    filled, more = sign * booked, sign * (booked - done)
    if abs(more) <= _ROUNDING * max(abs(size), abs(before)):
        return Increment(0.0, 0.0, 0.0, before, average, status, _told(order, report, problems))
    price, total = (filled * report.average - before * average) / more, report.average
    if not (math.isfinite(report.average) and report.average > 0.0):
        problems.append(f"reports a price of {report.average:g}; {order['price']:g} is booked instead")
        price = order["price"]
        total = (before * average + more * price) / filled
    elif price <= 0.0:
        problems.append(f"reports an average price of {report.average:g} after {average:g}")
        price = report.average
        total = (before * average + more * price) / filled
    return Increment(more, price, report.fee - order["fee"], filled, total, status, _told(order, report, problems))


def _told(order: sqlite3.Row, report: Report, problems: list[str]) -> str:
    if not problems:
        return ""
    return f"order {report.cid} for {order['size']:.9g} {order['symbol']}: the broker {' and '.join(problems)}"
