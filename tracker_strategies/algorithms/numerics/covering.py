"""Fixed share over experts that live on the intervals of a geometric covering of time."""

from __future__ import annotations

import numpy as np

from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.fixed_share import THEORY, FixedShare

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
    rate, share
        See :class:`FixedShare`.

    Attributes
    ----------
    levels : int
        Lengths 1, 2, 4, ... that have a place in the vote.
    """

    _state = ("_n", "_horizon", "_waiting", "_vote", "levels")

    def __init__(self, n: int, horizon: int, rate: float = THEORY, share: float | None = None) -> None:
        self._n, self._horizon = n, horizon
        self.levels = horizon.bit_length()
        self._waiting = self.experts
        self._vote = FixedShare(2 + n * self.levels, rate, share)
        self._vote.p = np.zeros(2 + n * self.levels)
        self._vote.p[TO_COME] = 1.0
        self._vote.start = self._vote.p.copy()

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
