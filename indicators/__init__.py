"""What can be drawn beside prices: indicators on two lines, observers of a running tracker, and plots without
a screen.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
