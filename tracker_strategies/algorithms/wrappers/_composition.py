"""What a wrapper may be handed. A combination that would break a promise of one of its parts is refused here, by name.

Three promises are at stake:

- *drift*: what :class:`Holdings` carries along with prices are the weights of one learner, which then goes on from them. A
  wrapper keeps weights of its own beside those of the learners inside: Holdings belongs around the learners, inside the wrapper;
- *limits of a set*: caps and sector limits are kept by the learner that projects on its set. TopNames and CostAware step off it;
- *number of names*: what TopNames chose stays chosen only if nobody around it adds other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.sets.feasible import Simplex
from tracker_strategies.errors import ParameterError


def learners_within(learner: OnlineAlgorithm) -> Iterator[OnlineAlgorithm]:
    """Yield the learners that a wrapper holds, however deep; none for a learner that wraps nobody."""
    for value in vars(learner).values():
        for part in value if isinstance(value, list | tuple) else (value,):
            if isinstance(part, OnlineAlgorithm):
                yield part
                yield from learners_within(part)


def checked_portfolio_learner(learner: Any, n_assets: int) -> OnlineAlgorithm:
    """Return the learner that a wrapper was handed: one of portfolios of n assets, which has learned nothing so far."""
    if not isinstance(learner, OnlineAlgorithm) or learner.n_assets != n_assets or not learner.feasible.portfolio:
        raise ParameterError(f"learner must choose portfolios of {n_assets} assets, such as PA({n_assets}), got {learner!r}")
    require_untrained(learner)
    return learner


def require_untrained(learner: OnlineAlgorithm) -> None:
    """Raise a ParameterError for a learner that has learned: a wrapper begins anew, and what it knows would be lost."""
    name = type(learner).__name__
    if learner._t:
        raise ParameterError(
            f"{name} has learned from {learner._t} rounds already, and a wrapper begins with a learner that knows nothing: "
            "hand over learner.fresh(), and let the wrapper learn those rounds"
        )
    if learner._active is not None:
        raise ParameterError(
            f"{name} was restricted to some of its assets already, and a wrapper begins with all of them: "
            "hand over learner.fresh(), and restrict the wrapper"
        )


def require_drift(learner: OnlineAlgorithm) -> None:
    """Raise a ParameterError for a learner that Holdings cannot move along with prices."""
    name = type(learner).__name__
    if next(learners_within(learner), None) is not None:
        inside = "members=[Holdings(n, learner=...), ...]" if hasattr(learner, "members") else "learner=Holdings(n, learner=...)"
        raise ParameterError(
            f"Holdings cannot reach the learners inside {name}, whose weights would not drift with prices; "
            f"put it around them: {name}(n, {inside})"
        )
    if not learner._from_held:
        raise ParameterError(
            f"{learner!r} does not go on from the weights that it holds, so that they cannot drift with prices; "
            "put a learner that does into Holdings(n, learner=...), such as AdaGrad with rule='cmd', OGD or PA"
        )


def require_plain_set(wrapper: str, learner: OnlineAlgorithm) -> None:
    """Raise a ParameterError for a learner with caps or group limits, which the wrapper would not keep."""
    limits = limits_of(learner)
    if limits is not None:
        raise ParameterError(
            f"{wrapper} knows nothing of the limits {limits!r} of its learner, and would break them; "
            f"leave {wrapper} out, or hand it a learner on Simplex()"
        )


def limits_of(learner: OnlineAlgorithm) -> Any:
    """Return the set of a learner, or of one inside it, that is smaller than the simplex; None when there is none."""
    for each in (learner, *learners_within(learner)):
        if each.feasible.portfolio and not isinstance(each.feasible, Simplex):
            return each.feasible
    return None


def require_all_names(wrapper: str, learner: OnlineAlgorithm, order: str) -> None:
    """Raise a ParameterError for a learner kept to a few names by TopNames, to which the wrapper would add others."""
    for each in (learner, *learners_within(learner)):
        if each._keeps_to_names:
            raise ParameterError(
                f"{wrapper} would hold other names beside the {each.max_names} of {type(each).__name__}; "  # type: ignore[attr-defined]
                f"limit the names last: {type(each).__name__}(n, learner={order}, max_names={each.max_names})"  # type: ignore[attr-defined]
            )
