"""What a user writes, for mypy in its strict mode.

Run by tests/docs/test_package.py, and against the installed wheel by `nox -s package`.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from datafeeds import MarketPanel, open_source
from tracker_strategies import CostModel, EnsembleTracker, Mandate, RunRecord, backtest
from tracker_strategies.algorithms import PA, FeasibleSet, OnlineAlgorithm, Simplex, learner
from tracker_strategies.research import replay


@learner("average-of-two", shows=("error",))
class AverageOfTwo(OnlineAlgorithm):
    """A learner of one's own."""

    def __init__(self, n_assets: int, *, rate: float = 0.5, feasible: FeasibleSet | None = None) -> None:
        super().__init__(n_assets, feasible=feasible or Simplex())
        self.rate = rate

    def _learn(
        self, w: npt.NDArray[np.float64], x: npt.NDArray[np.float64], y: float, xx: float, W: FeasibleSet, free: object
    ) -> npt.NDArray[np.float64]:
        return w


def tracking_error(prices: Path) -> float:
    """Of the recommended tracker on a file, within limits."""
    panel: MarketPanel = open_source(prices)
    mandate = Mandate(max_names=30, max_weight=0.05)
    record: RunRecord = backtest(panel, EnsembleTracker, {"mandate": mandate}, costs=CostModel(bps=5.0))
    return record.metrics()["te_rms"] - replay(panel, "pa", {}).metrics()["te_rms"]


def weights(returns: npt.NDArray[np.float64], index: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of a learner without backtrader."""
    pa = PA(returns.shape[1], eps=1e-4)
    for x, y in zip(returns, index, strict=True):
        pa.update(x, float(y))
    return pa.weights
