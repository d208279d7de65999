r"""A tracker that a few names shall follow: how names move together over the index, looked at anew now and then."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg import eigh

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.wrapper import Turn, Wrapper
from tracker_strategies.errors import ParameterError

MEMORY = 0.998
"""Weight of a round against that of the next one."""
ROWS = 1024
"""Rounds that are kept."""
MOST_SEEN = 1e60
"""No return that a learner takes is larger, nor what is made of its square."""
FACTORS = 12
WINSOR = 6.0
"""Returns over the index count up to so many times their root mean square."""
OWN = 0.1
"""Least share of a name's variance that no factor explains."""
INFLATED = 1.6
"""What is a name's own counts so many times: factors are found on the rounds that they are judged by."""
LEAST = 1e-4
"""Least variance of a name's own, as a share of the median variance of all names."""
EARLY = (5, 10, 20, 30)
"""Rounds of the first reviews, while little is known."""


@learner(examples=lambda n: ({"learner": PA(n), "review": 5},))
class FewNames(Wrapper):
    r"""The portfolio of a learner as it is, for a mandate that limits the number of names.

    Once the dense portfolio is known, the K names that follow it best depend on how names move together, not on the index. So the
    learner decides what to follow, and this wrapper in which metric, :meth:`metric`, and when to choose the names again,
    :meth:`pace`. The mandate then chooses the names and their amounts, together with all other limits.

    Of the returns over the index :math:`z_s = x_s - y_s`, with weights
    :math:`u_s \propto 0.998^{t-s} (\tfrac1N \|z_s\|^2)^{-1/4}` that keep volatile rounds from dominating, the twelve largest
    principal components are kept, less what noise alone would give, and the rest is each name's own:

    .. math:: \Sigma = B B' + 1.6\, \mathrm{diag}(\psi)

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    learner : OnlineAlgorithm
        A learner of portfolios that has learned nothing so far; a fresh copy of it learns.
    review : int, default 20
        Rounds between two reviews. Before the 40th round there are four more, after rounds 5, 10, 20 and 30.
    offset : int, default 0
        Rounds by which the reviews are shifted, below `review`.
    speed : float, default 0.1
        Share of the way to the best amounts that is gone on a round, in (0, 1].

    Notes
    -----
    Cost: that of the learner, and at a review :math:`O(\min(t, N)^2 \max(t, N))` for at most 1,024 rounds t.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA, FewNames
    >>> FewNames(3, learner=PA(3)).update([0.02, -0.01, 0.0], 0.01).round(4).tolist()
    [0.5522, 0.1582, 0.2896]
    """

    _state = ("_inner", "_rows", "_seen", "_kept", "_reviews", "_d", "_B")
    _kinds: ClassVar[Kinds] = {
        "_rows": real(ROWS, "n", least=-MOST_SEEN, most=MOST_SEEN),
        "_kept": whole(),
        "_reviews": whole(),
        "_d": real("n", least=0.0, most=MOST_SEEN),
        "_B": real("n", "*q", least=-MOST_SEEN, most=MOST_SEEN),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        learner: OnlineAlgorithm | None = None,
        review: int = 20,
        offset: int = 0,
        speed: float = 0.1,
    ) -> None:
        super().__init__(n_assets, learner=learner)
        self.review, self.offset = count("review", review), count("offset", offset, least=0)
        self.speed = number("speed", speed, above=0.0)
        if self.offset >= self.review:
            raise ParameterError(f"offset={self.offset} must be below review={self.review}, the rounds between two reviews")
        if self.speed > 1.0:
            raise ParameterError(f"speed must be a number > 0 and <= 1, got {speed!r}")
        # A ring: the k-th round is in row k modulo ROWS.
        self._rows = np.zeros((ROWS, self.n_assets))
        self._seen = np.zeros((ROWS, self.n_assets), dtype=np.bool_)
        self._kept = self._reviews = 0
        self._d, self._B = np.zeros(self.n_assets), np.zeros((self.n_assets, 0))

    def metric(self) -> tuple[Array, Array] | None:
        """Return the metric of differences of weights, as of the last review; None before the first."""
        return (self._d, self._B) if self._d.any() else None

    def pace(self) -> tuple[int | None, float]:
        """Return how many reviews there have been, and the speed."""
        return self._reviews, self.speed

    def _shape(self, turn: Turn, wish: Array) -> Array:
        index = float(np.mean(turn.y))
        self._keep(turn.x - index, turn.free)
        self._forget(turn.left)
        if self._is_due():
            found = factors(*self._in_order())
            if found is not None:
                self._d, self._B = found
                self._reviews += 1
        return wish

    def _unmoved(self, held: Array, wish: Array) -> Array:
        return wish

    def _is_due(self) -> bool:
        if self._kept < 2 * self.review:
            return self._kept in EARLY
        return (self._kept - self.offset) % self.review == 0

    def _keep(self, z: Array, free: Mask | None) -> None:
        row = self._kept % ROWS
        self._rows[row] = z if free is None else np.where(free, z, 0.0)
        self._seen[row] = True if free is None else free
        self._kept += 1

    def _in_order(self) -> tuple[Array, Mask]:
        """Return what is kept, the oldest first."""
        n = min(self._kept, ROWS)
        order = (np.arange(n) + (self._kept if self._kept > ROWS else 0)) % ROWS
        return self._rows[order], self._seen[order]

    def _forget(self, left: Mask | None) -> None:
        if left is not None and left.any():
            self._rows[:, left] = 0.0
            self._seen[:, left] = False
            self._d, self._B = np.where(left, float(np.median(self._d)), self._d), np.where(left[:, None], 0.0, self._B)


