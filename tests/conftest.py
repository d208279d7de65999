"""Random examples are the same on every run: what fails was changed. `HYPOTHESIS_PROFILE=explore` draws new ones.

One thread for linear algebra, here and in every process that a test starts: sums have one order, and small systems are no slower.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from hypothesis import settings  # noqa: E402 - numpy, which reads them, may come with it

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
