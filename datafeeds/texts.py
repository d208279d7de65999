"""From the words of a command line or of a source to values: the one reader of ``key=value``."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from datafeeds.errors import ParameterError


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
    """``key=value`` texts as a dict; of a key that stands twice the last one counts.

    ``what`` names the option in the error, ``example`` shows how it should look.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise ParameterError(f"{what} {pair!r} must look like key=value" + (f", for example {example}" if example else ""))
        found[key.strip()] = parse_value(text)
    return found
