"""Positions as arrays, and as backtrader's position objects for whoever asks."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from backtrader.position import Position
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Of at most FEW names the cost of the positions is added up after OWED trades: that is quicker than after each one.
OWED, FEW = 64, 200


class PositionArrays:
    """Sizes and cost of positions in N feeds, for a long-only account.

    Attributes
    ----------
    datas : sequence of N feeds
        Perhaps made on demand; then it says itself at which place a feed stands.
    sizes, cost : (N,) float
        Shares held, and what they cost in all; a sell takes its share of the cost with it. ``sizes`` is replaced, never written
        to, so that who keeps one keeps a moment.
    """

    def __init__(self, datas: Sequence[Any]) -> None:
        self.datas = datas
        self.sizes: FloatArray = np.zeros(len(datas))
        self._cost: FloatArray = np.zeros(len(datas))
        self._owed: list[FloatArray] = []  # sizes to begin with; then deltas, fill prices and sizes after each trade
        self._owes = len(datas) <= FEW
        #: Place of a feed in the arrays, or None.
        self.find: Callable[[Any], int | None] = getattr(datas, "place", None) or {data: i for i, data in enumerate(datas)}.get

    @property
    def cost(self) -> FloatArray:
        """(N,) what the positions cost. Of few names it is brought up to date on request, and every :data:`OWED` trades."""
        if self._owed:
            self._add_up()
        return self._cost

    @cost.setter
    def cost(self, value: FloatArray) -> None:
        self._owed, self._cost = [], value

    def apply(self, deltas: FloatArray, fills: FloatArray) -> None:
        """Book trades at their fill prices. The arrays are kept for a while, and not to be written to."""
        before = self.sizes
        self.sizes = after = before + deltas
        if not self._owes:
            bought = np.maximum(deltas, 1e-300)
            most = before + bought
            bought *= fills
            self._cost += bought
            self._cost *= after
            self._cost /= most
            return
        owed = self._owed
        if not owed:
            owed.append(before)
        owed += (deltas, fills, after)
        if len(owed) > 3 * OWED:
            self._add_up()

    def _add_up(self) -> None:
        owed, self._owed = np.concatenate(self._owed).reshape(-1, len(self._cost)), []
        before, deltas, fills, after = owed[:-1:3], owed[1::3], owed[2::3], owed[3::3]
        bought = np.maximum(deltas, 1e-300)
        most = before + bought  # > 0: nothing is left of the cost of a position that is none
        bought *= fills
        np.divide(after, most, out=most)
        # What is left of each purchase after its own trade and all later ones.
        left = np.multiply.accumulate(most[::-1])[::-1]
        self._cost *= left[0]
        self._cost += np.einsum("tn,tn->n", bought, left)

    def move(self, place: int, size: float) -> None:
        """Add to a position. Arrays handed out before stay as they are; rounding leaves nothing of one that was sold."""
        old = float(self.sizes[place])
        left = old + size
        if abs(left) <= 1e-12 * abs(size):
            left = 0.0
        self.sizes = self.sizes.copy()
        self.sizes[place] = left
        self.cost[place] *= left / old if old and left < old else 1.0

    def price(self, place: int) -> float:
        """Average price of a position; 0 without one."""
        size = float(self.sizes[place])
        return float(self.cost[place]) / size if size else 0.0


class ArrayPosition(Position):
    """A backtrader position whose size and price live in arrays."""

    def __init__(self, owned: PositionArrays, place: int) -> None:
        self._owned, self._place = owned, place
        self.price_orig = self.price
        self.adjbase = self.updt = self.datetime = None
        self.upopened, self.upclosed = self.size, 0.0

    @property
    def size(self) -> float:
        """Shares held."""
        return float(self._owned.sizes[self._place])

    @size.setter
    def size(self, value: float) -> None:
        # backtrader sets the size first and then the price; keep the price until it does.
        price = self.price
        self._owned.sizes = self._owned.sizes.copy()
        self._owned.sizes[self._place] = value
        self._owned.cost[self._place] = value * price

    @property
    def price(self) -> float:
        """Average price."""
        return self._owned.price(self._place)

    @price.setter
    def price(self, value: float) -> None:
        self._owned.cost[self._place] = self.size * value

    def __len__(self) -> int:
        return int(abs(self.size))


class Positions(collections.defaultdict[Any, Position]):
    """A broker's positions by feed: those of the arrays are windows on them, made on demand; others are backtrader's own."""

    def __init__(self) -> None:
        super().__init__(Position)
        self.owned: PositionArrays | None = None

    def keep_in(self, owned: PositionArrays) -> None:
        """Show the positions of arrays, which are empty so far."""
        self.owned = owned

    def release(self) -> None:
        """From now on hold positions of backtrader's own, as they stand in the arrays."""
        self._complete()
        self.owned = None
        for data, held in list(dict.items(self)):
            if isinstance(held, ArrayPosition):
                self[data] = plain = Position(held.size, held.price)
                if plain:  # marked to the last bar, as the broker leaves every open position
                    plain.adjbase, plain.datetime = data.close[0], data.datetime.datetime()

    def __missing__(self, data: Any) -> Position:
        place = None if self.owned is None else self.owned.find(data)
        held = Position() if place is None or self.owned is None else ArrayPosition(self.owned, place)
        self[data] = held
        return held

    def __contains__(self, data: object) -> bool:
        return super().__contains__(data) or (self.owned is not None and self.owned.find(data) is not None)

    def _complete(self) -> None:
        """Make the windows on every held name: a loop over positions must see them all."""
        if self.owned is not None:
            for i in np.flatnonzero(self.owned.sizes):
                self[self.owned.datas[int(i)]]

    def items(self) -> Any:
        """All positions, those of the arrays included."""
        self._complete()
        return super().items()

    def keys(self) -> Any:
        """All feeds with a position."""
        self._complete()
        return super().keys()

    def values(self) -> Any:
        """All positions."""
        self._complete()
        return super().values()

    def __iter__(self) -> Iterator[Any]:
        self._complete()
        return super().__iter__()

    def __reduce__(self) -> Any:
        return Positions, (), {"owned": self.owned}, None, iter(list(dict.items(self)))
