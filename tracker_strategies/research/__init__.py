"""Research: the numpy replay, sweeps and tuning, the leaderboard, reproductions of the papers, checks of data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
