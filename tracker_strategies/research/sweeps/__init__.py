"""From one run to a thousand: sweeps over strategies, parameters, data, costs, fill modes and windows, and tuning.

>>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep
>>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=60",))
>>> # run_sweep(sweep, "runs/sweep", jobs=2); write_report("runs/sweep")

Names are imported on first use, so that the command line starts fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
