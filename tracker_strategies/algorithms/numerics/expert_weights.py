"""Probabilities of experts that learn from their losses and never die out: fixed share, also on intervals of time."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tracker_strategies.algorithms._kinds import Kinds, piece, real, whole
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import ParameterError

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
        Probabilities for the coming round. An entry may be that of several experts with the same losses: then it is their sum,
        and so is that of `start`.
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
    _kinds: ClassVar[Kinds] = {
        "p": real("K", least=0.0),
        "start": real("K", least=0.0),
        "alpha": real(least=0.0),
        "beta": real(least=0.0, most=1.0),
        "_rate": real(above=0.0),
        "_share": real(least=0.0, most=1.0, none=True),
        "_rounds": whole(),
        "_largest": real(least=0.0),
    }

    def __init__(self, n: int, rate: float = THEORY, share: float | None = None) -> None:
        self.start: Array = np.full(n, 1.0 / n)
        self.p: Array = self.start.copy()
        self.alpha = self.beta = 0.0
        self._rate, self._share = rate, share
        self._rounds, self._largest = 0, 0.0

    def _sound(self) -> None:
        for name, sum_ in (("p", float(self.p.sum())), ("start", float(self.start.sum()))):
            if abs(sum_ - 1.0) > 1e-6:
                raise ParameterError(f"{name} must be probabilities with sum 1, got {sum_:.9g}")

    @property
    def rounds(self) -> int:
        """Rounds so far."""
        return self._rounds

    def learn(self, losses: Array) -> None:
        """Learn from the losses of a round, shape (n,), >= 0."""
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


OVER, TO_COME = 0, 1
"""Entries of the vote that stand for all experts whose interval is over, and for all whose interval is yet to come."""


class CoveringShare(Part):
    r"""One vote over n experts on each interval :math:`[k 2^i, (k+1) 2^i - 1]`, k >= 1, of rounds 1 to T.

    Outside its interval an expert is asleep and predicts what all sleepers predict; they share one loss. At any time exactly one
    interval of each length up to t is awake, so that a round costs O(n log t) although the experts are O(n T): those whose
    interval is over are one entry of the vote, and so are those whose interval is yet to come.

    Parameters
    ----------
    n : int
        Experts on each interval.
    horizon : int
        T. It counts in :math:`p_1 = 1/K`, K the number of all experts; rounds beyond it double it, and the experts to come join
        with the probability that they would have had.

    Attributes
    ----------
    levels : int
        Lengths 1, 2, 4, ... that have a place in the vote.
    """

    _state = ("_n", "_horizon", "_waiting", "_vote", "levels")
    _kinds: ClassVar[Kinds] = {
        "_n": whole(least=1),
        "_horizon": whole(least=1),
        "_waiting": whole(),
        "_vote": piece("FixedShare"),
        "levels": whole(least=1),
    }

    def __init__(self, n: int, horizon: int) -> None:
        self._n, self._horizon = n, horizon
        self.levels = horizon.bit_length()
        self._waiting = self.experts
        self._vote = FixedShare(2 + n * self.levels)
        self._vote.p = np.zeros(2 + n * self.levels)
        self._vote.p[TO_COME] = 1.0
        self._vote.start = self._vote.p.copy()

    def _sound(self) -> None:
        t, levels = self._vote.rounds + 1, self._horizon.bit_length()
        if self.levels != levels or len(self._vote.p) != 2 + self._n * levels or t > self._horizon:
            raise ParameterError(f"levels and _vote must belong to {self._horizon} rounds, and round {t} must not be after them")
        begun = self._n * sum(t >> i for i in range(levels))  # one interval of length 2^i begins every 2^i rounds
        if self._waiting != self.experts - begun:
            raise ParameterError(
                f"_waiting must be {self.experts - begun}, the number of experts that have not begun, got {self._waiting}"
            )

    @property
    def size(self) -> int:
        """Experts on each interval."""
        return self._n

    @property
    def experts(self) -> int:
        """Number of all experts, awake and asleep."""
        return self._n * sum(self._horizon >> i for i in range(self.levels))

    @property
    def alpha(self) -> float:
        """Learning rate of the last round."""
        return self._vote.alpha

    @property
    def awake(self) -> int:
        """Number of levels that have an interval in the round that was begun."""
        return (self._vote.rounds + 1).bit_length()

    @property
    def p(self) -> Array:
        """Probabilities of the experts that are awake in the round that was begun, shape (levels awake, n)."""
        return self._vote.p[2 : 2 + self._n * self.awake].reshape(self.awake, self._n)

    @property
    def asleep(self) -> tuple[float, float]:
        """Probability of all experts whose interval is over, and of all whose interval is yet to come."""
        return float(self._vote.p[OVER]), float(self._vote.p[TO_COME])

    def begin(self) -> list[int]:
        """Begin a round; return the levels at which an interval, with fresh experts, starts."""
        t = self._vote.rounds + 1
        if t > self._horizon:
            self._extend()
        starting = [i for i in range(t.bit_length()) if t % (1 << i) == 0]
        vote = self._vote
        for i in starting:
            slot = slice(2 + i * self._n, 2 + (i + 1) * self._n)
            for mass in (vote.p, vote.start):
                mass[OVER] += mass[slot].sum()
                mass[slot] = mass[TO_COME] / self._waiting
                mass[TO_COME] *= (self._waiting - self._n) / self._waiting
            self._waiting -= self._n
        return starting

    def learn(self, losses: Array, asleep: float) -> None:
        """Take in the losses of the experts that are awake, shape (levels awake, n), and that of all sleepers."""
        everyone = np.full(len(self._vote.p), asleep)
        everyone[2 : 2 + losses.size] = losses.reshape(-1)
        self._vote.learn(everyone)

    def _extend(self) -> None:
        before = self.experts
        self._horizon *= 2
        self.levels += 1
        self._waiting += self.experts - before
        vote, kept = self._vote, before / self.experts
        for name in ("p", "start"):
            mass = np.concatenate((kept * getattr(vote, name), np.zeros(self._n)))
            mass[TO_COME] += 1.0 - kept
            setattr(vote, name, mass)
