"""Smooth side information of which a user gives the gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array, real_array
from tracker_strategies.algorithms.side._prox import Parts
from tracker_strategies.algorithms.side.base import Round, SideInformation, register
from tracker_strategies.errors import InputError, ParameterError


@register
class UserDefined(SideInformation):
    r"""Any smooth convex :math:`h_t`, known by its gradient; the proximal step is solved by Algorithm 2 (SCA).

    Parameters
    ----------
    gradient : callable
        ``gradient(w, at)`` returns the gradient at w, shape (k,), for the :class:`Round` `at` of the k assets that take part.
    value : callable, optional
        ``value(w, at)`` returns h_t(w); the learners do not need it.
    weight : float, default 1
        Factor of the term, >= 0.

    Notes
    -----
    A function cannot be written to a state: restore with ``Class.from_state(d, side=...)``, which takes it again.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, UserDefined
    >>> side = UserDefined(lambda w, at: w - 0.5)  # towards one half each
    >>> PAS(2, side=side, lam=0.5).update([0.02, -0.01], 0.02).round(3).tolist()
    [0.798, 0.202]
    """

    term = "user"

    def __init__(
        self, gradient: Callable[[Array, Round], Any], value: Callable[..., Any] | None = None, weight: float = 1.0
    ) -> None:
        if not callable(gradient) or not (value is None or callable(value)):
            raise ParameterError(
                "a user-defined term needs a function gradient(w, at) and may have a function value(w, at); a state does not "
                "hold functions, so pass the term again: from_state(d, side=...)"
            )
        self._gradient, self._value, self.weight = gradient, value, number("weight", weight, least=0.0)
        self.reads_signal = True

    def value(self, w: Array, at: Round) -> float:
        """Return what the user's function returns, times the weight."""
        if self._value is None:
            raise ParameterError("this user-defined term has no function for its value; pass value=")
        return self.weight * float(self._value(w, at))

    def gradient(self, w: Array, at: Round) -> Array:
        """Return what the user's function returns, times the weight, once its shape is checked."""
        g = real_array("the gradient of a user-defined term", self._gradient(w, at), InputError)
        if g.shape != w.shape or not np.isfinite(g).all():
            raise InputError(
                f"the gradient of a user-defined term must be finite with shape {w.shape}, got shape {g.shape}: {g!r}"
            )
        return self.weight * g

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add the gradient."""
        parts.gradients.append(lambda w: self.gradient(w, at))

    def scaled(self, factor: float) -> UserDefined:
        """Scale the weight."""
        return UserDefined(self._gradient, self._value, factor * self.weight)

    def to_dict(self) -> dict[str, Any]:
        """Return the name of the function, for the reader: it cannot be restored from it."""
        return {"term": self.term, "gradient": getattr(self._gradient, "__qualname__", "?"), "weight": self.weight}
