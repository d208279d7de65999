"""The recommended tracker: a vote of learners of holdings; and the one that leans."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
