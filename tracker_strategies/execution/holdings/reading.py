"""Files of holdings: a table of one's own, or what Alpaca and Interactive Brokers export, as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from datafeeds.errors import DataError
from tracker_strategies.execution.holdings.tables import TextTable, read_rows, read_table

#: What the columns may be called, letters and digits only.
SYMBOL = ("symbol", "ticker", "instrument", "asset", "financialinstrument", "fininstrument")
QUANTITY = ("qty", "quantity", "shares", "position", "size")
PRICE = ("price", "currentprice", "markprice", "closeprice", "marketprice", "lastprice", "last")
SIDE, CURRENCY = ("side",), ("currency", "currencyprimary")
#: The row of cash, by its symbol.
CASH = "CASH"
_ALLOWED = "symbol (or ticker, instrument), and qty (or quantity, shares, position, size)"
_GROUPED = re.compile(r"^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$")


@dataclass
class HeldRows:
    """What a file says: shares and prices by name, and cash where it has a row for it."""

    shares: dict[str, float] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    cash: float | None = None


def read_holdings(file: Path) -> HeldRows:
    """Read a file of holdings.

    Raises
    ------
    DataError
        No such columns, a name that appears twice, a short position, something that is no number, several currencies.
    """
    rows = read_rows(file)
    statement = _statement(rows)
    table, cash = statement if statement is not None else (read_table(file), None)
    heads = {re.sub(r"[^a-z0-9]", "", name.lower()): name for name in reversed(table.header)}
    found = {part: _column(heads, names) for part, names in _PARTS.items()}
    if found["symbol"] is None or found["quantity"] is None:
        raise DataError(f"its columns are {', '.join(table.header[:8])}; a file of holdings has {_ALLOWED}")
    held = HeldRows(cash=cash)
    symbols = table.column(found["symbol"])
    amounts = table.column(found["quantity"])
    blank = [""] * len(symbols)
    prices, sides, currencies = (
        blank if (name := found[part]) is None else table.column(name) for part in ("price", "side", "currency")
    )
    several = sorted({text for text in currencies if text})
    if len(several) > 1:
        raise DataError(f"its positions are in {', '.join(several)}; an account has one currency: keep the rows of one")
    for number, (symbol, amount, price, side) in enumerate(zip(symbols, amounts, prices, sides, strict=True), 2):
        _take(held, number, symbol, amount, price, side)
    return held


_PARTS = {"symbol": SYMBOL, "quantity": QUANTITY, "price": PRICE, "side": SIDE, "currency": CURRENCY}


def _take(held: HeldRows, row: int, symbol: str, amount: str, price: str, side: str) -> None:
    """One row."""
    if not symbol:
        raise DataError(f"row {row} has no symbol; fill it or delete the row")
    size = read_number(amount, f"the quantity of {symbol} (row {row})")
    if symbol.upper() == CASH:
        if held.cash is not None:
            raise DataError("it has two rows of CASH; keep one")
        held.cash = size
        return
    if symbol in held.shares:
        raise DataError(f"{symbol} appears twice; add the rows up, or keep one")
    if size < 0.0 or side.lower() == "short":
        raise DataError(f"{symbol} is short ({amount} in row {row}); trackers are long only: close the position, or leave it out")
    held.shares[symbol] = size
    if price:
        held.prices[symbol] = read_number(price, f"the price of {symbol} (row {row})")
        if not held.prices[symbol] > 0.0:
            raise DataError(f"the price of {symbol} is {price} in row {row}; a price is positive")


def read_number(text: str, what: str) -> float:
    """A number as brokers export it: 1,234.5, $1,234.50, and nothing else that could mean two things."""
    plain = text.replace("$", "").replace(" ", "")
    if _GROUPED.match(plain):
        plain = plain.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        hint = "; write a decimal point" if "," in plain else ""
        raise DataError(f"{what} is {text[:40]!r}, which is no number{hint}") from None
    if not abs(value) < 1e15:
        raise DataError(f"{what} is {text[:40]!r}; it must be a finite number")
    return value


def _column(heads: dict[str, str], names: Sequence[str]) -> str | None:
    return next((heads[name] for name in names if name in heads), None)


def _statement(rows: list[list[str]]) -> tuple[TextTable, float | None] | None:
    """The open positions and the cash of an activity statement of Interactive Brokers, whose rows begin with their section's
    name; None for any other file.
    """
    if len(rows[0]) < 3 or rows[0][:2] != ["Statement", "Header"]:
        return None
    heads = [row[2:] for row in rows if row[:2] == ["Open Positions", "Header"]]
    if len(heads) != 1:
        raise DataError("an activity statement of Interactive Brokers without one section 'Open Positions'; export it with that")
    header = heads[0]
    kept = [row[2:] for row in rows if row[:2] == ["Open Positions", "Data"]]
    if "DataDiscriminator" in header:  # lots and totals say the same again
        place = header.index("DataDiscriminator")
        kept = [row for row in kept if row[place] == "Summary"]
    width = len(header)
    table = TextTable(tuple(header), tuple(tuple((row + [""] * width)[:width]) for row in kept))
    ends = [row for row in rows if row[:3] == ["Cash Report", "Data", "Ending Cash"] and "Base Currency Summary" in row[3:5]]
    return table, None if not ends else read_number(ends[0][4], "the ending cash")
