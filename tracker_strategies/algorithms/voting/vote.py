"""A vote of trackers: one portfolio from several learners of any kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracker_strategies.algorithms._validation import Array, Mask, count, mask, number
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.baselines.constant import ConstantWeights
from tracker_strategies.algorithms.numerics.covering import CoveringShare
from tracker_strategies.algorithms.numerics.fixed_share import FixedShare
from tracker_strategies.algorithms.numerics.target_range import Hints, one_of
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace, Simplex
from tracker_strategies.algorithms.vaw.vaw import DiscountedVAW
from tracker_strategies.algorithms.wrappers._composition import require_all_names, require_untrained
from tracker_strategies.errors import ParameterError

WILD = 1e80
"""Beyond such squares a learner may refuse what it computes from a round that it has not refused."""


@learner(
    examples=lambda n: (
        {"members": [PA(n), ConstantWeights(n)]},
        {"members": [PA(n), DiscountedVAW(n), ConstantWeights(n)]},
    )
)
class Vote(OnlineAlgorithm):
    r"""The weighted mean of several trackers' portfolios, with weights that follow their tracking errors.

    In round t member k holds :math:`w^k_t`, predicts :math:`\hat y^k_t = w^k_t \cdot x_t` and loses
    :math:`\ell_{t,k} = \frac12 (\hat y^k_t - y_t)^2`; its probability :math:`p_{t,k}` learns by
    :class:`~tracker_strategies.algorithms.FixedShare`. The portfolio

    .. math:: w_{t+1} = \sum_k p_{t+1,k}\, w^k_{t+1}

    lies where the members lie: on the simplex if they do. With ``predictions="forecast"``, ``clip=True``, ``rate=0.5`` and
    ``share=None`` it is the range-clipped meta-algorithm for forecasters.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    members : sequence of OnlineAlgorithm
        Learners for N assets and one target each, at least one, of any class, which have learned nothing so far. Fresh copies of
        them vote; those that were given are left alone. One with several portfolios, as :class:`LeastSquares` with several
        discounts, has as many votes. The mean keeps the limits of a set that all members share; of several sets it keeps none
        but the simplex. :class:`TopNames` belongs around the vote: the mean of a few names each is many.
    names : sequence of str, optional
        One for each vote, all different; by default the members' classes, numbered where needed.
    rate : float, default 8
        Learning rate in units of 1/(largest loss so far), > 0. Up to 0.5 the regret against the best member is at most
        :math:`(2 \ln(K/\beta_{T+1}) + 1)/\alpha_T`; 8 follows a good member much faster, which pays on markets.
    share : float or None, default 0.01
        :math:`\beta` in [0, 1): least probability of a member times K. None is the decreasing schedule of the theory.
    clip : bool, default False
        Whether predictions are clipped to the range of the targets so far before losses are counted. That bounds the harm of wild
        forecasters. Portfolios are not wild, and the first day beyond the range would set the scale of the losses for good.
    yref : {"zero", "last"}, default "zero"
        Centre of that range, and what members that sleep predict.
    predictions : {"portfolio", "forecast"}, default "portfolio"
        What members are judged by: the return of their weights, or their method `forecast`, improper for VAW and its kin.
    restarts : bool, default False
        Whether fresh copies of all members start on every interval of a geometric covering of time, and sleep outside it
        (strongly adaptive). The portfolio is that of the copies awake. Costs O(log t) times as much.
    horizon : int, default 5000
        Rounds that the number of copies is made for; more may come. Without meaning unless `restarts`.

    Notes
    -----
    Cost a round: that of the members and O(K N). A round that one member refuses is refused as a whole and changes nobody.
    Weights of assets that were not seen stay; should the vote move meanwhile, the others share what is left by projection.

    References
    ----------
    Jacobsen, Cutkosky, *Online linear regression in dynamic environments via discounting*, ICML 2024: Algorithm 2, sec. 5.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA, ConstantWeights
    >>> vote = Vote(2, members=[PA(2), ConstantWeights(2)])
    >>> w = vote.update([0.02, -0.01], 0.02)  # the index is the first asset; both members lost as much so far
    >>> w = vote.update([-0.01, 0.03], -0.01)
    >>> vote.diagnostics()["p_PA"] > 0.9
    True
    """

    _state = ("_members", "_vote", "_hints", "_loss", "_prediction")

    def __init__(
        self,
        n_assets: int,
        *,
        members: Sequence[OnlineAlgorithm] = (),
        names: Sequence[str] | None = None,
        rate: float = 8.0,
        share: float | None = 0.01,
        clip: bool = False,
        yref: str = "zero",
        predictions: str = "portfolio",
        restarts: bool = False,
        horizon: int = 5000,
    ) -> None:
        super().__init__(n_assets, feasible=_common_set(members))
        self.members = [_checked(m, self.n_assets, predictions).fresh() for m in members]
        if not self.members:
            raise ParameterError("members must name at least one learner, such as [PA(n), AdaptiveDiscount(n)]")
        self.names = _distinct(names, self.members)
        self.rate, self.share = number("rate", rate, above=0.0), None if share is None else number("share", share, least=0.0)
        if self.share is not None and self.share >= 1.0:
            raise ParameterError(f"share must be in [0, 1) or None, got {share!r}")
        self.clip, self.restarts, self.yref = bool(clip), bool(restarts), yref
        self.predictions = one_of("predictions", predictions, ("portfolio", "forecast"))
        self.horizon = count("horizon", horizon)
        self._hints = Hints("zero", yref)
        K = len(self.names)
        self._vote = (
            CoveringShare(K, self.horizon, self.rate, self.share) if self.restarts else FixedShare(K, self.rate, self.share)
        )
        self._members = [m.fresh() for _ in range(getattr(self._vote, "levels", 1)) for m in self.members]
        if isinstance(self._vote, CoveringShare):
            self._vote.begin()
        self._loss = self._prediction = 0.0
        self._given: tuple[dict[str, Any], Any] = {}, None  # masks and signal of the round that is going on
        self._w = self._mean_weights()
        self._w.setflags(write=False)

    def _restore(self, values: dict[str, Any]) -> None:
        stored = 1 + max((int(key.split(".")[1]) for key in values if key.startswith("_members.")), default=-1)
        while len(self._members) < stored:  # more levels than at the start
            self._members += [m.fresh() for m in self.members]
        super()._restore(values)

    # ------------------------------------------------------------------ who votes

    @property
    def p(self) -> Array:
        """Probabilities of the K votes for the coming round; with restarts the sums over the copies awake."""
        return np.asarray(self._p().reshape(-1, len(self.names)).sum(axis=0))

    def _p(self) -> Array:
        """Return the probabilities of the members awake."""
        return np.asarray(self._vote.p.reshape(-1))

    def _awake(self) -> list[OnlineAlgorithm]:
        return self._members[: self._p().size // len(self.names) * len(self.members)]

    def _mean_weights(self) -> Array:
        p = self._p()
        return np.asarray((p / np.add.reduce(p)).dot(np.concatenate([m.portfolios for m in self._awake()])))

    # ------------------------------------------------------------------ one round

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, signal: Any = None) -> Array:
        """Let all members learn from one round and return the weights for the next.

        Parameters
        ----------
        x, y, active, observed
            As for every learner: :meth:`OnlineAlgorithm.update`.
        signal : array_like, shape (N,), optional
            Handed to the members whose side information reads one.
        """
        x, y = self._vector(x), self._target(y)
        masks = {name: given for name, given in (("active", active), ("observed", observed)) if given is not None}
        frozen = None if self._anybody_moves(active, observed) else [m.clone() for m in self._awake()]
        for member in frozen or ():  # only the universe may change, and nobody's vote
            member.update(x, y, **masks)
        self._given = masks, signal
        try:
            w = super().update(x, y, active=active, observed=observed)
        finally:
            self._given = {}, None
        if frozen is not None:
            self._members[: len(frozen)] = frozen
        return w

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on, as in `update` but without a round, and return the weights."""
        members = [m.clone() for m in self._awake()]
        for member in members:
            member.restrict(active)
        w = super().restrict(active)
        self._members[: len(members)] = members
        return w

    def _anybody_moves(self, active: Any, observed: Any) -> bool:
        if active is None and observed is None and self._active is None:
            return True
        stay, _ = self._stay_and_left(self._allowed(active))
        return bool((stay if observed is None else stay & mask("observed", observed, self.n_assets)).any())

    def _learn(self, w: Array, x: Array, y: float, xx: float, W: FeasibleSet, free: Mask | None) -> Array:
        if free is not None:
            part, x = x, np.zeros(self.n_assets)
            x[free] = part
        predictions, members = self._step(x, y, xx, free)
        if self.clip:
            predictions = self._hints.clip(predictions)
        losses, vote = 0.5 * (predictions - y) ** 2, self._vote
        self._prediction = float(self._p().dot(predictions))
        self._members[: len(members)] = members
        if isinstance(vote, CoveringShare):
            rest = float(self._hints.reference[0])
            self._prediction += sum(vote.asleep) * rest
            vote.learn(losses, 0.5 * (rest - y) ** 2)
            self._restart(vote.begin())
        else:
            vote.learn(losses)
        self._loss = 0.5 * (self._prediction - y) ** 2
        if self.clip or self.restarts:  # else nobody asks
            self._hints.observe(np.array([y]))
        mean = self._mean_weights()
        return mean if free is None else W.project(mean[free])

    def _step(self, x: Array, y: float, xx: float, free: Mask | None) -> tuple[Array, list[OnlineAlgorithm]]:
        """Return what the members awake predict, and what they are after the round. Who may refuse it goes first, as a copy."""
        masks, signal = self._given
        stay, left = self._stay_and_left(self._allowed(masks.get("active"))) if masks else (None, None)
        members = self._awake()
        predictions: list[Any] = [None] * len(members)
        masked = bool(masks) or self._active is not None
        wild = max(xx, y * y) > WILD
        careful = [wild or member._may_refuse(masked) for member in members]
        for k in sorted(range(len(members)), key=lambda k: not careful[k]):
            member = members[k].clone() if careful[k] else members[k]
            rows = member.portfolios
            if stay is not None and left is not None and free is not None and left.any():
                rows = np.array([member._handed_over(w, stay, free) for w in rows])
            predictions[k] = rows.dot(x) if self.predictions == "portfolio" else [member.forecast(x)]  # type: ignore[attr-defined]
            reads = signal is not None and getattr(getattr(member, "side", None), "reads_signal", False)
            member.update(x, y, **masks, **({"signal": signal} if reads else {}))
            members[k] = member
        return np.concatenate(predictions), members

    def _may_refuse(self, masked: bool) -> bool:
        return super()._may_refuse(masked) or any(member._may_refuse(masked) for member in self._members)

    def _restart(self, levels: list[int]) -> None:
        K, active = len(self.members), self._given[0].get("active")
        for i in levels:
            fresh = [m.fresh() for m in self.members]
            for member in fresh if active is not None else ():
                member.restrict(active)
            self._members[i * K : (i + 1) * K] = fresh

    def diagnostics(self) -> dict[str, float]:
        """Return prediction and loss of the last round (0 before the first), and the votes by name, `p_...`."""
        votes = {f"p_{name}": value for name, value in zip(self.names, self.p.tolist(), strict=True)}
        return {"prediction": self._prediction, "loss": self._loss, **votes}


