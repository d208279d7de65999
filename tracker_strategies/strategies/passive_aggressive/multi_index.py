"""One portfolio for several indices, as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import MultiTargetPA, OnlineAlgorithm
from tracker_strategies.strategies._limits import limits
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.target import numbers, omega_of


class MultiIndexTracker(TrackerStrategy):
    """One portfolio inside the tolerances of several indices at once: passive-aggressive, with a constraint per index.

    Params (beside those of :class:`TrackerStrategy`):
      - ``eps`` (1e-4): tolerated tracking error of one bar, for all indices or one for each
      - ``rule`` ("tubes"): "tubes" meets the indices one by one; "composite" follows their blend
      - ``variant`` ("PA"), ``C`` (None), ``max_weight`` (None): as for :class:`PATracker`
    """

    alias_name = "multi-index"
    diagnostic_lines: tuple[str, ...] = ("loss", "tau")
    params: Any = (("eps", 1e-4), ("rule", "tubes"), ("variant", "PA"), ("C", None), ("max_weight", None))

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """PA with as many tubes as there are targets."""
        each = numbers("eps", p.eps, "a tolerated error >= 0, or one per index such as 1e-4,2e-4")
        eps: Any = each[0] if len(each) == 1 else each
        options = {name: getattr(p, name) for name in ("rule", "variant", "C")}
        omega = omega_of(p, n_targets)
        return MultiTargetPA(len(symbols), n_targets=n_targets, eps=eps, omega=omega, feasible=limits(p, symbols), **options)
