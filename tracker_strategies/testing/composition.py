"""Wrappers in every order: every limit is kept and nothing is lost on the way, or the combination is refused with a way out."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracker_strategies.algorithms import (
    PA,
    Budgeted,
    CappedSimplex,
    Constant,
    FeasibleSet,
    GroupedSimplex,
    Holdings,
    OnlineAlgorithm,
    Simplex,
    Tilted,
    Vote,
)
from tracker_strategies.errors import ParameterError

Chain = tuple[str, ...]
"""Names of wrappers, from the outside to the inside."""

N = 8
RANKS = {"Holdings": 1, "Vote": 2, "Tilted": 3, "Budgeted": 4}

WRAPPERS: dict[str, Callable[[int, OnlineAlgorithm], OnlineAlgorithm]] = {
    "Holdings": lambda n, a: Holdings(n, learner=a),
    "Vote": lambda n, a: Vote(n, members=[a, a.fresh()]),
    "Tilted": lambda n, a: Tilted(n, learner=a, lam=0.5),
    "Budgeted": lambda n, a: Budgeted(n, learner=a, plain=PA(n, eps=0.0, feasible=a.feasible), max_tracking_error=1.0),
}
IDENTITIES: dict[str, Callable[[int, OnlineAlgorithm], OnlineAlgorithm]] = {
    "Vote": lambda n, a: Vote(n, members=[a]),
    "Tilted": lambda n, a: Tilted(n, learner=a, side=Constant(0.0)),
    "Budgeted": lambda n, a: Budgeted(n, learner=a, plain=a.fresh()),
}
"""Wrappers that have nothing to do."""
SETS: dict[str, FeasibleSet] = {
    "Simplex": Simplex(),
    "CappedSimplex": CappedSimplex(0.25),
    "GroupedSimplex": GroupedSimplex([[0, 1, 2], [3, 4]], upper=np.array([0.4, 0.3]), u=0.5),
}
CHAINS: list[Chain] = [chain for k in range(4) for chain in itertools.product(WRAPPERS, repeat=k)]
WAY_OUT = re.compile(r"\(n, (learner|members)=")


def check_composition(make: Callable[[int, FeasibleSet], OnlineAlgorithm] | None = None, *, seed: int = 0) -> None:
    """Raise an AssertionError that names a combination of wrappers around a learner which breaks a promise.

    Parameters
    ----------
    make : callable, optional
        Makes the learner for n assets on a set, ``lambda n, W: PA(n, feasible=W)``; by default PA that trades at every error.
    seed : int, default 0
        Of the random rounds.

    Notes
    -----
    The learner alone, every wrapper, ordered pair and triple, on the simplex, with caps and with sector limits: refused with the
    right order in the message where the contract says so, and only there; else the weights keep every limit in every round, and a
    wrapper that has nothing to do (a vote of one, no tilt, nothing to cut) changes nothing at any place.

    Examples
    --------
    >>> from tracker_strategies.algorithms import PA
    >>> from tracker_strategies.testing import check_composition
    >>> check_composition(lambda n, feasible: PA(n, feasible=feasible))
    """
    make = make or (lambda n, W: PA(n, eps=0.0, feasible=W))
    for (name, W), chain in itertools.product(SETS.items(), CHAINS):
        check_chain(chain, name, make(N, W), seed)


def check_chain(chain: Chain, name: str, learner: OnlineAlgorithm, seed: int = 0) -> None:
    """Check one combination around one learner, whose set is called `name`."""
    words = f"{' of '.join((*chain, type(learner).__name__))} on {name}"
    if is_refused(chain):
        try:
            built(chain, learner)
        except ParameterError as refusal:
            _require(
                bool(WAY_OUT.search(str(refusal))), f"{words} is refused, but the message does not say what to do: {refusal}"
            )
            return
        raise AssertionError(f"{words} breaks a promise of one of its parts, but is not refused")
    weights = path(built(chain, learner), seed)
    for t, w in enumerate(weights):
        _require(bool(w.min() >= 0.0), f"{words}: a weight of {w.min()} after round {t}")
        _require(abs(float(w.sum()) - 1.0) <= 1e-12, f"{words}: the weights sum to {w.sum()} after round {t}")
        _require(SETS[name].contains(w, 1e-9), f"{words}: {w} is outside of the set after round {t}")
    for place, idle in itertools.product(range(len(chain) + 1) if len(chain) < 3 else (), IDENTITIES):
        longer = (*chain[:place], idle, *chain[place:])
        if not is_refused(longer):
            off = float(np.abs(path(built(longer, learner, place), seed) - weights).max())
            _require(off <= 1e-12, f"{words}: {idle} with nothing to do, at place {place}, moves weights by {off:.1e}")


def _require(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)


def is_refused(chain: Chain) -> bool:
    """Return what the contract says: Holdings innermost, then Vote, Tilted and Budgeted, each once; others anywhere around it."""
    drift = "Holdings" in chain[:-1]
    ranks = [RANKS[name] for name in chain if name in RANKS]
    return drift or any(outer <= inner for outer, inner in itertools.pairwise(ranks))


def built(chain: Chain, learner: OnlineAlgorithm, idle: int | None = None) -> OnlineAlgorithm:
    """Return the wrappers around a fresh copy of the learner; the one at place `idle` has nothing to do."""
    learner = learner.fresh()
    for place, name in reversed(list(enumerate(chain))):
        learner = (IDENTITIES if place == idle else WRAPPERS)[name](learner.n_assets, learner)
    return learner


def path(learner: OnlineAlgorithm, seed: int) -> Any:
    """Return the weights of a learner on random rounds, before the first and after each."""
    return np.array([learner.weights, *(learner.update(x, y, **masks) for x, y, masks in rounds(seed))])


def rounds(seed: int, n_rounds: int = 40) -> Iterator[tuple[Any, float, dict[str, Any]]]:
    """Yield wild returns of an index that is one name at a time; now and then a name is absent, or not seen."""
    rng = np.random.default_rng(seed)
    for t in range(n_rounds):
        x = 0.05 * rng.standard_normal(N)
        masks = {"active": np.ones(N, dtype=bool), "observed": np.ones(N, dtype=bool)}
        if t % 3 == 1:
            masks["observed"][rng.integers(N)] = False
        if t % 7 == 4:
            masks["active"][rng.integers(5, N)] = False
        yield x, float(x[(t // 10) % N]), masks if t % 2 else {}
