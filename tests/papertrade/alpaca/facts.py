"""Facts of Alpaca's published OpenAPI document (trading API 2.0.1) about the answers that are used here.

For each field: its type, its format or its allowed values, and whether it may be null. The stand-in server's answers are held
against these, so that it cannot drift into a dialect of its own.
"""

from __future__ import annotations

import re
import uuid
from datetime import datetime
from typing import Any

_TEXT, _FLAG, _UUID, _TIME, _COUNT = "text", "flag", "uuid", "time", "count"
_NUMBER = "number as text"

ORDER_STATUS = (
    *(
        "new",
        "partially_filled",
        "filled",
        "done_for_day",
        "canceled",
        "expired",
        "replaced",
        "pending_cancel",
        "pending_replace",
    ),
    *("accepted", "pending_new", "accepted_for_bidding", "stopped", "rejected", "suspended", "calculated", "held"),
)
ACCOUNT_STATUS = (
    *("INACTIVE", "PAPER_ONLY", "ONBOARDING", "SUBMISSION_FAILED", "SUBMITTED", "ACCOUNT_UPDATED", "APPROVAL_PENDING", "ACTIVE"),
    *("REJECTED", "ACCOUNT_CLOSED", "APPROVED", "ACCOUNT_CLOSED_PENDING", "ACTION_REQUIRED", "LIMITED"),
)

ORDER = {
    "id": (_UUID, False),
    "client_order_id": (_TEXT, False),
    "created_at": (_TIME, False),
    "updated_at": (_TIME, True),
    "submitted_at": (_TIME, True),
    "filled_at": (_TIME, True),
    "expired_at": (_TIME, True),
    "canceled_at": (_TIME, True),
    "failed_at": (_TIME, True),
    "replaced_at": (_TIME, True),
    "replaced_by": (_UUID, True),
    "replaces": (_UUID, True),
    "asset_id": (_UUID, False),
    "symbol": (_TEXT, False),
    "asset_class": (("us_equity", "us_option", "crypto", "crypto_perp"), False),
    "notional": (_NUMBER, True),
    "qty": (_NUMBER, True),
    "filled_qty": (_NUMBER, False),
    "filled_avg_price": (_NUMBER, True),
    "order_class": (("simple", "bracket", "oco", "oto", "mleg", ""), False),
    "order_type": (_TEXT, False),
    "type": (("market", "limit", "stop", "stop_limit", "trailing_stop"), False),
    "side": (("buy", "sell"), False),
    "time_in_force": (("day", "gtc", "opg", "cls", "ioc", "fok"), False),
    "limit_price": (_NUMBER, True),
    "stop_price": (_NUMBER, True),
    "status": (ORDER_STATUS, False),
    "extended_hours": (_FLAG, False),
    "legs": ("list", True),
    "trail_percent": (_NUMBER, True),
    "trail_price": (_NUMBER, True),
    "hwm": (_NUMBER, True),
}
ACCOUNT = {
    "id": (_UUID, False),
    "account_number": (_TEXT, False),
    "status": (ACCOUNT_STATUS, False),
    "currency": (_TEXT, False),
    "cash": (_NUMBER, False),
    "equity": (_NUMBER, False),
    "last_equity": (_NUMBER, False),
    "portfolio_value": (_NUMBER, False),
    "buying_power": (_NUMBER, False),
    "regt_buying_power": (_NUMBER, False),
    "long_market_value": (_NUMBER, False),
    "short_market_value": (_NUMBER, False),
    "initial_margin": (_NUMBER, False),
    "maintenance_margin": (_NUMBER, False),
    "multiplier": (("1", "2", "4"), False),
    "shorting_enabled": (_FLAG, False),
    "trading_blocked": (_FLAG, False),
    "transfers_blocked": (_FLAG, False),
    "account_blocked": (_FLAG, False),
    "trade_suspended_by_user": (_FLAG, False),
    "created_at": (_TIME, False),
}
POSITION = {
    "asset_id": (_UUID, False),
    "symbol": (_TEXT, False),
    "exchange": (("AMEX", "ARCA", "BATS", "NYSE", "NASDAQ", "NYSEARCA", "OTC", ""), False),
    "asset_class": (("us_equity", "us_option", "crypto", "crypto_perp"), False),
    "avg_entry_price": (_NUMBER, False),
    "qty": (_NUMBER, False),
    "qty_available": (_NUMBER, False),
    "side": (("long", "short"), False),
    "market_value": (_NUMBER, False),
    "cost_basis": (_NUMBER, False),
    "unrealized_pl": (_NUMBER, False),
    "unrealized_plpc": (_NUMBER, False),
    "unrealized_intraday_pl": (_NUMBER, False),
    "unrealized_intraday_plpc": (_NUMBER, False),
    "current_price": (_NUMBER, False),
    "lastday_price": (_NUMBER, False),
    "change_today": (_NUMBER, False),
    "asset_marginable": (_FLAG, False),
}
CLOCK = {"timestamp": (_TIME, False), "is_open": (_FLAG, False), "next_open": (_TIME, False), "next_close": (_TIME, False)}
ERROR = {"code": (_COUNT, False), "message": (_TEXT, False)}
#: Status of each way to fail that the document, or Alpaca's own answers in public reports, names: 403 for want of money or
#: shares, 422 for what cannot be processed, 401 for wrong keys, 404 for an unknown order.
ERROR_CODES = {401: {40110000}, 403: {40310000}, 404: {40410000}, 422: {40010001, 42210000}}
MOST_ORDERS_OF_A_PAGE, ORDERS_OF_A_PAGE, LONGEST_CLIENT_ID, DECIMALS = 500, 50, 128, 9


def complaints(answer: Any, facts: dict[str, tuple[Any, bool]]) -> list[str]:
    """Where an answer departs from the facts."""
    found = [f"{name} is missing" for name in facts if name not in answer]
    for name, value in answer.items():
        if name not in facts:
            found.append(f"{name} is not in the document")
            continue
        kind, nullable = facts[name]
        if value is None:
            found += [] if nullable else [f"{name} is null"]
        elif not _fits(value, kind):
            found.append(f"{name} is {value!r}, which is not {kind}")
    return found


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return value in kind
    if kind == _NUMBER:
        return isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?", value) is not None
    if kind == _UUID:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    if kind == _TIME:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    return isinstance(value, {_TEXT: str, _FLAG: bool, _COUNT: int, "list": list}[kind])
