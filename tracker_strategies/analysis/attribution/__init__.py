"""Where the tracking error comes from: by cause, by name, by sector."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
