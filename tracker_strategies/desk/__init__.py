"""The desk's day: from prices and what is held to tomorrow's orders."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
