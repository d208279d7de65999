"""Which names may be held: what happens when they list, pause, leave and come back. Looks only backwards."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.strategies.gate import Bar

BoolArray = NDArray[np.bool_]


class Universe:
    """The names that may be held, bar by bar.

    A name that trades on the first bar may be held at once; one that lists later after ``listing_warmup`` bars of its own. A
    pause changes nothing until it has lasted more than ``delist_after`` bars: then the name counts as gone. Should it come back,
    it lists anew.

    Where the panel says who belongs to the index, only members may be held. A name that leaves the index but still trades is no
    longer active, so that its weight goes to the others and its position is sold in the market like any other; one that joins may
    be held at once if it has traded for its warm-up, as a member or not. What counts is membership on the date of the bar: a
    change is acted upon at the close of the first day on which it is in force.

    Attributes
    ----------
    active : (N,) bool or None
        Names that may be held next; None while that is all of them and always has been.
    gone : (N,) bool or None
        Names whose positions have to be settled.
    """

    def __init__(self, n_assets: int, listing_warmup: int, delist_after: int) -> None:
        for name, bars in (("listing_warmup", listing_warmup), ("delist_after", delist_after)):
            if not (isinstance(bars, Integral) and bars >= 0):
                raise ParameterError(f"{name}={bars!r} must be a number of bars >= 0")
        self._n, self._warmup, self._patience = n_assets, listing_warmup, delist_after
        self._listed_for: NDArray[np.int64] | None = None
        self.active: BoolArray | None = None
        self.gone: BoolArray | None = None

    def follow(self, bar: Bar) -> bool:
        """Take in a bar; True when the names that may be held are others than before."""
        if bar.age is None and bar.member is None and self.active is None:
            return False
        age = np.zeros(self._n, dtype=np.int64) if bar.age is None else bar.age
        if self._listed_for is None:  # what is listed when gaps begin to matter has been so from the start
            self._listed_for = np.where(age >= 0, self._warmup + 1, 0)
        self._listed_for += age == 0
        self.gone = age > self._patience
        self._listed_for[self.gone] = 0
        before, self.active = self.active, (self._listed_for > self._warmup) & ~self.gone
        if bar.member is not None:
            self.active &= bar.member
        if not self.active.any() and before is not None and before.any():
            day = bar.date.astype("datetime64[D]")
            raise UniverseError(f"no asset can be held on {day}: all are unlisted, in warm-up, delisted or not in the index")
        return before is not None and bool((self.active != before).any())
