"""Online learning algorithms that track market indices, as backtrader Strategies.

>>> from tracker_strategies import PATracker, TrackingAnalyzer
>>> # cerebro.addstrategy(PATracker, eps=1e-4); cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")

Names are imported on first use: the algorithms need neither backtrader nor pandas, and the command line starts fast.
"""

from typing import TYPE_CHECKING

from datafeeds._lazy import importer

if TYPE_CHECKING:
    from tracker_strategies.analysis.analyzers import DiagnosticsAnalyzer, HoldingsAnalyzer, TrackingAnalyzer
    from tracker_strategies.analysis.finished import read_run, record_of
    from tracker_strategies.analysis.pages.comparison_page import comparison
    from tracker_strategies.analysis.pages.tear_sheet import tearsheet
    from tracker_strategies.analysis.record import RunRecord
    from tracker_strategies.errors import AccountError, InputError, MissingExtraError, OutputError, ParameterError, TrackerError
    from tracker_strategies.execution.commission import charge
    from tracker_strategies.execution.costs import CostModel
    from tracker_strategies.runner import backtest
    from tracker_strategies.strategies import (
        AdaGradTracker,
        AdaptiveDiscountTracker,
        AdaptiveLassoTracker,
        APASTracker,
        BuyAndHold,
        ConstantWeight,
        DiscountedVAWTracker,
        EnhancedEnsembleTracker,
        EnsembleTracker,
        EqualWeight,
        LeastSquaresTracker,
        MultiIndexTracker,
        MultiplicativePATracker,
        PASTracker,
        PATracker,
        RandomPortfolios,
        RecursiveLarsTracker,
        RLSTracker,
        SLAITTracker,
        SparsePLSTracker,
        TrackerStrategy,
        VAWTracker,
    )

_HOMES = {
    "AccountError": "errors",
    "InputError": "errors",
    "MissingExtraError": "errors",
    "OutputError": "errors",
    "ParameterError": "errors",
    "TrackerError": "errors",
    "VAWTracker": "strategies",
    "SparsePLSTracker": "strategies",
    "RecursiveLarsTracker": "strategies",
    "RandomPortfolios": "strategies",
    "RLSTracker": "strategies",
    "MultiIndexTracker": "strategies",
    "DiscountedVAWTracker": "strategies",
    "AdaptiveLassoTracker": "strategies",
    "AdaptiveDiscountTracker": "strategies",
    "AdaGradTracker": "strategies",
    "APASTracker": "strategies",
    "BuyAndHold": "strategies",
    "ConstantWeight": "strategies",
    "CostModel": "execution.costs",
    "DiagnosticsAnalyzer": "analysis.analyzers",
    "EnhancedEnsembleTracker": "strategies",
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
    "comparison": "analysis.pages.comparison_page",
    "read_run": "analysis.finished",
    "record_of": "analysis.finished",
    "tearsheet": "analysis.pages.tear_sheet",
}

__all__ = [
    "APASTracker",
    "AccountError",
    "AdaGradTracker",
    "AdaptiveDiscountTracker",
    "AdaptiveLassoTracker",
    "BuyAndHold",
    "ConstantWeight",
    "CostModel",
    "DiagnosticsAnalyzer",
    "DiscountedVAWTracker",
    "EnhancedEnsembleTracker",
    "EnsembleTracker",
    "EqualWeight",
    "HoldingsAnalyzer",
    "InputError",
    "LeastSquaresTracker",
    "MissingExtraError",
    "MultiIndexTracker",
    "MultiplicativePATracker",
    "OutputError",
    "PASTracker",
    "PATracker",
    "ParameterError",
    "RLSTracker",
    "RandomPortfolios",
    "RecursiveLarsTracker",
    "RunRecord",
    "SLAITTracker",
    "SparsePLSTracker",
    "TrackerError",
    "TrackerStrategy",
    "TrackingAnalyzer",
    "VAWTracker",
    "backtest",
    "charge",
    "comparison",
    "read_run",
    "record_of",
    "tearsheet",
]

__getattr__ = importer(__name__, _HOMES)
