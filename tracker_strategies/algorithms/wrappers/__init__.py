"""What can be done to any learner: other coordinates, a tilt, a budget for it, costs, fewer names."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
