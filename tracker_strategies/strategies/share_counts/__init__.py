"""The recommended tracker: a stack of learners of share counts; and the one that leans."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
