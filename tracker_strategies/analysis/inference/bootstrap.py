r"""Is the best of many better than a baseline: block bootstrap of what each cell missed bar by bar, and a max statistic over all
that was tried.

Every cell and the baseline have a path over the same T bars: the active return e, or the log return over that of the index. The
objective is a function of the mean over bars of some :math:`u_t`: :math:`\sqrt{\bar u}` with :math:`u = e^2` for the tracking
error, :math:`T \bar u` with u the log return over the index for the excess return. The improvement of cell k over the baseline is
:math:`\delta_k`, the mean of :math:`d_{k,t} = \pm (u_{k,t} - u_{0,t})`, positive where the cell is better.

A resample draws blocks of bars with replacement (stationary bootstrap: block lengths geometric with mean b, the end joined to the
start), the same bars for all cells, so that what they have in common stays in common. With the resampled improvements
:math:`\delta_k^*`, their standard deviation :math:`\omega_k` and :math:`t_k = \delta_k / \omega_k`, the best of K cells of which
none beats the baseline is distributed as

.. math:: M^* = \max_k (\delta_k^* - \delta_k 1[t_k > -\sqrt{2 \ln \ln T}]) / \omega_k .

The adjusted p-value of cell k is the share of draws with :math:`M^* \ge t_k`. This is Hansen's test for superior predictive
ability, White's reality check studentised and with an indicator that keeps hopeless cells from watering it down; read cell by
cell it bounds the probability of even one wrong claim among all K. It takes the place of a deflated Sharpe ratio because
trackers are compared by tracking error, for which there is none, and because the cells of a grid are so much alike that to count
them as independent trials would deflate far too much: here their correlation enters by itself.

The test is done on mean squares and not on their roots or logarithms: those turn a lucky cell's small error into a small standard
deviation as well, and claim too much on heavy tails.

References
----------
Politis, Romano (1994), The stationary bootstrap. White (2000), A reality check for data snooping. Hansen (2005), A test for
superior predictive ability. Romano, Wolf (2005), Stepwise multiple testing as formalized data snooping.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.objectives import LEVEL, TRIFLE, Objective, figure, per_bar

FloatArray = NDArray[np.float64]

DRAWS = 1000
_CHUNK, _MOST_PIECES = 500, 5000


def block_length(n_bars: int) -> float:
    """Mean block length: twice the cube root of the bars. Errors are hardly autocorrelated, their squares are for some weeks."""
    return max(1.0, 2.0 * math.cbrt(n_bars))


class Resamples:
    """Draws of the stationary bootstrap over T bars, the same for all runs that are compared.

    Beyond 5000 bars, as in a Monte-Carlo study, neighbours are drawn together, fewer than a block has on average: what is kept
    and computed does not grow further.

    Parameters
    ----------
    n_bars : int
    draws : int, default 1000
    seed : int, default 0
    """

    def __init__(self, n_bars: int, draws: int = DRAWS, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.n_bars, self.draws = n_bars, draws
        self._together = -(-n_bars // _MOST_PIECES)
        n = -(-n_bars // self._together)
        self._extra = _times_drawn(n, draws, min(1.0, self._together / block_length(n_bars)), rng) - 1.0

    def deviations(self, u: FloatArray, bars: NDArray[np.intp] | None = None) -> FloatArray:
        """(draws, K) by how much the mean over bars of each row of u (K, T) moves in each draw.

        ``bars`` names the bars that u has, in order, if not all.
        """
        piece = (np.arange(self.n_bars) if bars is None else bars) // self._together
        starts = np.flatnonzero(np.r_[True, piece[1:] != piece[:-1]])
        extra = self._extra if bars is None else self._extra[:, piece[starts]]
        centred = u - u.mean(axis=1, keepdims=True)
        sums = centred if self._together == 1 else np.add.reduceat(centred, starts, axis=1)
        return np.asarray(extra @ sums.T / u.shape[1])


def _times_drawn(n: int, draws: int, leave: float, rng: np.random.Generator) -> NDArray[np.int16]:
    """(draws, n) how often each of n pieces is in each draw: blocks from a piece drawn at random, ended after each with
    probability `leave`, until there are n. Only where blocks begin and end is noted, and added up along the pieces.
    """
    lengths = np.empty((draws, 0), dtype=np.int64)
    while not lengths.size or lengths.sum(axis=1).min() < n:
        size = (draws, math.ceil(n * leave + 4.0 * math.sqrt(n * leave)))
        more = np.ceil(rng.standard_exponential(size) / -math.log1p(-leave)) if leave < 1.0 else np.ones(size)
        lengths = np.hstack([lengths, more.astype(np.int64)])
    after = lengths.cumsum(axis=1)
    row, block = np.nonzero(after - lengths < n)
    first = rng.integers(n, size=len(row))
    end = first + lengths[row, block] - np.maximum(after[row, block] - n, 0)
    around = end > n  # the end is joined to the start
    times = np.zeros((draws, n + 1), dtype=np.int16)
    times[:, 0] = np.bincount(row[around], minlength=draws)
    flat, row = times.ravel(), row * (n + 1)
    np.add.at(flat, row + first, np.int16(1))
    np.subtract.at(flat, row + np.where(around, end - n, end), np.int16(1))
    return np.cumsum(times, axis=1, out=times)[:, :n]


@dataclass(frozen=True, eq=False)
class Comparison:
    """K cells against one baseline.

    Attributes
    ----------
    delta : (K,) float
        Improvement over the baseline in units of the objective, on the bars of the cell; positive is better.
    p : (K,) float
        p-value of "no better than the baseline", adjusted for all trials.
    low, high : (K,) float
        Interval of the improvement that holds for all at once.
    """

    delta: FloatArray
    p: FloatArray
    low: FloatArray
    high: FloatArray


Group = tuple[NDArray[np.intp], NDArray[np.floating[Any]]]
"""Bars on which some cells were run (all, or a part for those that a halving dropped), and their paths on these bars."""


def compare(
    groups: Iterable[Group],
    baseline: FloatArray,
    objective: Objective,
    resamples: Resamples,
    *,
    level: float = LEVEL,
    planned: float = 1.0,
) -> Comparison:
    """Compare all cells of all groups with a baseline, in the order in which they come.

    Parameters
    ----------
    groups : iterable of (bars, paths)
        Taken one after the other: only one chunk of paths is held as doubles at a time.
    baseline : (T,) float
        The baseline's path.
    objective : Objective
    resamples : Resamples
        Of the T bars.
    level : float, default 0.05
        Of the simultaneous intervals.
    planned : float, default 1
        Times as many trials as there are here were planned. Those without a result could have been the best by luck as well: by
        the union bound over this number of blocks of trials: p-values are multiplied, and levels divided, by it.

    Notes
    -----
    Cost: one product of (draws, T) and (T, K), about a second for 10,000 cells on 500 bars.
    """
    draws, T = resamples.draws, resamples.n_bars
    best, widest = np.zeros(draws), np.zeros(draws)
    parts: list[tuple[FloatArray, ...]] = []
    limit = math.sqrt(2.0 * math.log(math.log(max(T, 16))))
    for bars, paths in _chunks(groups):
        base = per_bar(baseline[None, bars], objective)
        gain = objective.sign * (per_bar(paths, objective) - base)
        delta = gain.mean(axis=1)
        moved = resamples.deviations(gain, None if len(bars) == T else bars)
        error = moved.std(axis=0, ddof=1)
        least = TRIFLE * np.sqrt((base**2).mean())
        same = (error <= least) & (np.abs(delta) <= 10.0 * least)
        delta[same], error[same] = 0.0, 0.0
        error[~same] = np.maximum(error[~same], least)
        parts.append((delta, error, np.full(len(delta), base.mean()), np.full(len(delta), len(bars))))
        if same.all():
            continue
        moved = moved[:, ~same] / error[~same]
        np.maximum(widest, np.abs(moved).max(axis=1), out=widest)
        t = delta[~same] / error[~same]
        moved += np.where(t > -limit, 0.0, t)
        np.maximum(best, moved.max(axis=1), out=best)
    if not parts:
        return Comparison(*np.zeros((4, 0)))
    delta, error, base_mean, n_bars = (np.concatenate(column) for column in zip(*parts, strict=True))
    t = np.divide(delta, error, out=np.zeros_like(delta), where=error > 0.0)
    beaten = draws - np.searchsorted(np.sort(best), t, side="left")
    p = np.where(t > 0.0, np.minimum(1.0, planned * (1.0 + beaten) / (1.0 + draws)), 1.0)
    reach = float(np.quantile(widest, 1.0 - level / planned)) * error

    def in_units(gained: FloatArray) -> FloatArray:
        there, here = (figure(m, n_bars, objective) for m in (base_mean + objective.sign * gained, base_mean))
        return np.asarray(objective.sign * (there - here) + 0.0)

    return Comparison(in_units(delta), p, in_units(delta - reach), in_units(delta + reach))


def _chunks(groups: Iterable[Group]) -> Iterator[tuple[NDArray[np.intp], FloatArray]]:
    for bars, paths in groups:
        for at in range(0, len(paths), _CHUNK):
            yield bars, np.asarray(paths[at : at + _CHUNK], dtype=np.float64)
