r"""Lean a tracker's portfolio towards what side information prefers, without disturbing what the tracker learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies._checks import number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.side.base import Round, SideInformation, checked_side, checked_signal, signal_of_round
from tracker_strategies.algorithms.side.smooth import NegativeLogReturn
from tracker_strategies.algorithms.wrapper import Turn, Wrapper


@learner(examples=lambda n: ({"learner": PA(n), "lam": 0.05},))
class Tilted(Wrapper):
    r"""The portfolio of a learner, tilted by an exact proximal step on side information.

    .. math:: w_{t+1} = \arg\min_{w \in W} h_t(w) + \frac{1}{2\lambda} \|w - v_{t+1}\|^2

    with the side information :math:`h_t` and the weights :math:`v_{t+1}` of the learner, which learns as if there were no tilt.
    So tilts do not add up over time: that of a round is at most :math:`\lambda` times the gradient of :math:`h_t`, and a small
    :math:`\lambda` is the learner alone.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    learner : OnlineAlgorithm
        A learner of portfolios that has learned nothing so far; a fresh copy of it learns.
    side : SideInformation, default NegativeLogReturn()
        :math:`h_t`: a term or a sum of terms.
    lam : float, optional
        :math:`\lambda > 0`: size of the tilt; by default 1/n for the n assets of the round.

    Notes
    -----
    Cost per round: the learner's and two proximal steps, each about two projections for the log return. The first one, at the
    weights held, only sees to it that a round which the side information refuses changes nothing.

    Examples
    --------
    >>> from tracker_strategies.algorithms import Tilted, learner
    >>> from tracker_strategies.algorithms import ConstantWeights
    >>> learner = Tilted(2, learner=ConstantWeights(2), lam=0.5)
    >>> learner.update([0.02, -0.01], 0.005).round(6).tolist()
    [0.507461, 0.492539]
    >>> learner.update([0.0, 0.0], 0.0).round(6).tolist()  # nothing to prefer: back to the learner
    [0.5, 0.5]
    """

    rank = 3

    def __init__(
        self,
        n_assets: int,
        *,
        learner: OnlineAlgorithm | None = None,
        side: SideInformation = NegativeLogReturn(),  # noqa: B008 (immutable)
        lam: float | None = None,
    ) -> None:
        super().__init__(n_assets, learner=learner)
        self.side = checked_side(side, self.n_assets)
        self.lam = None if lam is None else number("lam", lam, above=0.0)

    @property
    def untilted(self) -> Array:
        """Weights of the learner, before the tilt."""
        return self._inner.weights

    def _turn(self, x: Any, y: Any, active: Any, observed: Any, signal: Any) -> Turn:
        return super()._turn(x, y, active, observed, checked_signal(signal, self.side, self.n_assets))

    def _rehearse(self, turn: Turn) -> None:
        self._shape(turn, turn.held)

    def _ask(self, turn: Turn) -> Array:
        return turn.teach(self._inner, turn.x, turn.y)  # the signal is for the tilt

    def _shape(self, turn: Turn, wish: Array) -> Array:
        free = slice(None) if turn.free is None else turn.free
        x, side = turn.x[free], self.side if turn.free is None else self.side.slice(turn.free)
        at = Round(x, turn.held[free], signal_of_round(turn.signal, turn.free), turn.free, turn.xx)
        return turn.filled(side.prox(wish[free], self.lam or 1.0 / len(x), turn.W, at))

    def _may_refuse(self, masked: bool) -> bool:
        return True

    def diagnostics(self) -> dict[str, float]:
        """Return the diagnostics of the learner, and `tilt`: the weight that is held in other names than the learner's."""
        return {**self._inner.diagnostics(), "tilt": 0.5 * float(np.abs(self._w - self._inner.weights).sum())}
