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
