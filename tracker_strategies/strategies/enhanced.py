"""Enhanced tracking: the recommended tracker, leaning towards what side information prefers, within a tracking-error budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracker_strategies.algorithms import OnlineAlgorithm, Tilted
from tracker_strategies.errors import ParameterError
from tracker_strategies.strategies.ensemble import EnsembleTracker
from tracker_strategies.strategies.passive_aggressive import DEFAULT_KAPPA, side_information
from tracker_strategies.strategies.te_budget import BudgetTuner
from tracker_strategies.strategies.wrapping import minding_costs, refuse_both, with_few_names


class EnhancedEnsembleTracker(EnsembleTracker):
    """The vote of :class:`EnsembleTracker`, tilted towards what has just risen or what a signal of yours prefers.

    The vote learns as if there were no tilt. How far to lean is ``lam``, or what a tracking-error budget allows: the largest lam
    that kept to the budget on the first ``budget_bars`` bars, used from then on. See
    :class:`~tracker_strategies.algorithms.Tilted`.

    Params (beside those of :class:`EnsembleTracker`):
      - ``lam`` (None): how far to lean; None means 1/N
      - ``side`` ("log-return"), ``log_weight`` (1), ``kappa`` (0.003), ``signal`` (None), ``signal_weight`` (1): the side
        information, as for :class:`~tracker_strategies.strategies.PASTracker`
      - ``te_budget`` (None): tracking error of a bar that is allowed; lam is then found on the first ``budget_bars`` (250) bars
    """

    alias_name = "enhanced-ensemble"
    diagnostic_lines: tuple[str, ...] = ("tilt", *EnsembleTracker.diagnostic_lines)
    params: Any = (
        ("lam", None),
        ("side", "log-return"),
        ("log_weight", 1.0),
        ("kappa", DEFAULT_KAPPA),
        ("signal", None),
        ("signal_weight", 1.0),
        ("te_budget", None),
        ("budget_bars", 250),
    )

    @classmethod
    def make_learner(cls, p: Any, symbols: tuple[str, ...], n_targets: int = 1) -> Callable[[float | None], OnlineAlgorithm]:
        """From lam to a fresh learner."""
        side, vote = side_information(p), super().make_algorithm(p, symbols, n_targets)
        return lambda lam: Tilted(len(symbols), learner=vote, side=side, lam=lam)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The tilted vote with the given lam."""
        if p.te_budget is not None and p.lam is not None:
            raise ParameterError(f"give lam={p.lam!r} or te_budget={p.te_budget!r}, not both: the budget chooses lam")
        return cls.make_learner(p, symbols, n_targets)(p.lam)

    @classmethod
    def make_tuner(cls, p: Any, symbols: tuple[str, ...]) -> BudgetTuner | None:
        """Where a budget was given."""
        return None if p.te_budget is None else BudgetTuner(cls.make_learner(p, symbols), p.te_budget, p.budget_bars)

    @classmethod
    def wrap(cls, p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
        """Minding costs or kept to a few names; the members of the vote are in their coordinates already."""
        refuse_both(p)
        return with_few_names(p, minding_costs(p, algorithm))
