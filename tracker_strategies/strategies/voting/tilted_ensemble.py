"""The recommended tracker, leaning towards what side information prefers, within a tracking-error budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm, SideInformation, Simplex, Tilted
from tracker_strategies.strategies._side import SIDE, side_information
from tracker_strategies.strategies.te_budget import BUDGET, BudgetTuner, check_lam
from tracker_strategies.strategies.voting.ensemble import EnsembleTracker


class TiltedEnsembleTracker(EnsembleTracker):
    """The vote of :class:`EnsembleTracker`, tilted towards what has just risen or what a signal of yours prefers.

    The vote learns as if there were no tilt. How far to lean is ``lam``, or what a tracking-error budget allows: the largest lam
    that kept to the budget on the second half of the first ``budget_bars`` bars, used from then on. See
    :class:`~tracker_strategies.algorithms.Tilted`.

    A budget holds while the market moves as it did on those bars. The tilt of the log return grows with the square of the
    returns: on the NASDAQ-100 a budget of 12 bp from 2019 became an error of 35 bp in 2020.

    Params (beside those of :class:`EnsembleTracker`):
      - ``lam`` (None): how far to lean; None means 1/N
      - ``side`` ("log-return"), ``log_weight`` (1), ``kappa`` (0.003), ``signal`` (None), ``signal_weight`` (1): the side
        information, as for :class:`~tracker_strategies.strategies.PASTracker`
      - ``te_budget`` (None): tracking error of a bar that is allowed; lam is then found on the first ``budget_bars`` (250) bars
    """

    alias_name = "tilted-ensemble"
    diagnostic_lines: tuple[str, ...] = ("tilt", *EnsembleTracker.diagnostic_lines)
    params: Any = (("lam", None), *((name, default) for name, (default, _) in SIDE.items()), *BUDGET)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The tilted vote with the given lam."""
        lam, vote = check_lam(p), super().make_algorithm(p, symbols, n_targets)
        return Tilted(len(symbols), learner=vote, side=side_information(p), lam=lam)

    @classmethod
    def make_tuner(cls, p: Any, symbols: tuple[str, ...]) -> BudgetTuner | None:
        """Where a budget was given."""
        if p.te_budget is None:
            return None
        return TiltTuner(super().make_algorithm(p, symbols, 1), side_information(p), p.te_budget, p.budget_bars)


class TiltTuner(BudgetTuner):
    """Chooses how far to lean. The learner does not depend on it, so it learns the window once, and only the tilts are tried.

    Errors count from the middle of the window on: what the learner missed while it knew nothing says nothing about the tilt.

    Parameters
    ----------
    learner : OnlineAlgorithm
        What is tilted.
    side : SideInformation
    budget, bars
        As for :class:`BudgetTuner`.
    """

    scored_from = 0.5

    def __init__(self, learner: OnlineAlgorithm, side: SideInformation, budget: float, bars: int) -> None:
        super().__init__(self._tilted(learner, side), budget, bars)
        self._learner, self._side = learner, side

    @staticmethod
    def _tilted(learner: OnlineAlgorithm, side: SideInformation) -> Callable[[float], OnlineAlgorithm]:
        return lambda lam: Tilted(learner.n_assets, learner=learner, side=side, lam=lam)

    def _trials(self) -> Callable[[float], OnlineAlgorithm]:
        learner = self._learner.fresh()
        path = [learner.weights]
        for x, y, extra in self._rounds:
            path.append(learner.update(x, y, **{name: value for name, value in extra.items() if name != "signal"}))
        return self._tilted(Recorded(learner.n_assets, path=np.array(path)), self._side)


class Recorded(OnlineAlgorithm):
    """Weights that a learner had, round by round; shape (T+1, N)."""

    def __init__(self, n_assets: int, *, path: NDArray[np.float64]) -> None:
        super().__init__(n_assets, feasible=Simplex())
        self.path = path
        self._w = path[0]

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None) -> NDArray[np.float64]:
        """The weights of the next round."""
        return self._commit(self.path[self._t + 1])

    def _learn(self, *_: Any) -> NDArray[np.float64]:  # pragma: no cover (nothing to learn)
        raise NotImplementedError
