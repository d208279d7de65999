"""Checks for learners and strategies, also for your own: no pytest needed, and a named error for each broken promise."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
