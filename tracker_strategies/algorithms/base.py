"""The shape that every online learner of portfolio weights has."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg.blas import ddot

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._stateful import Stateful
from tracker_strategies.algorithms._validation import FLOAT64, Array, Mask, describe_not_finite, finite_vector, mask, real_array
from tracker_strategies.algorithms.sets.feasible import Box, FeasibleSet, RealSpace, Simplex
from tracker_strategies.errors import InputError, ParameterError

MAX_NORM2 = 1e100  # observations with a larger squared norm are refused: they are not returns, and their squares would overflow


class OnlineAlgorithm(Stateful, ABC):
    r"""Base of the learners: weights that are updated with one round (x_t, y_t) at a time.

    A round: hold :math:`w_t`; see returns :math:`x_t` of the assets and :math:`y_t` of the target; update to :math:`w_{t+1}`.
    A learner writes its rule in :meth:`_learn`, in terms of the coordinates that take part, and names the attributes of its state
    in `_state`. Changing universes, validation, copies and storage are done here, once.

    >>> from tracker_strategies.algorithms import PA
    >>> weights = PA(3).update([0.02, 0.0, -0.01], 0.01)

    Parameters
    ----------
    n_assets : int
        Number of assets N, fixed for the life of the object; names that come and go are masked.
    feasible : FeasibleSet
        The set W of allowed weights.
    start : array_like, shape (N,), optional
        Weights before the first round; by default the starting point of `feasible` (uniform on the simplex).
    """

    @property
    def _from_held(self) -> bool:
        """Whether a round begins at the weights held, or restates what it knows: then they may drift with prices before it."""
        return True

    def __init__(self, n_assets: int, *, feasible: FeasibleSet, start: Any = None) -> None:
        self.n_assets = count("n_assets", n_assets)
        if not isinstance(feasible, FeasibleSet):
            raise ParameterError(f"feasible must be a set such as Simplex(), got {feasible!r}")
        feasible.check(self.n_assets)
        self.feasible = feasible
        self.start = None
        w = feasible.start(self.n_assets)
        if start is not None:
            w = finite_vector("start", start, ParameterError, self.n_assets).copy()
            if feasible.portfolio and not feasible.contains(w):
                if not feasible.contains(w, 1e-6):
                    raise ParameterError(
                        f"start must lie in {feasible!r}, got a vector with sum {w.sum():.9g} and minimum {w.min():.9g}"
                    )
                w = feasible.project(w)
            self.start = w.tolist()
        w.setflags(write=False)
        self._w: Array = w
        self._active: Mask | None = None  # None: all
        self._t = 0

    # ------------------------------------------------------------------ one round

    @abstractmethod
    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        """Return the next weights of the k coordinates that take part, a new array or `w` itself.

        Parameters
        ----------
        w, x : ndarray, shape (k,)
            Their weights and returns, not to be changed.
        y : float
            Return of the target.
        xx : float
            ||x||^2.
        W : FeasibleSet
            Set for the result.
        free : ndarray of bool, shape (N,), or None
            Which of the N coordinates they are (None: all), for learners with state per asset.
        """

    def _forget(self, left: Mask) -> None:
        """Reset what was learnt about assets that may no longer be held: should they come back, they start cold."""

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None) -> Array:
        """Learn from one round and return the weights for the next.

        Parameters
        ----------
        x : array_like, shape (N,)
            Simple returns of the assets over the round.
        y : float
            Simple return of the target.
        active : array_like of bool, shape (N,), optional
            Assets that may be held next; all by default. The others get weight exactly 0 before the step, their returns are
            ignored, and what they held goes to the rest by projection. An asset that was not active before enters at weight 0 and
            moves from the next round on.
        observed : array_like of bool, shape (N,), optional
            Assets whose return was seen; False marks a holiday or a halt. Such an asset keeps its exact weight and counts as
            unmoved; the others share the mass that is left. If every asset that stays is unseen while another leaves, the
            unseen ones take what it held, because there is no other.

        Returns
        -------
        ndarray, shape (N,)
            Read-only; later rounds do not change it.

        Raises
        ------
        InputError
            When x, y or a mask cannot be used. The state is as it was.
        """
        x = self._vector(x)
        y = self._target(y)
        if active is not None or observed is not None or self._active is not None:
            return self._masked_update(x, y, active, observed)
        return self._commit(self._learn(self._w, x, y, self._norm2(x), self.feasible, None))

    def run(self, X: Any, Y: Any) -> Array:
        """Learn from T rounds of all assets, as by T calls of :meth:`update`, and return the weights before and after each.

        Parameters
        ----------
        X : array_like, shape (T, N)
        Y : sequence of T targets
        """
        X = np.ascontiguousarray(real_array("X", X, InputError))
        if X.ndim != 2 or X.shape[1] != self.n_assets or len(X) != len(Y):
            raise InputError(f"X must have shape (T, {self.n_assets}) and Y T entries, got {X.shape} and {len(Y)}")
        W = np.empty((len(X) + 1, self.n_assets))
        W[0] = self._w
        if type(self).update is not OnlineAlgorithm.update or self._active is not None:
            for t, x in enumerate(X):
                W[t + 1] = self.update(x, Y[t])
            return W
        y, xx = [self._target(y_t) for y_t in Y], [self._norm2(x) for x in X]
        for t, x in enumerate(X):
            W[t + 1] = self._commit(self._learn(self._w, x, y[t], xx[t], self.feasible, None))
        return W

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on, as in `update` but without a round, and return the weights."""
        allowed = self._allowed(active)
        stay, left = self._stay_and_left(allowed)
        w = self._restricted(allowed, stay, left)
        self._forget(left)
        self._active = None if allowed.all() else allowed.copy()
        w.setflags(write=False)
        self._w = w
        return w

    def predict(self, x: Any) -> float:
        """Return w.x, the return of the current weights when the assets return x; entries of inactive assets are ignored."""
        x = self._vector(x)
        if self._active is not None:
            x = np.where(self._active, x, 0.0)
        self._norm2(x)
        return float(self._w.dot(x))

    @property
    def weights(self) -> Array:
        """Current weights, shape (N,), read-only; later rounds do not change the array."""
        return self._w

    @property
    def portfolios(self) -> Array:
        """All portfolios that the learner keeps, shape (K, N), read-only: its weights, unless it is several learners in one."""
        return self._w[None]

    def _take(self, portfolios: Array) -> None:
        """Go on from other portfolios, shape (K, N), than those of the last round."""
        self._w = portfolios[0]

    def metric(self) -> tuple[Array, Array] | None:
        """Return the metric of differences of weights: (d, B) for diag(d) + BB', (N,) and (N, k); None for the mandate's own."""
        return None

    def pace(self) -> tuple[int | None, float]:
        """Return how a mandate follows the learner: reviews of the names so far (None: on every round), share of the way gone."""
        return None, 1.0

    def diagnostics(self) -> dict[str, float]:
        """Return the diagnostics of the last round, as floats by name."""
        return {}

    def _may_refuse(self, masked: bool) -> bool:
        """Whether a round of sound numbers may be refused: for side information, or caps that cannot be met."""
        return masked and not isinstance(self.feasible, Simplex | RealSpace | Box)

    # ------------------------------------------------------------------ changing universes

    def _masked_update(self, x: Array, y: float, active: Any, observed: Any) -> Array:
        allowed = self._allowed(active)
        seen = np.ones(self.n_assets, dtype=np.bool_) if observed is None else mask("observed", observed, self.n_assets)
        stay, left = self._stay_and_left(allowed)
        free = stay & seen
        if free.all():
            w = self._learn(self._w, x, y, self._norm2(x), self.feasible, None)
        elif free.any():
            returns = x[free]
            xx = self._norm2(returns)
            frozen = stay & ~seen
            W = self.feasible.slice(free, frozen, self._w)
            part = self._w[free]
            if self._w[left].any():
                part = W.project(part)
            self._forget(left)
            w = np.zeros(self.n_assets)
            w[free] = self._learn(part, returns, y, xx, W, free)
            w[frozen] = self._w[frozen]
        else:  # nobody can move: only the universe may change
            w = self._restricted(allowed, stay, left)
            self._forget(left)
        self._active = None if allowed.all() else allowed.copy()
        return self._commit(w)

    def _allowed(self, active: Any) -> Mask:
        if active is None:
            return np.ones(self.n_assets, dtype=np.bool_)
        allowed = mask("active", active, self.n_assets)
        if not allowed.any():
            raise InputError(f"active must allow at least one of {self.n_assets} assets, got none")
        return allowed

    def _stay_and_left(self, allowed: Mask) -> tuple[Mask, Mask]:
        if self._active is None:
            return allowed, ~allowed
        return allowed & self._active, self._active & ~allowed

    def _restricted(self, allowed: Mask, stay: Mask, left: Mask) -> Array:
        """Return the weights after those of `left` went to `stay`."""
        return self._handed_on(self._w, allowed, stay, left)

    def _handed_over(self, held: Array, stay: Mask, free: Mask) -> Array:
        """Return what is held after those that leave have given theirs to the names that take part in a round."""
        if not free.any() or not held[~stay].any():
            return held
        w = np.where(stay, held, 0.0)
        w[free] = self.feasible.slice(free, stay & ~free, held).project(held[free])
        return w

    def _handed_on(self, held: Array, allowed: Mask, stay: Mask, left: Mask) -> Array:
        """Return what is held after `left` gave theirs to `stay`; when nobody stays, the newcomers make a fresh start."""
        if not held[left].any():
            return held
        nobody = np.zeros(self.n_assets, dtype=np.bool_)
        w = np.zeros(self.n_assets)
        if stay.any():
            w[stay] = self.feasible.slice(stay, nobody, held).project(held[stay])
        else:
            w[allowed] = self.feasible.slice(allowed, nobody, held).start(int(np.count_nonzero(allowed)))
        return w

    # ------------------------------------------------------------------ checks

    def _vector(self, x: Any) -> Array:
        if not (type(x) is np.ndarray and x.dtype is FLOAT64 and x.strides == (8,)):
            x = real_array("x", x, InputError)
        if x.shape != (self.n_assets,):
            raise InputError(f"x must have shape ({self.n_assets},), one return per asset, got {x.shape}")
        return x  # type: ignore[no-any-return]

    def _norm2(self, x: Array) -> float:
        """Return ||x||^2. One product also tells whether every entry is finite."""
        xx: float = ddot(x, x) if len(x) else 0.0
        if not xx <= MAX_NORM2:
            if np.isfinite(x).all():
                raise InputError(
                    f"x holds returns as large as {np.abs(x).max():g}: simple returns are fractions, 0.01 is one percent"
                )
            raise InputError(
                f"x must be finite, got {describe_not_finite(x)}; mark assets without a return in `observed` or `active`"
            )
        return xx

    def _target(self, y: Any) -> float:
        if not isinstance(y, float):
            if np.ndim(y) > 0 and np.size(y) == 1:
                y = np.asarray(y).reshape(())[()]
            y = number("y", y, error=InputError)
        if not y * y <= MAX_NORM2:
            raise InputError(f"y must be a simple return, finite and not huge, got {y!r}")
        return float(y)

    def _targets(self, y: Any, q: int) -> Array:
        """Return the returns of q targets."""
        target = finite_vector("y", y, InputError, q)
        if not float(np.abs(target).max()) <= MAX_NORM2**0.5:
            raise InputError(f"y must hold simple returns, finite and not huge, got {y!r}")
        return target

    def _commit(self, w: Array) -> Array:
        w.setflags(write=False)
        self._w, self._t = w, self._t + 1
        return w
