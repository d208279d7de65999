r"""Discounted second moments of the same rows under several discounts: matrices, or the rows themselves where they are fewer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import blas

Rows = NDArray[np.float32]
"""In single precision: a row is known to some 1e-7 of its size then, far below any tracking error, in half the time."""

MEMORIES = 8.0
"""Rows kept for a discount, in units of its memory 1/(1 - gamma). Older ones weigh less than 4e-4 together, but fix directions
that newer ones leave free: with 5 the tracking error of a market of 225 names was 1.5 % larger."""
WIDE = 2.0
"""Rows take the place of a matrix where there are more names than so many times the rows."""
SPARE = 64
"""Least room for new rows: those kept move to the front only when it is used up."""
BLOCK, LEAST_BLOCK = 2**19, 16
"""Bytes of rows that are worked on together, a part of a core's cache, and least number of rows."""
LEAST_SCALE = 1e-30
"""The common factor of all discounts is multiplied out when it falls below this."""
LARGEST = 1e60
"""Moments beyond this are of no market: they are forgotten."""


class Moments(Part):
    r"""The matrices :math:`C_k = \sum_s \gamma_k^{t-s} z_s z_s'` of K discounts, by what they do to vectors.

    A matrix is kept in one triangle, with the discount factored out: a round is one pass over it, and so is a product. Where
    :math:`N > 2 L` with :math:`L = 8/(1 - \gamma_k)` the last L rows take its place, once for all discounts.

    Parameters
    ----------
    n : int
        Number of names N.
    gammas : ndarray, shape (K,)
        Discounts in [0, 1].

    Attributes
    ----------
    diagonals : ndarray, shape (K, N)
        Those of the K matrices, of all rows.
    memories : ndarray, shape (K,)
        1/(1 - gamma): sum of the weights of all rows, once there are many.
    precision : dtype
        In which products are as precise as the moments: single where rows stand for every matrix, else double.
    """

    _state = ("_gammas", "diagonals", "_matrices", "_scales", "_rows", "_seen")

    def __init__(self, n: int, gammas: Array) -> None:
        lengths = [_rows_of(gamma, n) for gamma in gammas.tolist()]
        self._gammas: Array = gammas
        self.diagonals: Array = np.zeros((len(gammas), n))
        self._matrices: Array = np.zeros((lengths.count(0), n, n))
        self._scales: Array = np.ones(len(gammas))
        self._rows: Rows = np.zeros((max(lengths), n), dtype=np.float32)
        self._seen = 0
        self._view()

    def _restore(self, values: dict[str, Any]) -> None:
        super()._restore(values)
        self._view()

    def _view(self) -> None:
        """Make what is looked at in every round: matrices as Fortran sees them, room for rows, the weights of rows by age."""
        most, n = self._rows.shape
        self.memories: Array = 1.0 / np.maximum(1.0 - self._gammas, np.finfo(np.float64).eps)
        self._lengths = [_rows_of(gamma, n) for gamma in self._gammas.tolist()]
        self.precision = np.dtype(np.float32 if all(self._lengths) else np.float64)
        uppers = iter(matrix.T for matrix in self._matrices)
        self._uppers = [None if length else next(uppers) for length in self._lengths]
        ages = [np.arange(length - 1.0, -1.0, -1.0) for length in self._lengths]
        self._fading = [(gamma**age).astype(np.float32) for gamma, age in zip(self._gammas.tolist(), ages, strict=True)]
        self._buffer = np.zeros((most + max(SPARE, most // 4) if most else 0, n), dtype=np.float32)
        if self._rows.any():  # zeros are there already, and writing them would take up memory
            self._buffer[:most] = self._rows
        self._end = most
        self._rows = self._buffer[:most]

    # ------------------------------------------------------------------ rounds

    def add(self, z: Array) -> None:
        """Take in a row, shape (N,)."""
        self.diagonals *= self._gammas[:, None]
        self.diagonals += z * z
        most = len(self._rows)
        if most:
            if self._end == len(self._buffer):
                self._buffer[: most - 1] = self._buffer[self._end - most + 1 :]
                self._end = most - 1
            self._buffer[self._end] = z
            self._end += 1
            self._rows = self._buffer[self._end - most : self._end]
            self._seen = min(self._seen + 1, most)
        for k, upper in enumerate(self._uppers):
            if upper is not None:
                self._add_to_matrix(k, upper, z)

    def _add_to_matrix(self, k: int, upper: Array, z: Array) -> None:
        scale = float(self._gammas[k] * self._scales[k])
        if scale < LEAST_SCALE:
            upper *= scale
            scale = 1.0
        self._scales[k] = scale
        blas().dsyr(1.0 / scale, z, a=upper, overwrite_a=1)

    def rows_above(self, least: Array) -> list[int]:
        """Return for each discount the number of its rows that weigh `least` or more, shape (K,); 0 for a matrix."""
        ages = [len(fading) - int(fading.searchsorted(weight)) for fading, weight in zip(self._fading, least, strict=True)]
        return [min(age, self._seen) for age in ages]

    def times(self, vectors: Array, members: Iterable[int], out: Array, lengths: Sequence[int] | None = None) -> None:
        """Write C_k v_k into row k of `out`, for some of the K rows v_k of `vectors`.

        The rows kept are read once for all, block by block, from the newest on: a block stays in the processor's cache for both
        halves of a product, and for every discount that knows it.

        Parameters
        ----------
        vectors : ndarray, shape (K, N)
        members : iterable of int
        out : ndarray, shape (K, N)
        lengths : sequence of K ints, optional
            How many rows of each discount take part, the newest; all that are kept by default. A matrix is always taken whole.
        """
        product, add, some = blas().dsymv, blas().sgemv, []
        for k in members:
            upper = self._uppers[k]
            if upper is None:
                some.append((k, min(self._lengths[k], self._seen) if lengths is None else lengths[k]))
            else:
                out[k] = product(float(self._scales[k]), upper, vectors[k])
        if not some:
            return
        oldest, n = max(length for _, length in some), vectors.shape[1]
        short = [(k, length, vectors[k].astype(np.float32, copy=False), np.zeros(n, dtype=np.float32)) for k, length in some]
        block = max(BLOCK // (4 * n), LEAST_BLOCK)
        for newest in range(0, oldest, block):
            for k, length, vector, total in short:
                if length > newest:
                    last = min(newest + block, length)
                    rows, fading = self._buffer[self._end - last : self._end - newest], self._fading[k]
                    on_rows = rows.dot(vector)
                    on_rows *= fading[len(fading) - last : len(fading) - newest]
                    add(1.0, rows.T, on_rows, beta=1.0, y=total, overwrite_y=1)
        for k, _, _, total in short:
            out[k] = total

    def _weighted(self, k: int) -> tuple[Rows, Rows]:
        """Return the rows of a discount and their weights."""
        length = min(self._lengths[k], self._seen)
        return self._buffer[self._end - length : self._end], self._fading[k][len(self._fading[k]) - length :]

    def matrix(self, k: int) -> Array:
        """Return C_k, both triangles; O(N^2), or O(L N^2) from rows."""
        kept: Array | None = self._uppers[k]
        if kept is None:
            rows, fading = (part.astype(np.float64) for part in self._weighted(k))
            return np.asarray((rows.T * fading).dot(rows))
        upper = float(self._scales[k]) * np.triu(kept)
        return np.asarray(upper + np.triu(upper, 1).T)

    # ------------------------------------------------------------------ names

    def forget(self, left: Mask) -> None:
        """Forget names that left."""
        self.diagonals[:, left] = 0.0
        self._matrices[:, left] = 0.0
        self._matrices[:, :, left] = 0.0
        self._buffer[:, left] = 0.0

    def restate(self, a: Array) -> None:
        """Divide every row by a > 0, shape (N,), entry by entry."""
        with np.errstate(over="ignore"):  # of returns beyond all markets
            self.diagonals /= a * a
            self._matrices /= a[:, None] * a
            self._buffer /= a
        if not float(self.diagonals.max()) < LARGEST:
            for each in (self.diagonals, self._matrices, self._buffer):
                each[:] = 0.0


def _rows_of(gamma: float, n: int) -> int:
    """Return how many rows stand for a discount, 0 for a matrix."""
    length = ceil(MEMORIES / (1.0 - gamma)) if gamma < 1.0 else n
    return length if n > WIDE * length else 0
