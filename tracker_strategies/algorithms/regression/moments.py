r"""Learners that know the past by its discounted second moments only: sparse PLS and the regressions that it is compared with."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._kinds import Kinds, flag, real
from tracker_strategies.algorithms._validation import FLOAT64, Array, Mask, finite_vector, target_weights
from tracker_strategies.algorithms.base import MAX_NORM2, OnlineAlgorithm
from tracker_strategies.algorithms.numerics.lapack import blas
from tracker_strategies.algorithms.regression.to_portfolio import RULES, from_coefficients, refit
from tracker_strategies.algorithms.sets.feasible import Box, FeasibleSet, Simplex
from tracker_strategies.errors import InputError, ParameterError

LEAST_SCALE = 1e-30
"""The common factor of all discounts is multiplied out when it falls below this."""
SHRINKAGE = 10.0
"""Rounds that the mean variance of all names counts for in that of each: over few rounds volatilities are mostly chance."""
NO_DATA = 1e-200
"""Sums of squares below this are no data: their inverse would not be a number to work with."""

NO_MARKET = 1e100
"""A sum of squares beyond this comes from no market."""


class MomentLearner(OnlineAlgorithm):
    r"""Keeps :math:`C_t = \lambda_t C_{t-1} + x_t x_t^\top`, :math:`M_t = \lambda_t M_{t-1} + x_t y_t^\top` and turns
    coefficients into weights; what the coefficients are is up to the learner.

    C is kept in one triangle, without its discount: :math:`C = c B`, :math:`c \leftarrow \lambda c`,
    :math:`B \leftarrow B + x x^\top / c`, one pass over half of the matrix a round.

    A name that was not seen adds nothing to its moments while the others grow. Its row is brought to the size of the others by
    :math:`1/\sqrt{d_i}`, with :math:`d_i` the discounted share of the rounds in which it was seen: a scaling of columns, which
    leaves C positive semidefinite, gets variances right and understates the covariances of names with a short history.

    Parameters
    ----------
    n_assets : int
    n_targets : int
        Number of targets q; `update` takes y of shape (q,), or a float for one.
    omega : array_like, shape (q,), or None
        Weights of the targets, > 0, scaled to sum 1.
    mapping : {"refit", "project", "normalise", "cash"}
        From coefficients to weights: see :mod:`~tracker_strategies.algorithms.regression.to_portfolio`.
    max_names : int or None
        Most names held, K; a frozen name counts.
    ridge : float
        Pull of a refit towards equal weights.
    warm_up : int
        Rounds before the weights move for the first time.
    start : array_like, shape (N,), or None
    standardise : bool
        Whether the regression sees names and targets in units of their volatilities: correlations, not covariances.
    loyalty : float
        Advantage of a name that is held when too many are: its weight counts 1 + loyalty times.
    """

    _state: ClassVar[tuple[str, ...]] = ("_B", "_c", "_M", "_S", "_n", "_missing", "_gaps")
    _kinds: ClassVar[Kinds] = {
        "_B": real("n", "n", gram=True),
        "_c": real(above=0.0),
        "_M": real("n_targets", "n"),
        "_S": real("n_targets", least=0.0),
        "_n": real(least=0.0),
        "_missing": real("n", least=0.0),
        "_gaps": flag(),
    }

    def __init__(
        self,
        n_assets: int,
        n_targets: int,
        omega: Any,
        mapping: str,
        max_names: int | None,
        ridge: float,
        warm_up: int,
        start: Any,
        standardise: bool = False,
        loyalty: float = 0.0,
    ) -> None:
        one_of("mapping", mapping, RULES)
        super().__init__(n_assets, feasible=Box(0.0, 1.0) if mapping == "cash" else Simplex(), start=start)
        N, q = self.n_assets, count("n_targets", n_targets)
        self.n_targets, self.mapping, self.standardise = q, mapping, bool(standardise)
        self.omega = target_weights(omega, q).tolist()
        self.max_names = None if max_names is None else at_most_assets("max_names", max_names, N)
        self.ridge = number("ridge", ridge, least=0.0)
        self.warm_up = count("warm_up", warm_up)
        self.loyalty = number("loyalty", loyalty, least=0.0)
        self._omega: Array = np.array(self.omega)
        self._add_square, self._product, self._add_outer = blas().dsyr, blas().dsymv, blas().dger
        self._B: Array = np.zeros((N, N))  # the lower triangle in C order is the upper one of the transpose in Fortran order
        self._M: Array = np.zeros((q, N))
        self._S: Array = np.zeros(q)
        self._missing: Array = np.zeros(N)
        self._c, self._n = 1.0, 0.0
        self._gaps = False  # whether a name was not seen in a round that still counts

    # ------------------------------------------------------------------ moments

    def _absorb(self, x: Array, y: Array, lam: float, free: Mask | None) -> None:
        """Discount by `lam` and add a round; x has a 0 for every name that was not seen."""
        self._c *= lam
        if self._c < LEAST_SCALE:
            self._multiply_out()
        self._add_square(1.0 / self._c, x, a=self._B.T, overwrite_a=1)
        self._M *= lam
        self._add_outer(1.0, x, y, a=self._M.T, overwrite_a=1)
        self._S *= lam
        self._S += y * y
        self._n = lam * self._n + 1.0
        if free is not None or self._gaps:
            self._missing *= lam
            if free is not None:
                self._missing += ~free
            self._gaps = bool((self._missing > 1e-12 * self._n).any())
            if not self._gaps:
                self._missing[:] = 0.0

    def _multiply_out(self) -> None:
        """Put the discounts into the matrix."""
        self._B *= self._c
        self._c = 1.0

    def _forget(self, left: Mask) -> None:
        if left.any():
            self._gaps = True
            self._B[left] = 0.0
            self._B[:, left] = 0.0
            self._M[:, left] = 0.0
            self._missing[left] = self._n

    def _rescale(self, s: Array) -> None:
        """Restate the past for weights multiplied by s."""
        with np.errstate(over="ignore"):
            self._B /= s[:, None] * s
            self._M /= s
        if not float(self._B.diagonal().max()) * self._c < NO_MARKET:  # no prices move like this: start again
            self._forget(np.ones(self.n_assets, dtype=np.bool_))

    def _whole(self, x: Array, free: Mask | None) -> Array:
        """Return x with a 0 for every name that takes no part."""
        if free is None:
            return x
        whole = np.zeros(self.n_assets)
        whole[free] = x
        return whole

    def _times(self, v: Array) -> Array:
        """Return C v."""
        return self._product(self._c, self._B.T, v)  # type: ignore[no-any-return]

    def _block(self, index: Any) -> Array:
        """Return the rows and columns `index`, ascending, of C."""
        return self._both_triangles(self._B[index[:, None], index])

    def _moments(self) -> Array:
        """Return C as a full matrix."""
        return self._both_triangles(self._B)

    def _both_triangles(self, part: Array) -> Array:
        """Return a part of C from the same part of B, the upper triangle of which is 0."""
        full = part + part.T
        full.reshape(-1)[:: part.shape[0] + 1] *= 0.5
        full *= self._c
        return full

    def _gap_scale(self) -> Array | None:
        """Return the factors 1/sqrt(d) of the names, 0 for one without a history; None when every name was always seen."""
        if not self._gaps:
            return None
        share = 1.0 - self._missing / max(self._n, 1e-300)
        known = share > 1e-9
        return np.where(known, 1.0 / np.sqrt(np.where(known, share, 1.0)), 0.0)

    def _units(self) -> tuple[Array | None, Array]:
        r"""Return factors of the names, shape (N,) or None for all ones, and of the targets, shape (q,), for the regression.

        Standardised, :math:`C_{ij}` becomes a correlation. Variances are shrunk towards their mean, :math:`\sigma_i^2 =
        (C_{ii} + k \bar v)/(n_i + k)` with :math:`n_i` discounted rounds and k = 10.
        """
        scale = self._gap_scale()
        if not self.standardise:
            return scale, np.ones(self.n_targets)
        targets = np.array([S**-0.5 if S > NO_DATA else 0.0 for S in self._S.tolist()])
        squares = self._B.diagonal() * self._c
        if scale is None:
            mean = float(np.add.reduce(squares)) / (self.n_assets * self._n)
            more: Any = (1.0 + SHRINKAGE / self._n) ** 0.5
        else:
            known = scale > 0.0
            rounds = np.where(known, self._n / np.where(known, scale, 1.0) ** 2, 1.0)
            mean = float((squares / rounds)[known].sum()) / max(int(np.count_nonzero(known)), 1)
            more = np.where(known, np.sqrt(1.0 + SHRINKAGE / rounds), 0.0)
        if mean <= NO_DATA:
            return np.zeros(self.n_assets), targets
        squares += SHRINKAGE * mean
        np.sqrt(squares, out=squares)
        return np.divide(more, squares, out=squares), targets

    # ------------------------------------------------------------------ weights

    def _invest(self, b: Array, w: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the next weights of the names that take part, from the coefficients b, shape (N,), of all."""
        support = b.nonzero()[0]
        return self._invest_in(support, b[support], w, W, free)

    def _invest_in(self, support: Any, b: Array, w: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """As :meth:`_invest`, from the names with a coefficient, ascending, and their coefficients, none of them 0."""
        frozen = None if free is None else np.where(free | ~self._B.diagonal().astype(np.bool_), 0.0, self._w)
        room = 1.0 if frozen is None else float(getattr(W, "total", 1.0 - float(frozen.sum())))
        most = self.max_names
        if frozen is not None and most is not None:
            most = max(most - int(np.count_nonzero(frozen)), 1)
        if self._t + 1 < self.warm_up or room <= 0.0:
            return w
        if free is not None:
            seen = free[support]
            support, b = support[seen], b[seen]
        if self.mapping == "refit":
            found = self._refit(support, frozen, room, most)
        else:
            found = from_coefficients(b, self.mapping, room, most)
        if found is None:
            return w
        new = np.zeros(self.n_assets)
        new[support] = found
        return new if free is None else new[free]

    def _refit(self, support: Any, frozen: Array | None, room: float, most: int | None) -> Array | None:
        if support.shape[0] == 0:
            return None
        A, m = self._block(support), self._omega.dot(self._M.take(support, axis=1))
        if frozen is not None and frozen.any():  # what they earn is theirs; the rest of the target is left to fit
            m -= self._times(frozen)[support]
        scale = self._gap_scale()
        if scale is not None:
            g = scale[support]
            A, m = A * g * g[:, None], m * g
        held = self._w[support]
        bonus = 1.0 + self.loyalty * (held > 0.0) if self.loyalty and most is not None else None
        return refit(A, m, self.ridge, room, most, held, bonus)

    # ------------------------------------------------------------------ several targets

    def _target(self, y: Any) -> Any:
        if self.n_targets == 1 and np.size(y) == 1:
            y = np.reshape(y, -1)
        if not (type(y) is np.ndarray and y.dtype is FLOAT64 and y.shape == (self.n_targets,) and y.flags.c_contiguous):
            y = finite_vector("y", y, InputError, self.n_targets)
        if not max(map(abs, y.tolist())) <= MAX_NORM2**0.5:
            raise InputError(f"y must hold simple returns, finite and not huge, got {y!r}")
        return y


def at_most_assets(name: str, value: Any, n_assets: int) -> int:
    """Return `value` as an int from 1 to the number of assets."""
    if count(name, value) > n_assets:
        raise ParameterError(f"{name} must be at most the number of assets, {n_assets}, got {value}")
    return int(value)
