"""The portfolio that would have tracked best so far, on all names or on a few."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
