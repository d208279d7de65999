"""What the columns of tables are called, by the part they play: in files of prices, of members, of holdings."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from datafeeds.errors import UniverseError

#: Columns of a long table (one row per date and name) that hold the name.
LONG_TABLE_COLUMNS = frozenset(
    {"ticker", "tickers", "symbol", "symbols", "name", "asset", "tic", "permno", "instrument", "ric", "security"}
)
#: What the columns of a table may be called (lower case, blanks as underscores), by the part they play.
NAMES: Mapping[str, frozenset[str]] = {
    "date": frozenset({"date", "dates", "datetime", "timestamp", "time", "day"}),
    "symbol": LONG_TABLE_COLUMNS,
    "open": frozenset({"open", "price_open", "px_open"}),
    "high": frozenset({"high", "price_high", "px_high"}),
    "low": frozenset({"low", "price_low", "px_low"}),
    "close": frozenset({"close", "price", "price_close", "px_last", "last_price"}),
    "adj_close": frozenset({"adj_close", "adjclose", "adjusted_close", "adj_price"}),
    "volume": frozenset({"volume", "vol", "px_volume", "accumulated_volume"}),
    "from": frozenset({"from", "start", "added", "date_added"}),
    "to": frozenset({"to", "end", "removed", "date_removed"}),
    "old": frozenset({"old", "old_symbol", "old_ticker"}),
    "new": frozenset({"new", "new_symbol", "new_ticker"}),
    "sector": frozenset({"sector", "gics_sector", "group", "industry"}),
    "amount": frozenset({"amount", "flow", "cash_flow", "cashflow"}),
    "weight": frozenset({"weight", "weights", "index_weight", "weight_(%)", "weight_%"}),
}
_PARTS = {name: part for part, names in NAMES.items() for name in names}
#: Parts of a bar, in the order in which they are kept.
FIELDS = ("open", "high", "low", "close", "adj_close", "volume")
#: What downloads put beside the parts of a bar, and a panel has no use for.
IGNORED = frozenset({"dividends", "stock_splits", "capital_gains", "repaired?", "openint", "turnover"})


def plain_name(column: str) -> str:
    """A name as the tables here write it: ``<CLOSE>`` and ``Close`` are close, ``Adj Close`` is adj_close."""
    return column.strip().strip("<>").lower().replace(" ", "_")


def part_of(column: str) -> str | None:
    """The part that a column plays by its name, if it is one of those known."""
    return _PARTS.get(plain_name(column))


def parts_of(header: Iterable[str]) -> dict[str, str]:
    """Which column plays which part, by its name; a part that two columns claim goes to the first.

    A file of Stooq has a date and a time, and the date is the date.
    """
    parts: dict[str, str] = {}
    for column in header:
        part = part_of(column)
        if part is not None:
            parts.setdefault(part, column)
            if part == "date" and plain_name(column) == "date" and plain_name(parts[part]) == "time":
                parts[part] = column
    return parts


def is_long_header(header: Iterable[str]) -> bool:
    """Whether these are the columns of a long table: a date, a name and a price."""
    parts = parts_of(header)
    return "date" in parts and "symbol" in parts and bool({"close", "adj_close"} & set(parts))


def are_fields(cells: Iterable[str]) -> bool:
    """Whether these words are the parts of bars, a close among them, and nothing else."""
    found = {plain_name(cell) for cell in cells if cell.strip()}
    parts = {_PARTS.get(name) for name in found - IGNORED}
    return bool(parts & {"close", "adj_close"}) and parts <= set(FIELDS)


def layers_of(names: Sequence[str]) -> list[tuple[str, str]] | None:
    """Names such as ``('Close', 'AAPL')`` taken apart; None when they are plain.

    Raises
    ------
    UniverseError
        Some names are pairs and others are not, or they have more than two parts.
    """
    found = [_tuple(name) for name in names]
    if not any(part is not None for part in found):
        return None
    pairs = []
    for name, parts in zip(names, found, strict=True):
        if parts is None or len(parts) != 2:
            raise UniverseError(
                f"column {name!r} is not a series, while other columns have names in two levels; write one column per series, "
                "or fields and tickers in two levels as yfinance does"
            )
        pairs.append((parts[0].strip(), parts[1].strip()))
    return pairs


def _tuple(name: str) -> tuple[str, ...] | None:
    if not (name.startswith("(") and name.endswith(")") and "," in name):
        return None
    try:
        found = ast.literal_eval(name)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return tuple(str(part) for part in found) if isinstance(found, tuple) else None


def field_layer(pairs: Sequence[tuple[str, str]]) -> int:
    """Which of two layers holds the fields of bars."""
    layers = [[pair[k] for pair in pairs] for k in (0, 1)]
    known = [all(part_of(name) in FIELDS or plain_name(name) in IGNORED for name in layer) for layer in layers]
    close = [any(part_of(name) in ("close", "adj_close") for name in layer) for layer in layers]
    fits = [k for k in (0, 1) if known[k] and close[k]] or [k for k in (0, 1) if close[k]]
    if len(fits) != 1:
        raise UniverseError(
            f"columns such as {pairs[0]} are tuples, and {'neither' if not fits else 'either'} part of them names the fields of "
            "bars (Open, High, Low, Close, Volume); write one column per series"
        )
    return fits[0]
