"""How many factors a model needs, decided online by its own prediction errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.regression.forgetting import MOST_ERROR2
from tracker_strategies.errors import ParameterError


class FactorCount(NamedTuple):
    r"""Rule that raises or lowers the number of factors R by one if another number has predicted better for some time.

    Discounted squared errors of the predictions with R - 1, R and R + 1 factors,
    :math:`E_r \leftarrow \lambda_t E_r + \overline{(y - \hat y^{(r)})^2}`, give two truncated ratios and their cumulative sums:

    .. math::

        A_- = \min(1 + \tau, E_{R-1}/E_R), \quad S_- \leftarrow [S_- + 1 + \tau - A_- - k_-]_+ \\
        A_+ = \min(1, E_{R+1}/E_R), \quad S_+ \leftarrow [S_+ + 1 - A_+ - k]_+

    When the larger sum passes h, R moves its way (up if they are equal), sums and errors start anew, and R rests `cool` rounds.

    Parameters
    ----------
    max_factors : int, default 5
        Largest R.
    k, h : float, default 0.05 and 0.5
        Gain that is taken for chance, and the sum that is not.
    cool : int, default 5
        Rounds that R rests after a change.
    tau_down, k_down : float, default 0.02 and 0
        A model with fewer factors may be worse by the share tau_down and still be preferred. tau_down = 0 with k_down = k is the
        rule as printed: it hardly ever lowers R, because a superfluous factor costs next to nothing.

    References
    ----------
    McWilliams, Montana 2010, sec. 3.2.2. The paper sums signed errors, which cancel, and names CUSUM without a formula.
    """

    max_factors: int = 5
    k: float = 0.05
    h: float = 0.5
    cool: int = 5
    tau_down: float = 0.02
    k_down: float = 0.0

    def next(self, R: int, state: Array, errors: Sequence[float | None], lam: float) -> int:
        """Return the number of factors for this round.

        Parameters
        ----------
        R : int
            The number so far.
        state : ndarray, shape (8,)
            E of R - 1, R, R + 1; both sums; rounds of rest left; both ratios. Updated.
        errors : three floats or None
            Mean squared errors of the predictions with R - 1, R and R + 1 factors; None where there is no such model.
        lam : float
            Forgetting factor of the round.
        """
        E = [lam * old + min(new or 0.0, MOST_ERROR2) for old, new in zip(state[:3].tolist(), errors, strict=True)]
        less = more = None
        if E[1] > 0.0:
            less = E[0] / E[1] if errors[0] is not None else None
            more = E[2] / E[1] if errors[2] is not None else None
        down = 1.0 + self.tau_down if less is None else min(1.0 + self.tau_down, less)
        up = 1.0 if more is None else min(1.0, more)
        S_down = max(0.0, float(state[3]) + 1.0 + self.tau_down - down - self.k_down)
        S_up = max(0.0, float(state[4]) + 1.0 - up - self.k)
        rest = float(state[5])
        if rest > 0.0:
            rest -= 1.0
        elif max(S_down, S_up) > self.h:
            new = min(R + 1, self.max_factors) if S_up >= S_down else max(R - 1, 1)
            E, S_down, S_up, rest, R = [0.0, 0.0, 0.0], 0.0, 0.0, float(self.cool), new
        state[:] = *E, S_down, S_up, rest, down, up
        return R


def check_factor_count(value: Any) -> FactorCount | None:
    """Return the rule: None for False, its defaults for True, else a FactorCount or its six numbers."""
    if value is None or value is False:
        return None
    if value is True:
        return FactorCount()
    if not isinstance(value, list | tuple) or len(value) > 6:
        raise ParameterError(f"adapt_factors must be True, False, a FactorCount or its six numbers, got {value!r}")
    given = FactorCount(*value)
    rule = FactorCount(
        count("max_factors", given.max_factors),
        number("k", given.k, least=0.0),
        number("h", given.h, least=0.0),
        int(number("cool", given.cool, least=0.0)),
        number("tau_down", given.tau_down, least=0.0),
        number("k_down", given.k_down, least=0.0),
    )
    return rule
