r"""Learn holdings, not weights: any learner in the coordinates in which an index stands still."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask, count, mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.numerics.thresholds import ZERO, ones
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import RealSpace, Simplex
from tracker_strategies.algorithms.wrappers._composition import require_drift, require_untrained
from tracker_strategies.errors import ParameterError

LEAST, MOST = np.array(0.02), np.array(50.0)  # arrays spare numpy a conversion
"""Growth of a price within a round beyond these bounds counts as one of them when the past is restated."""


@learner(examples=lambda n: ({"learner": PA(n)},))
class Holdings(OnlineAlgorithm):
    r"""A learner whose passive portfolio is the one that needs no trade.

    Between reviews an index holds a constant number of shares of each name, so that its weights drift with prices. A learner that
    keeps weights constant aims at a moving target, and trades at every bar to stand still. Here the learner goes on from what its
    weights have become,

    .. math:: \tilde w = \frac{w_t \circ (1 + x_t)}{1 + w_t \cdot x_t},

    so that a passive one gives just what the account holds anyway: no order is sent.

    A learner that remembers second moments has to restate them too. With the growth of each name against the index,
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
        go on from the weights it holds: AROW and the rule "rda" do not. Around a wrapper (:class:`Vote`, :class:`TopNames`,
        :class:`CostAware`, :class:`Tilted`) this class could not reach the weights inside: it belongs inside the wrapper,
        ``CostAware(n, learner=Holdings(n, learner=PA(n)))``.

    Notes
    -----
    Where the learner's set has limits, caps for example, and prices carry a weight over one, the portfolio goes on from the
    nearest point of the set: what is decided keeps every limit in every round.
    Names that were not seen keep their exact weight, as with every learner; the others share the drift. Prices must be adjusted
    for splits; a dividend that is not in them looks like a small loss of shares.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA
    >>> learner = Holdings(2, learner=PA(2, eps=0.01))
    >>> np.round(learner.update([0.10, 0.00], 0.05), 4).tolist()  # what half and half returned: hold on
    [0.5238, 0.4762]
    """

    _state = ("_inner",)

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None) -> None:
        count("n_assets", n_assets)
        if not isinstance(learner, OnlineAlgorithm):
            raise ParameterError(f"learner must be a learner in weights, such as PA({n_assets}), got {learner!r}")
        if isinstance(learner, Holdings):
            raise ParameterError(
                "learner is in holdings already, and drifts once: Holdings(n, learner=...) around it is one too many"
            )
        super().__init__(n_assets, feasible=learner.feasible)
        if learner.n_assets != self.n_assets:
            raise ParameterError(f"learner must be for {self.n_assets} assets, got {learner!r}")
        require_drift(learner)
        require_untrained(learner)
        self._limited = not isinstance(learner.feasible, Simplex | RealSpace)
        self.learner = learner.fresh()
        self._inner = learner.fresh()
        self._w = self._inner.weights

    @property
    def n_targets(self) -> int:
        """Number of targets of the learner."""
        return int(getattr(self.learner, "n_targets", 1))

    def __getattr__(self, name: str) -> Any:
        """What is asked of the learner beyond the common contract, such as its side information."""
        if name.startswith("_") or name == "learner":
            raise AttributeError(name)
        return getattr(self._inner, name)

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, **given: Any) -> Array:
        """Learn from one round and return the weights for the next: :meth:`OnlineAlgorithm.update`."""
        x = self._vector(x)
        y = self._inner._target(y)
        if active is None and observed is None and self._active is None:
            return self._everybody_moves(x, y, given)
        allowed = self._allowed(active)
        seen = None if observed is None else mask("observed", observed, self.n_assets)
        stay = allowed if self._active is None else allowed & self._active
        free = stay if seen is None else stay & seen
        moves = x if free.all() else np.where(free, x, 0.0)
        self._norm2(moves)
        masks = {name: value for name, value in (("active", active), ("observed", observed)) if value is not None}
        learner = self._to_learn(bool(masks) or self._active is not None)
        before = np.array([self._handed_over(w, stay, free) for w in learner.portfolios])
        after = self._within(drifted(before, moves, free), free, stay)
        growth, moves, y = _restated(learner, before, after, moves, y, free)
        if free.any() and (~stay if self._active is None else self._active & ~stay).any():
            learner.restrict(stay)  # who leaves is forgotten before the past is restated
        _go_on(learner, after, growth)
        w = learner.update(moves, y, **masks, **given)
        self._inner, self._active = learner, None if allowed.all() else allowed.copy()
        return self._commit(w)

    def _everybody_moves(self, x: Array, y: Any, given: dict[str, Any]) -> Array:
        """As :meth:`update`, when every asset was and may be held and was seen: the usual case, in half of the time."""
        self._norm2(x)
        learner = self._to_learn(False)
        before = learner.portfolios
        after = self._within(drifted(before, x), None, None)
        growth, x, y = _restated(learner, before, after, x, y)
        _go_on(learner, after, growth)
        w = learner.update(x, y, **given)
        self._inner = learner
        return self._commit(w)

    def _within(self, portfolios: Array, free: Mask | None, stay: Mask | None) -> Array:
        """Return portfolios that prices have carried over a limit of the set, back in it; names that are not free stay."""
        if not self._limited or (free is not None and not free.any()):
            return portfolios
        back = portfolios.copy()
        for w in back:
            if free is None or stay is None:
                w[:] = self.feasible.project(w)
            else:
                w[free] = self.feasible.slice(free, stay & ~free, w).project(w[free])
        back.setflags(write=False)
        return back

    def _to_learn(self, masked: bool) -> OnlineAlgorithm:
        """Return the learner, or a copy where it may refuse the round: that must change nothing."""
        return self._inner.clone() if self._inner._may_refuse(masked) else self._inner

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on: :meth:`OnlineAlgorithm.restrict`."""
        self._w = self._inner.restrict(active)
        self._active = self._inner._active
        return self._w

    @property
    def portfolios(self) -> Array:
        """Those of the learner."""
        return self._inner.portfolios

    def _may_refuse(self, masked: bool) -> bool:
        return self._inner._may_refuse(masked)

    def _learn(self, *_: Any) -> Array:  # pragma: no cover (update does it all)
        raise NotImplementedError

    def diagnostics(self) -> dict[str, float]:
        """Return what the learner says."""
        return self._inner.diagnostics()


