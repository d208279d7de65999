"""Figures and pages of runs: analyzers, metrics, records, run folders, tear sheets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
