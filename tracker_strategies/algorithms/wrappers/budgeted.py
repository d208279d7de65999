r"""Cut a tilt back to what a tracking-error budget per year allows, round by round."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, fraction, number
from tracker_strategies.algorithms._kinds import Kinds, real, whole
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.passive_aggressive.pas import PAS
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.side.smooth import Constant
from tracker_strategies.algorithms.wrapper import Turn, Wrapper
from tracker_strategies.algorithms.wrappers.tilted import Tilted
from tracker_strategies.errors import ParameterError

RECENT = 20
"""Rounds of the short window, for volatility comes in clusters; and tilts seen before one is held."""
TINY = 1e-12
"""A tilt whose weights differ by less from those of the plain tracker is none."""


@learner(
    examples=lambda n: (
        {"learner": Tilted(n, learner=PA(n), lam=0.05)},
        {"learner": PAS(n, lam=0.05), "plain": PAS(n, side=Constant(0.0)), "max_tracking_error": 0.05, "bars_per_year": 52.0},
    )
)
class Budgeted(Wrapper):
    r"""A tilted portfolio, with the tilt reduced to a budget for the tracking error.

    With the weights :math:`v` of a plain tracker and :math:`u` of a tilted one the portfolio is

    .. math:: w_{t+1} = v_{t+1} + \alpha_{t+1} (u_{t+1} - v_{t+1}), \qquad 0 \le \alpha \le 1.

    In round s the plain tracker erred by :math:`a_s = v_s \cdot x_s - y_s`, and a tilt of length 1 (Euclidean norm of u - v)
    returned :math:`z_s`. Had today's tilt, of length :math:`\delta`, been held to the share :math:`\alpha`, the error would have
    been :math:`a_s + \alpha \delta z_s`. The share is the largest for which the mean square of that, over the last year of
    rounds and over the last 20 of them, is at most

    .. math:: q = \min\Bigl(b^2,\; n b^2 - \sum_{\text{year}} e_s^2,\; (t+1) b^2 - \sum_{\text{all}} e_s^2\Bigr), \qquad
        b = \text{max\_tracking\_error} / \sqrt{B},

    what is left of the budget for a round after the errors :math:`e_s = w_s \cdot x_s - y_s` that were really made: those of the
    last year (n rounds, the coming one included) and those since the beginning. Nothing later than round t is used.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    learner : OnlineAlgorithm
        The tilted tracker, which has learned nothing so far; a fresh copy of it learns.
    plain : OnlineAlgorithm, optional
        The same tracker without its tilt, on the same set. By default what the learner tilts, which has to be :class:`Tilted`
        then.
    max_tracking_error : float or str, default 0.02
        The budget, per year: root mean square of the error of a round times :math:`\sqrt B`; 0.02 or "2%".
    bars_per_year : float, default 252
        B, at least 20.
    lift : float, default 0
        By how much the target is lifted above the index per round: the error is against the index.

    Notes
    -----
    It is a budget, not a limit: the market may move more than it did before. The error of the plain tracker is a floor; if that
    alone is above the budget there is no tilt. There is no tilt either before 20 tilts have been seen in the last year, because
    fewer are not enough to judge by. Rounds without a tilt count for the plain tracker's errors only.
    Lengths, not histories, of tilts are compared: a tilt towards what has just risen grows with the returns, and is cut on the
    very round on which they jump.

    Cost per round: that of the learners and O(N + B). State: that of the learners and three numbers per round of a year.

    Examples
    --------
    >>> from tracker_strategies.algorithms import Budgeted, Tilted, learner
    >>> from tracker_strategies.algorithms import ConstantWeights
    >>> tilted = Tilted(2, learner=ConstantWeights(2), lam=50.0)
    >>> learner = Budgeted(2, learner=tilted, max_tracking_error="1%")
    >>> for t in range(100):
    ...     w = learner.update([0.01 * (-1) ** t, -0.01 * (-1) ** t], 0.0)
    >>> told = learner.diagnostics()
    >>> round(told["tilt_asked"], 3), round(told["tilt"], 3), round(told["budget_used"], 2)
    (0.495, 0.031, 0.89)
    """

    rank = 4
    _state = ("_inner", "_beside", "_misses", "_units", "_errors", "_total", "_rounds", "_share")
    _inside: ClassVar[dict[str, str]] = {"learner": "_inner", "plain": "_beside.0"}
    _kinds: ClassVar[Kinds] = {
        "_total": real(least=0.0),
        "_rounds": whole(),
        "_share": real(least=0.0, most=1.0),
    }
    _holds = "learner={}, plain=..."

    def __init__(
        self,
        n_assets: int,
        *,
        learner: OnlineAlgorithm | None = None,
        plain: OnlineAlgorithm | None = None,
        max_tracking_error: float | str = 0.02,
        bars_per_year: float = 252.0,
        lift: float = 0.0,
    ) -> None:
        super().__init__(n_assets, learner=learner)
        self._beside = [] if plain is None else [self._admitted(plain, count("n_assets", n_assets))]
        if plain is None and not isinstance(self._inner, Tilted):
            raise ParameterError(
                f"plain must be given for {learner!r}: the tracker without its tilt, such as PAS(n, side=Constant(0.0)) for "
                "PAS(n); only a Tilted learner already contains it"
            )
        if plain is not None and plain.feasible.to_dict() != self.feasible.to_dict():
            raise ParameterError(
                f"learner and plain must have the same feasible set, got {self.feasible!r} and {plain.feasible!r}"
            )
        self.max_tracking_error = fraction("max_tracking_error", max_tracking_error, above=0.0)
        self.bars_per_year = number("bars_per_year", bars_per_year, least=RECENT)
        self.lift = number("lift", lift)
        # Of the last year, in turn: what the plain tracker missed, what tilts of length 1 returned, the errors of what was held.
        self._misses, self._units, self._errors = np.zeros((3, round(self.bars_per_year)))
        self._total, self._rounds, self._share = 0.0, 0, 0.0
        self._w = self._plain_weights

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        if getattr(learner, "n_targets", 1) != 1:
            raise ParameterError(f"a budget needs a learner with one target, got {learner!r}")
        super()._check(learner)

    @property
    def plain(self) -> OnlineAlgorithm | None:
        """The plain tracker as it was given."""
        return self._beside[0].fresh() if self._beside else None

    @property
    def _plain_weights(self) -> Array:
        return self._beside[0].weights if self._beside else self._inner.untilted  # type: ignore[attr-defined]

    # ------------------------------------------------------------------ one round

    def _ask(self, turn: Turn) -> Array:
        plain, tilted = self._plain_weights, self._inner.weights
        if turn.stay is not None and turn.free is not None:
            plain, tilted = (self._handed_over(w, turn.stay, turn.free) for w in (plain, tilted))
        wish = self._teach(turn)
        if turn.somebody_moves:
            tilt, goal = tilted - plain, turn.y - self.lift
            size = _length(tilt)
            unit = float(tilt.dot(turn.x)) / size if size > TINY else 0.0
            self._note(float(plain.dot(turn.x)) - goal, unit, float(turn.held.dot(turn.x)) - goal)
        return wish

    def _teach(self, turn: Turn) -> Array:
        """Let both learn, or none."""
        if not self._beside:
            return turn.teach(self._inner, turn.x, turn.y, turn.signal)
        tilted, plain = self._inner.clone(), self._beside[0]
        wish = turn.teach(tilted, turn.x, turn.y, turn.signal)
        reads = getattr(getattr(plain, "side", None), "reads_signal", False)
        turn.teach(plain, turn.x, turn.y, turn.signal if reads else None)
        self._inner = tilted
        return wish

    def _note(self, miss: float, unit: float, error: float) -> None:
        place = self._rounds % len(self._errors)
        self._misses[place], self._units[place], self._errors[place] = miss, unit, error
        self._total += error * error
        self._rounds += 1

    def _shape(self, turn: Turn, wish: Array) -> Array:
        plain = self._plain_weights
        self._share = share = self._largest_share(_length(wish - plain))
        w = plain if share == 0.0 else wish if share == 1.0 else (1.0 - share) * plain + share * wish
        return w if turn.free is None else turn.filled(turn.W.project(w[turn.free]))

    def _largest_share(self, size: float) -> float:
        """Return how much of a tilt of that length the budget allows."""
        if np.count_nonzero(self._units) < RECENT:
            return 0.0
        b2 = self.max_tracking_error**2 / self.bars_per_year
        length = len(self._errors)
        n, oldest = min(self._rounds + 1, length), float(self._errors[self._rounds % length])
        made = float(self._errors.dot(self._errors)) - oldest * oldest  # the coming round takes its place
        left = min(b2, n * b2 - made, (self._rounds + 1) * b2 - self._total)
        year = slice(0, min(self._rounds, length))
        recent = np.arange(self._rounds - RECENT, self._rounds) % length
        return min(_share_within(self._misses[rows], size * self._units[rows], left) for rows in (year, recent))

    def _restrict_learners(self, active: Any) -> Array:
        learners = [each.clone() for each in (self._inner, *self._beside)]
        for each in learners:
            each.restrict(active)
        self._inner, self._beside = learners[0], learners[1:]
        return self._w

    def _may_refuse(self, masked: bool) -> bool:
        return any(each._may_refuse(masked) for each in (self._inner, *self._beside))

    # ------------------------------------------------------------------ what it says

    def diagnostics(self) -> dict[str, float]:
        """Return the diagnostics of the learner, and figures of the budget.

        - `tilt_asked`, `tilt`: how much weight the tilted tracker has elsewhere than the plain one, and how much is held so;
        - `tilt_share`: the share that was allowed;
        - `te_year`, `te_plain`: error over the last year of rounds, per year, and that of the plain tracker;
        - `budget_used`: `te_year` over the budget.
        """
        plain = self._plain_weights
        te, floor = (self._per_year(errors) for errors in (self._errors, self._misses))
        return {
            **self._inner.diagnostics(),
            "tilt_asked": 0.5 * float(np.abs(self._inner.weights - plain).sum()),
            "tilt": 0.5 * float(np.abs(self._w - plain).sum()),
            "tilt_share": self._share,
            "te_year": te,
            "te_plain": floor,
            "budget_used": te / self.max_tracking_error,
        }

    def _per_year(self, errors: Array) -> float:
        n = max(1, min(self._rounds, len(errors)))
        return math.sqrt(self.bars_per_year * float(errors.dot(errors)) / n)


def _length(tilt: Array) -> float:
    return math.sqrt(float(tilt.dot(tilt)))


def _share_within(a: Array, z: Array, allowed: float) -> float:
    """Return the largest share s in [0, 1] for which the mean of (a + s z)^2 is at most `allowed`; 0 if it is above that at 0.

    Terms with z are means over the rounds that had a tilt.
    """
    tilts = max(1, int(np.count_nonzero(z)))
    A, C, B = float(a.dot(a)) / len(a), float(a.dot(z)) / tilts, float(z.dot(z)) / tilts
    if allowed < A:
        return 0.0
    if allowed >= A + 2.0 * C + B:
        return 1.0
    # Of the two roots the larger one, in the form that does not cancel: at 0 it is within, at 1 it is not.
    root = math.sqrt(C * C + B * (allowed - A))
    share = (allowed - A) / (C + root) if C > 0.0 else (root - C) / B
    return min(max(share, 0.0), 1.0)
