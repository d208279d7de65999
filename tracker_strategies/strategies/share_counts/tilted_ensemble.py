"""The recommended tracker, leaning towards what side information prefers, within a tracking-error budget."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import OnlineAlgorithm, Tilted
from tracker_strategies.strategies._side import SIDE, side_information
from tracker_strategies.strategies.budget import lam_of, within_budget
from tracker_strategies.strategies.share_counts.ensemble import EnsembleTracker


class TiltedEnsembleTracker(EnsembleTracker):
    """The mixture of :class:`EnsembleTracker`, tilted towards names that have just risen or that your signal prefers.

    The stack learns as if there were no tilt. How far to lean is ``lam``; a budget (``max_tracking_error``) cuts that back, bar
    by bar, to what keeps the error of the last year within it: see :class:`~tracker_strategies.algorithms.Tilted` and
    :class:`~tracker_strategies.algorithms.Budgeted`. What the stack misses by itself is a floor that no budget lowers.

    Params (in addition to those of :class:`EnsembleTracker`):
      - ``lam`` (None): how far to lean; None means 1/N, and 20/N under a budget, which then decides
      - ``side`` ("log-return"), ``log_weight`` (1), ``kappa`` (0.003), ``signal`` (None), ``signal_weight`` (1): the side
        information, as for :class:`~tracker_strategies.strategies.PASTracker`
    """

    alias_name = "tilted-ensemble"
    diagnostic_lines: tuple[str, ...] = ("tilt", *EnsembleTracker.diagnostic_lines)
    tilts = True
    params: Any = (("lam", None), *((name, default) for name, (default, _) in SIDE.items()))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The tilted stack, within its budget where there is one."""
        stack = super().make_algorithm(p, symbols, n_targets)
        tilted = Tilted(len(symbols), learner=stack, side=side_information(p), lam=lam_of(p, len(symbols)))
        return within_budget(p, n_targets, tilted)
