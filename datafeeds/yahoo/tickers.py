"""Lists of tickers: in a file, in a text with commas, or as a Python sequence."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from datafeeds.errors import DataError, UniverseError
from datafeeds.readers.heads.headers import shorten
from datafeeds.readers.words import LONG_TABLE_COLUMNS

TICKER = re.compile(r"[A-Z0-9^][A-Z0-9.^=&_-]{0,31}")
ISIN = re.compile(r"[A-Z]{2}[A-Z0-9]{9}[0-9]")


def tickers_of(given: str | os.PathLike[str] | Iterable[str]) -> tuple[str, ...]:
    """Tickers in upper case, each once, in the order given.

    Parameters
    ----------
    given : path, text or iterable of str
        A file with one ticker per line (or several with commas between them; ``#`` begins a comment), or a CSV file with a column
        ``ticker`` or ``symbol``; a text such as ``"AAPL,MSFT"``; or the tickers themselves.

    Raises
    ------
    DataError
        The file is absent, empty or not text.
    UniverseError
        An entry is not a ticker, or there is none.
    """
    if isinstance(given, os.PathLike) or (isinstance(given, str) and _is_path(given)):
        path = Path(given).expanduser()
        names: Sequence[str] = _read(path)
        where = f"{path.name} holds no ticker; write one per line"
    else:
        names = given.split(",") if isinstance(given, str) else list(given)
        where = "no ticker given; name at least one"
    found = dict.fromkeys(check_ticker(name) for name in names if name.strip())
    if not found:
        raise UniverseError(where)
    return tuple(found)


def check_ticker(name: str) -> str:
    """A ticker in upper case, or a :class:`UniverseError` that says what is wrong with it."""
    ticker = name.strip().upper()
    if not TICKER.fullmatch(ticker):
        raise UniverseError(f"{shorten(name.strip())} is not a ticker; Yahoo's look like AAPL, BRK-B, 0700.HK or ^GSPC")
    if ISIN.fullmatch(ticker):
        raise UniverseError(f"{ticker} is an ISIN; give Yahoo's ticker of the same security")
    return ticker


def _is_path(text: str) -> bool:
    return os.path.isfile(os.path.expanduser(text)) or bool(re.search(r"[/\\]|\.(txt|csv|tsv|lst|list)$", text, re.IGNORECASE))


def _read(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"no such file of tickers: {path}; check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise DataError(f"{path.name} cannot be read as a list of tickers: {reason}") from None
    rows = [row for row in csv.reader(line.split("#", 1)[0] for line in text.splitlines()) if any(cell.strip() for cell in row)]
    if not rows:
        return []
    header = [cell.strip().lower() for cell in rows[0]]
    column = next((i for i, cell in enumerate(header) if cell in LONG_TABLE_COLUMNS - {"name"}), None)
    if column is None:
        return [cell for row in rows for cell in row]
    return [row[column] for row in rows[1:] if len(row) > column]
