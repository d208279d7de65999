"""Fixed share: probabilities of experts that learn from their losses and never die out."""

from __future__ import annotations

import math

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array

THEORY = 0.5
"""Rate at which squared losses are exp-concave: with it the regret bound holds."""
NO_LOSS = 1e-290
"""Losses up to this count as none: their inverse is no number."""


def share_of(t: int) -> float:
    r"""Return :math:`\beta_{t+1} = 1/((e + t) \ln^2(e + t) + 1)`, the share that is handed back after round t."""
    return 1.0 / ((math.e + t) * math.log(math.e + t) ** 2 + 1.0)


class FixedShare(Part):
    r"""Probabilities :math:`p_t` of n experts, from the losses :math:`\ell_{t,i}` of the rounds before.

    .. math::

        \alpha_t = \frac{r}{\max_{s \le t,\, i} \ell_{s,i}}, \qquad
        q_i \propto p_{t,i}\, e^{-\alpha_t \ell_{t,i}}, \qquad p_{t+1} = (1 - \beta_{t+1})\, q + \beta_{t+1}\, p_1

    No scale enters: the rate is in units of the largest loss so far, this round included. Without any loss q = p.

    Parameters
    ----------
    n : int
        Number of experts; :math:`p_1` is uniform.
    rate : float, default 0.5
        r > 0. For losses :math:`\frac12 (y - \hat y_i)^2` and r = 1/2 the loss of the mean prediction satisfies
        :math:`\sum_t \ell_t \le \sum_t \ell_{t,j} + (2 \ln(n/\beta_{T+1}) + 1)/\alpha_T` for every expert j.
    share : float, optional
        :math:`\beta` in [0, 1), the same in all rounds; by default :math:`\beta_{t+1} = 1/((e + t) \ln^2(e + t) + 1)`.

    Attributes
    ----------
    p : ndarray, shape (n,)
        Probabilities for the coming round. An entry may stand for several experts with the same losses: then it is their sum, and
        so is that of `start`.
    start : ndarray, shape (n,)
        :math:`p_1`.
    alpha, beta : float
        Of the last round; 0 before the first, and :math:`\alpha = 0` as long as there was no loss.

    References
    ----------
    Jacobsen, Cutkosky 2024, Algorithm 2 and Theorem E.1; Cesa-Bianchi, Gaillard, Lugosi, Stoltz, *Mirror descent meets fixed
    share*, 2012.
    """

    _state = ("p", "start", "alpha", "beta", "_rate", "_share", "_rounds", "_largest")

    def __init__(self, n: int, rate: float = THEORY, share: float | None = None) -> None:
        self.start: Array = np.full(n, 1.0 / n)
        self.p: Array = self.start.copy()
        self.alpha = self.beta = 0.0
        self._rate, self._share = rate, share
        self._rounds, self._largest = 0, 0.0

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return self._rounds

    def learn(self, losses: Array) -> None:
        """Take in the losses of a round, shape (n,), >= 0."""
        self._rounds += 1
        self._largest = max(self._largest, *np.where(self.start > 0.0, losses, 0.0).tolist())
        q = self.p
        if self._largest > NO_LOSS:
            self.alpha = self._rate / self._largest
            q = q * np.exp(-self.alpha * losses)
            q /= np.add.reduce(q)
        self.beta = share_of(self._rounds) if self._share is None else self._share
        self.p = (1.0 - self.beta) * q + self.beta * self.start

    def twin(self) -> None:
        """Add an expert that has behaved as the last one so far: both share its probability."""
        n = len(self.p)
        self.p = np.append(self.p, self.p[-1:])
        self.p[-2:] *= 0.5
        self.start = np.full(n + 1, 1.0 / (n + 1))
