"""How names are spelt by those who trade them: BRK-B at Yahoo, BRK.B at Alpaca, BRK B at Interactive Brokers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from datafeeds.errors import DataError
from datafeeds.readers import read_any_table
from datafeeds.readers.words import plain_name
from tracker_strategies.errors import ParameterError

#: What stands between a share's root and its class, by who spells it.
MARKS: Mapping[str, str] = MappingProxyType({"yahoo": "-", "alpaca": ".", "ibkr": " "})
#: A root and a class of shares, as any of them writes it; BRK/B is how some terminals do.
_CLASS = re.compile(r"^([A-Z]{1,6})[-. /]([A-Z]{1,2})$")


@dataclass(frozen=True)
class Spelling:
    """From the names of the data to those of a broker, and back.

    A class of shares is translated by rule: one letter (or two) after ``-``, ``.``, a blank or ``/``. What no rule covers is
    given in a table of your own, which wins over the rule.

    Parameters
    ----------
    own : mapping of broker to mapping of names
        For each of yahoo, alpaca and ibkr: how it spells a name of the data.

    Examples
    --------
    >>> from tracker_strategies.execution.holdings import Spelling
    >>> spelling = Spelling()
    >>> spelling.at("alpaca", "BRK-B"), spelling.at("ibkr", "BRK-B"), spelling.known("BRK B", ["AAPL", "BRK-B"])
    ('BRK.B', 'BRK B', 'BRK-B')
    """

    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse brokers that are unknown, and two names that would be one at a broker."""
        for broker, names in self.own.items():
            if broker not in MARKS:
                raise ParameterError(f"broker {broker!r} of a spelling is unknown; choose among {', '.join(MARKS)}")
            twice = [there for there in names.values() if list(names.values()).count(there) > 1]
            if twice:
                raise ParameterError(f"two names of the data are both spelt {twice[0]!r} at {broker}; keep one")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Spelling:
        """From a table with the column symbol (a name of the data) and one column for each of yahoo, alpaca and ibkr, or some.

        An empty cell leaves the name to the rule.
        """
        frame, _ = read_any_table(path, texts=tuple(MARKS))
        heads = {plain_name(head): head for head in frame.columns}
        brokers = [broker for broker in MARKS if broker in heads]
        if "symbol" not in heads or not brokers:
            shown, wanted = ", ".join(frame.columns[:8]), ", ".join(MARKS)
            raise DataError(
                f"{os.fspath(path)}: its columns are {shown}; a table of spellings needs symbol and at least one of {wanted}"
            )
        names = frame[heads["symbol"]]
        cells = {broker: frame[heads[broker]] for broker in brokers}
        return cls({b: {name: cell for name, cell in zip(names, cells[b], strict=True) if cell} for b in brokers})

    def at(self, broker: str, symbol: str) -> str:
        """The name of the data as a broker spells it."""
        if broker not in MARKS:
            return symbol
        told = self.own.get(broker, {}).get(symbol)
        if told is not None:
            return told
        parts = _CLASS.match(symbol)
        return symbol if parts is None else MARKS[broker].join(parts.groups())

    def known(self, name: str, symbols: Iterable[str]) -> str | None:
        """The name in the data for a name from elsewhere; None where there is none."""
        among = symbols if isinstance(symbols, frozenset) else frozenset(symbols)
        if name in among:
            return name
        for names in self.own.values():
            back = next((symbol for symbol, there in names.items() if there == name and symbol in among), None)
            if back is not None:
                return back
        parts = _CLASS.match(name)
        if parts is None:
            return None
        spelt = (mark.join(parts.groups()) for mark in (*MARKS.values(), "/"))
        return next((text for text in spelt if text in among), None)
