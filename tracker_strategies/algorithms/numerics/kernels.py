"""How the innermost loops are computed: by numpy, the default and the reference, or by numba, if it is installed and selected.

In Python, or for a command and the workers that it starts::

    from tracker_strategies.algorithms import kernels
    kernels.use("numba")

    TRACKER_KERNELS=numba tracker sweep ...

Results agree to 1e-12, those of least squares to the precision of its solution; not to the last bit, since numba adds up in
another order.
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType

from tracker_strategies.errors import MissingExtraError, ParameterError

ENVIRONMENT = "TRACKER_KERNELS"

compiled: ModuleType | None = None
"""The numba kernels if they are in use. Callers fall back on numpy where a kernel returns None."""


def use(name: str) -> None:
    """Use the kernels of that name from now on, in this process and, through its environment, in those that it starts.

    Parameters
    ----------
    name : {"numpy", "numba"}
        numba compiles on first use, which takes seconds, and keeps the machine code in its cache: in
        NUMBA_CACHE_DIR, next to the sources or in the user's cache folder. Where none can be written, every process compiles.

    Raises
    ------
    MissingExtraError
        When numba is not installed. The kernels in use stay in use.
    """
    global compiled
    if name not in ("numpy", "numba"):
        raise ParameterError(f"kernels must be numpy or numba, got {name!r} (from use() or the environment's {ENVIRONMENT})")
    try:
        compiled = importlib.import_module("tracker_strategies.algorithms.numerics.numba_kernels") if name == "numba" else None
    except ImportError as problem:
        raise MissingExtraError(f"numba kernels need numba ({problem}): pip install 'backtrader-index-tracker[numba]'") from None
    os.environ[ENVIRONMENT] = name


def counterpart(module: str) -> ModuleType | None:
    """Return a module of compiled kernels if numba's are in use, else None; it is imported on first use."""
    if compiled is None:
        return None
    return sys.modules.get(module) or importlib.import_module(module)


def in_use() -> str:
    """Return the name of the kernels in use."""
    return "numpy" if compiled is None else "numba"


def use_environment() -> None:
    """Use the kernels that the environment names, if it names any."""
    if name := os.environ.get(ENVIRONMENT):
        use(name)
