"""What PAS and APAS share: side information, the signal of a round, and thresholds that scale with the data."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tracker_strategies._checks import number
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array, Mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import ZERO_NORM2, aggressiveness
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.algorithms.side.base import Round, SideInformation, checked_side, checked_signal, signal_of_round
from tracker_strategies.errors import ParameterError

DAILY_RMS = 0.02
"""Root mean square of daily returns of single stocks, for which the default thresholds are made."""
MEMORY = 250
"""Rounds over which the running volatility of `scale="auto"` forgets."""


class SideInformed(OnlineAlgorithm):
    """A passive-aggressive learner with side information. Subclasses write the round in `_learn`."""

    _state: ClassVar[tuple[str, ...]] = ("_loss", "_tau", "_prediction", "_variance", "_seen")
    _kinds: ClassVar[Kinds] = {
        "_variance": real(least=0.0),
        "_seen": whole(),
    }

    def __init__(
        self,
        n_assets: int,
        side: SideInformation,
        lam: float | None,
        variant: str,
        C: float | None,
        scale: str | None,
        feasible: FeasibleSet,
        start: Any,
    ) -> None:
        super().__init__(n_assets, feasible=feasible, start=start)
        self.side = checked_side(side, self.n_assets)
        self.lam = None if lam is None else number("lam", lam, above=0.0)
        self.C, self._cap, self._gamma = aggressiveness(variant, C)
        self.variant = variant
        if scale not in (None, "auto"):
            raise ParameterError(f"scale must be None or 'auto', got {scale!r}")
        self.scale = scale
        self._signal: Array | None = None
        self._loss = self._tau = self._prediction = 0.0
        self._variance, self._seen = 0.0, 0

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, signal: Any = None) -> Array:
        """Learn from one round and return the weights for the next.

        Parameters
        ----------
        x, y, active, observed
            As for every learner: :meth:`OnlineAlgorithm.update`.
        signal : array_like, shape (N,), optional
            One number per asset for the terms of the side information that read one (:class:`AlphaSignal`, user-defined ones).
            Entries of assets that do not take part in the round are ignored.

        Returns
        -------
        ndarray, shape (N,)
            Read-only; later rounds do not change it.
        """
        if signal is None:
            return super().update(x, y, active=active, observed=observed)
        self._signal = checked_signal(signal, self.side, self.n_assets)
        try:
            return super().update(x, y, active=active, observed=observed)
        finally:
            self._signal = None

    def _may_refuse(self, masked: bool) -> bool:
        return True

    def _priced(self, x: Array, w: Array, xx: float, free: Mask | None) -> tuple[SideInformation, Round]:
        """Return the side information of the coordinates that take part, and the round as it sees it."""
        signal = signal_of_round(self._signal, free)
        return (self.side if free is None else self.side.slice(free)), Round(x, w, signal, free, xx)

    def _volatility(self, x: Array, xx: float) -> tuple[float, float, int]:
        """Return the scale of the thresholds, and the running variance and count that go with it.

        The variance is the mean of x^2 over assets and rounds up to this one, with weights that decay over `MEMORY` rounds; from
        the second round on, a round counts for at most nine times what was seen before, so that one spike does not stay for long.
        """
        if self.scale is None:
            return 1.0, self._variance, self._seen
        variance, seen = self._variance, self._seen
        if xx > ZERO_NORM2:
            seen += 1
            now = xx / x.shape[0]
            variance += ((now if seen == 1 else min(now, 9.0 * variance)) - variance) / min(seen, MEMORY)
        return (math.sqrt(variance) / DAILY_RMS if variance > 0.0 else 1.0), variance, seen
