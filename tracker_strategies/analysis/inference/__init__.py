"""Which run is better, and is it real: one inference for comparisons, leaderboards, sweeps and tunings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
