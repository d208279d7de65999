"""Paper trading: the same strategies in an account that is journalled, survives anything, and may stand at a real broker's.

>>> from tracker_strategies.papertrade import PaperAccount
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
