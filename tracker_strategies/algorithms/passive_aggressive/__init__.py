"""Learners that stay as they are while they track within a tolerance, and correct at once when not; SLAIT, their batch rival."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
