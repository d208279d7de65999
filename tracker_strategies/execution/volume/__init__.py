"""Fills that respect what was traded: volume of a bar, impact on the price, and what becomes of the rest of an order."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
