"""What a difference between two portfolios costs in tracking: a diagonal plus a few factors."""

from __future__ import annotations

from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dsyevd

from tracker_strategies._checks import count, number
from tracker_strategies.errors import ParameterError

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


class Metric(NamedTuple):
    """diag(d) + B B', in squared returns over the index per bar: e'(diag(d) + B B')e is the squared tracking error that a
    difference e of weights is expected to make on a bar.

    Attributes
    ----------
    d : (N,) float
        > 0.
    B : (N, k) float
        k is small, and may be 0.
    """

    d: FloatArray
    B: FloatArray

    def square(self, difference: FloatArray) -> float:
        """Return the squared tracking error that a difference of weights is expected to make on a bar."""
        exposed = difference @ self.B
        return float(self.d @ (difference * difference) + exposed @ exposed)


FLOOR = 0.05
"""Least variance that a name has on its own, as a share of the median variance of all names."""
UNKNOWN = 1e-4
"""Variance of a return over the index while nothing has been seen: one percent per bar, squared."""
TINY = 1e-300


class ErrorModel:
    r"""Covariance of the returns over the index, kept bar by bar: the metric of a learner that gives none.

    With :math:`z_t = x_t - y_t` and the memory :math:`\lambda`, the second moments are

    .. math:: \Sigma_t = \sum_{s \le t} \lambda^{t-s} z_s z_s' \Big/ \sum_{s \le t} \lambda^{t-s} \approx
        \mathrm{diag}(d) + BB'.

    The diagonal is exact. The factors B come from a sketch: k rows hold what is known, 2k more take in new bars. When they are
    full, or when the metric is asked for and k of them are, the best k rows for all are kept, by the eigenvectors of a Gram
    matrix of at most 3k x 3k. B is the same object for k bars in a row. Nothing is subtracted from the rows that stay, unlike in
    frequent directions [1]_: what the rows that go had said about single names comes back through d, and factors of a market are
    far above its noise.

    A name counts in each entry with the bars on which it was seen. Whatever the attributes hold are numbers and arrays.

    Parameters
    ----------
    n_assets : int
        Number of names N.
    factors : int
        Number of factors k.
    memory : float
        Weight of a bar against that of the next one, in (0, 1].
    prior : float
        Number of bars for which the median variance of all names counts in the variance of each. A name that was never seen has
        that median, and no part in the factors.

    References
    ----------
    .. [1] M. Ghashami, E. Liberty, J. M. Phillips, D. P. Woodruff, "Frequent directions: simple and deterministic matrix
       sketching", SIAM Journal on Computing 45 (2016).

    Notes
    -----
    Cost: some vector operations of length N per bar, and every k bars O(k^2 N).
    """

    def __init__(self, n_assets: int, factors: int = 6, memory: float = 0.99, prior: float = 3.0) -> None:
        self.n_assets, self.factors = count("n_assets", n_assets), count("factors", factors)
        self.memory, self.prior = number("memory", memory, above=0.0), number("prior", prior, least=0.0)
        if self.memory > 1.0:
            raise ParameterError(f"memory must be a number > 0 and <= 1, got {memory!r}")
        self._squares, self._weights = np.zeros(n_assets), np.zeros(n_assets)
        self._index_squares, self._weight, self._errors = 0.0, 0.0, 0.0
        self._rows, self._fresh = np.zeros((3 * factors, n_assets)), 0
        self._waiting = 0  # of the fresh rows, those that are not in the squares yet: nobody has asked for them
        self._B, self._explained = np.zeros((n_assets, 0)), np.zeros(n_assets)
        self._median = 0.0

    def update(self, x: FloatArray, y: float | FloatArray, seen: BoolArray | None = None, error: float = 0.0) -> None:
        """Take in the returns of a bar: x (N,) of the names, y of the index (of several: their mean).

        Names that are not `seen` (None: all are) keep their variance; a return that is not a number was not seen. `error` is what
        the portfolio that was decided returned over the index.
        """
        index = float(y) if np.ndim(y) == 0 else float(np.mean(y))
        if not isfinite(index):
            return
        z = x - index
        if seen is not None or not isfinite(z.dot(z)):
            seen = np.isfinite(z) if seen is None else seen & np.isfinite(z)
            if np.logical_and.reduce(seen):
                seen = None
            else:
                z = np.where(seen, z, 0.0)
        memory = self.memory
        self._rows[self.factors + self._fresh] = z
        self._fresh += 1
        self._waiting += 1
        if seen is not None:
            self._take_in(seen)
        self._index_squares = memory * self._index_squares + index * index
        self._weight = memory * self._weight + 1.0
        self._errors = memory * self._errors + error * error
        if self._fresh == 2 * self.factors:
            self._compress()
        elif self._B.shape[1] == 0:
            self._take_in()
            self._median = self._median_variance()

    def _take_in(self, seen: BoolArray | None = None) -> None:
        """Add the rows that wait to the squares; of the last one, only the names that were seen."""
        if not self._waiting:
            return
        last, memory = self.factors + self._fresh, self.memory
        ages = memory ** np.arange(self._waiting - 1, -1, -1)
        new = self._rows[last - self._waiting : last]
        self._squares *= memory**self._waiting
        self._squares += ages @ (new * new)
        self._weights *= memory**self._waiting
        self._weights += float(ages[:-1].sum()) + (1.0 if seen is None else seen)
        self._waiting = 0

    def _compress(self) -> None:
        """Put the new rows among those that stay, as of this bar."""
        k, new = self.factors, self._fresh
        self._take_in()
        rows = self._rows[: k + new]
        rows[:k] *= self.memory ** (0.5 * new)
        rows[k:] *= (self.memory ** (0.5 * np.arange(new - 1, -1, -1)))[:, None]
        _, vectors, failed = dsyevd(rows @ rows.T)  # eigh without its checks, which take as long
        if failed:
            raise np.linalg.LinAlgError("the factors of the returns over the index did not converge")
        rows[:k] = vectors[:, : new - 1 : -1].T @ rows
        self._fresh = 0
        self._median = self._median_variance()
        self._B = np.divide(rows[:k], np.sqrt(np.maximum(self._weights + self.prior, TINY))).T.copy()
        self._explained = np.einsum("ij,ij->i", self._B, self._B)

    def _median_variance(self) -> float:
        known = self._weights > 0.0
        variances = np.sort(self._squares[known] / self._weights[known])  # np.median takes four times as long
        upper = len(variances) // 2
        return 0.5 * float(variances[upper - 1 + len(variances) % 2] + variances[upper]) if len(variances) else 0.0

    def forget(self, left: BoolArray) -> None:
        """Forget all about names that left: should they come back, they are new."""
        self._take_in()
        for known in (self._squares, self._weights, self._explained):
            known[left] = 0.0
        self._rows[:, left] = 0.0
        self._B = np.where(left[:, None], 0.0, self._B)

    def metric(self) -> Metric:
        """Return what is known, d > 0 always. Before k bars: every name as uncertain as the median one, and no factors."""
        if self._fresh >= self.factors:
            self._compress()
        median = self._median if self._median > 0.0 else UNKNOWN
        if self._B.shape[1] == 0:
            return Metric(np.full(self.n_assets, median), self._B)
        self._take_in()
        variance = self._squares + self.prior * median
        variance /= np.maximum(self._weights + self.prior, TINY)
        variance -= self._explained
        return Metric(np.maximum(variance, FLOOR * median, out=variance), self._B)

    @property
    def tracking_error(self) -> float:
        """Root mean square of the errors, with the same memory; 0 while there are none."""
        return sqrt(self._errors / self._weight) if self._weight else 0.0

    @property
    def index_variance(self) -> float:
        """Mean square of the index's returns, with the same memory."""
        return self._index_squares / self._weight if self._index_squares > 0.0 else UNKNOWN
