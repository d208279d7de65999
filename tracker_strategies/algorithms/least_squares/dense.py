r"""Discounted least squares on the simplex, solved anew at every bar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.least_squares._scaled_quadratic import ScaledQuadratic
from tracker_strategies.algorithms.numerics.lapack import blas
from tracker_strategies.algorithms.numerics.thresholds import ones
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.errors import ParameterError

WIDEST = 1e6
"""Spread of the units of the names at which the moments are multiplied out."""
LEAST_SCALE = 1e-30
"""The common factor of all discounts is multiplied out when it falls below this."""
NO_DATA, NO_RETURNS = 1e-200, 1e100
"""A mean square below the one is no data, and beyond the other no market."""

FADE, MOST_GROWTH = 0.998, 1e3
"""Memory of the growth of names, and what bounds it: over decades it spreads by powers of ten, and what a name was worth then
says nothing now."""
PRECISION = 1e-4
"""The solution leaves at most this share of the (weighted, discounted) squared errors of the past to gain. A tenth of it takes a
third more products, and changes the tracking errors of markets by less than one percent."""


@learner("least-squares", shows=("error",), examples=lambda n: ({}, {"gamma": [1.0, 0.95], "damping": [1.0, 0.0]}))
class LeastSquares(OnlineAlgorithm):
    r"""The portfolio that would have tracked best so far, with a discounted past and a pull towards current holdings.

    .. math::

        w_{t+1} = \arg\min_{w \in \Delta} \tfrac12 \sum_{s \le t} \gamma^{t-s} \frac{(w \cdot x_s - y_s)^2}{\|x_s\|^{2\nu}}
            + \tfrac{\bar c_t}{2} \sum_i m_i \left( \pi (w_i - w_{t,i})^2 + \rho (w_i - u_i)^2 \right)

    with :math:`\bar c_t` the mean diagonal of the second moments, u the start and m = 1. The weights move a share
    :math:`\lambda/(\lambda + \pi \bar c)` of the way in a direction of curvature :math:`\lambda`: at once where the past has much
    information, slowly where it has little. That costs no accuracy, reduces the turnover to a fraction, and makes each step a
    well conditioned problem.

    Inside :class:`~tracker_strategies.algorithms.Holdings` the past is restated in today's weights, u drifts as it would have if
    it had been bought and held, and :math:`m_i = 1/a_i^2` with the growth :math:`a_i` of the name against the index over some
    five hundred bars: the pull is then much the same for all names in terms of shares.

    With several discounts it is several learners in one: each has its portfolio, and `weights` is their mean. What all share,
    nearly everything but the solutions, is computed once.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    gamma : float or sequence of K floats, default 0.99
        Discounts in (0, 1].
    inertia : float, default 3
        Pull :math:`\pi \ge 0` to the weights held.
    ridge : float, default 0.003
        Pull :math:`\rho \ge 0` to the start; `inertia` + `ridge` must be positive.
    damping : float or sequence of K floats, default 0.5
        :math:`\nu` in [0, 1]: with 0 a round counts by the square of its returns, so that a few volatile weeks may outweigh all
        others; with 1 all rounds count alike.
    start : array_like, shape (N,), optional
        Uniform by default.

    Notes
    -----
    Cost per round and discount: one rank-one update, and a factorisation, seldom two, for up to 100 names, or some 5 to 20
    products with an N x N matrix for more. Memory O(K N^2).

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import LeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = 0.01 * rng.standard_normal((300, 3))
    >>> learner = LeastSquares(3, gamma=1.0)
    >>> np.round(learner.run(X, X @ [0.6, 0.4, 0.0])[-1], 2).tolist()
    [0.6, 0.4, 0.0]
    """

    _state: ClassVar[tuple[str, ...]] = (
        "_P",
        "_B",
        "_b",
        "_c",
        "_a",
        "_growth",
        "_anchor",
        "_past",
        "_gap",
        "_products",
        "_error",
    )
    _kinds: ClassVar[Kinds] = {
        "_P": real("K", "n", least=0.0),
        "_B": real("K", "n", "n", gram=True),
        "_b": real("K", "n"),
        "_c": real("K", above=0.0),
        "_a": real("n", above=0.0),
        "_growth": real("n", above=0.0),
        "_anchor": real("n", least=0.0),
        "_past": real("K", least=0.0),
        "_products": whole(),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        gamma: float | Sequence[float] = 0.99,
        inertia: float = 3.0,
        ridge: float = 0.003,
        damping: float | Sequence[float] = 0.5,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, feasible=Simplex(), start=start)
        self.gamma, self._gammas = _shares("gamma", gamma)
        if not self._gammas.all():
            raise ParameterError(f"gamma must be > 0, because 0 would forget all earlier rounds, got {gamma!r}")
        self.damping, self._dampings = _shares("damping", damping)
        K, N = len(self._gammas), self.n_assets
        if len(self._dampings) not in (1, K):
            raise ParameterError(f"damping must be one number or {K}, one for each gamma, got {damping!r}")
        self._dampings = self._dampings + np.zeros(K)
        self.inertia, self.ridge = number("inertia", inertia, least=0.0), number("ridge", ridge, least=0.0)
        if self.inertia + self.ridge <= 0.0:
            raise ParameterError(
                "inertia and ridge are both 0, so that the problem has no unique solution: set one of them above 0"
            )
        # Second moments C = c B / (a a') in one triangle: discounts and units are factored out, a round is one pass over B.
        self._B: Array = np.zeros((K, N, N))
        self._b: Array = np.zeros((K, N))
        self._c: Array = np.ones(K)
        self._a: Array = np.ones(N)
        self._growth: Array = np.ones(N)
        self._anchor: Array = self._w.copy()
        self._past: Array = np.zeros(K)
        self._gap = self._error = 0.0
        self._products = 0
        self._take(np.tile(self._w, (K, 1)))
        self._view()

    def _sound(self) -> None:
        super()._sound()
        if np.abs(self._P.sum(axis=1) - 1.0).max() > 1e-6:
            raise ParameterError("_P must be portfolios, each with sum 1")

    def _view(self) -> None:
        """Make what is looked at in every round: the second moments as Fortran sees them, their diagonals, all discounts."""
        self._B = np.ascontiguousarray(self._B)
        K, N, _ = self._B.shape
        self._uppers, self._diagonals = [part.T for part in self._B], self._B.reshape(K, -1)[:, :: N + 1]
        self._fading = np.repeat(self._gammas[:, None], N, axis=1)

    @property
    def portfolios(self) -> Array:
        """The portfolios of the K discounts, shape (K, N), read-only; later rounds do not change the array."""
        return self._P

    def _take(self, portfolios: Array) -> None:
        self._w = self._kept(portfolios)
        self._w.setflags(write=False)

    def _kept(self, portfolios: Array) -> Array:
        """Keep them and return their mean."""
        portfolios.setflags(write=False)
        self._P = portfolios
        mean: Array = portfolios[0] if len(portfolios) == 1 else np.add.reduce(portfolios) / len(portfolios)
        return mean

    def _restore(self, values: dict[str, Any]) -> None:
        super()._restore(values)
        self._P.setflags(write=False)
        self._view()

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        self._error, now = float(w.dot(x)) - y, self._P
        if free is not None:
            now, part, x = np.array([self._filled(row, free) for row in now]), x, np.zeros(self.n_assets)
            x[free] = part
        self._absorb(x, y, xx, now.dot(x) - y)
        with np.errstate(all="ignore"):  # of returns beyond all markets
            mean = self._kept(self._solve(now, free))
        return mean if free is None else mean[free]

    def _filled(self, row: Array, free: Mask) -> Array:
        """Return a portfolio after the names that take part took over from those that left, who are forgotten by now."""
        now = row.copy()
        if float(np.add.reduce(row)) < 1.0 - 1e-12:
            now[free] = self.feasible.slice(free, ~free, row).project(row[free])
        return now

    def _absorb(self, x: Array, y: float, xx: float, errors: Array) -> None:
        self._past *= self._gammas
        self._c *= self._gammas
        self._b *= self._fading
        if float(self._c[self._c.argmin()]) < LEAST_SCALE:
            self._B *= self._c[:, None, None]
            self._c = np.ones(len(self._c))
        if xx > NO_DATA:
            z, counts, add = self._a * x, xx**-self._dampings, blas()
            errors *= errors
            errors *= counts
            self._past += errors
            add.dger(y, z, counts, a=self._b.T, overwrite_a=1)
            for upper, share in zip(self._uppers, (counts / self._c).tolist(), strict=True):
                add.dsyr(share, z, a=upper, overwrite_a=1)

    def _solve(self, now: Array, free: Mask | None, inertia: float | None = None) -> Array:
        """Return the portfolios, from those held now; names that are not free keep their weights."""
        inertia = self.inertia if inertia is None else inertia
        a, inverse, unit, one = self._a, 1.0 / self._a, 1.0 / self._growth, ones(self.n_assets)
        unit *= unit
        anchor = self._anchor if free is None else np.where(free, self._anchor, 0.0)
        # The sum is 1, whatever rounding did to it.
        rooms = ones(len(now)) if free is None else now[:, free].sum(axis=1)
        size, pull, diagonals = float(anchor.dot(one)), inertia + self.ridge, self._diagonals
        mean = diagonals.dot(inverse * inverse)
        mean *= self._c
        mean /= [max(np.count_nonzero(squares), 1) for squares in diagonals]
        metric = np.multiply.outer(mean, unit)
        q = inertia * now
        q += np.multiply.outer(self.ridge / size * rooms, anchor) if size > 0.0 else self.ridge * now
        q *= metric
        q += self._b * inverse
        metric *= np.multiply.outer(pull / self._c, a * a)
        squares = diagonals.copy()
        diagonals += metric  # for as long as it takes to solve
        try:
            return self._solved(now, rooms, free, q, inverse, mean, pull * float(unit[unit.argmin()]))
        finally:
            diagonals[:] = squares

    def _solved(self, now: Array, rooms: Array, free: Mask | None, q: Array, inverse: Array, mean: Array, least: float) -> Array:
        new, self._gap, self._products = now.copy(), 0.0, 0
        figures = zip(mean.tolist(), self._c.tolist(), self._past.tolist(), rooms.tolist(), strict=True)
        for k, (m, c, past, room) in enumerate(figures):
            if NO_DATA < m < NO_RETURNS and room > 0.0:
                problem = ScaledQuadratic(self._uppers[k], self._diagonals[k], c, self._a, inverse, q[k], least * m)
                found = problem.solve(now[k], room, free, PRECISION * max(past, m * 1e-12))
                new[k] = found.w
                self._gap, self._products = max(self._gap, found.gap), self._products + found.products
        return new

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
            if not float(self._B.max()) < NO_RETURNS:  # no prices move like this: start again
                self._B[:] = 0.0
                self._b[:] = 0.0

    def _forget(self, left: Mask) -> None:
        if left.any():
            self._B[:, left] = 0.0
            self._B[:, :, left] = 0.0
            self._b[:, left] = 0.0
            self._a[left] = self._growth[left] = 1.0
            self._anchor[left] = 0.0
            self._kept(np.where(left, 0.0, self._P))

    def _restricted(self, allowed: Mask, stay: Mask, left: Mask) -> Array:
        return self._kept(np.array([self._handed_on(row, allowed, stay, left) for row in self._P]))

    def diagnostics(self) -> dict[str, float]:
        """Return the last round's error, the bound of what a better solution could gain, and the number of matrix products."""
        return {"error": self._error, "gap": self._gap, "products": float(self._products)}


def _shares(name: str, given: Any) -> tuple[float | list[float], Array]:
    """Return one number in [0, 1], or a list of them, as given and as an array."""
    several = isinstance(given, list | tuple | np.ndarray) and np.ndim(given) > 0
    values = [number(name, value, least=0.0) for value in (given if several else [given])]
    if not values or max(values) > 1.0:
        raise ParameterError(f"{name} must be a number in [0, 1] or a list of such numbers, got {given!r}")
    return values if several else values[0], np.array(values)
