"""Words that the options of a market may be. Light: the command line refuses others before it imports anything heavy."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from datafeeds.errors import DataError

#: The source that is made by a formula.
SYNTHETIC = "synthetic"
#: What to do with a missing price between the first and the last price of a series.
GAP_POLICIES = ("error", "freeze", "live")
#: What to do with a price that cannot be trusted.
CLEANING_POLICIES = ("flag", "drop", "winsorise")

#: What the tables of a run may be written as; Parquet is its own record and always there.
FORMATS = ("parquet", "csv", "xlsx")
#: Orders of day, month and year in a date that is written with numbers.
DATE_ORDERS = ("dmy", "mdy", "ymd")
#: What may stand between a number and its fraction.
DECIMALS = (".", ",", "point", "comma")
#: Columns that are no assets unless somebody says so: an index that is bought as if it were a stock.
INDEX_LIKE = ("INDEX", "^*")


def not_assets(exclude: Iterable[str], only: Iterable[str] = ()) -> tuple[str, ...]:
    """Of the names that a mandate never holds, those that look like an index: they are left out of a panel, not refused.

    >>> from datafeeds.choices import not_assets
    >>> not_assets(["^GSPC", "XOM"]), not_assets([], ["AAPL"])
    (('^GSPC',), ('INDEX', '^*'))
    """
    kept = tuple(only)
    barred = tuple(name for name in exclude if name == "INDEX" or name.startswith("^"))
    return barred + (INDEX_LIKE if kept else ())


def check_choice(name: str, value: str, known: Iterable[str]) -> None:
    """Raise :class:`DataError` for a word that is not among those known."""
    if value not in (choices := tuple(known)):
        raise DataError(f"{name}={value!r} is unknown; choose one of {', '.join(choices)}")


class Adjustment(StrEnum):
    """Which events a price series is cleared of.

    ``split`` compares with a price index, ``total`` with a total return index; ``raw`` is the record of what was traded, and its
    returns jump at every split.
    """

    SPLIT = "split"
    TOTAL = "total"
    RAW = "raw"

    @classmethod
    def parse(cls, name: str) -> Adjustment:
        """By name, or a :class:`DataError` that lists the names."""
        check_choice("adjust", name, cls)
        return cls(name)
