"""Alpaca's paper account as a broker, through alpaca-py's own client."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tracker_strategies.papertrade.brokers.alpaca_endpoint import Line, check_address, make_client, read_keys, stream_address
from tracker_strategies.papertrade.brokers.base import Holdings, Hours, Quotes, Report, Status, Ticket
from tracker_strategies.papertrade.errors import BrokerKeysError, BrokerUnavailableError, OrderRefusedError
from tracker_strategies.papertrade.market.corporate_actions import Action

#: What Alpaca calls an order that is over; every other state may still change.
_ENDS = {
    "filled": Status.FILLED,
    "canceled": Status.CANCELLED,
    "expired": Status.CANCELLED,
    "replaced": Status.CANCELLED,
    "rejected": Status.REJECTED,
}
#: Orders of one page, the most that Alpaca gives, and pages that are looked through before asking for single orders.
PAGE, PAGES = 500, 4
#: For so few orders, single questions are cheaper than a page.
_FEW = 4


class AlpacaBroker:
    """The paper account that a pair of keys belongs to.

    Orders are market orders for the day, with fractions of up to nine decimals, or for the opening auction in whole shares. Sent
    after the close they wait for the next open.
    Sells free their cash only when they have filled, so buys are sent after them.

    Parameters
    ----------
    key, secret : str
    url : str
        Empty for Alpaca's paper host; an address of this computer for tests. A live host is refused.
    pause : callable
        Waits for a given number of seconds between attempts to read.

    Examples
    --------
    >>> from tracker_strategies.papertrade import AlpacaBroker
    >>> broker = AlpacaBroker.from_environment()  # doctest: +SKIP
    """

    simulated = False
    nets = False
    quantum = 1e-9
    least_value = 1.0

    def __init__(self, key: str, secret: str, url: str = "", *, pause: Callable[[float], None] = time.sleep) -> None:
        self._url, self._keys = check_address(url), (key, secret)
        self._line = Line(make_client(self._url, key, secret), self._keys, pause)

    @classmethod
    def from_environment(cls, url: str = "", environment: Mapping[str, str] = os.environ, **options: Any) -> AlpacaBroker:
        """With the keys from APCA_API_KEY_ID and APCA_API_SECRET_KEY. The address is checked first."""
        check_address(url)
        return cls(*read_keys(environment), url, **options)

    def __repr__(self) -> str:
        return "AlpacaBroker(paper)"

    # -- orders ----------

    def submit(self, ticket: Ticket) -> Report:
        """Place a market order for the day, or for the opening auction."""
        if ticket.due != "open":
            raise OrderRefusedError(f"{ticket.ticker}: Alpaca cannot fill at a past price; use fill=next_open")
        from alpaca.trading.enums import OrderSide, TimeInForce
        from alpaca.trading.requests import MarketOrderRequest

        request = MarketOrderRequest(
            symbol=ticket.ticker,
            qty=round(abs(ticket.size), 9),
            side=OrderSide.BUY if ticket.size > 0 else OrderSide.SELL,
            time_in_force=TimeInForce.OPG if ticket.opg else TimeInForce.DAY,
            client_order_id=ticket.cid,
        )
        report = self._line.order(f"order {ticket.cid}", lambda client: _report(client.submit_order(request)))
        if report.cid != ticket.cid:
            raise BrokerUnavailableError(f"order {ticket.cid}: Alpaca's answer is about a different order")
        return report

    def reports(self, cids: Sequence[str]) -> dict[str, Report]:
        """Status of orders: from the list of all orders, newest first; those not found there are queried one by one."""
        found: dict[str, Report] = {}
        wanted = set(cids)
        if len(wanted) > _FEW:
            for report in self._pages("all", PAGES):
                if report.cid in wanted:
                    found.setdefault(report.cid, report)
                if len(found) == len(wanted):
                    break
        for cid in wanted - set(found):
            single = self._one(cid)
            if single is not None:
                found[cid] = single
        return found

    def _one(self, cid: str) -> Report | None:
        try:
            return self._line.read(f"order {cid}", lambda client: _report(client.get_order_by_client_id(cid)))
        except OrderRefusedError:  # 404: there is no such order
            return None

    def _pages(self, status: str, limit: int) -> Iterator[Report]:
        from alpaca.common.enums import Sort
        from alpaca.trading.enums import QueryOrderStatus
        from alpaca.trading.requests import GetOrdersRequest

        until: datetime | None = None
        for _ in range(limit):
            request = GetOrdersRequest(status=QueryOrderStatus(status), limit=PAGE, direction=Sort.DESC, until=until)
            page = self._line.read("orders", functools.partial(_page, request=request))
            yield from (report for report, _ in page)
            if len(page) < PAGE:
                return
            until = page[-1][1]

    def open_orders(self) -> list[Report]:
        """Every order that waits, also those placed by others."""
        return list({report.cid: report for report in self._pages("open", 1000)}.values())

    def cancel(self, report: Report) -> None:
        """Request that an order is cancelled; it may have ended already."""
        try:
            self._line.order(f"cancelling {report.cid}", lambda client: client.cancel_order_by_id(report.broker_id))
        except OrderRefusedError:
            return

    # -- the account ----------

    def holdings(self) -> Holdings:
        """Cash and shares."""
        cash, blocked = self._line.read("account", lambda client: _account(client.get_account()))
        if blocked:
            raise BrokerKeysError("Alpaca has blocked this account for trading; check the account on Alpaca's web page")
        sizes = self._line.read("positions", lambda client: {p.symbol: _number(p.qty, "qty") for p in client.get_all_positions()})
        return Holdings(cash, sizes)

    def advance(self, quotes: Quotes, actions: Sequence[Action]) -> None:
        """The market moves by itself."""

    def has_had(self, session: str) -> bool:
        """False: sessions pass at Alpaca by themselves."""
        return False

    def hours(self) -> Hours:
        """Alpaca's clock."""
        return self._line.read("clock", lambda client: _hours(client.get_clock()))

    def listen(self, seconds: float) -> bool:
        """Wait for an order on Alpaca's stream of trade updates. Without a connection, wait all of the time."""
        from alpaca.trading.stream import TradingStream

        heard = threading.Event()

        async def hear(update: Any) -> None:
            heard.set()

        quiet = logging.getLogger("alpaca.trading.stream")
        level, quiet.level = quiet.level, logging.CRITICAL  # it retries by itself; what it says helps nobody
        stream = TradingStream(*self._keys, paper=True, url_override=stream_address(self._url))
        stream.subscribe_trade_updates(hear)
        thread = threading.Thread(target=stream.run, daemon=True)
        thread.start()
        try:
            return heard.wait(seconds)
        finally:
            with contextlib.suppress(Exception):  # it may not have got as far as having something to stop
                stream.stop()
            quiet.level = level

    def close(self) -> None:
        """Nothing is kept open."""