def _checked(member: Any, n_assets: int, predictions: Any) -> OnlineAlgorithm:
    if not isinstance(member, OnlineAlgorithm):
        raise ParameterError(f"members must be learners such as PA({n_assets}), got {member!r}")
    if member.n_assets != n_assets:
        raise ParameterError(f"members must be for {n_assets} assets, got {member!r}")
    if getattr(member, "n_targets", 1) != 1:
        raise ParameterError(f"members must follow one target each, got {member!r}")
    require_untrained(member)
    require_all_names("Vote", member, "Vote(n, members=[...])")
    if predictions == "forecast" and not hasattr(member, "forecast"):
        raise ParameterError(f"predictions='forecast' needs members with a method forecast, got {member!r}")
    return member


def _common_set(members: Sequence[Any]) -> FeasibleSet:
    """Return a convex set that holds all members: their own if they agree, else the simplex or all of space."""
    sets = [m.feasible for m in members if isinstance(m, OnlineAlgorithm)]
    if sets and all(W.to_dict() == sets[0].to_dict() for W in sets):
        return sets[0]
    return Simplex() if all(W.portfolio for W in sets) else RealSpace()


def _distinct(names: Sequence[str] | None, members: Sequence[OnlineAlgorithm]) -> list[str]:
    if names is None:
        classes = [type(m).__name__ for m in members for _ in m.portfolios]
        often, seen = Counter(classes), Counter[str]()
        names = []
        for name in classes:
            seen[name] += 1
            names.append(f"{name}_{seen[name]}" if often[name] > 1 else name)
    votes = sum(len(m.portfolios) for m in members)
    if isinstance(names, str) or len(names) != votes or len(set(names)) != votes or not all(isinstance(n, str) for n in names):
        raise ParameterError(f"names must be {votes} different texts, one for each vote, got {names!r}")
    return list(names)