def _restated(
    learner: OnlineAlgorithm, before: Array, after: Array, x: Array, y: Any, free: Mask | None = None
) -> tuple[Array | None, Array, Any]:
    """Return by what the past of a learner is to be restated (None: not at all), and the round that it is to take in then.

    Numbers that the learner would refuse are refused here, before anything has changed.
    """
    growth = None
    if hasattr(learner, "_rescale"):
        growth = _relative_growth(x, y) if free is None else np.where(free, _relative_growth(x, y), 1.0)
        x = x / growth
    else:
        y = y + float((after[0] - before[0]).dot(x))
    learner._norm2(x)
    return growth, x, learner._target(y)


def _go_on(learner: Any, portfolios: Array, growth: Array | None) -> None:
    """Let a learner go on from portfolios that prices have changed, its past restated by the growth of the names."""
    learner._take(portfolios)
    if growth is not None:
        learner._rescale(growth)


def _relative_growth(x: Array, y: Any) -> Array:
    """Return the growth of each name against the index, each within bounds."""
    pace = y if isinstance(y, float) else float(np.mean(y))
    growth: Array = np.minimum(np.maximum(1.0 + x, LEAST), MOST)
    growth /= min(max(1.0 + pace, float(LEAST)), float(MOST))
    return growth


def drifted(portfolios: Array, x: Array, free: Mask | None = None) -> Array:
    """Return portfolios, shape (K, N), after the returns x; names that are not free (None: all are) keep their weights."""
    growth, one = np.maximum(1.0 + x, ZERO), ones(len(x))
    moved = np.empty(portfolios.shape)
    some = free is not None and not free.all()
    for w, new in zip(portfolios, moved, strict=True):
        part = np.where(free, w, 0.0) if some else w  # type: ignore[arg-type]
        whole = float(part.dot(growth))
        if whole > 0.0:
            np.multiply(w, growth, out=new)
            new *= float(part.dot(one)) / whole
        if some or not whole > 0.0:  # all is lost: nothing tells what to hold
            np.copyto(new, w, where=~free if whole > 0.0 else True)  # type: ignore[operator]
    moved.setflags(write=False)
    return moved
