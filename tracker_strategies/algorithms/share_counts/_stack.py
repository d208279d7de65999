r"""How much each member counts, how noisy the best of them is, and how far a bar is out of the usual."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.simplex_qp import minimise

MEMORY = 0.98
"""Weight of a round against that of the next one."""
SETTLED = 12
"""The first round whose error is held against those before it."""
NO_ERROR = 1e-30
"""Squared error that members begin with."""


class Stack(Part):
    r"""Parts p of K members, from their errors E, each over the size of its bar.

    With :math:`S = \sum_s .98^{t-s} E_s E_s'`, the parts go a share :math:`\psi` of the way to

    .. math:: \arg\min_{p \in \Delta} \tfrac12 p'Sp + \tfrac{\rho}{2} \min_k S_{kk} |p - 1/K|^2.

    Parameters
    ----------
    members : int
        Number of members K.

    Attributes
    ----------
    p : ndarray, shape (K,)
        Parts for the coming round.
    noise, share : float
        Of the last round: mean squared error of the best member, and the weight of the round, 1 for a usual one.
    """

    _state = ("p", "noise", "share", "_products", "_squares", "_square", "_weight", "_rounds")

    def __init__(self, members: int) -> None:
        self.p: Array = np.full(members, 1.0 / members)
        self.noise, self.share = 0.0, 1.0
        self._products: Array = np.zeros((members, members))
        self._squares: Array = np.full(members, NO_ERROR)
        self._square = self._weight = 0.0
        self._rounds = 0

    def judge(self, errors: Array, robust: float) -> None:
        """Take in the errors of a round, shape (K,): find its noise, and its weight if `robust` times the usual is half."""
        error = float(self.p.dot(errors))
        self._rounds += 1
        self._weight = MEMORY * self._weight + 1.0
        self._square = MEMORY * self._square + error * error
        self._squares *= MEMORY
        self._squares += errors * errors
        self.noise = float(self._squares.min()) / self._weight
        self.share = 1.0
        if self._rounds >= SETTLED and self._square > 0.0:
            self.share = 1.0 / (1.0 + error * error * self._weight / (robust * robust * self._square))

    def learn(self, errors: Array, rho: float, psi: float) -> None:
        """Move the parts to those that would have had the least error."""
        S, K = self._products, len(errors)
        S *= MEMORY
        S += errors[:, None] * errors
        squares = S.diagonal()
        largest = float(squares.max())
        if K > 1 and largest > 0.0:
            A, pull = S / largest, rho * max(float(squares.min()) / largest, NO_ERROR)
            A.flat[:: K + 1] += pull
            self.p = (1.0 - psi) * self.p + psi * minimise(A, np.full(K, pull / K), self.p, 1.0)
