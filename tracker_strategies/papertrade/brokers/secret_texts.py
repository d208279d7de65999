"""Keys in texts: found in every usual form, in any case, and also where only a part of one is left."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape

#: So many letters in a row of a key, or of any form of it, are not shown.
LETTERS = 8
#: Letters of a text that are looked at, far more than are ever told: an answer may be a whole page.
MOST = 20_000
#: What takes the place of a key.
MASK = "***"


class Mask:
    """Takes keys out of texts. Clean a text before it is cut: half a key may be all that is left of it.

    Parameters
    ----------
    secrets : iterable of str
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._parts: dict[int, set[str]] = {}
        for form in (form for secret in secrets if secret for form in forms(secret)):
            size = min(LETTERS, len(form))
            self._parts.setdefault(size, set()).update(form[i : i + size] for i in range(len(form) - size + 1))

    def clean(self, text: str) -> str:
        """The text on one line, with :data:`MASK` wherever it shows a key: also one that is broken by spaces or line ends."""
        text = " ".join(text[:MOST].split())
        places = [i for i, letter in enumerate(text) if letter != " "]
        bare = "".join(text[i] for i in places).lower()
        if len(bare) != len(places):  # letters that are two in lower case: none that a key has
            bare = "".join(letter if len(letter) == 1 else "?" for letter in (text[i].lower() for i in places))
        hidden = [False] * len(text)
        for size, parts in self._parts.items():
            for i in range(len(bare) - size + 1):
                if bare[i : i + size] in parts:
                    first, last = places[i], places[i + size - 1]
                    hidden[first : last + 1] = [True] * (last + 1 - first)
        shown = []
        for i, letter in enumerate(text):
            if not hidden[i]:
                shown.append(letter)
            elif not i or not hidden[i - 1]:
                shown.append(MASK)
        return "".join(shown)


def forms(secret: str) -> Iterator[str]:
    """A key as it is, and as others write it, in lower case and without spaces: percent-encoded, escaped as in JSON and HTML, in
    hexadecimal, and in base64, alone or inside something longer such as the ``key:secret`` of a header.
    """
    for found in _written(secret):
        if bare := "".join(found.lower().split()):
            yield bare


def _written(secret: str) -> Iterator[str]:
    raw = secret.encode()
    yield secret
    yield from (quote(secret, safe=""), quote(secret), quote_plus(secret), "".join(f"%{byte:02x}" for byte in raw))
    escaped = json.dumps(secret)[1:-1]
    yield from (escaped, escaped.replace("/", "\\/"), "".join(f"\\u{ord(letter):04x}" for letter in secret), repr(secret)[1:-1])
    yield escape(secret, {'"': "&quot;", "'": "&#x27;"})
    yield "".join(letter if letter.isalnum() else f"&#{ord(letter)};" for letter in secret)
    yield "".join(letter if letter.isalnum() else f"&#x{ord(letter):x};" for letter in secret)
    yield from (raw.hex(), raw.hex(":"), raw.hex("-"), "".join(f"\\x{byte:02x}" for byte in raw))
    for shift in range(3):  # in front of it there may be any number of other bytes
        inside = base64.b64encode(b"\0" * shift + raw).decode().rstrip("=")
        inside = inside[-(-4 * shift // 3) : 4 * (shift + len(raw)) // 3]  # without letters that others have a part in
        yield from (inside, inside.replace("+", "-").replace("/", "_"))
