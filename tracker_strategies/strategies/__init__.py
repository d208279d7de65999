"""The backtrader Strategies: one base, one small class per algorithm, and the baselines."""

from tracker_strategies.strategies.base import TrackerStrategy
from tracker_strategies.strategies.baselines import BuyAndHold, ConstantWeight, EqualWeight
from tracker_strategies.strategies.passive_aggressive import PATracker

#: Every strategy that can be run by name, in the order in which it is listed.
STRATEGIES: tuple[type[TrackerStrategy], ...] = (PATracker, EqualWeight, BuyAndHold, ConstantWeight)

__all__ = ["STRATEGIES", "BuyAndHold", "ConstantWeight", "EqualWeight", "PATracker", "TrackerStrategy"]
