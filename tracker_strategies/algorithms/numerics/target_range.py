"""What a forecaster knows of the target before a round: a reference point, the range around it, and a hint made of them."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tracker_strategies._checks import one_of
from tracker_strategies.algorithms._kinds import Kinds, real, text
from tracker_strategies.algorithms._state import Part
from tracker_strategies.algorithms._validation import Array

HINTS = ("zero", "last", "self")
REFERENCES = ("zero", "last")


class TargetRange(Part):
    r"""Hints :math:`\tilde y_t` and the range :math:`B_t = [y^{ref}_t - M_t,\, y^{ref}_t + M_t]` of a target seen so far.

    :math:`M_t = \max_{s<t} |y_s - y^{ref}_s|`, 0 in the first round, for each of q responses.

    Parameters
    ----------
    hint : {"zero", "last", "self"}
        0, the last value of the target (0 in the first round), or the forecaster's own causal prediction clipped to the range.
    yref : {"zero", "last"}
        Reference point: 0 or the last value.
    q : int
        Number of responses.
    """

    _state = ("hint", "yref", "_last", "_range")
    _kinds: ClassVar[Kinds] = {
        "hint": text(*HINTS),
        "yref": text(*REFERENCES),
        "_last": real("q"),
        "_range": real("q", least=0.0),
    }

    def __init__(self, hint: str, yref: str, q: int = 1) -> None:
        self.hint, self.yref = one_of("hint", hint, HINTS), one_of("yref", yref, REFERENCES)
        self._last: Array = np.zeros(q)
        self._range: Array = np.zeros(q)

    @property
    def reference(self) -> Array:
        """The reference point of the coming round, shape (q,)."""
        return self._last if self.yref == "last" else np.zeros(len(self._last))

    @property
    def range(self) -> Array:
        """Half-width M of the range, shape (q,)."""
        return self._range

    def clip(self, values: Array) -> Array:
        """Return `values`, shape (..., q), clipped to the range."""
        centre = self.reference
        return np.minimum(np.maximum(values, centre - self._range), centre + self._range)

    def of(self, predictions: Array) -> Array:
        """Return the hints of forecasters whose causal predictions, shape (K, q), are these."""
        if self.hint == "self":
            return self.clip(predictions)
        hints: Array = np.zeros(predictions.shape)
        return hints + self._last if self.hint == "last" else hints

    def observe(self, y: Array) -> None:
        """Take in the value of the target, shape (q,)."""
        self._range = np.maximum(self._range, np.abs(y - self.reference))
        self._last = np.array(y)
