"""What can be drawn beside prices: indicators on two lines, averages that wait for late listings, observers of a running tracker,
and plots without a screen.
"""

from indicators.diagnostics import diagnostics_observer
from indicators.observers import EffectiveHoldings, ObserverError, PortfolioExcessReturn, PortfolioTrackingError, Turnover
from indicators.plotting import plot_to_file
from indicators.smoothing import EMA, RSI, SMMA
from indicators.tracking import ExcessReturn, TrackingError

__all__ = [
    "EMA",
    "RSI",
    "SMMA",
    "EffectiveHoldings",
    "ExcessReturn",
    "ObserverError",
    "PortfolioExcessReturn",
    "PortfolioTrackingError",
    "TrackingError",
    "Turnover",
    "diagnostics_observer",
    "plot_to_file",
]
