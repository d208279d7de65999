r"""Learn holdings, not weights: any learner in the coordinates in which an index stands still."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.drift import drifted, relative_growth
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import RealSpace, Simplex
from tracker_strategies.algorithms.wrapper import Turn, Wrapper, learners_within
from tracker_strategies.errors import ParameterError


@learner(examples=lambda n: ({"learner": PA(n)},))
class Holdings(Wrapper):
    r"""A learner in share-count coordinates: while it is passive, no trade is needed.

    Between reviews an index holds a constant number of shares of each name, so that its weights drift with prices. A learner that
    keeps weights constant aims at a moving target, and trades on every bar just to keep its weights. Here the learner continues
    from what its weights have become,

    .. math:: \tilde w = \frac{w_t \circ (1 + x_t)}{1 + w_t \cdot x_t},

    so that a passive one gives just what the account holds anyway: no order is sent.

    A learner that keeps second moments has to restate them, too. With the growth of each name against the index,
    :math:`s_i = (1 + x_{t,i})/(1 + y_t)`, shares that make up weights v now have returned :math:`v \cdot (x_t / s)` over the
    round, up to their tracking error squared. So it takes in :math:`(x_t/s, y_t)`, and what it took in before becomes :math:`C
    \to S^{-1} C S^{-1}`, :math:`m \to S^{-1} m`. Share counts that track the index are then one and the same weight vector in all
    rounds that are remembered. The others take in :math:`(x_t, y_t + (\tilde w - w_t) \cdot x_t)`: their error is that of the
    weights that were held.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    learner : OnlineAlgorithm
        A learner for N assets that has learned nothing so far; a fresh copy of it learns, the one given is left alone. It has to
        compute its next weights from those it holds: AROW and the rule "rda" do not. Around a wrapper (:class:`Vote`,
        :class:`Tilted`) this class could not reach the weights inside: it belongs inside the wrapper,
        ``Tilted(n, learner=Holdings(n, learner=PA(n)))``.

    Notes
    -----
    Where the learner's set has limits, caps for example, and prices carry a weight over one, the portfolio continues from the
    nearest point of the set: what is decided keeps every limit in every round.
    Names that were not seen keep their exact weight, as with every learner; the others share the drift. Prices must be adjusted
    for splits; a dividend that is not in them looks like a small loss of shares.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.algorithms import Holdings
    >>> from tracker_strategies.algorithms import PA
    >>> learner = Holdings(2, learner=PA(2, eps=0.01))
    >>> np.round(learner.update([0.10, 0.00], 0.05), 4).tolist()  # what half and half returned: hold on
    [0.5238, 0.4762]
    """

    rank = 1
    _portfolios_only = False

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None) -> None:
        super().__init__(n_assets, learner=learner)
        self._limited = not isinstance(self.feasible, Simplex | RealSpace)

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        name = type(learner).__name__
        if not isinstance(learner, Holdings) and next(learners_within(learner), None) is not None:
            holds = learner._holds if isinstance(learner, Wrapper) else "learner={}"
            raise ParameterError(
                f"Holdings cannot reach the learners inside {name}, so that their weights would not drift with prices; "
                f"put Holdings around each of them: {name}(n, {holds.format(cls._around('...'))})"
            )
        super()._check(learner)
        if not learner._from_held:
            raise ParameterError(
                f"{learner!r} does not compute its next weights from those it holds, so that they cannot drift with prices; "
                "give Holdings(n, learner=...) a learner that does, such as AdaGrad with rule='cmd', OGD or PA"
            )

    def __getattr__(self, name: str) -> Any:
        """What is asked of the learner beyond the common contract, such as its side information."""
        if name.startswith("_") or name == "learner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def _ask(self, turn: Turn) -> Array:
        learner = self._inner.clone() if self._inner._may_refuse(turn.masked) else self._inner
        before = learner.portfolios
        if turn.stay is not None and turn.free is not None:
            before = np.array([self._handed_over(w, turn.stay, turn.free) for w in before])
        after = self._within(drifted(before, turn.x, turn.free), turn)
        growth, x, y = _restated(learner, before, after, turn)
        if turn.left is not None and turn.left.any() and turn.somebody_moves:
            learner.restrict(turn.stay)  # who leaves is forgotten before the past is restated
        learner._take(after)
        if growth is not None:
            learner._rescale(growth)  # type: ignore[attr-defined]
        w = turn.teach(learner, x, y, turn.signal)
        self._inner = learner
        return w

    def _within(self, portfolios: Array, turn: Turn) -> Array:
        """Return portfolios that prices have carried over a limit of the set, back in it; names that are not free stay."""
        if not self._limited or not turn.somebody_moves:
            return portfolios
        back = portfolios.copy()
        for w in back:
            if turn.free is None or turn.frozen is None:
                w[:] = self.feasible.project(w)
            else:
                w[turn.free] = self.feasible.slice(turn.free, turn.frozen, w).project(w[turn.free])
        back.setflags(write=False)
        return back

    def _unmoved(self, held: Array, wish: Array) -> Array:
        return wish

    @property
    def portfolios(self) -> Array:
        """Those of the learner."""
        return self._inner.portfolios


def _restated(learner: OnlineAlgorithm, before: Array, after: Array, turn: Turn) -> tuple[Array | None, Array, Any]:
    """Return by what the past of a learner is to be restated (None: not at all), and the round that it is to take in then.

    Numbers that the learner would refuse are refused here, before anything has changed.
    """
    growth, x, y = None, turn.x, turn.y
    if hasattr(learner, "_rescale"):
        growth = relative_growth(x, y)
        if turn.free is not None:
            growth = np.where(turn.free, growth, 1.0)
        x = x / growth
    else:
        y = y + float((after[0] - before[0]).dot(x))
    learner._norm2(x)
    return growth, x, learner._target(y)
