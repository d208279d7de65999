"""Side information: what a portfolio may prefer beside tracking, and its proximal steps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
