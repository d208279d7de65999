"""Files of holdings: a table of one's own, or what Alpaca and Interactive Brokers export, as it is."""

from __future__ import annotations

import codecs
import csv
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from datafeeds.errors import DataError
from datafeeds.readers import read_any_table
from datafeeds.readers.columns import naming
from datafeeds.readers.heads.headers import check_unique

#: What the columns may be called, letters and digits only.
SYMBOL = ("symbol", "ticker", "instrument", "asset", "financialinstrument", "fininstrument")
QUANTITY = ("qty", "quantity", "shares", "position", "size")
PRICE = ("price", "currentprice", "markprice", "closeprice", "marketprice", "lastprice", "last")
SIDE, CURRENCY = ("side",), ("currency", "currencyprimary")
#: The row of cash, by its symbol.
CASH = "CASH"
_ALLOWED = "symbol (or ticker, instrument), and qty (or quantity, shares, position, size)"
#: Columns that stay texts, as the reader of tables writes their names.
TEXTS = ("side", "currency", "currencyprimary", "financial_instrument", "fin_instrument")
_STATEMENT = b"Statement,Header,"
_GROUPED = re.compile(r"^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$")


@dataclass
class HeldRows:
    """What a file says: shares and prices by name, and cash where it has a row for it."""

    shares: dict[str, float] = field(default_factory=dict)
    prices: dict[str, float] = field(default_factory=dict)
    cash: float | None = None
    notes: tuple[str, ...] = ()


def read_holdings(path: str | os.PathLike[str]) -> HeldRows:
    """Read a file of holdings.

    Raises
    ------
    DataError
        No such columns, a name that appears twice, a short position, something that is no number, several currencies.
    """
    file = Path(os.fspath(path)).expanduser()
    with naming(file):
        statement = _statement(file)
    frame, notes = read_any_table(path, texts=TEXTS) if statement is None else (statement[0], ())
    with naming(file):
        heads = {re.sub(r"[^a-z0-9]", "", str(name).lower()): name for name in reversed(frame.columns)}
        found = {part: next((heads[name] for name in names if name in heads), None) for part, names in _PARTS.items()}
        if found["symbol"] is None or found["quantity"] is None:
            raise DataError(f"its columns are {', '.join(frame.columns[:8])}; a file of holdings needs {_ALLOWED}")
        held = HeldRows(cash=None if statement is None else statement[1], notes=notes)
        columns = {part: [""] * len(frame) if name is None else frame[name].tolist() for part, name in found.items()}
        several = sorted({text for text in columns["currency"] if text})
        if len(several) > 1:
            raise DataError(
                f"its positions are in {', '.join(several)}; an account has one currency: keep the rows of one currency"
            )
        if not len(frame):
            raise DataError("it has no rows; an account without positions needs at least a row CASH")
        cells = zip(*(columns[part] for part in ("symbol", "quantity", "price", "side")), strict=True)
        for number, (symbol, amount, price, side) in enumerate(cells, 2):
            _take(held, number, symbol, amount, price, side)
        return held


_PARTS = {"symbol": SYMBOL, "quantity": QUANTITY, "price": PRICE, "side": SIDE, "currency": CURRENCY}


def _take(held: HeldRows, row: int, symbol: str, amount: Any, price: Any, side: str) -> None:
    """One row."""
    if not symbol:
        raise DataError(f"row {row} has no symbol; fill it or delete the row")
    size = read_number(amount, f"the quantity of {symbol} (row {row})")
    if symbol.upper() == CASH:
        if held.cash is not None:
            raise DataError("it has two rows CASH; keep one")
        held.cash = size
        return
    if symbol in held.shares:
        raise DataError(f"{symbol} appears twice; combine the rows, or keep one")
    if size < 0.0 or side.lower() == "short":
        raise DataError(
            f"{symbol} is short ({amount} in row {row}); trackers are long only: close the position or remove the row"
        )
    held.shares[symbol] = size
    if price != "" and price == price:
        held.prices[symbol] = read_number(price, f"the price of {symbol} (row {row})")
        if not held.prices[symbol] > 0.0:
            raise DataError(f"the price of {symbol} is {price} in row {row}; a price must be positive")


def read_number(cell: Any, what: str) -> float:
    """A number as brokers export it: 1,234.5, $1,234.50, and nothing else that could mean two things."""
    text = str(cell)
    plain = text.replace("$", "").replace(" ", "")
    if _GROUPED.match(plain):
        plain = plain.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        hint = "; write a decimal point" if "," in plain else ""
        raise DataError(f"{what} is {text[:40]!r}, which is not a number{hint}") from None
    if not abs(value) < 1e15:
        raise DataError(f"{what} is {text[:40]!r}; it must be a finite number, 0 for none")
    return value


def _statement(file: Path) -> tuple[pd.DataFrame, float | None] | None:
    """The open positions and the cash of an activity statement of Interactive Brokers, whose rows begin with their section's
    name and are of different lengths; None for any other file.
    """
    if not file.is_file():
        return None
    with file.open("rb") as stream:
        if not stream.read(len(_STATEMENT) + 3).removeprefix(codecs.BOM_UTF8).startswith(_STATEMENT):
            return None
    with file.open(encoding="utf-8-sig", newline="") as text:
        try:
            rows = [[cell.strip() for cell in row] for row in csv.reader(text, strict=True)]
        except (csv.Error, UnicodeDecodeError) as problem:
            raise DataError(f"this activity statement is not a CSV file in UTF-8 ({problem}); export it again") from None
    heads = [row[2:] for row in rows if row[:2] == ["Open Positions", "Header"]]
    if len(heads) != 1:
        raise DataError(
            f"this activity statement of Interactive Brokers has {len(heads)} sections 'Open Positions'; export it with one"
        )
    header = heads[0]
    check_unique(header)
    kept = [(row[2:] + [""] * len(header))[: len(header)] for row in rows if row[:2] == ["Open Positions", "Data"]]
    if "DataDiscriminator" in header:  # lots and totals say the same again
        place = header.index("DataDiscriminator")
        kept = [row for row in kept if row[place] == "Summary"]
    ends = [
        row[4] if len(row) > 4 else ""
        for row in rows
        if row[:4] == ["Cash Report", "Data", "Ending Cash", "Base Currency Summary"]
    ]
    cash = None if not ends else read_number(ends[0], "the ending cash")
    return pd.DataFrame(kept, columns=header), cash
