"""What can be drawn beside prices: indicators on two lines, observers of a running tracker, and plots without
a screen.
"""

from indicators.diagnostics import diagnostics_observer
from indicators.observers import EffectiveHoldings, ObserverError, PortfolioExcessReturn, PortfolioTrackingError, Turnover
from indicators.plotting import plot_to_file
from indicators.tracking import ExcessReturn, TrackingError

__all__ = [
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
