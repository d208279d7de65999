"""AdaGrad as a Strategy."""

from __future__ import annotations

from typing import Any

from tracker_strategies.algorithms import AdaGrad, OnlineAlgorithm
from tracker_strategies.strategies._limits import limits
from tracker_strategies.strategies.base import TrackerStrategy


class AdaGradTracker(TrackerStrategy):
    """Adaptive subgradient steps: each name has a learning rate of its own, smaller the more it has moved the error so far.

    Params (beside those of :class:`TrackerStrategy`):
      - ``loss`` ("squared"): "squared", or "eps_insensitive" with the tolerated error ``eps`` (1e-4)
      - ``rule`` ("cmd"): "cmd" (from the last weights) or "rda" (from the sum of all gradients; newcomers draw more at first)
      - ``eta`` (None): learning rate; None is 1.5/N for the squared loss and 0.5/N for the other
      - ``delta`` (1e-8): added to the metric, in units of gradients of daily returns
      - ``matrix`` ("diagonal"): "full" learns rotations too, at a cost of N^3 a bar
      - ``max_weight`` (None): most that one name may weigh
    """

    alias_name = "adagrad"
    diagnostic_lines: tuple[str, ...] = ("step_min", "step_median", "step_max")
    params: Any = (
        ("loss", "squared"),
        ("eps", 1e-4),
        ("rule", "cmd"),
        ("eta", None),
        ("delta", 1e-8),
        ("matrix", "diagonal"),
        ("max_weight", None),
    )

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """AdaGrad on the simplex, within a limit where there is one."""
        options = {name: getattr(p, name) for name in ("loss", "eps", "rule", "eta", "delta", "matrix")}
        return AdaGrad(len(symbols), feasible=limits(p, symbols), **options)
