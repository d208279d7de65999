"""The backtrader Strategies: one base, one small class per algorithm, and the baselines."""

from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.baselines.trackers import BuyAndHold, ConstantWeight, EqualWeight
from tracker_strategies.strategies.gradient.trackers import AdaGradTracker
from tracker_strategies.strategies.passive_aggressive.trackers import (
    APASTracker,
    MultiplicativePATracker,
    PASTracker,
    PATracker,
    SLAITTracker,
)
from tracker_strategies.strategies.regression.trackers import (
    AdaptiveLassoTracker,
    MultiIndexTracker,
    RandomPortfolios,
    RecursiveLarsTracker,
    RLSTracker,
    SparsePLSTracker,
)
from tracker_strategies.strategies.vaw.trackers import AdaptiveDiscountTracker, DiscountedVAWTracker, VAWTracker
from tracker_strategies.strategies.voting.ensemble import EnsembleTracker, LeastSquaresTracker
from tracker_strategies.strategies.voting.tilted_ensemble import EnhancedEnsembleTracker

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
