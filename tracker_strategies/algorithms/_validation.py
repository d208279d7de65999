"""Checks of arrays, shared by projections, feasible sets and learners; :mod:`tracker_strategies._checks` has those of numbers.

A wrong parameter is a :class:`ParameterError`, a wrong observation an :class:`InputError`; each says what was received and what
is allowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import number
from tracker_strategies.errors import InputError, ParameterError

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

FLOAT64 = np.dtype(np.float64)


def real_array(name: str, value: Any, error: type[ValueError]) -> Array:
    """Return `value` as float64 in C order, without a copy when it is that already; strings, booleans and complex numbers are
    refused. One layout means one order of sums: equal numbers give equal results, bit by bit.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as problem:
        raise error(f"{name} is not an array of numbers: {problem}") from problem
    if array.dtype.kind not in "fiu":
        raise error(f"{name} must hold real numbers, got dtype {array.dtype}")
    return array.astype(np.float64, order="C", copy=False)


def finite_vector(name: str, value: Any, error: type[ValueError] = InputError, size: int | None = None) -> Array:
    """Return `value` as a finite, non-empty float64 vector, of length `size` when that is given."""
    vector = real_array(name, value, error)
    if vector.ndim != 1 or vector.shape[0] == 0 or (size is not None and vector.shape[0] != size):
        wanted = "(n,) with n >= 1" if size is None else f"({size},)"
        raise error(f"{name} must have shape {wanted}, got {vector.shape}")
    if not np.isfinite(vector).all():
        raise error(f"{name} must be finite, got {describe_not_finite(vector)}")
    return vector


def target_weights(omega: Any, q: int) -> Array:
    """Return the weights of q targets, > 0, scaled to sum 1; equal for None."""
    weights = np.full(q, 1.0 / q) if omega is None else finite_vector("omega", omega, ParameterError, q)
    if not (weights > 0.0).all():
        raise ParameterError(f"omega must be > 0 for every target, got {omega!r}")
    return np.asarray(weights / weights.sum())


def describe_not_finite(vector: Array) -> str:
    """Name the first entry that is not finite and how many there are."""
    bad = np.flatnonzero(~np.isfinite(vector))
    return f"{vector[bad[0]]} at position {bad[0]} ({bad.size} of {vector.size} entries)"


def label(y: Any) -> float:
    """Return y when it is +1 or -1."""
    value = number("y", y, error=InputError) if not isinstance(y, float) else y
    if value not in (1.0, -1.0):
        raise InputError(f"y must be the label +1 or -1, got {y!r}")
    return value


def mask(name: str, value: Any, size: int) -> Mask:
    """Return `value` as a boolean vector of length `size`."""
    array = np.asarray(value)
    if array.dtype != np.bool_ or array.shape != (size,):
        raise InputError(f"{name} must be a boolean mask of shape ({size},), got dtype {array.dtype} and shape {array.shape}")
    return array
