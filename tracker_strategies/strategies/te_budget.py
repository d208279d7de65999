"""A tracking-error budget instead of a trade-off parameter: the largest lam that keeps to the budget on a training window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import ParameterError

FloatArray = NDArray[np.float64]

#: Between plain tracking and next to none of it.
SMALLEST, LARGEST = 1e-6, 10.0
_BISECTIONS = 16
#: Params of a strategy with a budget.
BUDGET = (("te_budget", None), ("budget_bars", 250))


def check_lam(p: Any) -> Any:
    """The trade-off that a strategy's params give; not beside a budget, which chooses it."""
    if p.te_budget is not None and p.lam is not None:
        raise ParameterError(f"give lam={p.lam!r} or te_budget={p.te_budget!r}, not both: the budget chooses lam")
    return p.lam


class BudgetTuner:
    """Collects the first bars of a run; then finds lam by bisection on them and hands over a learner trained with it.

    The error grows with lam, so the largest lam within the budget gives the side information as much say as the budget allows.
    Nothing later than the window is used, and what was held during the window was held with the smallest lam: no look-ahead.

    Parameters
    ----------
    make : callable
        From lam to a fresh learner.
    budget : float
        Root mean square tracking error of a bar that is allowed, as a fraction: 0.001 is 10 basis points.
    bars : int
        Length of the training window, at least 20.
    """

    #: Fraction of the window after which errors count.
    scored_from = 0.0

    def __init__(self, make: Callable[[float], OnlineAlgorithm], budget: float, bars: int) -> None:
        if not (isinstance(budget, (int, float)) and math.isfinite(budget) and budget > 0.0):
            raise ParameterError(f"te_budget={budget!r} must be a positive error per bar; 0.001 is 10 basis points")
        if not (isinstance(bars, int) and bars >= 20):
            raise ParameterError(f"budget_bars={bars!r} must be a number of bars >= 20 to learn the trade-off from")
        self._make, self._budget, self._bars = make, float(budget), bars
        self._rounds: list[tuple[FloatArray, float, dict[str, Any]]] = []
        #: What is done to every learner before it learns.
        self.wrap: Callable[[OnlineAlgorithm], OnlineAlgorithm] = lambda learner: learner
        #: The chosen trade-off, once there is one.
        self.lam: float | None = None

    def start(self) -> OnlineAlgorithm:
        """The learner for the training window."""
        return self.wrap(self._make(SMALLEST))

    def feed(self, x: FloatArray, y: float, masks: dict[str, Any]) -> OnlineAlgorithm | None:
        """Take in a round; at the end of the window return the learner to go on with."""
        if self.lam is not None:
            return None
        self._rounds.append((x, y, masks))
        if len(self._rounds) < self._bars:
            return None
        make = self._trials()
        low, high = math.log(SMALLEST), math.log(LARGEST)
        if self._error(make(LARGEST))[0] <= self._budget:
            low = high
        for _ in range(_BISECTIONS if low < high else 0):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self._error(make(math.exp(middle)))[0] <= self._budget else (low, middle)
        self.lam = math.exp(low)
        learner = self._error(self._make(self.lam))[1]
        self._rounds.clear()
        return learner

    def _trials(self) -> Callable[[float], OnlineAlgorithm]:
        """From lam to a learner whose errors on the window tell whether lam keeps to the budget."""
        return self._make

    def _error(self, made: OnlineAlgorithm) -> tuple[float, OnlineAlgorithm]:
        learner = self.wrap(made)
        errors = []
        for x, y, masks in self._rounds:
            errors.append(float(learner.weights.dot(x)) - y)
            learner.update(x, y, **masks)
        scored = np.array(errors[int(self.scored_from * len(errors)) :])
        return math.sqrt(float(scored.dot(scored)) / len(scored)), learner
