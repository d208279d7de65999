"""Sweeps and tuning on the command line. Nothing heavy is imported here."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
