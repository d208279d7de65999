"""A forgetting factor that tunes itself: near one while the errors are what they use to be, small after a change."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.errors import ParameterError

MOST_ERROR2 = 1e200
"""Squared errors are cut here: what an absurd coefficient predicts of an absurd return must not end in infinity."""


class SelfTuning(NamedTuple):
    r"""How a forgetting factor follows the errors of its learner.

    With the a-priori error e and :math:`q = s (S_{t-1} + \delta_0 I)^{-1} s^\top`, the leverage of the round:

    .. math::

        \sigma_q^2 \leftarrow a\,\sigma_q^2 + (1-a)\,q^2, \quad
        \sigma_e^2 \leftarrow a\,\sigma_e^2 + (1-a)\,e^2, \quad
        \sigma_v^2 \leftarrow b\,\sigma_v^2 + (1-b)\,e^2

    .. math::

        \lambda_t = \lambda_{\max} \text{ if } \sigma_e \le \mathrm{guard}\,\sigma_v, \quad\text{else}\quad
        \mathrm{clip}\big(\sigma_q \sigma_v / (\sigma_e - \sigma_v),\ \lambda_{\min}, \lambda_{\max}\big)

    Parameters
    ----------
    a, b : float, default 0.5 and 0.9
        Memories of the short and the long window, 0 < a < b < 1.
    lam_min, lam_max : float, default 0.9 and 0.999
        Domain of the factor, 0 < lam_min <= lam_max <= 1. The paper has no lower end; its simulations need one near 0.01.
    guard : float, default 1.8
        Ratio of short to long error from which on it forgets. Over windows of 2 and 10 rounds the ratio passes 1 every other
        round on stationary data and can never exceed :math:`\sqrt{(1-a)/(1-b)}`: 1, as printed, forgets all the time, and 1.8
        reacts to errors of about 3.7 standard deviations.
    q_cap : float, default 10
        Most that a single q counts for: the first one, without earlier ones, would count as fifty rounds.

    References
    ----------
    Paleologu, Benesty, Ciochina, *A robust variable forgetting factor recursive least-squares algorithm*, 2008.
    McWilliams, Montana 2010, Eq. 11. There the variance of the a-posteriori error is used as :math:`\sigma_v`; with the printed
    loading that error is 0, and the text falls back on the a-priori error over the longer window, as here.
    """

    a: float = 0.5
    b: float = 0.9
    lam_min: float = 0.9
    lam_max: float = 0.999
    guard: float = 1.8
    q_cap: float = 10.0

    def next(self, variances: Array, q: float, e2: float) -> float:
        """Return the factor for this round; `variances` holds those of q, e and v and is updated."""
        sq2, se2, sv2 = variances.tolist()
        e2 = min(e2, MOST_ERROR2)
        q = min(q, self.q_cap)
        sq2 = self.a * sq2 + (1.0 - self.a) * q * q
        se2 = self.a * se2 + (1.0 - self.a) * e2
        sv2 = self.b * sv2 + (1.0 - self.b) * e2
        variances[:] = sq2, se2, sv2
        short, long = math.sqrt(se2), math.sqrt(sv2)
        if short <= self.guard * long or short <= long:
            return self.lam_max
        return min(max(math.sqrt(sq2) * long / (short - long), self.lam_min), self.lam_max)


def check_forgetting(value: Any) -> float | SelfTuning:
    """Return a fixed factor in (0, 1], or how to tune it: "self", a SelfTuning, or its six numbers."""
    if isinstance(value, str | list | tuple):
        if isinstance(value, str) and value != "self":
            raise ParameterError(f"forgetting must be a number in (0, 1], 'self' or a SelfTuning, got {value!r}")
        try:
            tuning = SelfTuning() if isinstance(value, str) else SelfTuning(*(number("forgetting", v, above=0.0) for v in value))
        except TypeError as problem:
            raise ParameterError(f"forgetting: a SelfTuning has at most 6 numbers, got {value!r}") from problem
        a, b, least, most, guard, _ = tuning
        if not (a < b < 1.0 and least <= most <= 1.0 and guard >= 1.0):
            raise ParameterError(f"forgetting needs 0 < a < b < 1, 0 < lam_min <= lam_max <= 1 and guard >= 1, got {tuning}")
        return tuning
    lam = number("forgetting", value, above=0.0)
    if lam > 1.0:
        raise ParameterError(f"forgetting must be at most 1, got {value!r}")
    return lam
