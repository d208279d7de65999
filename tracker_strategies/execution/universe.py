"""Which names may be held: what happens when they list, pause, leave and come back. Looks only backwards."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.execution.gate import Bar

BoolArray = NDArray[np.bool_]


class UniverseEvent(NamedTuple):
    """Something that happened to one name.

    Attributes
    ----------
    date : datetime64
        The bar on which it was known: a name counts as delisted only when its pause has lasted too long.
    asset : int
        Number of the name.
    event : str
        `listed`, `delisted`, `settled` (its position was booked out), `relisted`, `joined` or `left` (the index).
    shares, price : float or None
        Of a settlement.
    """

    date: np.datetime64
    asset: int
    event: str
    shares: float | None = None
    price: float | None = None


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
        Names whose positions have to be booked out.
    events : list of UniverseEvent
        What has happened so far, in the order of time. Who is there on the first bar is no event.
    """

    def __init__(self, n_assets: int, listing_warmup: int, delist_after: int) -> None:
        for name, bars in (("listing_warmup", listing_warmup), ("delist_after", delist_after)):
            if not (isinstance(bars, Integral) and bars >= 0):
                raise ParameterError(f"{name}={bars!r} must be a number of bars >= 0")
        self._n, self._warmup, self._patience = n_assets, listing_warmup, delist_after
        self._listed_for: NDArray[np.int64] | None = None
        self.active: BoolArray | None = None
        self.gone: BoolArray | None = None
        self.events: list[UniverseEvent] = []
        self._unlisted: BoolArray | None = None
        self._member: BoolArray | None = None

    def follow(self, bar: Bar) -> bool:
        """Take in a bar; True when the names that may be held are others than before."""
        if bar.age is None and bar.member is None and self.active is None:
            return False
        age = np.zeros(self._n, dtype=np.int64) if bar.age is None else bar.age
        if self._listed_for is None:  # what is listed when gaps begin to matter has been so from the start
            self._listed_for = np.where(age >= 0, self._warmup + 1, 0)
        self._listed_for += age == 0
        left = np.zeros(self._n, dtype=bool) if self.gone is None else self.gone
        self.gone = age > self._patience
        self._tell(bar, age < 0, left, self.gone)
        self._listed_for[self.gone] = 0
        before, self.active = self.active, (self._listed_for > self._warmup) & ~self.gone
        if bar.member is not None:
            self.active &= bar.member
        if not self.active.any() and before is not None and before.any():
            day = bar.date.astype("datetime64[D]")
            raise UniverseError(f"no asset can be held on {day}: all are unlisted, in warm-up, delisted or not in the index")
        return before is not None and bool((self.active != before).any())

    def _tell(self, bar: Bar, unlisted: BoolArray, left: BoolArray, gone: BoolArray) -> None:
        """Write down what is other than on the bar before."""
        if self._unlisted is not None:
            self._note(bar, "listed", self._unlisted & ~unlisted)
        self._note(bar, "relisted", left & ~gone)
        self._note(bar, "delisted", gone & ~left)
        if bar.member is not None and self._member is not None:
            self._note(bar, "joined", bar.member & ~self._member)
            self._note(bar, "left", self._member & ~bar.member)
        self._unlisted, self._member = unlisted, bar.member

    def _note(self, bar: Bar, event: str, which: BoolArray) -> None:
        self.events += [UniverseEvent(bar.date, i, event) for i in np.flatnonzero(which).tolist()]

    def booked_out(self, bar: Bar, asset: int, shares: float) -> None:
        """Write down that the position in a delisted name was booked out at its last price."""
        self.events.append(UniverseEvent(bar.date, asset, "settled", shares, float(bar.close[asset])))

    def named_events(self, symbols: Sequence[str]) -> tuple[dict[str, Any], ...]:
        """The events with the names of the assets, for the record of a run."""
        return tuple(
            {"date": str(e.date.astype("datetime64[s]")).removesuffix("T00:00:00"), "symbol": symbols[e.asset], "event": e.event}
            | ({} if e.shares is None else {"shares": e.shares, "price": e.price})
            for e in self.events
        )
