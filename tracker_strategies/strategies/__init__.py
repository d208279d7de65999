"""The backtrader Strategies: one base, one small class per algorithm, and the baselines."""

from tracker_strategies.strategies.adaptive_gradient import AdaGradTracker
from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.baselines import BuyAndHold, ConstantWeight, EqualWeight
from tracker_strategies.strategies.ensemble import EnsembleTracker, LeastSquaresTracker
from tracker_strategies.strategies.passive_aggressive import (
    APASTracker,
    MultiplicativePATracker,
    PASTracker,
    PATracker,
    SLAITTracker,
)

#: Every strategy that can be run by name, in the order in which it is listed.
STRATEGIES: tuple[type[TrackerStrategy], ...] = (
    EnsembleTracker,
    LeastSquaresTracker,
    PATracker,
    PASTracker,
    APASTracker,
    MultiplicativePATracker,
    AdaGradTracker,
    SLAITTracker,
    EqualWeight,
    BuyAndHold,
    ConstantWeight,
)

__all__ = [
    "STRATEGIES",
    "APASTracker",
    "AdaGradTracker",
    "BuyAndHold",
    "ConstantWeight",
    "EnsembleTracker",
    "EqualWeight",
    "LeastSquaresTracker",
    "MultiplicativePATracker",
    "PASTracker",
    "PATracker",
    "SLAITTracker",
    "TrackerStrategy",
]
