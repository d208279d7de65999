"""Simulated streams of the iS-PLS paper: groups of variables that follow latent factors, and responses that change their mind.

What the paper does not give is chosen here: innovations of the factors with standard deviation 1 and mean 0 (with other means
every method of this kind selects by mean, not by covariance), noise with standard deviation 1, and a third factor with mean 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ROUNDS, SIZE, GROUPS = 400, 100, 3
VARIABLES = SIZE * GROUPS
PERSISTENCE = np.array([0.1, 0.4, 0.2])
"""AR(1) coefficients of the three factors."""
CHANGES = (0, 100, 300)
"""Rounds at which the coefficients change, from 0."""
MOST, SECOND = (0, 1, 2), (1, 0, 1)
"""Groups with the large and with the small coefficients after each change."""
LARGE, SMALL, SPREAD = 10.0, 5.0, 0.5
RESPONSES = 50
HAZARD = 0.01
"""Of a change per round, in the streams of Figure 6."""
MEANS = (3.0, 5.0, 4.0)
"""Of the factors of the streams with many responses."""
STEPS = (0, 100, 200, 300)
ACTIVE = (1, 2, 3, 2)
"""Rounds at which the number of factors changes, and how many there are then (caption of Figure 9; the text says 1, 2, 3)."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Variables X, shape (T, p), responses Y, shape (T, q), and who matters when.

    Attributes
    ----------
    most, second : ndarray of int, shape (T,)
        The most and the second most important group.
    """

    X: FloatArray
    Y: FloatArray
    most: IntArray
    second: IntArray

    def first(self, rounds: int) -> Stream:
        """The beginning only."""
        return Stream(self.X[:rounds], self.Y[:rounds], self.most[:rounds], self.second[:rounds])


def generator(seed: int, experiment: int, number: int) -> np.random.Generator:
    """Data set `number` of an experiment: the same whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(experiment, number)))


def segment_of(rounds: int, starts: tuple[int, ...]) -> IntArray:
    """Which stretch each round belongs to."""
    return np.asarray(np.searchsorted(np.array(starts), np.arange(rounds), side="right") - 1, dtype=np.int64)


def grouped_variables(rng: np.random.Generator, rounds: int) -> FloatArray:
    """Three groups of 100 variables, each the AR(1) factor of its group plus noise of its own."""
    shocks = rng.standard_normal((rounds, GROUPS))
    F = np.empty((rounds, GROUPS))
    F[0] = shocks[0]
    for t in range(1, rounds):
        F[t] = PERSISTENCE * F[t - 1] + shocks[t]
    return np.asarray(np.repeat(F, SIZE, axis=1) + rng.standard_normal((rounds, VARIABLES)))


def group_coefficients(rng: np.random.Generator, segment: int) -> FloatArray:
    """Coefficients N(10, 0.5) on the group that matters most in a segment, N(5, 0.5) on the second, 0 on the third."""
    beta = np.zeros((GROUPS, SIZE))
    beta[MOST[segment]] = LARGE + SPREAD * rng.standard_normal(SIZE)
    beta[SECOND[segment]] = SMALL + SPREAD * rng.standard_normal(SIZE)
    return beta.reshape(-1)


def one_response(rng: np.random.Generator, *, changes: bool, noise: float = 1.0) -> Stream:
    """Sections 4.1 to 4.4: one response; the groups change their roles at rounds 101 and 301, or never."""
    segment = segment_of(ROUNDS, CHANGES) if changes else np.zeros(ROUNDS, dtype=np.int64)
    X = grouped_variables(rng, ROUNDS)
    B = np.array([group_coefficients(rng, k) for k in range(len(CHANGES))])
    y = np.einsum("tp,tp->t", X, B[segment]) + noise * rng.standard_normal(ROUNDS)
    return Stream(X, y[:, None], np.array(MOST)[segment], np.array(SECOND)[segment])


def responses_of(rng: np.random.Generator, F: FloatArray) -> FloatArray:
    """Fifty responses that follow the factors with orthogonal loadings of length sqrt(50), plus unit noise."""
    loadings = np.linalg.qr(rng.standard_normal((RESPONSES, F.shape[1])))[0] * RESPONSES**0.5
    return np.asarray(F @ loadings.T + rng.standard_normal((len(F), RESPONSES)))


def many_responses(rng: np.random.Generator) -> Stream:
    """Section 4.5: two factors seen by two groups at a time, which change as in :func:`one_response`, and 50 responses."""
    segment = segment_of(ROUNDS, CHANGES)
    F = np.array(MEANS[:2]) + rng.standard_normal((ROUNDS, 2))
    X = rng.standard_normal((ROUNDS, VARIABLES))
    for k in range(len(CHANGES)):
        rows = segment == k
        for group, size in ((MOST[k], LARGE), (SECOND[k], SMALL)):
            factor = 1 if group == 1 else 0
            columns = slice(group * SIZE, (group + 1) * SIZE)
            X[rows, columns] += np.outer(F[rows, factor], size + SPREAD * rng.standard_normal(SIZE))
    return Stream(X, responses_of(rng, F), np.array(MOST)[segment], np.array(SECOND)[segment])


def changing_factors(rng: np.random.Generator) -> tuple[Stream, IntArray]:
    """Section 4.6: one, two, three, then two factors; returns the stream and the true number in each round."""
    count = np.array(ACTIVE)[segment_of(ROUNDS, STEPS)]
    F = (np.array(MEANS) + rng.standard_normal((ROUNDS, GROUPS))) * (np.arange(GROUPS) < count[:, None])
    loadings = np.array([LARGE, SMALL, SMALL])[:, None] + SPREAD * rng.standard_normal((GROUPS, SIZE))
    X = np.repeat(F, SIZE, axis=1) * loadings.reshape(-1) + rng.standard_normal((ROUNDS, VARIABLES))
    none = np.zeros(ROUNDS, dtype=np.int64)
    return Stream(X, responses_of(rng, F), none, none), count


def restless(rng: np.random.Generator, variables: int, rounds: int = 1000) -> tuple[Stream, NDArray[np.bool_]]:
    """Figure 6: ten changes in a thousand rounds on average; after each, so many variables of a random group are the response.

    Returns the stream and which variables matter in each round, shape (T, p).
    """
    X = grouped_variables(rng, rounds)
    change = rng.random(rounds) < HAZARD
    change[0] = True
    matter = np.zeros((rounds, VARIABLES), dtype=np.bool_)
    beta, chosen = np.zeros(VARIABLES), np.zeros(VARIABLES, dtype=np.bool_)
    y = np.empty(rounds)
    for t in range(rounds):
        if change[t]:
            names = rng.integers(GROUPS) * SIZE + rng.permutation(SIZE)[:variables]
            beta, chosen = np.zeros(VARIABLES), np.zeros(VARIABLES, dtype=np.bool_)
            beta[names], chosen[names] = LARGE + SPREAD * rng.standard_normal(variables), True
        y[t] = X[t] @ beta + rng.standard_normal()
        matter[t] = chosen
    none = np.zeros(rounds, dtype=np.int64)
    return Stream(X, y[:, None], none, none), matter
