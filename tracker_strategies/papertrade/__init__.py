"""Paper trading: the same strategies in an account with a journal, which resumes after a crash, simulated or at a broker.

>>> from tracker_strategies.papertrade import PaperAccount
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
