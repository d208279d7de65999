"""AdaGrad for sparse instances in high dimension: a round costs what the instance holds, not what the space holds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import count, number, one_of
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._stateful import Stateful
from tracker_strategies.algorithms._validation import Array, describe_not_finite, finite_vector, label, real_array
from tracker_strategies.algorithms.base import MAX_NORM2
from tracker_strategies.algorithms.gradient._base import MAX_GRADIENT2, check_loss, loss_and_slope
from tracker_strategies.algorithms.gradient._regularisers import SEPARABLE, Regulariser, ridge, soft
from tracker_strategies.algorithms.gradient.adagrad import ROUNDING2, RULES
from tracker_strategies.algorithms.sets.feasible import Box, FeasibleSet, RealSpace
from tracker_strategies.errors import InputError, ParameterError

Index = NDArray[np.intp]


class SparseAdaGrad(Stateful):
    r"""Diagonal AdaGrad that evaluates weights when they are needed (lazily). The numbers are those of :class:`AdaGrad`.

    A coordinate that an instance does not have has gradient 0, so that its metric does not change. Its weight then follows from
    the last round :math:`t_0` that had it: with cmd

    .. math::

        \text{l1: } w_{t,i} = \mathrm{sgn}(w_{t_0,i}) \big[|w_{t_0,i}| - (t - t_0)\, \eta\lambda/H_i\big]_+, \qquad
        \text{l2sq: } w_{t,i} = \Big(\frac{H_i}{H_i + \eta\lambda}\Big)^{t-t_0} w_{t_0,i},

    clipped to its bounds, and with rda from its sum of gradients, :math:`H_i` and t alone.

    This is a separate class because a tracker cannot be sparse: it takes N returns and gives N weights, most of them positive,
    which costs O(N) in any case. Here an instance is a list of positions and values, and `weights` is computed on demand.

    Parameters
    ----------
    n_assets : int
        Dimension d.
    loss : {"squared", "eps_insensitive", "hinge"}, default "hinge"
    eps : float, default 1e-4
        Of the eps-insensitive loss.
    rule : {"cmd", "rda"}, default "cmd"
    eta : float, default 1
        Step size, > 0.
    delta : float, default 1e-8
        Floor of the metric, >= 0.
    regulariser : {"none", "l1", "l2sq"}, default "none"
    lam : float, optional
        Weight of the regulariser, >= 0.
    feasible : RealSpace or Box, default RealSpace()
    start : array_like, shape (d,), optional
        :math:`w_1`; the point of W nearest to 0 by default.

    Notes
    -----
    Cost per round: O(k) for an instance with k entries, some tens of microseconds for a few, at any d. `weights` costs O(d).
    Memory O(d).

    References
    ----------
    Duchi, Hazan, Singer, *Adaptive subgradient methods for online learning and stochastic optimization*, UCB/EECS-2010-24:
    secs. 6.1 and 6.2. The formula printed for l2sq has squares of s and delta outside the divergence; here it is the minimiser.

    Examples
    --------
    >>> from tracker_strategies.algorithms import SparseAdaGrad, learner
    >>> learner = SparseAdaGrad(10_000)
    >>> learner.update([17], [2.0], -1.0)  # the loss of the round
    1.0
    >>> round(learner.predict([17], [1.0]), 6)
    -1.0
    """

    _state = ("_value", "_last", "_sum2", "_sum_g")
    _kinds: ClassVar[Kinds] = {
        "_sum2": real("n", least=0.0),
        "_last": whole("*kept"),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        loss: str = "hinge",
        eps: float = 1e-4,
        rule: str = "cmd",
        eta: float = 1.0,
        delta: float = 1e-8,
        regulariser: str = "none",
        lam: float | None = None,
        feasible: FeasibleSet = RealSpace(),  # noqa: B008 (immutable)
        start: Any = None,
    ) -> None:
        self.n_assets = count("n_assets", n_assets)
        one_of("rule", rule, RULES)
        if regulariser not in SEPARABLE or not isinstance(feasible, RealSpace | Box):
            raise ParameterError(
                f"lazy evaluation updates each weight separately: regulariser must be one of {', '.join(SEPARABLE)} and feasible "
                f"RealSpace or Box, got {regulariser!r} and {feasible!r}; use AdaGrad for the others"
            )
        self._phi = Regulariser(regulariser, lam, None, self.n_assets)
        self.loss, self.rule, self.regulariser, self.feasible = check_loss(loss), rule, regulariser, feasible
        self.lam = None if lam is None else self._phi.lam
        self.eps, self.delta = number("eps", eps, least=0.0), number("delta", delta, least=0.0)
        self.eta = number("eta", eta, above=0.0)
        w = feasible.start(self.n_assets)
        self.start = None
        if start is not None:
            w = finite_vector("start", start, ParameterError, self.n_assets).copy()
            self.start = w.tolist()
        self._lo, self._hi = (feasible.lo, feasible.hi) if isinstance(feasible, Box) else (-np.inf, np.inf)
        self._w: Array = w  # before the first round
        self._active = None
        self._t = 0
        self._sum2: Array = np.zeros(self.n_assets)
        # cmd: each weight as it was after the round in `_last`; rda: the sums that weights follow from.
        self._value: Array = w.copy() if rule == "cmd" else np.zeros(0)
        self._last: Index = np.zeros(self._value.shape[0], dtype=np.intp)
        self._sum_g: Array = np.zeros(self.n_assets - self._value.shape[0])

    def _sound(self) -> None:
        super()._sound()
        if self._last.size and int(self._last.max()) > self._t:
            raise ParameterError(f"_last must hold rounds up to _t = {self._t}, got {int(self._last.max())}")

    def _go_on(self) -> None:
        for y in (1.0, -1.0):
            self.update([0], [0.01], y)
        if not np.isfinite(self.weights).all():
            raise ParameterError("the weights of the state must be finite")

    # ------------------------------------------------------------------ one round

    def update(self, index: Any, values: Any, y: Any) -> float:
        """Learn from one instance and return its loss, that of the weights before the step.

        Parameters
        ----------
        index : array_like of int, shape (k,)
            Positions of the entries, strictly increasing, in 0..d-1.
        values : array_like, shape (k,)
            The entries.
        y : float
            The target; +1 or -1 for the hinge loss.

        Raises
        ------
        InputError
            When the instance cannot be used. The state is as it was.
        """
        J, x = self._instance(index, values)
        y = label(y) if self.loss == "hinge" else number("y", y, error=InputError)
        w = self._at(J)
        loss, slope = loss_and_slope(self.loss, float(w.dot(x)), y, self.eps)
        if self.loss == "squared" and slope * slope <= ROUNDING2 * float(x.dot(x)):
            slope = 0.0
        g = slope * x
        if not float(g.dot(g)) <= MAX_GRADIENT2:
            raise InputError(f"the gradient of the {self.loss} loss is too large to be squared: y={y:g}")
        sum2 = self._sum2[J] + g * g
        if self.rule == "rda":
            self._sum_g[J] += g
        else:
            H = self._metric(sum2)
            moved = w - self.eta * _divided(g, H)
            self._value[J] = self._clipped(self._regularised(moved, H, self.eta * self._phi.lam), J)
            self._last[J] = self._t + 1
        self._sum2[J] = sum2
        self._t += 1
        return loss

    def predict(self, index: Any, values: Any) -> float:
        """Return w.x of an instance; O(k)."""
        J, x = self._instance(index, values)
        return float(self._at(J).dot(x))

    @property
    def weights(self) -> Array:
        """All weights as they are now, shape (d,), a new array; O(d)."""
        return self._at(slice(None))

    @property
    def H(self) -> Array:
        """Diagonal of the metric after the last round, shape (d,)."""
        return self._metric(self._sum2)

    # ------------------------------------------------------------------ evaluation on demand

    def _metric(self, sum2: Array) -> Array:
        return self.delta + np.sqrt(sum2)

    def _at(self, J: Any) -> Array:
        """Return the weights at some positions as of now, a new array."""
        k = self.eta * self._phi.lam
        if self.rule == "rda":
            if self._t == 0:
                return np.array(self._w[J])
            H = self._metric(self._sum2[J])
            return self._clipped(self._regularised(-_divided(self.eta * self._sum_g[J], H), H, k * self._t), J)
        w = np.array(self._value[J])
        if k == 0.0:
            return w
        H, rounds = self._metric(self._sum2[J]), self._t - self._last[J]
        later = soft(w, H, k * np.maximum(rounds, 1)) if self.regulariser == "l1" else w * (H / (H + k)) ** rounds
        return np.asarray(np.where(rounds > 0, self._clipped(later, J), w))

    def _regularised(self, y: Array, H: Array, k: float) -> Array:
        """Return the step of the regulariser from y, before the bounds."""
        if k == 0.0:
            return y
        return soft(y, H, k) if self.regulariser == "l1" else ridge(y, H, k)

    def _clipped(self, y: Array, J: Any) -> Array:
        lo = self._lo[J] if isinstance(self._lo, np.ndarray) else self._lo
        hi = self._hi[J] if isinstance(self._hi, np.ndarray) else self._hi
        return np.minimum(np.maximum(y, lo), hi)

    def _instance(self, index: Any, values: Any) -> tuple[Index, Array]:
        J = np.asarray(index)
        if J.ndim != 1 or (J.dtype.kind not in "iu" and J.size > 0):
            raise InputError(f"index must be a vector of integer positions, got dtype {J.dtype} and shape {J.shape}")
        J = J.astype(np.intp, copy=False)
        if J.size and (int(J[0]) < 0 or int(J[-1]) >= self.n_assets or (J.size > 1 and not (J[1:] > J[:-1]).all())):
            raise InputError(f"index must be strictly increasing within 0..{self.n_assets - 1}, got {index!r}")
        x = real_array("values", values, InputError)
        if x.shape != J.shape:
            raise InputError(f"values must have one entry per position, shape {J.shape}, got {x.shape}")
        if not float(x.dot(x)) <= MAX_NORM2:
            received = f"{np.abs(x).max():g}" if np.isfinite(x).all() else describe_not_finite(x)
            raise InputError(f"values must be finite and not huge, got {received}")
        return J, x


def _divided(v: Array, H: Array) -> Array:
    """Return v/H, 0 where a coordinate has no metric yet."""
    return np.divide(v, H, out=np.zeros(v.shape[0]), where=H > 0.0)
