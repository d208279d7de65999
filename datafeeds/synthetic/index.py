"""Indices of the synthetic market: capitalisation weights with constant share counts between reviews."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FIRST_LEVEL = 1000.0
#: Part of its universe, by number, that an index holds: the largest at each review.
MEMBER_SHARE = 0.8
#: Standard deviation of the log change of shares outstanding from one review to the next (issues and buy-backs).
SHARE_CHANGE = 0.01


def review_rows(n_bars: int, every: int) -> IntArray:
    """Rows at whose close share counts are set: the first, and then every `every` bars (never again for 0)."""
    return np.arange(0, n_bars - 1, every) if every else np.zeros(1, dtype=np.int64)


def draw_families(n_indices: int, n_assets: int, rng: np.random.Generator) -> BoolArray:
    """(q, N) which assets an index chooses its members from: all for the first, a random half for each further one."""
    families = np.ones((n_indices, n_assets), dtype=bool)
    for k in range(1, n_indices):
        families[k] = False
        families[k, rng.permutation(n_assets)[: max(1, n_assets // 2)]] = True
    return families


def build_indices(
    close: FloatArray,
    shares: FloatArray,
    life: IntArray,
    families: BoolArray,
    reviews: IntArray,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    r"""Levels of q indices and the holdings that make them.

    At the close of review row :math:`r_k` the largest members are chosen among the assets that trade up to the next review, and

    .. math:: I_t = \sum_i u^{(k)}_i p_{t,i}, \quad r_k \le t \le r_{k+1}, \qquad
              u^{(k)}_i = I_{r_k} \frac{S^{(k)}_i}{\sum_{j \in M_k} S^{(k)}_j p_{r_k, j}} \; [i \in M_k],

    so that at a review row the old and the new holdings are worth the same.

    Parameters
    ----------
    close : (T, N)
        Clean prices.
    shares : (N,)
        Shares outstanding at the start; they change a little at each review.
    life : (2, N)
        First and last row of each asset.
    families : (q, N)
        Eligible assets of each index.
    reviews : (K,)
        Rows of the reviews; the first is 0.

    Returns
    -------
    levels : (T, q)
    units : (K, q, N)
        Holdings per index point, in force for the rows from one review to the next.
    """
    n_bars, n_assets = close.shape
    q, ends = len(families), np.append(reviews[1:], n_bars - 1)
    levels, units = np.empty((n_bars, q)), np.zeros((len(reviews), q, n_assets))
    levels[0], outstanding = FIRST_LEVEL, shares.copy()
    for k, (row, end) in enumerate(zip(reviews, ends, strict=True)):
        if k:
            outstanding = outstanding * np.exp(SHARE_CHANGE * rng.standard_normal(n_assets))
        caps = outstanding * close[row]
        trading = (life[0] <= row) & (end <= life[1])
        for j in range(q):
            eligible = np.flatnonzero(trading & families[j])
            if not eligible.size:
                eligible = np.flatnonzero(trading)
            count = max(1, round(MEMBER_SHARE * eligible.size))
            members = eligible[np.argsort(-caps[eligible], kind="stable")[:count]]
            units[k, j, members] = levels[row, j] * outstanding[members] / caps[members].sum()
        # einsum, not matmul: the bits do not depend on the number of BLAS threads
        levels[row + 1 : end + 1] = np.einsum("tn,qn->tq", close[row + 1 : end + 1], units[k])
    return levels, units
