"""Online learning algorithms that track market indices, as backtrader Strategies.

>>> from tracker_strategies import PATracker, TrackingAnalyzer
>>> # cerebro.addstrategy(PATracker, eps=1e-4); cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")

Names are imported on first use: the algorithms need neither backtrader nor pandas, and the command line starts fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
