"""How kernels are compiled by numba: once, for one signature, with the machine code kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import boolean, float64, njit, types

# Sums in any order, several entries at a time. Nothing else is relaxed: no fused products, so that w + t x has numpy's bits, and
# NaN and infinity are what they are.
OPTIONS = {"fastmath": {"reassoc"}, "error_model": "numpy"}

IN = types.Array(float64, 1, "C", readonly=True)
OUT = types.Array(float64, 1, "C")
TABLE = types.Array(float64, 2, "C", readonly=True)


def compiled(*signature: Any) -> Callable[[Any], Any]:
    """Compile for one signature, at once: no round of a backtest waits for a compiler. The answer is whether it was found."""

    def compile_(function: Any) -> Any:
        try:
            return njit(boolean(*signature), cache=True, **OPTIONS)(function)
        except (RuntimeError, OSError):  # no folder, or no room, to keep machine code in
            return njit(boolean(*signature), **OPTIONS)(function)

    return compile_


inlined: Callable[[Any], Any] = njit(inline="always", **OPTIONS)
called: Callable[[Any], Any] = njit(**OPTIONS)  # as fast where there is more to do than to call, and compiled once