def _page(client: Any, request: Any) -> list[tuple[Report, datetime]]:
    return [(_report(order), order.submitted_at) for order in client.get_orders(request)]


def _report(order: Any) -> Report:
    """An order of alpaca-py in our words."""
    sign = {"buy": 1.0, "sell": -1.0}[order.side.value]
    qty, filled = _number(order.qty or 0.0, "qty"), _number(order.filled_qty or 0.0, "filled_qty")
    state = order.status.value
    status = _ENDS.get(state, Status.PARTIAL if filled > 0.0 else Status.OPEN)
    reason = "" if status in (Status.FILLED, Status.OPEN, Status.PARTIAL) else state
    return Report(
        order.client_order_id,
        order.symbol,
        sign * qty,
        status,
        sign * filled,
        _number(order.filled_avg_price or 0.0, "filled_avg_price"),
        0.0,
        str(order.id),
        reason,
    )


def _account(account: Any) -> tuple[float, bool]:
    """Cash, and whether trading is blocked."""
    blocked = bool(account.trading_blocked or account.account_blocked or account.trade_suspended_by_user)
    return _number(account.cash, "cash"), blocked


def _hours(clock: Any) -> Hours:
    for moment in (clock.timestamp, clock.next_open):
        if moment.tzinfo is None:
            raise ValueError("a time without a time zone")
    return Hours(clock.timestamp.astimezone(UTC), bool(clock.is_open), clock.next_open.astimezone(UTC))


def _number(value: Any, name: str) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}")
    return number
