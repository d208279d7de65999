"""check_learner: whether a learner keeps the promises that strategies, sweeps and paper accounts rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.errors import ParameterError
from tracker_strategies.testing import learner_checks, universe_checks
from tracker_strategies.testing.errors import promise
from tracker_strategies.testing.rounds import Make

Check = Callable[[Make], None]


def _named(*modules: object) -> dict[str, Check]:
    found = {name: thing for module in modules for name, thing in vars(module).items() if name.startswith("check_")}
    return {name.removeprefix("check_"): check for name, check in found.items()}


#: All checks by name, in the order in which they run: what later ones rely on comes first.
CHECKS = _named(learner_checks, universe_checks)
#: Those for weights on the simplex, with the last also about the number of rounds.
PORTFOLIO = ("weights_stay_on_the_simplex_in_a_restless_universe", "last_holder_leaves", "adversarial_rounds")
#: For learners that begin with equal weights.
FROM_EQUAL = ("restricting_the_start", "last_holder_leaves")


def check_learner(
    make: Callable[[int], OnlineAlgorithm], *, only: Iterable[str] | None = None, rounds: int = 100_000
) -> tuple[str, ...]:
    """Raise a :class:`CheckError` that names the first promise which a learner breaks.

    Parameters
    ----------
    make : callable
        From the number of assets N to a fresh learner: ``lambda n: Mine(n, eta=0.1)``, or the class itself. It is called with N
        from 1 to 23.
    only : iterable of str, optional
        Names of the checks to run, of :data:`CHECKS`; by default all that apply: some are about weights on the simplex, some
        about learners that begin with equal weights.
    rounds : int, default 100,000
        Adversarial rounds that weights on the simplex must survive, in blocks of 1,000.

    Returns
    -------
    tuple of str
        Names of the checks that were run.

    Examples
    --------
    >>> from tracker_strategies.testing import check_learner
    >>> from tracker_strategies.algorithms import PA
    >>> len(check_learner(PA, rounds=1000))
    28
    >>> check_learner(PA, only=["clone_is_independent"])
    ('clone_is_independent',)
    """
    made = Make(make)
    chosen = _that_apply(made) if only is None else tuple(only)
    for name in chosen:
        if name not in CHECKS:
            raise ParameterError(f"there is no check {name!r}; choose one of {', '.join(CHECKS)}")
        check = CHECKS[name]
        with promise((check.__doc__ or name).strip().rstrip("."), _shown(made)):
            if name == "adversarial_rounds":
                universe_checks.check_adversarial_rounds(made, rounds)
            else:
                check(made)
    return chosen


def _that_apply(make: Make) -> tuple[str, ...]:
    with promise("It can be made for any number of assets", "the learner"):
        learner = make(6)
        leave: set[str] = set() if learner.feasible.portfolio else {*PORTFOLIO, *FROM_EQUAL}
        if np.ptp(learner.weights) > 0.0:
            leave |= set(FROM_EQUAL)
    return tuple(name for name in CHECKS if name not in leave)


def _shown(make: Make) -> str:
    try:
        return repr(make(5))
    except Exception:  # a learner so broken that it cannot be shown is shown by what it breaks
        return "the learner"
