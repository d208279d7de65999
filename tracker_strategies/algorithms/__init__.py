"""Online learners of tracking portfolios and their building blocks. Needs numpy only: no backtrader, no pandas."""

import os

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if os.environ.get("TRACKER_KERNELS"):
    from tracker_strategies.algorithms.numerics import kernels as _kernels

    _kernels.use_environment()