def factors(z: Array, seen: Mask) -> tuple[Array, Array] | None:
    """Return (d, B) of T rounds of returns over the index; None where there is nothing to see.

    A round on which a name was not seen counts as one with the median variance.
    """
    rounds, n = z.shape
    u = MEMORY ** np.arange(rounds - 1, -1, -1.0)
    u = u * np.maximum(np.einsum("ij,ij->i", z, z) / np.maximum(np.count_nonzero(seen, axis=1), 1), 1e-12) ** -0.25
    u = u / u.sum()
    known, variance = u @ seen, u @ (z * z)
    scale = WINSOR * np.sqrt(variance / np.maximum(known, 1e-300))
    z = np.clip(z, -scale, scale)
    variance = u @ (z * z)
    there = known > 0.0
    median = float(np.median(variance[there] / known[there])) if there.any() else 0.0
    if not median > 0.0 or rounds < 3 or n < 3:
        return None if not median > 0.0 else (np.maximum(variance + (1.0 - known) * median, LEAST * median), np.zeros((n, 0)))
    variance = variance + np.maximum(1.0 - known, 0.0) * median
    s = np.sqrt(variance)
    rows = np.sqrt(u)[:, None] * z / np.maximum(s, 1e-150)
    q = min(FACTORS, rounds - 2, n - 2)
    values, vectors = principal(rows, q)
    # The rest of the spectrum by its sum: as many values are not zero as there are rounds, or names, that moved.
    moved = min(np.count_nonzero(rows.any(axis=1)), np.count_nonzero(rows.any(axis=0)))
    noise = max(float(np.einsum("ij,ij->", rows, rows) - values.sum()) / max(moved - q, 1), 0.0)
    loads = vectors * np.sqrt(np.maximum(values - noise, 0.0))
    own = variance * np.maximum(1.0 - np.einsum("ij,ij->i", loads, loads), OWN)
    return np.maximum(INFLATED * own, LEAST * median), s[:, None] * loads


def principal(rows: Array, count: int) -> tuple[Array, Array]:
    """Return the largest eigenvalues of rows' rows, the largest first, and their eigenvectors, as columns."""
    wide = len(rows) < rows.shape[1]
    moments = rows @ rows.T if wide else rows.T @ rows
    values, vectors = eigh(moments, subset_by_index=(len(moments) - count, len(moments) - 1), check_finite=False, driver="evr")
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    if wide:
        vectors = (rows.T @ vectors) / np.sqrt(np.maximum(values, 1e-300))
    # A sign of its own, whatever the library gives.
    signs = np.where(vectors[np.abs(vectors).argmax(axis=0), np.arange(count)] < 0.0, -1.0, 1.0)
    return values, vectors * signs
