"""What can be done to a learner, written once: the base of Holdings, Vote, Tilted and their like.

Coordinates, then votes, then tilts, then budgets: a wrapper goes around those of a lower rank. Every other order would break a
promise of one of the parts, and is refused by name. What :class:`Holdings` carries along with prices are the weights of one
learner, which then goes on from them; other wrappers keep weights of their own beside those inside, so that Holdings belongs
around the learners, inside the wrapper.

A wrapper keeps the learner's set. What would step off it, a limit on the number of names or a rule that minds costs, is no
wrapper: the mandate does that, after the learner.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tracker_strategies._checks import count
from tracker_strategies.algorithms._validation import Array, Mask, mask
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.sets.feasible import FeasibleSet
from tracker_strategies.errors import ParameterError


class Turn(NamedTuple):
    """A round as a wrapper sees it, checked.

    Attributes
    ----------
    x : ndarray, shape (N,)
        Returns; 0 for assets that take no part.
    y : float or ndarray
        Return of the target.
    xx : float
        ||x||^2.
    held : ndarray, shape (N,)
        What the wrapper holds, after the assets that leave have handed over theirs.
    W : FeasibleSet
        Set of the assets that take part.
    allowed, stay, left, free : ndarray of bool, shape (N,), or None
        Assets that may be held next (None: all); of those held so far the ones that may stay and the ones that leave; those that
        take part: they stay and were seen. The last three are None together, when all assets take part.
    active, observed, signal
        As given.
    """

    x: Array
    y: Any
    xx: float
    held: Array
    W: FeasibleSet
    allowed: Mask | None
    stay: Mask | None
    left: Mask | None
    free: Mask | None
    active: Any
    observed: Any
    signal: Any

    @property
    def somebody_moves(self) -> bool:
        """Whether any asset takes part; if not, only the universe may change."""
        return self.free is None or bool(self.free.any())

    @property
    def frozen(self) -> Mask | None:
        """Assets that stay and were not seen."""
        return None if self.stay is None or self.free is None else self.stay & ~self.free

    @property
    def masked(self) -> bool:
        """Whether the round has masks, or some asset takes no part."""
        return self.free is not None or self.active is not None or self.observed is not None

    def filled(self, part: Array) -> Array:
        """Return the weights of all assets from those of the assets that take part; who was not seen keeps what is held."""
        if self.free is None:
            return part
        w = np.where(self.frozen, self.held, 0.0)  # type: ignore[arg-type]
        w[self.free] = part
        return w

    def teach(self, learner: OnlineAlgorithm, x: Array, y: Any, signal: Any = None) -> Array:
        """Let a learner learn from the round, or from other returns under its masks, and return its weights."""
        given = {} if signal is None else {"signal": signal}
        return learner.update(x, y, active=self.active, observed=self.observed, **given)


class Wrapper(OnlineAlgorithm):
    """A learner of portfolios made of another one. A subclass writes how it shapes a decision, in :meth:`_shape`.

    Parameters
    ----------
    n_assets : int
        Number of assets N.
    learner : OnlineAlgorithm
        A learner for N assets that has learned nothing so far; a fresh copy of it learns, the one given is left alone. The
        wrapper keeps its set.
    """

    _state: ClassVar[tuple[str, ...]] = ("_inner",)
    _inside: ClassVar[dict[str, str]] = {"learner": "_inner"}

    rank: ClassVar[int | None] = None
    """Its place: around those of lower rank, once. A wrapper without a rank goes everywhere but into Holdings."""

    _holds: ClassVar[str] = "learner={}"
    """How it is handed what it goes around."""

    _portfolios_only: ClassVar[bool] = True
    """Whether the learner has to choose portfolios, long-only with a fixed sum."""

    def __init__(self, n_assets: int, *, learner: OnlineAlgorithm | None = None) -> None:
        inner = self._admitted(learner, count("n_assets", n_assets))
        super().__init__(n_assets, feasible=inner.feasible)
        self._inner = inner
        self._w = inner.weights

    @property
    def learner(self) -> OnlineAlgorithm:
        """The learner as it was given: one that has learned nothing."""
        return self._inner.fresh()

    # ------------------------------------------------------------------ what it may go around

    @classmethod
    def _admitted(cls, learner: Any, n_assets: int) -> OnlineAlgorithm:
        """Return a fresh copy of the learner that the wrapper was handed, if it may go around it."""
        wrong = not isinstance(learner, OnlineAlgorithm) or learner.n_assets != n_assets
        if wrong or (cls._portfolios_only and not learner.feasible.portfolio):
            kind = "a learner of portfolios" if cls._portfolios_only else "a learner"
            name = cls._holds.partition("=")[0]
            raise ParameterError(f"{name} must be {kind} for {n_assets} assets, such as PA({n_assets}), got {learner!r}")
        cls._check(learner)
        require_untrained(learner)
        return learner.fresh()  # type: ignore[no-any-return]

    @classmethod
    def _check(cls, learner: OnlineAlgorithm) -> None:
        """Raise a ParameterError, with the right order, for a learner that has a wrapper in it which belongs around this one."""
        for each in (learner, *learners_within(learner)):
            name = type(each).__name__
            if cls.rank is None or not isinstance(each, Wrapper) or each.rank is None or each.rank < cls.rank:
                continue
            if each.rank == cls.rank:
                raise ParameterError(f"{cls.__name__} around {name} is applied twice; keep one of them: {cls._around('...')}")
            raise ParameterError(f"{cls.__name__} goes inside {name}, not around it: {each._around(cls._around('...'))}")

    @classmethod
    def _around(cls, inside: str) -> str:
        return f"{cls.__name__}(n, {cls._holds.format(inside)})"

    # ------------------------------------------------------------------ one round

    def _shape(self, turn: Turn, wish: Array) -> Array:
        """Return the weights, shape (N,), a new array or `wish`: what becomes of the learner's decision in a round."""
        return wish

    def _unmoved(self, held: Array, wish: Array) -> Array:
        """Return the weights when no asset takes part: `held` are the wrapper's own after a change of universe."""
        return held

    def _rehearse(self, turn: Turn) -> None:
        """Raise now, before anybody has learned, what :meth:`_shape` might raise."""

    def _ask(self, turn: Turn) -> Array:
        """Let the learner learn and return its weights, or raise and change nobody."""
        return turn.teach(self._inner, turn.x, turn.y, turn.signal)

    def update(self, x: Any, y: Any, *, active: Any = None, observed: Any = None, signal: Any = None) -> Array:
        """Let the learner learn from one round and return the weights for the next.

        Parameters
        ----------
        x, y, active, observed
            As for every learner: :meth:`OnlineAlgorithm.update`.
        signal : array_like, shape (N,), optional
            One number per asset for side information that reads one, as for :class:`~tracker_strategies.algorithms.PAS`.
        """
        turn = self._turn(x, y, active, observed, signal)
        moves = turn.somebody_moves
        if moves:
            self._rehearse(turn)
        wish = self._ask(turn)
        w = self._shape(turn, wish) if moves else self._unmoved(turn.held, wish)
        self._active = turn.allowed
        return self._commit(w)

    def _turn(self, x: Any, y: Any, active: Any, observed: Any, signal: Any) -> Turn:
        x, y = self._vector(x), self._target(y)
        allowed = stay = left = free = None
        if active is not None or observed is not None or self._active is not None:
            allowed = self._allowed(active)
            stay, left = self._stay_and_left(allowed)
            free = stay if observed is None else stay & mask("observed", observed, self.n_assets)
        if allowed is None or stay is None or left is None or free is None or free.all():
            held, W = self._w, self.feasible
            return Turn(x, y, self._norm2(x), held, W, None, None, None, None, active, observed, signal)
        xx = self._norm2(x[free])
        if free.any():
            W, held = self.feasible.slice(free, stay & ~free, self._w), self._handed_over(self._w, stay, free)
        else:
            W, held = self.feasible, self._restricted(allowed, stay, left)
        kept = None if allowed.all() else allowed.copy()
        return Turn(np.where(free, x, 0.0), y, xx, held, W, kept, stay, left, free, active, observed, signal)

    def _target(self, y: Any) -> Any:
        return self._inner._target(y)

    def restrict(self, active: Any) -> Array:
        """Take the assets that may be held from now on: :meth:`OnlineAlgorithm.restrict`."""
        allowed = self._allowed(active)
        stay, left = self._stay_and_left(allowed)
        held = self._restricted(allowed, stay, left)
        w = self._unmoved(held, self._restrict_learners(active))
        self._forget(left)
        self._active = None if allowed.all() else allowed.copy()
        w.setflags(write=False)
        self._w = w
        return w

    def _restrict_learners(self, active: Any) -> Array:
        return self._inner.restrict(active)

    def _learn(self, *_: Any) -> Array:  # pragma: no cover (update does it all)
        raise NotImplementedError

    # ------------------------------------------------------------------ what the learner says

    @property
    def n_targets(self) -> int:
        """Number of targets of the learner."""
        return int(getattr(self._inner, "n_targets", 1))

    def metric(self) -> tuple[Array, Array] | None:
        """Return the metric of the learner."""
        return self._inner.metric()

    def pace(self) -> tuple[int | None, float]:
        """Return the pace of the learner."""
        return self._inner.pace()

    def _may_refuse(self, masked: bool) -> bool:
        return self._inner._may_refuse(masked)

    def diagnostics(self) -> dict[str, float]:
        """Return what the learner says."""
        return self._inner.diagnostics()


def learners_within(learner: OnlineAlgorithm) -> Iterator[OnlineAlgorithm]:
    """Yield the learners that a wrapper holds, however deep; none for a learner that wraps nobody."""
    for value in vars(learner).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, OnlineAlgorithm):
                yield part
                yield from learners_within(part)


def require_untrained(learner: OnlineAlgorithm) -> None:
    """Raise a ParameterError for a learner that has learned: a wrapper begins anew, and what it knows would be lost."""
    name = type(learner).__name__
    if learner._t:
        raise ParameterError(
            f"{name} has learned from {learner._t} rounds already, but a wrapper starts with an untrained learner: "
            "pass learner.fresh(), and let the wrapper learn those rounds"
        )
    if learner._active is not None:
        raise ParameterError(
            f"{name} was restricted to some of its assets already, but a wrapper starts with all of them: "
            "pass learner.fresh(), and restrict the wrapper"
        )
