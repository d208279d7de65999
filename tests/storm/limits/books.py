"""The account once more, from its fills alone: shares and cash before and after every batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from datafeeds import MarketPanel
from tests.storm.limits.rules import BoolArray, FloatArray


@dataclass(frozen=True)
class Seen:
    """What a run did, as arrays: rows are bars. `orders` are fills: date, symbol, size, price, commission; `breaches` are what
    the product wrote down itself.
    """

    panel: MarketPanel
    decided: FloatArray
    held: FloatArray
    value: FloatArray
    orders: pd.DataFrame
    breaches: pd.DataFrame | None
    cash: float

    def rows_of(self, kind: str | None) -> set[tuple[int, str, str]]:
        """(row, limit, item) of all breaches of a kind."""
        if self.breaches is None or not len(self.breaches):
            return set()
        table = self.breaches if kind is None else self.breaches[self.breaches["kind"] == kind]
        rows = np.searchsorted(self.panel.dates, table["date"].to_numpy(dtype="datetime64[ns]"))
        return set(zip(rows.tolist(), table["limit"], table["item"], strict=True))


@dataclass(frozen=True)
class Batch:
    """The fills of one bar: at its open, or (fills at the close) at its close. Prices are the quoted ones."""

    row: int
    deltas: FloatArray
    before: FloatArray
    prices: FloatArray
    cash: float
    traded: float
    paid: float

    @property
    def value(self) -> float:
        """The account just before."""
        return self.cash + float(self.before @ self.prices)

    @property
    def after(self) -> FloatArray:
        """Shares after it."""
        return self.before + self.deltas


@dataclass(frozen=True)
class Life:
    """Which names trade, and which may be held, bar by bar, from the prices alone."""

    there: BoolArray
    may: BoolArray
    gone: BoolArray
    last: FloatArray

    @classmethod
    def of(cls, panel: MarketPanel, warmup: int, patience: int) -> Life:
        """A name that lists late may be held after its warm-up; one that has been away for too long is gone, and starts anew."""
        there = np.isfinite(panel.close)
        n_bars, n = there.shape
        may, gone, last = np.zeros_like(there), np.zeros_like(there), np.full(there.shape, np.nan)
        bars = np.where(there[0], warmup + 1, 0)
        away = np.where(there[0], 0, -1)  # -1: not listed yet
        price = np.full(n, np.nan)
        for t in range(n_bars):
            away = np.where(there[t], 0, np.where(away >= 0, away + 1, -1))
            if t:
                bars = bars + there[t]
            gone[t] = away > patience
            bars = np.where(gone[t], 0, bars)
            may[t] = (bars > warmup) & ~gone[t]
            if panel.members is not None:
                may[t] &= panel.members[t]
            price = np.where(there[t], panel.close[t], price)
            last[t] = price
        return cls(there, may, gone, last)


def batches(seen: Seen, life: Life, *, at_close: bool) -> list[Batch]:
    """All batches in the order of time, and what was held and owed before each."""
    panel = seen.panel
    place = {name: i for i, name in enumerate(panel.symbols)}
    sizes, cash = np.zeros(len(place)), seen.cash
    rows = np.searchsorted(panel.dates, seen.orders["date"].to_numpy(dtype="datetime64[ns]"))
    opens = panel.close if panel.open is None else panel.open
    found: list[Batch] = []
    table = seen.orders
    names = np.array([place[name] for name in table["symbol"]], dtype=np.int64)
    size, price, fee = (table[key].to_numpy(dtype=np.float64) for key in ("size", "price", "commission"))
    for t in range(panel.n_bars):
        leaving = life.gone[t] & (sizes != 0.0)

        def book_out(leaving: BoolArray = leaving, t: int = t) -> None:
            nonlocal cash, sizes
            if leaving.any():
                cash += float(sizes[leaving] @ life.last[t][leaving])
                sizes = np.where(leaving, 0.0, sizes)

        if at_close:
            book_out()
        mine = rows == t
        if mine.any():
            deltas = np.zeros(len(place))
            np.add.at(deltas, names[mine], size[mine])
            quoted = panel.close[t] if at_close else opens[t]
            known = life.last[t] if at_close else life.last[max(t - 1, 0)]
            prices = np.nan_to_num(np.where(np.isfinite(quoted), quoted, known), nan=0.0)
            worth = float((size[mine] * price[mine]).sum())
            paid = float(fee[mine].sum())
            found.append(Batch(t, deltas, sizes, prices, cash, float(np.abs(size[mine] * price[mine]).sum()), paid))
            after = sizes + deltas
            # Positions are sums of fills: what is left of one that was sold in full is rounding.
            sizes = np.where(np.abs(after) <= 1e-12 * (np.abs(sizes) + np.abs(deltas)), 0.0, after)
            cash -= worth + paid
        if not at_close:
            book_out()
    return found
