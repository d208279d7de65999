"""Recursive LARS: the exact lasso with so many names, at every round."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lasso_path import Segment
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.regression.forgetting import check_forgetting
from tracker_strategies.algorithms.regression.moments import MomentLearner, at_most_assets
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.errors import ParameterError


@learner("recursive-lars", shows=("mu", "held"), examples=lambda n: ({"theta": min(3, n), "warm_up": 5},))
class RecursiveLars(MomentLearner):
    r"""Recursive LARS (R-LARS).

    At every round and for each target the exact solution of

    .. math:: \min_b \tfrac12 b^\top C_t b - m_t^\top b + \mu \|b\|_1

    with :math:`\mu` where one name more than `theta` is about to enter.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    n_targets : int, default 1
        Number of targets q, each with a separate lasso on common moments.
    omega : array_like, shape (q,), optional
        Weights of the targets, > 0; equal by default.
    theta : int, optional
        Names to select for each target, at most N; 25 by default, or N.
    forgetting : float, default 0.998
        :math:`\lambda`, in (0, 1].
    standardise : bool, default True
        Whether names and targets are seen in units of their volatility.
    mapping : {"refit", "project", "normalise", "cash"}, default "refit"
        From coefficients to weights.
    max_names : int, optional
        Maximum number of names held; up to q theta by default.
    ridge : float, default 0.01
        Pull of the refit towards equal weights.
    warm_up : int, default 20
        Rounds before the weights move for the first time.
    start : array_like, shape (N,), optional
        :math:`w_1`; uniform by default.

    Notes
    -----
    A round starts from the names and signs of the last one. If they still are a piece of the path for the new moments, it is
    followed from there, else from its beginning. A path may have `theta` names on more than one stretch of :math:`\mu`: then the
    one that was held is kept. Cost: O(N^2) for the moments, and for each knot O(N theta + theta^2).
    State: C, M, the coefficients, names and signs.

    References
    ----------
    Kim, Rao, Erdogmus, Principe, *Tracking of multivariate time-variant systems based on on-line variable selection*, MLSP 2004:
    one step of LARS a round. Here the solution is exact. The rival of McWilliams, Montana 2010, sec. 4 and 5.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import RecursiveLars
    >>> rng = np.random.default_rng(0)
    >>> learner = RecursiveLars(6, theta=2)
    >>> for x in 0.01 * rng.standard_normal((60, 6)):
    ...     w = learner.update(x, 0.7 * x[1] + 0.3 * x[4])
    >>> w.nonzero()[0].tolist()
    [1, 4]
    """

    _state: ClassVar[tuple[str, ...]] = (*MomentLearner._state, "_beta", "_signs", "_order", "_error", "_price")
    _kinds: ClassVar[Kinds] = {
        "_beta": real("n", "n_targets"),
        "_signs": real("n_targets", "theta", least=-1.0, most=1.0),
        "_order": whole("n_targets", "theta", least=-1),
    }

    def __init__(
        self,
        n_assets: int,
        *,
        n_targets: int = 1,
        omega: Any = None,
        theta: int | None = None,
        forgetting: float = 0.998,
        standardise: bool = True,
        mapping: str = "refit",
        max_names: int | None = None,
        ridge: float = 0.01,
        warm_up: int = 20,
        start: Any = None,
    ) -> None:
        super().__init__(n_assets, n_targets, omega, mapping, max_names, ridge, warm_up, start, standardise)
        self.theta = min(25, self.n_assets) if theta is None else at_most_assets("theta", theta, self.n_assets)
        lam = check_forgetting(forgetting)
        if not isinstance(lam, float):
            raise ParameterError(
                f"forgetting must be a number in (0, 1] here: the method has no rule to tune it, got {forgetting!r}"
            )
        self.forgetting = lam
        self._beta: Array = np.zeros((self.n_assets, self.n_targets))
        self._signs: Array = np.zeros((self.n_targets, self.theta))
        self._order: NDArray[np.int64] = np.full((self.n_targets, self.theta), -1)  # names in the order in which they came
        self._error = self._price = 0.0

    def _sound(self) -> None:
        super()._sound()
        for order, signs in zip(self._order, self._signs, strict=True):
            k = int(np.count_nonzero(order >= 0))
            names = order[:k]
            if (names < 0).any() or (names >= self.n_assets).any() or len(set(names.tolist())) != k or not signs[:k].all():
                raise ParameterError(
                    f"_order must hold different positions below {self.n_assets}, each with a sign, followed by -1 only"
                )

    def _learn(self, w: Array, x: Array, y: Any, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        x = self._whole(x, free)
        error = np.clip(y - x.dot(self._beta), -1e100, 1e100)
        self._absorb(x, y, self.forgetting, free)
        names, targets = self._units()
        C, M = self._moments(), self._M * targets[:, None]
        if names is not None:
            C *= names
            C *= names[:, None]
            M *= names
        for j in range(self.n_targets):
            b = self._select(C, M[j], j)
            if names is not None:
                b *= names
            self._beta[:, j] = b / targets[j] if targets[j] > 0.0 else 0.0
        self._error = float(self._omega.dot(error * error)) ** 0.5
        return self._invest(self._beta.dot(self._omega), w, W, free)

    def _select(self, C: Array, m: Array, j: int) -> Array:
        """Return the solution with theta names for target j, and keep its names and signs."""
        segment, mu = self._last_piece(C, m, j)
        for knot, who, sign in segment.walk(mu):  # noqa: B007 (used after the loop)
            if sign != 0.0 and len(segment.names) == self.theta:
                break
        k = len(segment.names)
        self._order[j], self._signs[j] = -1, 0.0
        self._order[j, :k], self._signs[j, :k] = segment.names, segment.signs
        self._price = knot
        return segment.at(knot)

    def _last_piece(self, C: Array, m: Array, j: int) -> tuple[Segment, float]:
        """Return the piece of the path with the names of the last round, and a mu inside it; its beginning if it is none."""
        segment = Segment(C, m)
        k = int(np.count_nonzero(self._order[j] >= 0))
        if k:
            if segment.begin_with(self._order[j, :k].tolist(), self._signs[j, :k].tolist()):
                segment.solve()
                least, most = segment.bounds()
                if 0.0 <= least < most:
                    return segment, 0.5 * (least + most) if most < np.inf else 2.0 * least + 1.0
            segment = Segment(C, m)
        return segment, float(np.abs(m).max())

    def _rescale(self, s: Array) -> None:
        self._beta *= s[:, None]
        super()._rescale(s)

    def _forget(self, left: Mask) -> None:
        super()._forget(left)
        self._beta[left] = 0.0
        for j in range(self.n_targets):
            stay = (self._order[j] >= 0) & ~left[self._order[j]]
            k = int(np.count_nonzero(stay))
            order, signs = self._order[j, stay], self._signs[j, stay]
            self._order[j], self._signs[j] = -1, 0.0
            self._order[j, :k], self._signs[j, :k] = order, signs

    @property
    def coefficients(self) -> Array:
        """Shape (N, q): regression of the targets on the names."""
        return self._beta.copy()

    def diagnostics(self) -> dict[str, float]:
        """Return the price mu of the last target, the forecast error of the last round and names held."""
        return {"mu": self._price, "error": self._error, "held": float(np.count_nonzero(self._w))}
