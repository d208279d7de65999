"""Numerical building blocks: thresholds, paths, quadratic programmes, experts' weights. They know nothing of portfolios."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
