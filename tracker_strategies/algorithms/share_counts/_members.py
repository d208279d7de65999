r"""The members' holdings: how they follow prices, which names they know, and how they move on a bar."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.drift import relative_growth
from tracker_strategies.algorithms.share_counts._moments import Moments
from tracker_strategies.algorithms.share_counts._settings import Settings
from tracker_strategies.algorithms.share_counts._steps import moved, solved, tangent
from tracker_strategies.algorithms.share_counts._volatility import Volatility

JOINS = 0.1
"""Share of its prior at which a name that lists begins."""
LEAST_WEIGHT = 1e-12
"""No name that takes part falls below this: from zero there would be no way back."""
LEAST_PRIOR = 1e-3
"""What stands for a published weight of zero, in units of the smallest positive one."""
WIDEST = 1e12
"""Spread of the prices over the index at which holdings are counted anew, from the day."""
ANOTHER_INDEX = 0.1
"""Published weights that miss more of the past than this part of what equal weights miss (in squares) are of another index."""
FARTHEST = 1e30
"""Growth over the index beyond which a prior does not follow a price."""


class Members(Part):
    """Holdings v of K members, with a.v = 1 for the prices a over the index, and what they have seen.

    Prices begin at 1, for a name that lists later on that day. A prior is one of holdings too: it drifts with prices.

    Parameters
    ----------
    start : ndarray, shape (N,)
        Weights of every member before the first round.
    gammas : ndarray, shape (K,)
        Discounts.

    Attributes
    ----------
    known : ndarray of bool, shape (N,)
        Names that the members hold.
    """

    _state = ("known", "_V", "_a", "_base", "_published", "_moments", "_volatility")

    def __init__(self, start: Array, gammas: Array) -> None:
        n = len(start)
        self.known: Mask = np.ones(n, dtype=np.bool_)
        self._V: Array = np.tile(start, (len(gammas), 1))
        self._a: Array = np.ones(n)
        self._base: Array = np.ones(n)  # prices at which holdings were last counted anew
        self._published: Array = np.zeros(n)
        self._moments, self._volatility = Moments(n, gammas), Volatility(n)

    @property
    def portfolios(self) -> Array:
        """Weights of the members, shape (K, N)."""
        return self._V * self._a

    # ------------------------------------------------------------------ a round

    def errors(self, excess: Array) -> Array:
        """Return what each member makes of the returns over the index, shape (K,)."""
        return np.asarray(self._V.dot(self._a * excess))

    def take_in(self, excess: Array, share: float, x: Array, y: float, free: Mask | None) -> None:
        """Learn from a bar that counts by `share`, and let prices move; those of names that were not seen stand still."""
        self._moments.add(share**0.5 * self._a * excess)
        self._volatility.learn(excess, free)
        a = self._a * relative_growth(x, y)
        self._a = a = a if free is None else np.where(self.known, a, 1.0)
        if float(a.max()) > WIDEST or float(a.min()) < 1.0 / WIDEST:
            self._V, self._published = self._V * a, self._published * a
            self._base = np.minimum(np.maximum(self._base * a, 1.0 / FARTHEST), FARTHEST)
            self._moments.restate(a)
            self._a = np.ones(len(a))
        self._V = self._V / self._V.dot(self._a)[:, None]

    def move(self, settings: Settings, inertias: Array, noise: float, clip: float, free: Mask | None, *, exact: bool) -> int:
        """Let every member take one step, and return the number of products that it took; names that are not free stay.

        Parameters
        ----------
        settings : Settings
        inertias : ndarray, shape (K,)
            Pulls to what the members are, for this round.
        noise : float
            Mean squared error of the best member.
        clip : float
            Most that a name moves, in the coordinates of its prior.
        free : ndarray of bool, shape (N,), or None
        exact : bool
        """
        a, V, V0, kappas = self._a, self._V, self._priors(settings), settings.kappas
        names = len(a)
        if free is not None:
            V0, names = np.where(free, V0, 1.0), int(np.count_nonzero(free))
        with np.errstate(all="ignore"):  # of returns beyond all markets
            at = tangent(V if free is None else np.where(free, V, 1.0), V0, kappas)
            pull = settings.ridges * noise
            D, g = at.D, np.empty(V.shape)
            if free is not None:
                D = D * free  # r is 0 elsewhere
            self._moments.times(V, range(len(V)), g)
            g *= D
            g += pull[:, None] * at.r
            delta = pull + inertias * np.einsum("kn,kn,kn->k", D, D, self._moments.diagonals) / names
            d, products = solved(self._moments, D, delta, g, a * D, exact=exact)
            new = moved(V, V0, at, np.clip(d, -clip, clip), kappas)
            np.maximum(new, LEAST_WEIGHT / a, out=new)
            if free is not None:
                new = np.where(free, new, V)
            new /= new.dot(a)[:, None]
        good = np.isfinite(new.sum(axis=1, keepdims=True))
        self._V = new if good.all() else np.where(good, new, V)
        return products

    # ------------------------------------------------------------------ priors and names

    def _priors(self, settings: Settings) -> Array:
        """Return the holdings that are most plausible before anything was seen, shape (K, N)."""
        equal = quiet = self._base / int(np.count_nonzero(self.known))
        if any(settings.quiet):
            told = self._published.any()
            quiet = self._published if told else self._base * self._volatility.inverse(self.known)
        return np.array([quiet if each else equal for each in settings.quiet])

    def start_at(self, weights: Array) -> None:
        """Let every member hold these weights as of now; names that they do not know are left out.

        Where they explain the past hardly better than equal weights do, it speaks of another index: it is forgotten.
        """
        start = np.where(self.known, np.maximum(weights, LEAST_WEIGHT), 0.0)
        equal = self.known / np.count_nonzero(self.known)
        known, guess = (self._missed(w / w.sum() / self._a) for w in (start, equal))
        if known > ANOTHER_INDEX * guess:
            self._moments.forget(np.ones(len(start), dtype=np.bool_))
        self._V = np.tile(start / start.sum() / self._a, (len(self._V), 1))

    def _missed(self, v: Array) -> float:
        """Return the squared errors of the past, as the first member remembers it, that holdings v would have had."""
        products = np.zeros(self._V.shape)
        self._moments.times(np.tile(v, (len(self._V), 1)), (0,), products)
        return float(v.dot(products[0]))

    def publish(self, weights: Array) -> None:
        """Put weights of the index as of now, >= 0 with a positive sum, in the place of the inverse volatility."""
        weights = np.maximum(weights, LEAST_PRIOR * weights[weights > 0.0].min())
        self._published = weights / weights.sum() / self._a

    def admit(self, free: Mask | None, settings: Settings) -> None:
        """Let names in that take part (None: all) for the first time, at a part of their prior."""
        new = ~self.known if free is None else free & ~self.known
        if new.any():
            self.known = self.known | new
            V = np.where(new, JOINS * self._priors(settings), self._V)
            self._V = V / V.dot(self._a)[:, None]

    def forget(self, left: Mask) -> None:
        """Forget names that left; what they have held goes to the others in proportion."""
        if left.any():
            self.known = self.known & ~left
            self._moments.forget(left)
            self._volatility.forget(left)
            self._a, self._base = np.where(left, 1.0, self._a), np.where(left, 1.0, self._base)
            V = np.where(left, 0.0, self._V)
            size = V.dot(self._a)[:, None]
            self._V = V / np.where(size > 0.0, size, 1.0)
