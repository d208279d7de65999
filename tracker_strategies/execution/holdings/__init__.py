"""What is held before anything is decided: an account, the files it is read from, and how names are spelt there."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
