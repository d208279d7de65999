"""Positions as arrays, and as backtrader's position objects for whoever asks."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from backtrader.position import Position
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Book:
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
        self.cost: FloatArray = np.zeros(len(datas))
        self._nothing = np.full(len(datas), 1e-300)
        #: Position of a feed in the book, or None.
        self.find: Callable[[Any], int | None] = getattr(datas, "place", None) or {data: i for i, data in enumerate(datas)}.get

    def apply(self, deltas: FloatArray, fills: FloatArray) -> None:
        """Book trades at their fill prices."""
        bought = np.maximum(deltas, self._nothing)
        most = self.sizes + bought  # > 0: nothing is left of the cost of a position that is none
        bought *= fills
        self.cost += bought
        self.sizes = self.sizes + deltas
        np.divide(self.sizes, most, out=most)
        self.cost *= most

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


class BookPosition(Position):
    """A backtrader position whose size and price live in a book."""

    def __init__(self, book: Book, place: int) -> None:
        self._book, self._place = book, place
        self.price_orig = self.price
        self.adjbase = self.updt = self.datetime = None
        self.upopened, self.upclosed = self.size, 0.0

    @property
    def size(self) -> float:
        """Shares held."""
        return float(self._book.sizes[self._place])

    @size.setter
    def size(self, value: float) -> None:
        # backtrader sets the size first and then the price; keep the price until it does.
        price = self.price
        self._book.sizes = self._book.sizes.copy()
        self._book.sizes[self._place] = value
        self._book.cost[self._place] = value * price

    @property
    def price(self) -> float:
        """Average price."""
        return self._book.price(self._place)

    @price.setter
    def price(self, value: float) -> None:
        self._book.cost[self._place] = self.size * value

    def __len__(self) -> int:
        return int(abs(self.size))


class Positions(collections.defaultdict[Any, Position]):
    """A broker's positions by feed: those of the book are windows on it, made on demand; others are backtrader's own."""

    def __init__(self) -> None:
        super().__init__(Position)
        self.book: Book | None = None

    def keep_in(self, book: Book) -> None:
        """Show the positions of a book, which is empty so far."""
        self.book = book

    def release(self) -> None:
        """From now on hold positions of backtrader's own, as they stand in the book."""
        self._complete()
        self.book = None
        for data, held in list(dict.items(self)):
            if isinstance(held, BookPosition):
                self[data] = plain = Position(held.size, held.price)
                if plain:  # marked to the last bar, as the broker leaves every open position
                    plain.adjbase, plain.datetime = data.close[0], data.datetime.datetime()

    def __missing__(self, data: Any) -> Position:
        place = None if self.book is None else self.book.find(data)
        held = Position() if place is None or self.book is None else BookPosition(self.book, place)
        self[data] = held
        return held

    def __contains__(self, data: object) -> bool:
        return super().__contains__(data) or (self.book is not None and self.book.find(data) is not None)

    def _complete(self) -> None:
        """Make the windows on every held name: a loop over positions must see them all."""
        if self.book is not None:
            for i in np.flatnonzero(self.book.sizes):
                self[self.book.datas[int(i)]]

    def items(self) -> Any:
        """All positions, those of the book included."""
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
        return Positions, (), {"book": self.book}, None, iter(list(dict.items(self)))
