"""Sparse latent factors of discounted moments, turned by one step of power iteration a round."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import NO_SIGNAL, least_squares
from tracker_strategies.algorithms.regression.moments import MomentLearner
from tracker_strategies.algorithms.sparse_pls.thresholding import survivors
from tracker_strategies.errors import ParameterError


class SparseFactors(MomentLearner):
    r"""Factors :math:`u^{(1)}, u^{(2)}, \dots` of `theta` names each, and the regression of the targets on them.

    The columns of C that belong to the names of a factor are kept beside C and updated with it, so that :math:`C u` is a product
    with theta columns: O(theta N) for each factor, which does not touch the rest of C. A name that enters a factor brings its
    column from C.

    Subclasses set `theta`, `alpha`, `deflate` and `loading` and call :meth:`_start_factors` and, after a round was added to
    the moments, :meth:`_turn`.
    """

    theta: int
    alpha: float
    deflate: str
    loading: str

    _state: ClassVar[tuple[str, ...]] = (*MomentLearner._state, "_names", "_entries", "_K", "_W")
    _kinds: ClassVar[Kinds] = {
        "_names": whole("kept", "theta"),
        "_entries": real("kept", "theta"),
        "_K": real("kept", "theta", "n"),
        "_W": real("kept", "kept", "n_targets"),
    }

    def _sound(self) -> None:
        super()._sound()
        if (self._names >= self.n_assets).any() or (np.diff(self._names) <= 0).any():
            raise ParameterError(f"_names must hold positions below {self.n_assets}, ascending for each factor")

    def _start_factors(self, kept: int) -> None:
        """Start with unit vectors: factor r is name r."""
        N, theta = self.n_assets, self.theta
        names = np.tile(np.arange(theta), (kept, 1))
        for r in range(theta, kept):
            names[r, -1] = r
        self._names: NDArray[np.int64] = names  # of each factor, ascending
        self._entries: Array = (names == np.arange(kept)[:, None]).astype(np.float64)  # their entries, in units of returns
        self._K: Array = np.zeros((kept, theta, N))  # their columns of C, with the discount of B
        self._W: Array = np.zeros((kept, kept, self.n_targets))  # loadings of the models with 1, 2, ... factors

    def _scores(self, x: Array) -> Array:
        """Return s = x U, one entry a factor."""
        return np.array([v.dot(x[names]) for names, v in zip(self._names, self._entries, strict=True)])

    def _absorb(self, x: Array, y: Array, lam: float, free: Mask | None) -> None:
        super()._absorb(x, y, lam, free)
        for names, K in zip(self._names, self._K, strict=True):
            self._add_outer(1.0 / self._c, x, x[names], a=K.T, overwrite_a=1)

    def _multiply_out(self) -> None:
        self._K *= self._c
        super()._multiply_out()

    def _turn(self, x: Array, y: Array, models: int, sizes: Any) -> None:
        """Take a step of power iteration with the first `models` factors, then regress on as many as each of `sizes` says."""
        names, targets = self._units()
        M, theta = self._M, self.theta
        share = (1.0 - self.alpha) * self.n_targets
        weight = np.array([share * o * t * t for o, t in zip(self.omega, targets.tolist(), strict=True)])
        inner, outer = np.empty((models, models)), np.empty((models, self.n_targets))
        products: list[Array] = []  # C u of the factors so far, without the discount
        before: list[tuple[Any, Array]] = []
        for r in range(models):
            last, v, K = self._names[r], self._entries[r], self._K[r]
            if r and self.deflate == "residual":
                M = self._M - (self._c * least_squares(inner[:r, :r], outer[:r])).T.dot(np.array(products))
            a = (weight * M.take(last, axis=1).dot(v)).dot(M)
            a += (self.alpha * self._c) * v.dot(K)
            if names is not None:
                a *= names
            if self.deflate == "sparse":
                for kept, u in before:
                    a[kept] -= u * u.dot(a[kept])
            # The names of the first round are nobody's choice.
            bonus = 1.0 + self.loyalty * (v != 0.0) if self.loyalty and self._n > 1.0 else None
            kept, u, _ = survivors(a, theta, last, bonus)
            if u[u.argmax()] > 0.0 or u.any():
                if kept is not last:
                    self._exchange_columns(r, kept)
                v[:] = u if names is None else u * names[kept]
            else:  # nothing to go by: the factor stays
                kept = last
                u = v if names is None else v / np.where(names[kept] > 0.0, names[kept], 1.0)
                u = u / max(float(u.dot(u)) ** 0.5, NO_SIGNAL)
            before.append((kept, u))
            products.append(v.dot(K))
            outer[r] = self._M.take(kept, axis=1).dot(v)
            for k in range(r + 1):
                inner[r, k] = inner[k, r] = self._c * float(self._entries[k].dot(products[r][before[k][0]]))
        self._load(x, y, sizes, inner, outer)

    def _inner(self, R: int) -> Array:
        """Return U'CU of the first R factors."""
        inner = np.empty((R, R))
        for r in range(R):
            product = self._c * self._entries[r].dot(self._K[r])
            for k in range(r + 1):
                inner[r, k] = inner[k, r] = self._entries[k].dot(product[self._names[k]])
        return inner

    def _exchange_columns(self, r: int, kept: Any) -> None:
        """Bring the columns of the names that entered factor r; the others move to their new places."""
        last, K = self._names[r], self._K[r]
        place = np.minimum(np.searchsorted(last, kept), self.theta - 1)
        K[:] = K[place]
        for i in (last[place] != kept).nonzero()[0].tolist():
            j = int(kept[i])
            K[i, : j + 1] = self._B[j, : j + 1]
            K[i, j + 1 :] = self._B[j + 1 :, j]
        self._names[r] = kept

    def _load(self, x: Array, y: Array, sizes: Any, inner: Array, outer: Array) -> None:
        """Regress the targets on the first R factors for each R in sizes: on all rounds, or on the last one alone."""
        if self.loading == "recursive":
            for R in sizes:
                self._W[R - 1, :R] = least_squares(inner[:R, :R], outer[:R])
            return
        s = self._scores(x)
        for R in sizes:
            ss = float(s[:R].dot(s[:R]))
            self._W[R - 1, :R] = s[:R, None] * (y / ss) if ss > NO_SIGNAL else 0.0

    def _rescale(self, s: Array) -> None:
        with np.errstate(over="ignore"):
            self._K /= s[self._names][:, :, None] * s
        self._entries = self._entries * s[self._names]
        super()._rescale(s)

    def _forget(self, left: Mask) -> None:
        if not left.any():
            return
        super()._forget(left)
        gone = left[self._names]
        self._entries[gone] = 0.0
        self._K[gone] = 0.0
        self._K[:, :, left] = 0.0
        stay = (~left if self._active is None else self._active & ~left).nonzero()[0]
        for r in np.flatnonzero(~self._entries.any(axis=1)).tolist():
            if stay.shape[0]:  # all names of the factor are gone: begin again with one name, as at the start
                first = int(stay[r % stay.shape[0]])
                if first not in self._names[r]:
                    kept = self._names[r].copy()
                    kept[int(gone[r].argmax())] = first
                    self._exchange_columns(r, np.sort(kept))
                self._entries[r] = self._names[r] == first
        if self.loading == "recursive" and self._n:
            kept = len(self._names)
            outer = np.array([self._M[:, names].dot(v) for names, v in zip(self._names, self._entries, strict=True)])
            self._load(self._S, self._S, range(1, kept + 1), self._inner(kept), outer)

    def _blend(self, R: int) -> tuple[Any, Array]:
        """Return the names with a coefficient in the weighted mean over the targets, ascending, and these coefficients."""
        loads = self._W[R - 1, :R].dot(self._omega)
        if R > 1:
            b = self._coefficients(R, loads)
            names = b.nonzero()[0]
            return names, b[names]
        names, b = self._names[0], self._entries[0] * loads[0]
        if np.count_nonzero(b) == b.shape[0]:
            return names, b
        held = b.nonzero()[0]
        return names[held], b[held]

    def _coefficients(self, R: int, loads: Array) -> Array:
        """Return U times the loads, shape (R,) or (R, q), of the first R factors."""
        beta = np.zeros((self.n_assets, *loads.shape[1:]))
        for names, v, load in zip(self._names[:R], self._entries[:R], loads, strict=True):
            beta[names] += v * load if loads.ndim == 1 else v[:, None] * load
        return beta
