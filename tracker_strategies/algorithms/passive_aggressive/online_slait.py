"""SLAIT on a rolling window, re-solved every few rounds: the batch rival in the shape of an online learner."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import MAX_NORM2, OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.batch_slait import STARTS, check_slait, slait
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import CappedSimplex, FeasibleSet, Simplex
from tracker_strategies.errors import ParameterError

HISTORY = 0.8
"""Share of the rounds in the window that an asset must have been seen in to take part in a fit."""
LARGEST = MAX_NORM2**0.5


@learner(
    "slait",
    shows=("held", "spread"),
    examples=lambda n: (
        {"window": 12, "every": 250, "accelerate": False, "starts": 3, "max_iter": 100},
        {"window": 12, "every": 3, "accelerate": False, "starts": 3, "max_iter": 50},
    ),
)
class SLAIT(OnlineAlgorithm):
    r"""Sparse index tracking on the last `window` rounds, fitted again every `every` rounds; in between the weights are constant.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    lam : float, default 1e-7
        Price of an asset, > 0; larger means fewer assets.
    u : float, default 1
        Cap of each weight, in (0, 1]; u N must reach 1.
    measure : {"ete", "dr", "hete", "hdr"}, default "ete"
        Empirical tracking error, downside risk, and both with linear tails.
    window : int, default 100
        Rounds that a fit uses, >= 2.
    every : int, default 10
        Rounds from one fit to the next.
    huber : float, default 1e-3
        Error beyond which "hete" and "hdr" grow linearly, in units of returns.
    max_iter : int, default 1000
        Maximum number of iterations of a fit.
    accelerate : bool, default True
        Whether fits extrapolate (SQUAREM).
    start : array_like, shape (N,), optional
        Weights before the first fit; uniform by default.
    starts : int, default 8
        Number of starts of a fit, which keeps the best; 1 is the paper's iteration. See :func:`slait`.
    seed : int, default 0
        Of these starts.

    Notes
    -----
    The first fit comes after max(2, min(window, every)) rounds, on what there is by then; every fit starts from equal weights,
    so that it depends on its window only. Cost of a fit: O(starts iterations window N); of the other rounds O(N). State: the
    window.

    An asset takes part in a fit once it was seen in 80 % of the rounds of the window; until then it keeps the weight it has.
    A missing return counts as that of the index, which is neutral for the asset.

    References
    ----------
    Benidis, Feng, Palomar, *Sparse portfolios for high-dimensional financial index tracking*, IEEE Trans. Signal Process. 66,
    2018. In the APAS paper: window 100, fits every 3 rounds (synthetic data) or 10 (markets).

    Examples
    --------
    >>> from tracker_strategies.algorithms import SLAIT, learner
    >>> learner = SLAIT(3, window=4, every=2)
    >>> w = learner.update([0.02, -0.01, 0.0], 0.02)
    >>> learner.update([-0.01, 0.03, 0.01], -0.01).round(3).tolist()  # the index is the first asset
    [1.0, 0.0, 0.0]
    """

    _state = ("_X", "_y", "_filled", "_fits", "_spread")
    _kinds: ClassVar[Kinds] = {
        "_X": real("window", "n", least=-LARGEST, most=LARGEST, nan=True),
        "_y": real("window", least=-LARGEST, most=LARGEST),
        "_filled": whole(),
        "_fits": whole(),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        lam: float = 1e-7,
        u: float = 1.0,
        measure: str = "ete",
        window: int = 100,
        every: int = 10,
        huber: float = 1e-3,
        max_iter: int = 1000,
        accelerate: bool = True,
        start: Any = None,
        starts: int = STARTS,
        seed: int = 0,
    ) -> None:
        self.u = number("u", u, above=0.0)
        super().__init__(n_assets, feasible=CappedSimplex(self.u) if self.u < 1.0 else Simplex(), start=start)
        check_slait(lam, measure, huber, max_iter, starts, seed)
        self.starts, self.seed = int(starts), int(seed)
        self.lam, self.measure, self.huber, self.max_iter = float(lam), measure, float(huber), int(max_iter)
        self.window, self.every = count("window", window), count("every", every)
        if self.window < 2:
            raise ParameterError(f"window must be an integer >= 2, got {window!r}")
        self.accelerate = bool(accelerate)
        self._X: Array = np.full((self.window, self.n_assets), np.nan)
        self._y: Array = np.zeros(self.window)
        self._filled = self._fits = 0
        self._spread = 0.0

    def _forget(self, left: Mask) -> None:
        self._X[:, left] = np.nan

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        row = self._filled % self.window
        self._X[row] = np.nan
        self._X[row, slice(None) if free is None else free] = x
        self._y[row] = y
        self._filled += 1
        due = (self._filled - max(2, min(self.window, self.every))) % self.every == 0 and self._filled >= 2
        return self._fit(w, W, free) if due else w

    def _fit(self, w: Array, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the weights of a fit to the window, in the order of time."""
        rows = np.arange(max(0, self._filled - self.window), self._filled) % self.window
        X, y = self._X[rows], self._y[rows]
        seen = ~np.isnan(X)
        known = seen.mean(axis=0) >= HISTORY
        X = np.where(seen, X, y[:, None])
        taking_part = np.ones(self.n_assets, dtype=np.bool_) if free is None else free
        fitted = taking_part & known
        total = float(getattr(W, "total", 1.0))
        inside = fitted[taking_part]
        resting = float(w[~inside].sum())
        room = total - resting
        if not fitted.any() or room <= 0.0 or self.u * np.count_nonzero(fitted) < room:
            return w
        # What rests or is frozen contributes as it did, as far as it has a history; assets that left have none.
        others = np.where(seen.any(axis=0), self._w, 0.0)
        others[taking_part] = w
        others[fitted] = 0.0
        found = self._solve(X[:, fitted], y - X @ others, room)
        self._fits += 1
        new = w.copy()
        new[inside] = found
        return new

    def _solve(self, X: Array, y: Array, room: float) -> Array:
        """Return the weights of the names in X, with sum `room`, that track y."""
        fit = slait(
            X,
            y,
            lam=self.lam,
            u=min(self.u, 1.0),
            measure=self.measure,
            huber=self.huber,
            max_iter=self.max_iter,
            accelerate=self.accelerate,
            total=room,
            starts=self.starts,
            seed=self.seed,
        )
        self._spread = fit.spread
        return fit.w

    def diagnostics(self) -> dict[str, float]:
        """Return the number of fits so far, of assets held, and the spread of the objective over the starts of the last fit."""
        return {"fits": float(self._fits), "held": float(np.count_nonzero(self._w)), "spread": self._spread}
