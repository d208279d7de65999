r"""Discounted least squares on the simplex, solved anew at every bar."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.feasible import FeasibleSet, Simplex
from tracker_strategies.algorithms.fortran import blas
from tracker_strategies.algorithms.simplex_gradients import descend
from tracker_strategies.algorithms.validation import Array, Mask, number
from tracker_strategies.errors import ParameterError

WIDEST = 1e6
"""Spread of the units of the names at which the moments are multiplied out."""
LEAST_SCALE = 1e-30
"""The common factor of all discounts is multiplied out when it falls below this."""
NO_DATA, NO_RETURNS = 1e-200, 1e100
"""A mean square below the one is no data, and beyond the other no market."""

FADE, MOST_GROWTH = 0.998, 1e3
"""Memory of the growth of names, and what bounds it: over decades it spreads by powers of ten, and what a name was worth then
says
nothing now."""
PRECISION = 1e-5
"""The solution leaves at most this share of the (weighted, discounted) squared errors of the past to gain."""


class LeastSquares(OnlineAlgorithm):
    r"""The portfolio that would have tracked best so far, with a discounted past and a pull to what is held.

    .. math::

        w_{t+1} = \arg\min_{w \in \Delta} \tfrac12 \sum_{s \le t} \gamma^{t-s} \frac{(w \cdot x_s - y_s)^2}{\|x_s\|^{2\nu}}
            + \tfrac{\bar c_t}{2} \sum_i m_i \left( \pi (w_i - w_{t,i})^2 + \rho (w_i - u_i)^2 \right)

    with :math:`\bar c_t` the mean diagonal of the second moments, u the start and m = 1. The weights move a share
    :math:`\lambda/(\lambda + \pi \bar c)` of the way in a direction of curvature :math:`\lambda`: at once where the past says
    much, slowly where it says little. That costs no accuracy, halves the turnover several times over, and makes each step a well
    conditioned problem.

    Inside :class:`~tracker_strategies.algorithms.Holdings` the past is restated in today's weights, u drifts as it would have if
    it had been bought and held, and :math:`m_i = 1/a_i^2` with the growth :math:`a_i` of the name against the index over some
    five hundred bars: the pull is then much the same for all names in terms of shares.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    gamma : float, default 0.99
        Discount in (0, 1].
    inertia : float, default 3
        Pull :math:`\pi \ge 0` to the weights held.
    ridge : float, default 0.003
        Pull :math:`\rho \ge 0` to the start; `inertia` + `ridge` must be positive.
    damping : float, default 0.5
        :math:`\nu` in [0, 1]: with 0 a round counts by the square of its returns, so that a few wild weeks may be all that is
        remembered; with 1 all rounds count alike.
    start : array_like, shape (N,), optional
        Uniform by default.

    Notes
    -----
    Cost a round: one rank-one update and some 10 to 20 products with an N x N matrix; memory O(N^2).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 0.01 * rng.standard_normal((300, 3))
    >>> learner = LeastSquares(3, gamma=1.0)
    >>> np.round(learner.run(X, X @ [0.6, 0.4, 0.0])[-1], 2).tolist()
    [0.6, 0.4, 0.0]
    """

    _state: ClassVar[tuple[str, ...]] = ("_B", "_b", "_c", "_a", "_growth", "_anchor", "_past", "_gap", "_products", "_error")

    def __init__(
        self,
        n_assets: int,
        *,
        gamma: float = 0.99,
        inertia: float = 3.0,
        ridge: float = 0.003,
        damping: float = 0.5,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=Simplex(), start=start)
        self.gamma = number("gamma", gamma, above=0.0)
        if self.gamma > 1.0:
            raise ParameterError(f"gamma must be in (0, 1], got {gamma!r}")
        self.inertia, self.ridge = number("inertia", inertia, least=0.0), number("ridge", ridge, least=0.0)
        self.damping = number("damping", damping, least=0.0)
        if self.damping > 1.0:
            raise ParameterError(f"damping must be in [0, 1], got {damping!r}")
        if self.inertia + self.ridge <= 0.0:
            raise ParameterError("inertia and ridge are both 0: one of them must make the problem well posed")
        N = self.n_assets
        # Second moments C = c B / (a a') in one triangle: discounts and units are factored out, a round is one pass over B.
        self._B: Array = np.zeros((N, N))
        self._b: Array = np.zeros(N)
        self._c = 1.0
        self._a: Array = np.ones(N)
        self._growth: Array = np.ones(N)
        self._anchor: Array = self._w.copy()
        self._past = self._gap = self._error = 0.0
        self._products = 0

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        self._error = float(w.dot(x)) - y
        if free is None:
            self._absorb(x, y, xx)
            return self._solve(w, None)
        whole, now = np.zeros(self.n_assets), np.where(self._B.diagonal() > 0.0, self._w, 0.0)  # who left is forgotten by now
        whole[free], now[free] = x, w
        self._absorb(whole, y, xx)
        return self._solve(now, free)[free]

    def _absorb(self, x: Array, y: float, xx: float) -> None:
        self._past *= self.gamma
        self._c *= self.gamma
        if self._c < LEAST_SCALE:
            self._B *= self._c
            self._c = 1.0
        self._b *= self.gamma
        if xx > NO_DATA:
            size, z = xx**self.damping, self._a * x
            self._past += self._error**2 / size
            blas().dsyr(1.0 / (self._c * size), z, a=self._B.T, overwrite_a=1)
            self._b += (y / size) * z

    def _solve(self, now: Array, free: Mask | None) -> Array:
        """Return the weights of all names, from those held now; names that are not free keep theirs."""
        B, inverse, times = self._B, 1.0 / self._a, blas().dsymv
        squares = B.diagonal() * (inverse * inverse)
        squares *= self._c
        mean = float(np.add.reduce(squares)) / max(int(np.count_nonzero(squares)), 1)
        room = 1.0 if free is None else float(now[free].sum())
        if not NO_DATA < mean < NO_RETURNS or room <= 0.0:
            return now
        metric = mean / (self._growth * self._growth)
        pull = (self.inertia + self.ridge) * metric
        anchor = self._anchor if free is None else np.where(free, self._anchor, 0.0)
        size = float(np.add.reduce(anchor))
        anchor = anchor * (room / size) if size > 0.0 else now
        enough = PRECISION * max(self._past, mean * 1e-12)
        q = self._b * inverse + metric * (self.inertia * now + self.ridge * anchor)

        def product(v: Array) -> Array:
            Hv: Array = times(self._c, B.T, v * inverse)
            Hv *= inverse
            Hv += pull * v
            return Hv

        with np.errstate(over="ignore"):  # of returns beyond all markets
            if free is None:
                found = descend(product, q, now, float(pull[pull.argmin()]), enough)
            else:  # the others stay: what they earn is theirs, and the rest of the target is left to fit
                still = np.where(free, 0.0, now)
                index, padded = free, np.zeros(self.n_assets)

                def part(v: Array) -> Array:
                    padded[index] = v
                    return product(padded)[index]

                found = descend(part, (q - product(still))[free], now[free], float(pull[free].min()), enough)
        self._gap, self._products = found.gap, found.products
        new = found.w * (room / float(np.add.reduce(found.w)))
        if free is None:
            return new
        still[free] = new
        return still

    def _rescale(self, s: Array) -> None:
        """Restate the past for weights multiplied by s."""
        self._a = self._a * s
        growth = self._growth**FADE
        growth *= s
        self._growth = np.minimum(np.maximum(growth, 1.0 / MOST_GROWTH), MOST_GROWTH)
        drifted = self._anchor * s
        size = float(np.add.reduce(drifted))
        self._anchor = drifted / size if size > 0.0 else drifted
        if float(self._a[self._a.argmax()]) > WIDEST or float(self._a[self._a.argmin()]) < 1.0 / WIDEST:
            self._B /= self._a[:, None] * self._a
            self._b /= self._a
            self._a = np.ones(self.n_assets)
            if not float(self._B.diagonal().max()) < NO_RETURNS:  # no prices move like this: start again
                self._B[:] = 0.0
                self._b[:] = 0.0

    def _forget(self, left: Mask) -> None:
        if left.any():
            self._B[left] = 0.0
            self._B[:, left] = 0.0
            self._b[left] = 0.0
            self._a[left] = self._growth[left] = 1.0
            self._anchor[left] = 0.0

    def diagnostics(self) -> dict[str, float]:
        """Return the last round's error, the bound of what the solution leaves to gain, and products that it took."""
        return {"error": self._error, "gap": self._gap, "products": float(self._products)}
