"""Words of a command line or of a source as values, the one reader of ``key=value``; and texts from outside as texts."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from typing import Any

from datafeeds.errors import ParameterError

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {code: chr(code).encode("unicode_escape").decode() for code in _CONTROLS if chr(code) not in "\n\t"}
"""Characters that a terminal would obey, or that turn a line around, and how they are shown."""


def plain(text: Any) -> str:
    r"""A text without anything that a terminal would obey; bytes of a name that are no text are shown as such.

    >>> from datafeeds.texts import plain
    >>> plain("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    return str(text).translate(_SHOWN).encode("utf-8", "backslashreplace").decode("utf-8")


def as_text(cell: str) -> str:
    """A text that a spreadsheet takes for text: one that begins with ``=``, ``+``, ``-`` or ``@`` gets an apostrophe before it.

    >>> from datafeeds.texts import as_text
    >>> as_text("=1+1"), as_text("AAPL")
    ("'=1+1", 'AAPL')
    """
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


def did_you_mean(word: str, known: Iterable[Any]) -> str:
    """``; did you mean 'ensemble'?`` for a word that is nearly one of those known, else nothing.

    >>> from datafeeds.texts import did_you_mean
    >>> did_you_mean("ensemblee", ["pa", "ensemble"])
    "; did you mean 'ensemble'?"
    """
    names = {str(name).lower(): str(name) for name in known}
    near = difflib.get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[near[0]]!r}?" if near else ""


def parse_value(text: str) -> Any:
    """Numbers, None, booleans and other Python literals as themselves; anything else stays text, ``none`` too.

    Who is given ``none`` knows whether it is one of its own words (``side=none``) or means that there is nothing.
    """
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()


def split_outside(text: str) -> list[str]:
    """The parts between commas; one inside brackets or quotes separates nothing."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if letter == "," and not depth and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        depth += 0 if quote else (letter in "([{") - (letter in ")]}")
        parts[-1] += letter
    return parts


def parse_pairs(pairs: Iterable[str], what: str, example: str = "") -> dict[str, Any]:
    """``key=value`` texts as a dict; of a key that appears twice the last one counts.

    ``what`` names the option in the error, ``example`` shows how it should look.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"{what} {pair!r} must look like key=value" + (f", for example {example}" if example else ""))
        found[key.strip()] = parse_value(text)
    return found
