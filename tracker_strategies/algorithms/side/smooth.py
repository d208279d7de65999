"""Smooth side information: returns, views and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.numerics.log_prox import log_return_simplex
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, Simplex
from tracker_strategies.algorithms.side._prox import Parts
from tracker_strategies.algorithms.side.base import Round, SideInformation, read_only, register
from tracker_strategies.errors import InputError


def refuse_ruin(x: Array) -> None:
    """Raise an InputError when long-only weights could lose everything, or more."""
    least = float(x.min())
    if least < -1.0 or (least == -1.0 and float(x.max()) == -1.0):
        raise InputError(
            f"1 + x.w must stay positive for a log return, but x holds returns down to {least:g}: a loss of 100 % or "
            "more; returns are fractions, -0.02 is minus two percent"
        )


@register
class NegativeLogReturn(SideInformation):
    r"""Minus the log return, :math:`h_t(w) = -a \ln(1 + x_t \cdot w)`: prefers names that have risen (the paper's term).

    Parameters
    ----------
    weight : float, default 1
        a >= 0.
    x : array_like, shape (N,), optional
        Returns to use instead of those of the round, a forecast for instance.

    Notes
    -----
    Long-only weights need returns >= -1, not all of them -1: anything else is an :class:`InputError`.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, NegativeLogReturn
    >>> PAS(2, side=NegativeLogReturn(), lam=1.0).update([0.02, -0.01], 0.005).round(3).tolist()
    [0.515, 0.485]
    """

    term = "log_return"
    parameters = ("weight", "x")

    def __init__(self, weight: float = 1.0, x: Any = None) -> None:
        self.weight = number("weight", weight, least=0.0)
        self.x = None if x is None else read_only("x", x)

    def value(self, w: Array, at: Round) -> float:
        """Return the value, infinite where 1 + x.w <= 0."""
        gross = 1.0 + float((at.x if self.x is None else self.x).dot(w))
        return float(-self.weight * np.log(gross)) if gross > 0.0 else np.inf

    def gradient(self, w: Array, at: Round) -> Array:
        """Return -a x/(1 + x.w)."""
        x = at.x if self.x is None else self.x
        return (-self.weight / (1.0 + float(x.dot(w)))) * x

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add the term, after a check of the returns."""
        parts.logs.append((self.weight, self._returns(at, nonnegative)))

    def _returns(self, at: Round, nonnegative: bool) -> Array:
        x, xx = (at.x, at.xx) if self.x is None else (self.x, None)
        if nonnegative and not (float(x.dot(x)) if xx is None else xx) < 1.0:  # else no return is as low as -1
            refuse_ruin(x)
        return x

    def prox(self, v: Array, lam: float, W: FeasibleSet, at: Round) -> Array:
        """Return the exact step: one scalar root, at the cost of about two projections on the simplex."""
        if type(W) is Simplex and W.total > 0.0 and self.weight > 0.0:
            return log_return_simplex(v, lam * self.weight, self._returns(at, True), W.total, at.w)
        return super().prox(v, lam, W, at)

    def scaled(self, factor: float) -> NegativeLogReturn:
        """Scale the weight."""
        return NegativeLogReturn(factor * self.weight, self.x)


@register
class Linear(SideInformation):
    r"""A fixed linear cost, :math:`h(w) = c \cdot w`.

    Parameters
    ----------
    c : array_like, shape (N,)

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, Linear
    >>> PAS(2, side=Linear([0.0, 1.0]), lam=0.1).update([0.02, -0.01], 0.005).round(3).tolist()
    [0.55, 0.45]
    """

    term = "linear"
    parameters = ("c",)

    def __init__(self, c: Any) -> None:
        self.c = read_only("c", c)

    def value(self, w: Array, at: Round) -> float:
        """Return c.w."""
        return float(self.c.dot(w))

    def gradient(self, w: Array, at: Round) -> Array:
        """Return c."""
        return self.c.copy()

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add c."""
        parts.add_linear(self.c)

    def scaled(self, factor: float) -> Linear:
        """Scale c."""
        return Linear(factor * self.c)


@register
class AlphaSignal(SideInformation):
    r"""A view on the assets that you supply in each round, :math:`h_t(w) = -a\, \alpha_t \cdot w`: more of high alpha.

    :math:`\alpha_t` is the `signal` of ``update(x, y, signal=alpha)``; without one the term is zero in that round if `optional`.

    Parameters
    ----------
    weight : float, default 1
        a >= 0.
    optional : bool, default False
        Whether a round without a signal has no view, instead of being an error.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, AlphaSignal
    >>> learner = PAS(2, side=AlphaSignal(), lam=0.1)
    >>> learner.update([0.02, -0.01], 0.005, signal=[0.0, 1.0]).round(3).tolist()
    [0.45, 0.55]
    """

    term = "alpha"
    parameters = ("weight", "optional")

    def __init__(self, weight: float = 1.0, optional: bool = False) -> None:
        self.weight = number("weight", weight, least=0.0)
        self.optional = bool(optional)
        self.reads_signal = True

    def _signal(self, at: Round) -> Array:
        if at.signal is None:
            if self.optional:
                return np.zeros(at.w.shape[0])
            raise InputError("the side information needs a signal: pass one number per asset, update(x, y, signal=...)")
        return at.signal

    def value(self, w: Array, at: Round) -> float:
        """Return -a alpha.w."""
        return -self.weight * float(self._signal(at).dot(w))

    def gradient(self, w: Array, at: Round) -> Array:
        """Return -a alpha."""
        return -self.weight * self._signal(at)

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add -a alpha."""
        parts.add_linear(-self.weight * self._signal(at))

    def scaled(self, factor: float) -> AlphaSignal:
        """Scale the weight."""
        return AlphaSignal(factor * self.weight, self.optional)


@register
class Quadratic(SideInformation):
    r"""Distance to a portfolio, :math:`h_t(w) = \tfrac q2 \|w - r\|^2`.

    Parameters
    ----------
    q : float
        Curvature, >= 0.
    reference : array_like, shape (N,), optional
        r; the weights of the round by default.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, Quadratic
    >>> PAS(2, side=Quadratic(1.0, [1.0, 0.0]), lam=1.0).update([0.02, -0.01], 0.005).round(3).tolist()
    [0.75, 0.25]
    """

    term = "quadratic"
    parameters = ("q", "reference")

    def __init__(self, q: float, reference: Any = None) -> None:
        self.q = number("q", q, least=0.0)
        self.reference = None if reference is None else read_only("reference", reference)

    def _reference(self, at: Round) -> Array:
        return at.w if self.reference is None else self.reference

    def value(self, w: Array, at: Round) -> float:
        """Return the value."""
        gap = w - self._reference(at)
        return 0.5 * self.q * float(gap.dot(gap))

    def gradient(self, w: Array, at: Round) -> Array:
        """Return q (w - r)."""
        return self.q * (w - self._reference(at))

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add the quadratic."""
        parts.add_quadratic(self.q, self._reference(at))

    def scaled(self, factor: float) -> Quadratic:
        """Scale q."""
        return Quadratic(factor * self.q, self.reference)


@register
class Constant(SideInformation):
    """No side information: h = c. The proximal step is the projection, PAS is PA.

    Parameters
    ----------
    c : float, default 0

    Examples
    --------
    >>> from tracker_strategies.algorithms import PAS, Constant
    >>> PAS(2, side=Constant()).update([0.02, -0.01], 0.005).round(3).tolist()
    [0.5, 0.5]
    """

    term = "const"
    parameters = ("c",)

    def __init__(self, c: float = 0.0) -> None:
        self.c = number("c", c)

    def value(self, w: Array, at: Round) -> float:
        """Return c."""
        return self.c

    def gradient(self, w: Array, at: Round) -> Array:
        """Return zero."""
        return np.zeros(w.shape[0])

    def collect(self, parts: Parts, at: Round, nonnegative: bool) -> None:
        """Add nothing."""

    def scaled(self, factor: float) -> Constant:
        """Scale c."""
        return Constant(factor * self.c)
