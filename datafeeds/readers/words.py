"""What the columns of tables are called, by the part they play: in files of prices, of members, of holdings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
