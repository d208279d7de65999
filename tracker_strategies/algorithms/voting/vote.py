"""A vote of trackers: one portfolio from several learners of any kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracker_strategies._checks import count, number
from tracker_strategies.algorithms._validation import Array
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.baselines.constant import ConstantWeights
from tracker_strategies.algorithms.numerics.expert_weights import FixedShare
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.registration import learner
from tracker_strategies.algorithms.sets.feasible import FeasibleSet, RealSpace, Simplex
from tracker_strategies.algorithms.vaw.vaw import DiscountedVAW
from tracker_strategies.algorithms.wrapper import Turn, Wrapper
from tracker_strategies.errors import ParameterError

WILD = 1e80
"""Beyond such squares a learner may refuse what it computes from a round that it has not refused."""


@learner(
    examples=lambda n: (
        {"members": [PA(n), ConstantWeights(n)]},
        {"members": [PA(n), DiscountedVAW(n), ConstantWeights(n)]},
    )
)
class Vote(Wrapper):
    r"""The weighted mean of several trackers' portfolios, with weights that follow their tracking errors.

    In round t member k holds :math:`w^k_t`, predicts :math:`\hat y^k_t = w^k_t \cdot x_t` and loses
    :math:`\ell_{t,k} = \frac12 (\hat y^k_t - y_t)^2`; its probability :math:`p_{t,k}` learns by
    :class:`~tracker_strategies.algorithms.numerics.FixedShare`. The portfolio

    .. math:: w_{t+1} = \sum_k p_{t+1,k}\, w^k_{t+1}

    lies where the members lie: on the simplex if they do.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    members : sequence of OnlineAlgorithm
        Learners for N assets and one target each, at least one, of any class, which have learned nothing so far. Fresh copies of
        them vote; those that were given are left alone. One with several portfolios, as :class:`LeastSquares` with several
        discounts, has as many votes. The mean keeps the limits of a set that all members share; of several sets it keeps none
        but the simplex. The mean of a few names each is many names.
    names : sequence of str, optional
        One for each vote, all different; by default the members' classes, numbered where needed.
    rate : float, default 8
        Learning rate in units of 1/(largest loss so far), > 0. Up to 0.5 the regret against the best member is at most
        :math:`(2 \ln(K/\beta_{T+1}) + 1)/\alpha_T`; 8 follows a good member much faster, which pays on markets.
    share : float or None, default 0.01
        :math:`\beta` in [0, 1): least probability of a member times K. None is the decreasing schedule of the theory.

    Notes
    -----
    Cost per round: that of the members and O(K N). A round that one member refuses is refused as a whole and changes no member.
    Weights of assets that were not seen stay; if the vote moves meanwhile, the others share what is left by projection.

    References
    ----------
    Jacobsen, Cutkosky, *Online linear regression in dynamic environments via discounting*, ICML 2024: Algorithm 2, sec. 5.

    Examples
    --------
    >>> from tracker_strategies.algorithms import Vote
    >>> from tracker_strategies.algorithms import PA, ConstantWeights
    >>> vote = Vote(2, members=[PA(2), ConstantWeights(2)])
    >>> w = vote.update([0.02, -0.01], 0.02)  # the index is the first asset; both members lost as much so far
    >>> w = vote.update([-0.01, 0.03], -0.01)
    >>> vote.diagnostics()["p_PA"] > 0.9
    True
    """

    rank = 2
    _state = ("_members", "_vote", "_loss", "_prediction")
    _inside: ClassVar[dict[str, str]] = {"members": "_members"}
    _holds = "members=[{}, ...]"
    _portfolios_only = False

    def __init__(
        self,
        n_assets: int,
        *,
        members: Sequence[OnlineAlgorithm] = (),
        names: Sequence[str] | None = None,
        rate: float = 8.0,
        share: float | None = 0.01,
    ) -> None:
        n_assets = count("n_assets", n_assets)
        voters = [self._admitted(member, n_assets) for member in members]
        if not voters:
            raise ParameterError("members must name at least one learner, such as [PA(n), AdaptiveDiscount(n)]")
        OnlineAlgorithm.__init__(self, n_assets, feasible=_common_set(voters))  # of several learners, not of one
        self._members = voters
        self.names = _distinct(names, voters)
        self.rate, self.share = number("rate", rate, above=0.0), None if share is None else number("share", share, least=0.0)
        if self.share is not None and self.share >= 1.0:
            raise ParameterError(f"share must be in [0, 1) or None, got {share!r}")
        self._vote = FixedShare(len(self.names), self.rate, self.share)
        self._loss = self._prediction = 0.0
        self._w = self._mean_weights()
        self._w.setflags(write=False)

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        if getattr(learner, "n_targets", 1) != 1:
            raise ParameterError(f"each member must track exactly one target, got {learner!r}")
        super()._check(learner)

    @property
    def members(self) -> list[OnlineAlgorithm]:
        """The members as they were given: learners that have not learned anything yet."""
        return [member.fresh() for member in self._members]

    @property
    def p(self) -> Array:
        """Probabilities of the K votes for the coming round."""
        return self._vote.p

    @property
    def n_targets(self) -> int:
        """One."""
        return 1

    metric, pace = OnlineAlgorithm.metric, OnlineAlgorithm.pace  # of several learners none speaks for all

    def _target(self, y: Any) -> float:
        return OnlineAlgorithm._target(self, y)

    def _mean_weights(self) -> Array:
        p = self._vote.p
        return np.asarray((p / np.add.reduce(p)).dot(np.concatenate([m.portfolios for m in self._members])))

    # ------------------------------------------------------------------ one round

    def _ask(self, turn: Turn) -> Array:
        predictions = self._step(turn)
        if not turn.somebody_moves:  # and nobody's vote
            return self._w
        self._prediction = float(self._vote.p.dot(predictions))
        self._loss = 0.5 * (self._prediction - turn.y) ** 2
        self._vote.learn(0.5 * (predictions - turn.y) ** 2)
        return self._mean_weights()

    def _shape(self, turn: Turn, wish: Array) -> Array:
        return wish if turn.free is None else turn.filled(turn.W.project(wish[turn.free]))

    def _step(self, turn: Turn) -> Array:
        """Let all members learn, or none, and return what they had predicted. Who may refuse the round goes first, as a copy."""
        wild = max(turn.xx, turn.y * turn.y) > WILD
        members, predictions = list(self._members), [np.empty(0)] * len(self._members)
        careful = [wild or member._may_refuse(turn.masked) for member in members]
        for k in sorted(range(len(members)), key=lambda k: not careful[k]):
            member = members[k].clone() if careful[k] else members[k]
            rows = member.portfolios
            if turn.stay is not None and turn.free is not None:
                rows = np.array([member._handed_over(w, turn.stay, turn.free) for w in rows])
            predictions[k] = rows.dot(turn.x)
            reads = getattr(getattr(member, "side", None), "reads_signal", False)
            turn.teach(member, turn.x, turn.y, turn.signal if reads else None)
            members[k] = member
        self._members = members
        return np.concatenate(predictions)

    def _restrict_learners(self, active: Any) -> Array:
        members = [member.clone() for member in self._members]
        for member in members:
            member.restrict(active)
        self._members = members
        return self._w

    def _may_refuse(self, masked: bool) -> bool:
        return any(member._may_refuse(masked) for member in self._members)

    def diagnostics(self) -> dict[str, float]:
        """Return prediction and loss of the last round (0 before the first), and the votes by name, `p_...`."""
        votes = {f"p_{name}": value for name, value in zip(self.names, self.p.tolist(), strict=True)}
        return {"prediction": self._prediction, "loss": self._loss, **votes}


def _common_set(members: Sequence[OnlineAlgorithm]) -> FeasibleSet:
    """Return a convex set that holds all members: their own if they agree, else the simplex or all of space."""
    sets = [m.feasible for m in members]
    if all(W.to_dict() == sets[0].to_dict() for W in sets):
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
