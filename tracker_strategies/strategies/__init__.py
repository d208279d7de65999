"""The backtrader Strategies: one base, one small class per algorithm, and the baselines."""

from tracker_strategies.strategies.adaptive_gradient import AdaGradTracker
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.baselines import BuyAndHold, ConstantWeight, EqualWeight
from tracker_strategies.strategies.enhanced import EnhancedEnsembleTracker
from tracker_strategies.strategies.ensemble import EnsembleTracker, LeastSquaresTracker
from tracker_strategies.strategies.forecasters import AdaptiveDiscountTracker, DiscountedVAWTracker, VAWTracker
from tracker_strategies.strategies.passive_aggressive import (
    APASTracker,
    MultiplicativePATracker,
    PASTracker,
    PATracker,
    SLAITTracker,
)
from tracker_strategies.strategies.regressions import (
    AdaptiveLassoTracker,
    MultiIndexTracker,
    RandomPortfolios,
    RecursiveLarsTracker,
    RLSTracker,
    SparsePLSTracker,
)

#: Every strategy that can be run by name, in the order in which it is listed.
STRATEGIES: tuple[type[TrackerStrategy], ...] = (
    EnsembleTracker,
    EnhancedEnsembleTracker,
    LeastSquaresTracker,
    PATracker,
    PASTracker,
    APASTracker,
    MultiplicativePATracker,
    AdaGradTracker,
    VAWTracker,
    DiscountedVAWTracker,
    AdaptiveDiscountTracker,
    SparsePLSTracker,
    MultiIndexTracker,
    RLSTracker,
    RecursiveLarsTracker,
    AdaptiveLassoTracker,
    SLAITTracker,
    RandomPortfolios,
    EqualWeight,
    BuyAndHold,
    ConstantWeight,
)

__all__ = [
    "STRATEGIES",
    "APASTracker",
    "AdaGradTracker",
    "AdaptiveDiscountTracker",
    "AdaptiveLassoTracker",
    "BuyAndHold",
    "ConstantWeight",
    "DiscountedVAWTracker",
    "EnhancedEnsembleTracker",
    "EnsembleTracker",
    "EqualWeight",
    "LeastSquaresTracker",
    "MultiIndexTracker",
    "MultiplicativePATracker",
    "PASTracker",
    "PATracker",
    "RLSTracker",
    "RandomPortfolios",
    "RecursiveLarsTracker",
    "SLAITTracker",
    "SparsePLSTracker",
    "TrackerStrategy",
    "VAWTracker",
]
