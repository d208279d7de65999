"""The backtrader Strategies: one base, one small class per algorithm, and the baselines."""

from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.baselines import BuyAndHold, ConstantWeight, EqualWeight
from tracker_strategies.strategies.passive_aggressive import (
    APASTracker,
    MultiplicativePATracker,
    PASTracker,
    PATracker,
    SLAITTracker,
)

#: Every strategy that can be run by name, in the order in which it is listed.
STRATEGIES: tuple[type[TrackerStrategy], ...] = (
    PATracker,
    PASTracker,
    APASTracker,
    MultiplicativePATracker,
    SLAITTracker,
    EqualWeight,
    BuyAndHold,
    ConstantWeight,
)

__all__ = [
    "STRATEGIES",
    "APASTracker",
    "BuyAndHold",
    "ConstantWeight",
    "EqualWeight",
    "MultiplicativePATracker",
    "PASTracker",
    "PATracker",
    "SLAITTracker",
    "TrackerStrategy",
]
