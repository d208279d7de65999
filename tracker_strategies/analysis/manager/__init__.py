"""What a portfolio manager looks for: tables of years and months, beta, active share, turnover and holding periods."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
