"""Corporate actions: splits, dividends, new tickers, delistings; from a file, or read off a price history that was adjusted.

The journal keeps prices as they were seen. The strategy thinks in *units*: from an action on, a share stands for ``factor`` units
less or more, so that a unit's price never jumps by the action, and nothing that was seen before has to be changed:

    price of a unit = price of a share * F,     units held = shares held / F,     F = product of the factors so far.

A split of r new shares for one old has factor r. A dividend d on a share worth P before it has factor P / (P - d): the price
falls by d, the return does not.
"""

from __future__ import annotations

import csv
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]

KINDS = ("split", "dividend", "rename", "delist")
_HEADER = ("date", "symbol", "kind", "value")
#: Splits that are recognised when a history comes back adjusted: new shares for old.
RATIOS = tuple(
    sorted({a / b for a in range(1, 51) for b in range(1, 51) if (a == 1 or b == 1 or (a <= 5 and b <= 5)) and a != b})
)
#: With fewer shares, whole numbers have simple ratios by chance.
_MANY = 10
#: An adjustment smaller than this is a dividend, not a split.
SMALLEST_SPLIT = 0.15


@dataclass(frozen=True)
class Action:
    """One corporate action of one name.

    ``value``: new shares for one old (split), money per share (dividend, delist), nothing (rename, whose new ticker is ``text``).
    """

    session: str
    symbol: str
    kind: str
    value: float = math.nan
    text: str = ""
    factor: float = 1.0
    origin: str = "file"

    def __str__(self) -> str:
        if self.kind == "split":
            shares = f"{self.value:g}:1" if self.value >= 1 else f"1:{1 / self.value:g}"
            return f"{self.symbol} {shares} split on {self.session}"
        if self.kind == "rename":
            return f"{self.symbol} is called {self.text} from {self.session} on"
        if self.kind == "delist":
            paid = "its last price" if math.isnan(self.value) else f"{self.value:g} per share"
            return f"{self.symbol} delisted on {self.session}, paid out at {paid}"
        return f"{self.symbol} dividend of {self.value:.6g} per share on {self.session}"


