"""Limits that a user sets, kept in every decision: which names, how much of each, in which lots."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
