r"""Discounted ridge regression with a d x d matrix: O(d^2) a round, in place, for several discount factors at once."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import FAR, Kinds, check_gram, flag, real, whole
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.numerics.lapack import add_gram, blas
from tracker_strategies.algorithms.vaw._forms import FORM, LEAST, Look, regular_inverse
from tracker_strategies.errors import ParameterError

BLOCK, LARGE = 64, 1000
"""Rounds whose rank-one updates are gathered into one, and number of assets below which half as many are faster."""
CHECK = 4
"""Blocks from one check of the inverse, and correction of the solution, to the next."""
OFF = 1e-9
"""Relative residual of the inverse beyond which it is computed afresh, at most once in d rounds."""


class PrimalRidge(Part):
    r"""Solutions of discounted ridge regressions, updated round by round.

    .. math::

        \Sigma_t = x_t x_t^\top + \gamma\, \Sigma_{t-1}, \quad \theta_t = y_t x_t + \gamma\, \theta_{t-1}, \quad
        w_t = \Sigma_t^{-1} \theta_t, \qquad \Sigma_0 = \lambda I,\ \theta_0 = \lambda w^0

    so that :math:`w_t` is the discounted ridge regression towards the prior :math:`w^0`. The regulariser of an asset decays from
    its own first round on; assets in `idle` have had none yet, stay at :math:`\lambda` and are apart from all others.

    Notes
    -----
    The inverse P is not computed from :math:`\Sigma`: it starts as :math:`I/\lambda` and takes the rank-one updates of Sherman
    and Morrison. A round costs one pass over a triangle of P (dsymv). The updates of a block of rounds wait in U and are applied
    as one (dsyrk), with all their factors :math:`1/\gamma`, for a fraction of what they would cost one by one (dsyr).

    :math:`\Sigma` itself is kept in the other triangle of the same array. Once in `CHECK` blocks the residual
    :math:`\theta - \Sigma w` corrects w, so that rounding does not build up, and :math:`\Sigma P x - x` tells how good P is.
    Should it be off by more than `OFF`, or P lose its sign, then P comes from a Cholesky factor of :math:`\Sigma`: O(d^3), but at
    most once in d rounds, unless :math:`\Sigma` is singular to working precision, as it becomes with discounts far below 1 - 1/d.
    Then `JITTER` times its diagonal is added to it. On ordinary data neither happens.

    A triangular factor, updated by orthogonal transformations (dtpqrt), would need no such care, but two triangular solves a
    round: twice the passes, and no step within reach of this one.
    """

    _state = ("gammas", "lam", "floor", "prior", "idle", "_A", "_U", "_X", "_Y", "_j", "_theta", "_w", "_reg", "_since", "_folds")
    _kinds: ClassVar[Kinds] = {
        **FORM,
        "idle": flag("d"),
        "_A": real("K", "d+1", "d"),
        "_U": real("K", BLOCK, "d"),
        "_X": real(BLOCK, "d"),
        "_Y": real(BLOCK, "q"),
        "_j": whole(most=BLOCK - 1),
        "_theta": real("K", "q", "d", least=-FAR, most=FAR),
        "_w": real("K", "q", "d", least=-FAR, most=FAR),
        "_reg": real("K", "d", above=0.0),
        "_since": whole(),
        "_folds": whole(),
    }

    def __init__(self, d: int, gammas: Array, lam: float, floor: float, q: int, prior: Array) -> None:
        K = len(gammas)
        self.gammas, self.lam, self.floor = np.array(gammas), max(lam, floor), max(floor, LEAST)
        self.prior: Array = prior.copy()
        self.idle: Mask = np.zeros(d, dtype=np.bool_)
        self._A: Array = np.zeros((K, d + 1, d))
        self._U, self._X, self._Y = np.zeros((K, BLOCK, d)), np.zeros((BLOCK, d)), np.zeros((BLOCK, q))
        self._j = 0  # rounds in the block
        self._theta: Array = np.empty((K, q, d))
        self._w: Array = np.empty((K, q, d))
        self._reg: Array = np.full((K, d), self.lam)
        self._since = self._folds = 0  # rounds since P came from a factor, blocks so far
        self._view()
        for k in range(K):
            self._start(k, slice(None))

    def _restore(self, values: dict[str, Any]) -> None:
        super()._restore(values)
        self._view()

    def _sound(self) -> None:
        if self._j >= self._block:
            raise ParameterError(f"_j must be below the {self._block} rounds of a block, got {self._j}")
        for S, diagonal in zip(self._S, self._S_diagonal, strict=True):
            if not float(diagonal.min()) > 0.0:
                raise ParameterError(f"_A must have a positive diagonal, got {diagonal.min():g}")
            check_gram("_A", S)

    def _view(self) -> None:
        """Make Fortran views: the upper triangle of P[k] and the lower one of S[k] (Sigma) share the array of discount k."""
        d = self._A.shape[2]
        flat = self._A.reshape(len(self._A), -1)
        self._P, self._S = [a[1:].T for a in self._A], [a[:-1].T for a in self._A]
        self._P_diagonal, self._S_diagonal = flat[:, d :: d + 1], flat[:, : d * d : d + 1]
        self._flat_w = self._w.reshape(-1, d)
        self._discounts: list[float] = self.gammas.tolist()
        # Within a block the inverse is a difference of numbers that have grown by gamma^-j: two digits may be lost, not more.
        longest = BLOCK if d >= LARGE else BLOCK // 2
        self._most = min(longest, max(1, int(np.log(0.01) / np.log(min(*self._discounts, 0.99)))))
        self._plan()

    def _plan(self) -> None:
        """Choose the length of the block: it ends when a regulariser passes the floor."""
        self._block = self._most
        for gamma, reg in zip(self._discounts, self._reg, strict=True):
            if gamma < 1.0:
                until = math.floor(math.log(self.floor / float(reg.min())) / math.log(gamma)) + 1
                self._block = min(self._block, max(until, 1))

    def _start(self, k: int, which: Any) -> None:
        """Set assets that are apart from all others to where they start."""
        self._reg[k, which] = self._S_diagonal[k, which] = self.lam
        self._P_diagonal[k, which] = 1.0 / self.lam
        self._w[k][:, which] = self.prior[which]
        self._theta[k][:, which] = self.lam * self.prior[which]

    # ------------------------------------------------------------------ one round

    def look(self, x: Array, repair: bool = True) -> Look:
        """Return what is known of x: one pass for each discount. With `repair` a P that lost its sign is renewed."""
        u, leverage = self._solve(x)
        if not (min(leverage) >= 0.0 and math.isfinite(sum(leverage))):
            if repair:
                self.fold()
                for k in range(len(self.gammas)):
                    self._refresh(k)
                u, leverage = self._solve(x)
            leverage = [max(value, 0.0) for value in leverage]
        return Look(self._flat_w.dot(x).reshape(len(leverage), -1), leverage, u)

    def _solve(self, x: Array) -> tuple[list[Array], list[float]]:
        """Return (gamma^-j Sigma)^-1 x for each discount, and x' Sigma^-1 x."""
        dsymv, j, solutions, leverage = blas().dsymv, self._j, [], []
        for P, rows, gamma in zip(self._P, self._U, self._discounts, strict=True):
            u = dsymv(1.0, P, x)
            if j:
                U = rows[:j]
                u -= U.dot(x).dot(U)
            solutions.append(u)
            leverage.append(gamma**-j * float(u.dot(x)))
        return solutions, leverage

    def learn(self, x: Array, y: Array, look: Look) -> None:
        """Take in the round, given what :meth:`look` said of x; y has shape (q,)."""
        j, daxpy, dscal = self._j, blas().daxpy, blas().dscal
        errors = (y - look.predictions).tolist()
        for k, gamma in enumerate(self._discounts):
            root, row = math.sqrt(gamma**-j / (gamma + look.leverage[k])), self._U[k, j]
            row[:] = look.memo[k]
            dscal(root, row)  # BLAS in place: numpy takes as long for the conversion of a scalar as for the arithmetic
            for i, error in enumerate(errors[k]):
                daxpy(row, self._w[k, i], a=root * error)
        self._X[j], self._Y[j] = x, y
        self._j = j + 1
        if self._j == self._block:
            self.fold()

    def gains(self, x: Array, look: Look) -> Array:
        """Return Sigma^-1 x with x taken into Sigma, shape (K, d): how a round moves the solution per unit of its error."""
        share = self.gammas**-self._j / (self.gammas + np.array(look.leverage))
        return np.asarray(share[:, None] * np.array(look.memo))

    def combined(self, mix: Array) -> Array:
        """Return the sum of the solutions with the weights `mix`, shape (K, q)."""
        return np.asarray(mix.reshape(-1).dot(self._flat_w))

    # ------------------------------------------------------------------ once in a block

    def fold(self) -> None:
        """Take the rounds of the block into the matrices, and check them."""
        j = self._j
        if j == 0:
            return
        X = self._X[:j]
        for k, gamma in enumerate(self._discounts):
            left, root = gamma**j, np.sqrt(gamma) ** np.arange(j - 1, -1, -1)[:, None]
            rows = X if gamma == 1.0 else root * X
            add_gram(self._P[k], self._U[k, :j], -1.0 / left, 1.0 / left, lower=False)
            add_gram(self._S[k], rows, 1.0, left, lower=True)
            self._theta[k] = left * self._theta[k] + (root * self._Y[:j]).T @ rows
            self._reg[k] *= left
        self._j, self._folds = 0, self._folds + 1
        self._since += j
        rest, check = bool(self.idle.any()), self._folds % CHECK == 0
        for k in range(len(self.gammas)):
            if rest:
                self._start(k, self.idle)
            if self._raise_to_floor(k) or (check and not self._is_sound(k, X[j - 1])):
                self._refresh(k)
        self._plan()

    def _raise_to_floor(self, k: int) -> bool:
        """Lift regularisers that have passed the floor, to twice the floor."""
        low = self._reg[k] < self.floor
        if not low.any():
            return False
        more = np.where(low, (2.0 * self.floor if self.floor > LEAST else math.sqrt(LEAST)) - self._reg[k], 0.0)
        self._reg[k] += more
        self._S_diagonal[k] += more
        self._theta[k] += more * self.prior
        return True

    def _is_sound(self, k: int, x: Array) -> bool:
        """Correct the solution by its residual; return whether P is as good an inverse as it should be."""
        dsymv, P, S = blas().dsymv, self._P[k], self._S[k]
        self._correct(k)
        off = float(np.abs(dsymv(1.0, S, dsymv(1.0, P, x), lower=1) - x).max())
        if not (np.isfinite(off) and np.isfinite(self._w[k]).all()):
            return False
        return off <= OFF * float(np.abs(x).max()) or self._since < x.shape[0]

    def _correct(self, k: int) -> None:
        dsymv = blas().dsymv
        for w, theta in zip(self._w[k], self._theta[k], strict=True):
            w += dsymv(1.0, self._P[k], theta - dsymv(1.0, self._S[k], w, lower=1))

    def _refresh(self, k: int) -> None:
        """Compute P and the solution from Sigma, which is made regular if it is singular."""
        self._since = 0
        inverse = regular_inverse(self._S[k], self._S_diagonal[k])
        np.copyto(self._P[k].T, inverse, where=np.tri(len(inverse), dtype=np.bool_))
        self._solve_again(k)

    def _solve_again(self, k: int) -> None:
        for w, theta in zip(self._w[k], self._theta[k], strict=True):
            w[:] = blas().dsymv(1.0, self._P[k], theta)
        self._correct(k)

    def fill(self, k: int, regulariser: float, rows: Array, explained: Array, y: Array, w: Array) -> None:
        """Take over a regression: Sigma = r I + rows' rows, P = (I - explained' explained)/r, and the solution w."""
        self._reg[k] = self._S_diagonal[k] = regulariser
        self._P_diagonal[k] = 1.0 / regulariser
        add_gram(self._S[k], rows, 1.0, 1.0, lower=True)
        add_gram(self._P[k], explained, -1.0 / regulariser, 1.0, lower=False)
        self._theta[k] = regulariser * self.prior + y.T @ rows
        self._w[k] = w
        self._start(k, self.idle)
        self._since = rows.shape[1]
        if self._raise_to_floor(k) or not self._is_sound(k, rows[-1]):
            self._refresh(k)
        self._plan()

    # ------------------------------------------------------------------ a changing universe

    def begin(self, known: Mask, prior: Array) -> None:
        """Say before the first round who takes part in it."""
        self.idle, self.prior = ~known, prior.copy()
        for k in range(len(self.gammas)):
            self._start(k, slice(None))
        self._plan()

    def change(self, left: Mask, new: Mask, prior: Array) -> None:
        """Forget the assets in `left` as if they had never moved, let those in `new` start, and go over to another prior."""
        self.fold()
        gone = np.flatnonzero(left)
        moved = prior - self.prior
        self.prior = prior.copy()
        self.idle = (self.idle | left) & ~new
        for k in range(len(self.gammas)):
            definite = self._drop(k, gone)
            self._theta[k] += self._reg[k] * moved
            self._start(k, left | new)
            if definite:
                self._solve_again(k)
            else:
                self._refresh(k)
        self._plan()

    def _drop(self, k: int, gone: Any) -> bool:
        """Take assets out of P, by its Schur complement, and out of Sigma; return False when P is not definite there."""
        if not gone.size:
            return True
        A, C = self._A[k], self._A[k, 1:]
        rows = np.where(np.arange(A.shape[1]) <= gone[:, None], C[gone], C[:, gone].T)
        try:
            factor = np.linalg.cholesky(rows[:, gone])
        except np.linalg.LinAlgError:
            factor = None
        if factor is not None:
            add_gram(self._P[k], np.ascontiguousarray(np.linalg.solve(factor, rows)), -1.0, 1.0, lower=False)
        for i in gone:
            A[:, i] = A[i, i:] = A[i + 1, : i + 1] = 0.0
        return factor is not None

    def twin(self, gamma: float) -> None:
        """Add a discount that begins in the state of the last one."""
        self.fold()
        for name in ("gammas", "_A", "_U", "_theta", "_w", "_reg"):
            value = getattr(self, name)
            setattr(self, name, np.concatenate((value, value[-1:])))
        self.gammas[-1] = gamma
        self._view()