def read_actions(path: str) -> list[Action]:
    """Read a CSV with the columns date, symbol, kind, value: ``2020-08-31,AAPL,split,4``. A missing file has no actions."""
    if not path or not Path(path).expanduser().exists():
        return []
    name = Path(path).name
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8")
        rows = list(csv.DictReader(text.splitlines(), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise DataError(
            f"{name}: cannot be read ({problem}); write a CSV in UTF-8 with the columns {','.join(_HEADER)}"
        ) from None
    found = []
    for number, row in enumerate(rows, 2):
        cells = {str(k).strip().lower(): v.strip() for k, v in row.items() if isinstance(v, str)}
        if not all(cells.get(key) for key in _HEADER[:3]):
            raise DataError(f"{name}, line {number}: needs {', '.join(_HEADER)}; got {dict(cells)}")
        found.append(_parse(cells, f"{name}, line {number}"))
    return found


def _parse(cells: Mapping[str, str], where: str) -> Action:
    kind, value = cells["kind"].lower(), cells.get("value", "")
    if kind not in KINDS:
        raise DataError(f"{where}: kind {kind!r} is unknown; choose one of {', '.join(KINDS)}")
    try:
        session = str(np.datetime64(cells["date"], "D"))
    except ValueError:
        raise DataError(f"{where}: {cells['date']!r} is not a date; write YYYY-MM-DD") from None
    if kind == "rename":
        if not value:
            raise DataError(f"{where}: a rename needs the new ticker as its value")
        return Action(session, cells["symbol"], kind, text=value)
    if kind == "delist" and not value:
        return Action(session, cells["symbol"], kind)
    try:
        new, _, old = value.partition(":")
        amount = float(new) / float(old or 1)
    except (ValueError, ZeroDivisionError):
        amount = math.nan
    if not (math.isfinite(amount) and (amount > 0.0 or (kind == "delist" and amount == 0.0))):
        raise DataError(f"{where}: {kind} needs a positive number, such as 4 or 4:1 for a split; got {value!r}")
    return Action(session, cells["symbol"], kind, amount)


def due(
    listed: Sequence[Action],
    before: str,
    session: str,
    symbols: Sequence[str],
    tickers: Sequence[str],
    last: FloatArray,
    adjusted: Mapping[int, float],
) -> list[Action]:
    """Actions that take effect on a session, with their factors.

    Parameters
    ----------
    listed : sequence of Action
        From the file.
    before, session : str
        The session before and this one; what is dated between them belongs to this one.
    symbols, tickers : sequences of N str
        Names in the account, and what they are called now.
    last : (N,) float
        Last closes as they were seen.
    adjusted : mapping of place to float
        Names whose history came back multiplied by this number.
    """
    found: list[Action] = []
    places = {**{t: i for i, t in enumerate(tickers)}, **{s: i for i, s in enumerate(symbols)}}
    for action in listed:
        if before < action.session <= session and action.symbol in places:
            found.append(replace(action, session=session, symbol=symbols[places[action.symbol]]))
    found.sort(key=lambda a: (a.symbol, KINDS.index(a.kind)))
    done = []
    for i, symbol in enumerate(symbols):
        own = [a for a in found if a.symbol == symbol]
        if i in adjusted and not any(a.kind in ("split", "dividend") for a in own):
            own.append(_guess(session, symbol, adjusted[i], float(last[i])))
        price = float(last[i])
        for a in own:
            factor = 1.0
            if a.kind == "split":
                factor, price = a.value, price / a.value
            elif a.kind == "dividend":
                if not a.value < price:
                    raise DataError(f"{a}: more than the share price ({price:g}); correct the file of actions")
                factor, price = price / (price - a.value), price - a.value
            elif a.kind == "delist" and math.isnan(a.value):
                a = replace(a, value=price)
            done.append(replace(a, factor=factor))
        if i in adjusted:
            done = _reconciled(done, symbol, adjusted[i])
    return done


def split_ratio(old: float, new: float) -> float | None:
    """The split that makes so many shares of so many, fractions kept or paid out; None when no usual one does."""
    if not (old > 0.0 and new > 0.0):
        return None
    ratio = min(RATIOS, key=lambda r: abs(math.log(old * r / new)))
    kept = abs(old * ratio - new) <= 1e-6 * max(1.0, new)
    paid_out = new == math.floor(old * ratio) >= _MANY
    return ratio if kept or paid_out else None


def _guess(session: str, symbol: str, ratio: float, price: float) -> Action:
    """What an adjustment of the whole history by a ratio means: a split if it is large and a simple fraction, else a dividend."""
    shares = 1.0 / ratio
    if abs(math.log(ratio)) > SMALLEST_SPLIT:
        nearest = min(RATIOS, key=lambda r: abs(math.log(r * ratio)))
        if abs(math.log(nearest * ratio)) < 0.01:
            return Action(session, symbol, "split", nearest, origin="history")
    if ratio > 1.0:
        return Action(session, symbol, "split", shares, origin="history")
    return Action(session, symbol, "dividend", price * (1.0 - ratio), origin="history")


def _reconciled(actions: list[Action], symbol: str, ratio: float) -> list[Action]:
    """The factors of a name's actions, such that together they are exactly what its history was adjusted by."""
    own = [a for a in actions if a.symbol == symbol and a.kind in ("split", "dividend")]
    total = math.prod(a.factor for a in own)
    if abs(math.log(total * ratio)) > 0.02:
        raise DataError(
            f"{symbol}: the source now returns its history multiplied by {ratio:.6g}, but "
            f"{'; '.join(map(str, own))} imply a factor of {1 / total:.6g}; correct the file of actions or the prices"
        )
    first = own[0]
    fixed = replace(first, factor=first.factor / (total * ratio))
    return [fixed if a is first else a for a in actions]


def factors(actions: Sequence[Action], sessions: Sequence[str], symbols: Sequence[str]) -> FloatArray | None:
    """(T, N) product of the factors up to each session; None when there are none."""
    if all(a.factor == 1.0 for a in actions):
        return None
    table = np.ones((len(sessions), len(symbols)))
    places = {s: i for i, s in enumerate(symbols)}
    for action in actions:
        table[bisect_left(sessions, action.session) :, places[action.symbol]] *= action.factor
    return table
