r"""Lean a tracker's portfolio towards what side information prefers, without disturbing what the tracker learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, count, mask, number
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive._base import checked_signal, signal_of_round
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.side.base import Round, SideInformation
from tracker_strategies.algorithms.side.smooth import NegativeLogReturn
from tracker_strategies.algorithms.wrappers._composition import checked_portfolio_learner, require_all_names
from tracker_strategies.errors import ParameterError


@learner(examples=lambda n: ({"learner": PA(n), "lam": 0.05},))
class Tilted(OnlineAlgorithm):
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
        A learner of portfolios that has learned nothing so far; a fresh copy of it learns. Not :class:`TopNames`, which belongs
        around this class: a tilt leads to other names.
    side : SideInformation, default NegativeLogReturn()
        :math:`h_t`: a term or a sum of terms.
    lam : float, optional
        :math:`\lambda > 0`: how far to lean; by default 1/n for the n assets of the round.

    Notes
    -----
    Cost a round: the learner's and two proximal steps, each about two projections for the log return. The first one, at the
    weights held, only sees to it that a round which the side information refuses changes nothing.

    Examples
    --------
    >>> from tracker_strategies.algorithms import ConstantWeights
    >>> learner = Tilted(2, learner=ConstantWeights(2), lam=0.5)
    >>> learner.update([0.02, -0.01], 0.005).round(6).tolist()
    [0.507461, 0.492539]
    >>> learner.update([0.0, 0.0], 0.0).round(6).tolist()  # nothing to prefer: back to the learner
    [0.5, 0.5]
    """

    _state = ("_inner",)

    def __init__(
        self,
        n_assets: int,
        *,
        learner: OnlineAlgorithm | None = None,
        side: SideInformation = NegativeLogReturn(),  # noqa: B008 (immutable)
        lam: float | None = None,
    ) -> None:
        learner = checked_portfolio_learner(learner, count("n_assets", n_assets))
        require_all_names("Tilted", learner, "Tilted(n, learner=...)")
        if not isinstance(side, SideInformation):
            raise ParameterError(f"side must be side information such as NegativeLogReturn(), got {side!r}")
        super().__init__(n_assets, feasible=learner.feasible)
        side.check(self.n_assets)
        self.side, self.lam = side, None if lam is None else number("lam", lam, above=0.0)
        self.learner, self._inner = learner.fresh(), learner.fresh()
        self._w = self._inner.weights

    @property
    def n_targets(self) -> int:
        """Number of targets of the learner."""
        return int(getattr(self.learner, "n_targets", 1))

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, signal: Any = None) -> Array:
        """Learn from one round and return the tilted weights for the next.

        Parameters
        ----------
        x, y, active, observed
            As for every learner: :meth:`OnlineAlgorithm.update`.
        signal : array_like, shape (N,), optional
            One number per asset for side information that reads one, as for :class:`~tracker_strategies.algorithms.PAS`.
        """
        x = self._vector(x)
        signal = checked_signal(signal, self.side, self.n_assets)
        masks = {name: value for name, value in (("active", active), ("observed", observed)) if value is not None}
        allowed = self._allowed(active)
        seen = np.ones(self.n_assets, dtype=np.bool_) if observed is None else mask("observed", observed, self.n_assets)
        stay, left = self._stay_and_left(allowed)
        free = stay & seen
        if not free.any():  # nobody can move: only the universe may change
            w = self._restricted(allowed, stay, left)
            self._inner.update(x, y, **masks)
        else:
            everybody = bool(free.all())
            part = x[free]
            xx, frozen = self._norm2(part), stay & ~seen
            W = self.feasible if everybody else self.feasible.slice(free, frozen, self._w)
            held = W.project(self._w[free]) if self._w[left].any() else self._w[free]
            at = Round(part, held, signal_of_round(signal, free), None if everybody else free, xx)
            side, lam = self.side if everybody else self.side.slice(free), self.lam or 1.0 / len(part)
            side.prox(held, lam, W, at)
            w = np.where(frozen, self._w, 0.0)
            w[free] = side.prox(self._inner.update(x, y, **masks)[free], lam, W, at)
        self._active = None if allowed.all() else allowed.copy()
        return self._commit(w)

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on: :meth:`OnlineAlgorithm.restrict`."""
        self._inner.restrict(active)
        return super().restrict(active)

    def _may_refuse(self, masked: bool) -> bool:
        return True

    def _learn(self, *_: Any) -> Array:  # pragma: no cover (update does it all)
        raise NotImplementedError

    def diagnostics(self) -> dict[str, float]:
        """Return what the learner says, and `tilt`: how much weight lies elsewhere than the learner has it."""
        return {**self._inner.diagnostics(), "tilt": 0.5 * float(np.abs(self._w - self._inner.weights).sum())}
