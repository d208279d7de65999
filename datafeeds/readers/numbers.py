"""Numbers as people write them: a decimal point or comma, with or without marks between thousands.

All cells of a file decide together; where all of them could mean two things (1,234 and 2,345 only), nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from datafeeds.readers.reading import ambiguous, reading

_SIGN, _POWER = r"^\s*[+-]?", r"(?:[eE][+-]?\d+)?\s*$"
_WHOLE = _SIGN + r"\d+" + _POWER
_POINT = _SIGN + r"(?:\d+\.\d*|\.\d+)" + _POWER
_COMMA = _SIGN + r"(?:\d+,\d*|,\d+)" + _POWER
_COMMA_GROUPS = _SIGN + r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?\s*$"
_POINT_GROUPS = _SIGN + r"[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?\s*$"
#: Cells without a number, as arrow knows them.
EMPTY = ("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A", "NA", "NULL",
         "NaN", "n/a", "nan", "null")  # fmt: skip
_OTHERS = (*EMPTY, "inf", "-inf", "+inf", "Inf", "-Inf", "INF", "-INF")


@dataclass(frozen=True)
class NumberStyle:
    """The decimal mark, and the mark between thousands where there is one."""

    decimal: str = "."
    thousands: str = ""

    @property
    def plain(self) -> bool:
        """Whether arrow reads such numbers as they are."""
        return self == PLAIN

    def floats(self, column: Any) -> Any:
        """A column of texts in this style as doubles; arrow's own error for a text that is no number."""
        text = pc.utf8_trim_whitespace(column.cast(pa.string()))
        text = pc.if_else(pc.is_in(text, value_set=pa.array(EMPTY)), pa.scalar(None, pa.string()), text)
        if self.thousands:
            grouped = _COMMA_GROUPS if self.thousands == "," else _POINT_GROUPS
            bare = pc.replace_substring(text, self.thousands, "")
            text = pc.if_else(pc.match_substring_regex(text, grouped), bare, text)
        if self.decimal == ",":
            if pc.any(pc.match_substring(text, ".")).as_py():
                raise pa.ArrowInvalid("a point in a number with a decimal comma")
            text = pc.replace_substring(text, ",", ".")
        return text.cast(pa.float64())

    @property
    def notes(self) -> list[str]:
        """What a user should know."""
        said = ["decimal comma"] if self.decimal == "," else []
        return said + ([f"{'commas' if self.thousands == ',' else 'points'} between thousands"] if self.thousands else [])


PLAIN = NumberStyle()


@dataclass
class Evidence:
    """What the cells looked at so far can mean."""

    point: bool = True
    comma: bool = True
    point_groups: bool = False
    comma_groups: bool = False

    def look(self, column: Any) -> None:
        """Take in a column of texts."""
        text = pc.utf8_trim_whitespace(pc.drop_null(column.cast(pa.string())))
        text = text.filter(pc.invert(pc.is_in(text, value_set=pa.array(_OTHERS))))
        found = {kind: pc.match_substring_regex(text, kind) for kind in (_WHOLE, _POINT, _COMMA, _COMMA_GROUPS, _POINT_GROUPS)}

        def all_are(*kinds: str) -> bool:
            fits = found[kinds[0]]
            for kind in kinds[1:]:
                fits = pc.or_(fits, found[kind])
            return pc.all(fits).as_py() is not False

        self.point &= all_are(_WHOLE, _POINT, _COMMA_GROUPS)
        self.comma &= all_are(_WHOLE, _COMMA, _POINT_GROUPS)
        self.comma_groups |= bool(pc.any(found[_COMMA_GROUPS]).as_py())
        self.point_groups |= bool(pc.any(found[_POINT_GROUPS]).as_py())

    @property
    def numbers(self) -> bool:
        """Whether all cells are numbers in one style."""
        return self.point or self.comma

    def style(self) -> NumberStyle | None:
        """The style of all cells; None when they are not numbers, or not in one style."""
        told = reading().decimal
        comma = self.comma and not self.point if told is None else told == ","
        if told is None and self.point and self.comma and (self.comma_groups or self.point_groups):
            raise ambiguous(
                "every number is ambiguous: its comma or point could mark decimals or thousands (as 1,234 or 1.234); "
                "give the decimal mark with --decimal . or --decimal , (in Python decimal=)",
                "decimal",
            )
        if not (self.comma if comma else self.point):
            return None
        return NumberStyle(",", "." if self.point_groups else "") if comma else NumberStyle(".", "," if self.comma_groups else "")


def style_of(columns: Iterable[Any]) -> NumberStyle | None:
    """The style of all numbers in these columns of text; see :class:`Evidence`."""
    evidence = Evidence()
    for column in columns:
        evidence.look(column)
        if not evidence.numbers:
            return None
    return evidence.style()
