"""Turnover, in both conventions, and holding periods of a run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tracker_strategies.analysis.record import RunRecord

#: A position below this share of the account is none.
NOTHING = 1e-12


class Trading(NamedTuple):
    """Of the scored bars.

    Attributes
    ----------
    two_way : float
        Turnover per year: value bought plus value sold, over the account. ``turnover`` of ``metrics.json`` is the same per bar.
    one_way : float
        Half of it, as most fund reports write turnover: selling all and buying something else is 100 %.
    holding_years : float
        1 / one_way: how long the average unit of money stays where it is; infinite without a trade.
    trades, trades_per_year : float
        Executed orders; NaN where they were not kept.
    median_spell : float
        Bars that a name is held, from its first close with a position to the last, median over those that were sold; NaN where
        none was.
    open_spells : int
        Names held at the last bar.
    """

    two_way: float
    one_way: float
    holding_years: float
    trades: float
    trades_per_year: float
    median_spell: float
    open_spells: int


def trading(record: RunRecord) -> Trading:
    """Turnover in both conventions, holding periods and trades.

    Money paid in or out is traded too: turnover includes investing it.
    """
    part = record.part
    T, year = len(part.dates) - 1, part.periods_per_year
    if T < 1:
        nan = math.nan
        return Trading(nan, nan, nan, nan, nan, nan, 0)
    two_way = float(part.turnover[1:].mean()) * year
    kept = len(part.orders) > 0 or not part.turnover[1:].any()
    trades = float(len(part.orders)) if kept else math.nan
    ended, still = _spells(part.weights > NOTHING)
    return Trading(
        two_way,
        0.5 * two_way,
        2.0 / two_way if two_way > 0.0 else math.inf,
        trades,
        trades * year / T,
        float(np.median(ended)) if ended else math.nan,
        still,
    )


def _spells(held: np.ndarray) -> tuple[list[int], int]:
    """Lengths of the spells that ended, and how many have not."""
    padded = np.pad(held.astype(np.int8), ((1, 0), (0, 0)))
    change = np.diff(padded, axis=0)
    ended: list[int] = []
    for name in range(held.shape[1]):
        begins, ends = np.flatnonzero(change[:, name] > 0), np.flatnonzero(change[:, name] < 0)
        ended += (ends - begins[: len(ends)]).tolist()
    return ended, int(held[-1].sum())
