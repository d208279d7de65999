"""Names of orders: the same order of the same account always gets the same one, so that it cannot be placed twice."""

from __future__ import annotations

import hashlib
import re

from tracker_strategies.errors import ParameterError

LONGEST = 48
LONGEST_ACCOUNT = 16
_ACCOUNT = re.compile(rf"^[A-Za-z0-9]{{1,{LONGEST_ACCOUNT}}}$")


def check_account_name(name: str) -> str:
    """An account's name as ids can carry it."""
    if not isinstance(name, str) or not _ACCOUNT.match(name):
        raise ParameterError(
            f"account={name!r} must be 1 to {LONGEST_ACCOUNT} letters and digits, because it is part of the id of every order"
        )
    return name


def order_id(account: str, date: str, symbol: str, side: str) -> str:
    """The id of an order: from account, date, symbol and side only, at most 48 letters, digits, dots and hyphens.

    >>> from tracker_strategies.desk.ids import order_id
    >>> order_id("desk", "2024-01-31", "BRK-B", "sell")
    'desk-20240131-sell-BRK-B'
    """
    head = f"{account}-{re.sub(r'[^0-9]', '', date)}-{side}-"
    plain = re.sub(r"[^A-Za-z0-9.-]", "", symbol)
    if plain == symbol and len(head) + len(symbol) <= LONGEST:
        return head + symbol
    digest = hashlib.sha256(symbol.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{head}{plain[: LONGEST - len(head) - 9]}.{digest}"
