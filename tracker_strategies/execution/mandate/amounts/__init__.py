"""How much of each name: the nearest allowed portfolio, exactly, and what gives way where there is none."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
