"""Rounds for learners to learn from, and what can be seen of a learner from the outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.testing.errors import require

FloatArray = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Make:
    """A factory of learners, ``make(n_assets)``, that also hands out copies of one that has learned for a while.

    Parameters
    ----------
    make : callable
        From the number of assets to a fresh learner.
    """

    def __init__(self, make: Callable[[int], OnlineAlgorithm]) -> None:
        self._make = make
        self._trained: dict[int, OnlineAlgorithm] = {}

    def __call__(self, n: int) -> OnlineAlgorithm:
        """A fresh learner."""
        return self._make(n)

    def train(self, n: int = 6, rounds: int = 30) -> OnlineAlgorithm:
        """A fresh learner after some rounds."""
        learner = self._make(n)
        run(learner, *market(n, rounds))
        return learner

    def trained(self, n: int = 6) -> OnlineAlgorithm:
        """A copy of a learner after some rounds."""
        if n not in self._trained:
            self._trained[n] = self.train(n)
        return self._trained[n].clone()


def market(n: int, rounds: int, seed: int = 0, scale: float = 0.01) -> tuple[FloatArray, FloatArray]:
    """Daily returns with a common factor, and an index of them with a little noise."""
    rng = np.random.default_rng(seed)
    X = scale * (rng.standard_normal((rounds, n)) + rng.standard_normal((rounds, 1)))
    return X, X @ rng.dirichlet(np.full(n, 0.5)) + 0.05 * scale * rng.standard_normal(rounds)


def run(learner: OnlineAlgorithm, X: FloatArray, Y: FloatArray, **masks: Any) -> FloatArray:
    """The weights after each round."""
    return np.array([learner.update(x, y, **masks) for x, y in zip(X, Y, strict=True)])


def fingerprint(learner: OnlineAlgorithm) -> bytes:
    """All of the state, bit by bit."""
    return repr(exact((learner.state_dict(), learner.weights, learner.diagnostics()))).encode()


def exact(thing: Any) -> Any:
    """The value with arrays as their bytes."""
    if isinstance(thing, dict):
        return {key: exact(value) for key, value in sorted(thing.items())}
    if isinstance(thing, list | tuple):
        return [exact(value) for value in thing]
    return (thing.dtype.str, thing.shape, thing.tobytes()) if isinstance(thing, np.ndarray) else thing


def without(*gone: int, n: int = 6) -> Mask:
    """All of n assets but some."""
    keep = np.ones(n, dtype=bool)
    keep[list(gone)] = False
    return keep


def assert_on_simplex(w: FloatArray) -> None:
    """Raise an AssertionError unless weights are finite, >= 0 and sum to 1 within 1e-12."""
    require(
        np.isfinite(w).all() and (w >= 0.0).all() and abs(w.sum() - 1.0) <= 1e-12,
        f"{w} are not portfolio weights, finite, >= 0 and of sum 1",
    )
