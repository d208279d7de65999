"""Market data for index trackers: panels, where they come from, and the backtrader feeds over them.

Names are imported on first use, so that the errors (which the mathematics needs) do not cost an import of pandas and backtrader.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
