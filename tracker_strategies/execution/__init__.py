"""From bars to prices that may be used, and from weights to orders: gate, universe, rebalancer, costs, timing, brokers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
