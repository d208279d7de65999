"""Online learning algorithms that track market indices, as backtrader Strategies.

>>> from tracker_strategies import PATracker, TrackingAnalyzer
>>> # cerebro.addstrategy(PATracker, eps=1e-4); cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")

Names are imported on first use: the algorithms need neither backtrader nor pandas, and the command line starts fast.
"""

from typing import TYPE_CHECKING

from datafeeds.lazy import importer

if TYPE_CHECKING:
    from tracker_strategies.analysis.analyzers import DiagnosticsAnalyzer, HoldingsAnalyzer, TrackingAnalyzer
    from tracker_strategies.analysis.record import RunRecord
    from tracker_strategies.analysis.tearsheet import tearsheet
    from tracker_strategies.execution.commission import charge
    from tracker_strategies.execution.costs import CostModel
    from tracker_strategies.runner import backtest, record_of
    from tracker_strategies.strategies import (
        AdaGradTracker,
        APASTracker,
        BuyAndHold,
        ConstantWeight,
        EnsembleTracker,
        EqualWeight,
        LeastSquaresTracker,
        MultiplicativePATracker,
        PASTracker,
        PATracker,
        SLAITTracker,
        TrackerStrategy,
    )

_HOMES = {
    "AdaGradTracker": "strategies",
    "APASTracker": "strategies",
    "BuyAndHold": "strategies",
    "ConstantWeight": "strategies",
    "CostModel": "execution.costs",
    "DiagnosticsAnalyzer": "analysis.analyzers",
    "EnsembleTracker": "strategies",
    "EqualWeight": "strategies",
    "HoldingsAnalyzer": "analysis.analyzers",
    "LeastSquaresTracker": "strategies",
    "MultiplicativePATracker": "strategies",
    "PASTracker": "strategies",
    "PATracker": "strategies",
    "RunRecord": "analysis.record",
    "SLAITTracker": "strategies",
    "TrackerStrategy": "strategies",
    "TrackingAnalyzer": "analysis.analyzers",
    "backtest": "runner",
    "charge": "execution.commission",
    "record_of": "runner",
    "tearsheet": "analysis.tearsheet",
}

__all__ = [
    "APASTracker",
    "AdaGradTracker",
    "BuyAndHold",
    "ConstantWeight",
    "CostModel",
    "DiagnosticsAnalyzer",
    "EnsembleTracker",
    "EqualWeight",
    "HoldingsAnalyzer",
    "LeastSquaresTracker",
    "MultiplicativePATracker",
    "PASTracker",
    "PATracker",
    "RunRecord",
    "SLAITTracker",
    "TrackerStrategy",
    "TrackingAnalyzer",
    "backtest",
    "charge",
    "record_of",
    "tearsheet",
]

__getattr__ = importer(__name__, _HOMES)
