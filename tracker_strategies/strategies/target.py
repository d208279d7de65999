"""What is tracked: one index or several, blended or each for itself, and by how much they are to be beaten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import flag, fraction
from tracker_strategies.errors import ParameterError

FloatArray = NDArray[np.float64]

#: Largest margin per year that is taken without a confirmation: what is beyond it is more often a slip of the unit than a wish.
USUAL_MARGIN = 0.5
_YEAR = "a positive number of bars per year: 252 for daily, 52 for weekly, 12 for monthly bars"


class Target:
    r"""Turns levels of q targets into the return that the portfolio should have had.

    With levels :math:`I_j` and margins :math:`m_j` per year the enhanced return of target j over k bars is geometric,

    .. math:: y_j = \frac{I_{j,t}}{I_{j,t-k}} (1 + m_j)^{k/B} - 1,

    and a learner of one target follows :math:`\sum_j \omega_j y_j`.

    Parameters
    ----------
    n_targets : int
        Number of targets q.
    blend : sequence of q floats or str, optional
        Weights :math:`\omega`, >= 0, scaled to sum 1; equal by default. "0.7,0.3" is understood.
    margin : float, sequence of q floats or str, optional
        Margins m per year: 0.15 or "15%" aims at 15 % more than the index. One for all targets, or one for each: "2%,1%". More
        than 50 % either way needs `confirm_margin`; more than 1000 % is refused.
    bars_per_year : float, optional
        B, the data's own: 252 for days, 52 for weeks, 12 for months. Needed where there is a margin.
    each : bool, default False
        Whether the learner takes the targets one by one.
    confirm_margin : bool, default False
        Whether a margin of more than 50 % per year is meant.
    """

    def __init__(
        self,
        n_targets: int,
        blend: Any = None,
        margin: Any = None,
        bars_per_year: Any = None,
        *,
        each: bool = False,
        confirm_margin: Any = False,
    ) -> None:
        self.each = each
        self.blend = np.full(n_targets, 1.0 / n_targets) if blend is None else _blend(blend, n_targets)
        self._growth = _growth(margin, n_targets, bars_per_year, flag("confirm_margin", confirm_margin))
        self._one = n_targets == 1 and not each

    @property
    def lift(self) -> float:
        """By how much the margins raise the return of the blended target per bar."""
        return 0.0 if self._growth is None else float(self.blend @ (self._growth - 1.0))

    def returns(self, before: FloatArray, now: FloatArray, bars: int = 1) -> Any:
        """Return over `bars` bars from levels before and now, arrays with q as the last axis: one number (or one per row of
        levels), or, for learners that take each target, the q of them.
        """
        if self._one and now.ndim == 1 and bars == 1 and before.item():  # the usual case, in a tenth of the time
            factor: float = now.item() / before.item()
            return (factor if self._growth is None else factor * self._growth.item()) - 1.0
        y = now / before
        if self._growth is not None:
            y *= self._growth if bars == 1 else self._growth**bars
        y -= 1.0
        if self.each:
            return y
        blended = y[..., 0] if y.shape[-1] == 1 else y @ self.blend
        return float(blended) if blended.ndim == 0 else blended


def target_of(p: Any, n_targets: int, *, each: bool = False) -> Target:
    """The target that a strategy's params describe."""
    return Target(n_targets, p.blend, p.margin, p.bars_per_year, each=each, confirm_margin=p.confirm_margin)


def margin_of(params: Mapping[str, Any], n_targets: int) -> float:
    """The margin per year in a strategy's params; of several the mean, weighted as the targets are."""
    margins = np.broadcast_to(_margins(params["margin"], True), n_targets)
    given = params.get("blend")
    return float(margins.mean() if given is None else margins @ _blend(given, n_targets))


def omega_of(p: Any, n_targets: int) -> list[float] | None:
    """The weights of the targets from a strategy's ``blend``, for learners that take each target; None for equal ones."""
    return None if p.blend is None else _blend(p.blend, n_targets).tolist()


def numbers(name: str, given: Any, example: str) -> list[float]:
    """Finite numbers from one of them, a sequence, or a text such as "0.7,0.3"; `example` completes the error."""
    try:
        items = given.split(",") if isinstance(given, str) else [given] if np.ndim(given) == 0 else list(given)
        if any(isinstance(x, bool) for x in items):
            raise TypeError
        values = [float(x) for x in items]
    except (TypeError, ValueError):
        values = []
    if not (values and np.isfinite(values).all()):
        raise ParameterError(f"{name}={given!r} must be {example}")
    return values


def _blend(given: Any, n_targets: int) -> FloatArray:
    example = "one number >= 0 per target with a positive sum, for example 0.7,0.3"
    blend = np.array(numbers("blend", given, example))
    if not ((blend >= 0.0).all() and blend.sum() > 0.0):
        raise ParameterError(f"blend={given!r} must be {example}")
    if len(blend) != n_targets:
        raise ParameterError(f"blend has {len(blend)} weights for {n_targets} targets; give one per target")
    return np.asarray(blend / blend.sum())


def check_year(given: Any) -> float:
    """A number of bars per year."""
    bars = numbers("bars_per_year", given, _YEAR)
    if len(bars) != 1 or not bars[0] > 0.0:
        raise ParameterError(f"bars_per_year={given!r} must be {_YEAR}")
    return bars[0]


def _growth(given: Any, n_targets: int, bars_per_year: Any, confirmed: bool) -> FloatArray | None:
    """Factor by which each target is to be beaten on a bar; None when by none."""
    bars = None if bars_per_year is None else check_year(bars_per_year)
    if given is None:
        return None
    margins = _margins(given, confirmed)
    if len(margins) not in (1, n_targets):
        raise ParameterError(f"margin has {len(margins)} entries for {n_targets} targets; give one, or one per target")
    if not margins.any():
        return None
    if bars is None:
        raise ParameterError(
            f"margin={given!r} is a margin per year, but the feeds do not show how many bars a year has; "
            f"give bars_per_year, {_YEAR}"
        )
    return np.asarray(np.broadcast_to((1.0 + margins) ** (1.0 / bars), n_targets))


def _margins(given: Any, confirmed: bool) -> FloatArray:
    """Margins per year, from numbers or from texts with or without percent signs."""
    try:
        items = given.split(",") if isinstance(given, str) else [given] if np.ndim(given) == 0 else list(given)
        margins = np.array([fraction("margin", item, least=-1.0, above=-1.0, most=10.0) for item in items])
        if not len(margins):
            raise ParameterError
    except (ParameterError, TypeError, ValueError):
        example = "a margin per year such as 0.15 or 15%, or one per target such as 15%,10%"
        raise ParameterError(f"margin={given!r} must be {example}; 0.15 is fifteen percent per year") from None
    largest = float(margins[np.abs(margins).argmax()])
    if abs(largest) > USUAL_MARGIN and not confirmed:
        slip = (
            f"write {largest:g}% for {largest:g} percent per year, or " if abs(largest) >= 1.0 and "%" not in str(given) else ""
        )
        raise ParameterError(
            f"margin={given!r} is {100.0 * largest:g} % per year, above the usual limit of {100.0 * USUAL_MARGIN:g} %; "
            f"{slip}give confirm_margin=True if you mean it"
        )
    return margins
