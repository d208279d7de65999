"""Targets that beat an index by so many percent a year."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, real_array
from tracker_strategies.errors import InputError, ParameterError


def enhanced_target(y: Any, rate: Any, periods: float = 252, kind: str = "geometric") -> Array:
    r"""Return the returns of an index that grows by `rate` per year more than the given index.

    .. math:: y'_t = (1 + y_t)(1 + \mathrm{rate})^{1/\mathrm{periods}} - 1
              \quad\text{(geometric), or}\quad y_t + \mathrm{rate}/\mathrm{periods} \quad\text{(arithmetic)}

    After a year the geometric target has grown by exactly the factor 1 + rate more than the index.

    Parameters
    ----------
    y : array_like, shape () or (q,) or (T,) or (T, q)
        Simple returns of one index or, along the last axis, of q indices.
    rate : float or array_like, shape (q,)
        What to add per year, > -1: 0.15 for 15 %; one for all, or one per index.
    periods : float, default 252
        Rounds per year, > 0: 252 for days, 52 for weeks.
    kind : {"geometric", "arithmetic"}, default "geometric"

    Returns
    -------
    ndarray, of the shape of y (numpy broadcasting, should there be a rate per index)

    References
    ----------
    Alexander, Dimitriu, *The cointegration alpha*, 2002. McWilliams, Montana 2010, sec. 5: S&P 100 and Nikkei plus 15 % per year.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import enhanced_target
    >>> round(float(np.prod(1.0 + enhanced_target(np.zeros(252), 0.15))), 10)
    1.15
    """
    returns = real_array("y", y, InputError)
    rates = real_array("rate", rate, ParameterError)
    periods = number("periods", periods, above=0.0)
    if not (np.isfinite(rates).all() and (rates > -1.0).all()):
        raise ParameterError(f"rate must be finite and > -1 (a loss of less than 100 % per year), got {rate!r}")
    if rates.ndim > 1 or (rates.ndim == 1 and (returns.ndim == 0 or returns.shape[-1] != rates.shape[0])):
        raise ParameterError(
            f"rate must be one number, or one per index: shape {rates.shape} for returns of shape {returns.shape}"
        )
    if kind == "geometric":
        return np.asarray((1.0 + returns) * (1.0 + rates) ** (1.0 / periods) - 1.0)
    if kind == "arithmetic":
        return np.asarray(returns + rates / periods)
    raise ParameterError(f"kind must be 'geometric' or 'arithmetic', got {kind!r}")
