"""Methods of the APAS reproduction, and what each earned and missed over the scored rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import APAS, PA, PAS, ConstantWeights, OnlineAlgorithm
from tracker_strategies.algorithms.passive_aggressive import slait

FloatArray = NDArray[np.float64]

LAMS = (0.01, 0.05, 0.1, 0.2)
"""Trade-offs of the paper's Table 2."""
SLAIT_ITERATIONS = 300
"""Most steps of a fit, on purpose few: run to the end SLAIT becomes sparser and tracks worse out of sample."""


@dataclass(frozen=True)
class Method:
    """A learner with its parameters.

    Attributes
    ----------
    family : str
        "PA", "PAS", "APAS", "SLAIT-ETE", "SLAIT-DR" or "Equal weight".
    parameters : tuple of (str, float)
        By name, in the order in which they are shown; `lam`, where there is one, comes last.
    """

    family: str
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def curve(self) -> str:
        """What stays the same along a curve over `lam`."""
        return self._words(pair for pair in self.parameters if pair[0] != "lam")

    @property
    def name(self) -> str:
        """All of it in words."""
        return self._words(self.parameters)

    @property
    def lam(self) -> float | None:
        """The trade-off, if the method has one."""
        return dict(self.parameters).get("lam")

    def _words(self, pairs: Iterable[tuple[str, float]]) -> str:
        signs = {"lam": "λ", "eps": "ε"}
        said = ", ".join(f"{signs.get(key, key)}={short(value)}" for key, value in pairs)
        return f"{self.family} {said}".strip()

    def learner(self, n_assets: int) -> OnlineAlgorithm:
        """A fresh learner; SLAIT, which is none, has :func:`rolling_slait`."""
        given: dict[str, Any] = dict(self.parameters)
        if self.family == "APAS":  # nu, the first threshold and G are the same in all rows
            return APAS(n_assets, nu=1e-4, eps=min(1e-3, given["D"]), **given)
        kinds: dict[str, Callable[..., OnlineAlgorithm]] = {"PA": PA, "PAS": PAS, "Equal weight": ConstantWeights}
        return kinds[self.family](n_assets, **given)

    def returns(self, X: FloatArray, y: FloatArray, start: int, *, window: int, every: int) -> FloatArray:
        """Portfolio returns from round `start` on. A learner has learnt from all rounds before; SLAIT from its window."""
        if self.family.startswith("SLAIT"):
            measure = self.family.removeprefix("SLAIT-").lower()
            return rolling_slait(X, y, start, window=window, every=every, lam=self.lam or 1e-7, measure=measure)
        learner = self.learner(X.shape[1])
        earned = np.empty(len(y))
        for t, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
            earned[t] = learner.weights.dot(x)
            learner.update(x, target)
        return earned[start:]


def short(value: float) -> str:
    """5e-4 rather than 0.0005; 0.05 stays."""
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    return f"{value:g}" if value >= 0.01 else f"{float(mantissa):g}e{int(exponent)}"


def rolling_slait(X: FloatArray, y: FloatArray, start: int, *, window: int, every: int, lam: float, measure: str) -> FloatArray:
    """Portfolio returns from round `start` on, of weights fitted to the last `window` rounds every `every` rounds."""
    earned = np.empty(len(y) - start)
    for t in range(start, len(y), every):
        past = slice(max(0, t - window), t)
        fit = slait(X[past], y[past], lam=lam, measure=measure, max_iter=SLAIT_ITERATIONS, accelerate=False, starts=1)
        earned[t - start : t - start + every] = X[t : t + every] @ fit.w
    return earned


@dataclass(frozen=True, eq=False)
class Runs:
    """One method on S data sets.

    Attributes
    ----------
    method : Method
    portfolio, index : ndarray, shape (S, T)
        Returns over the scored rounds.
    """

    method: Method
    portfolio: FloatArray
    index: FloatArray

    @property
    def mdte(self) -> FloatArray:
        """Eq. 13 of the paper for each data set: sqrt(sum e^2)/T."""
        return np.asarray(np.sqrt(((self.portfolio - self.index) ** 2).sum(axis=1)) / self.index.shape[1])

    @property
    def excess(self) -> FloatArray:
        """Eq. 14 for each data set: cumulated log return over that of the index."""
        return np.asarray((np.log1p(self.portfolio) - np.log1p(self.index)).sum(axis=1))

    def first(self, n_sets: int) -> Runs:
        """The first data sets only."""
        return Runs(self.method, self.portfolio[:n_sets], self.index[:n_sets])

    def row(self) -> dict[str, Any]:
        """Means with their standard errors (none for a single data set)."""
        (mdte, mdte_se), (excess, excess_se) = mean_and_error(self.mdte), mean_and_error(self.excess)
        return {
            "method": self.method.name,
            "family": self.method.family,
            "curve": self.method.curve,
            "parameters": dict(self.method.parameters),
            "sets": len(self.index),
            "mdte": mdte,
            "mdte_se": mdte_se,
            "mdte_median": float(np.median(self.mdte)),
            "excess_return": excess,
            "excess_return_se": excess_se,
        }

    def over_time(self) -> dict[str, list[float]]:
        """Both figures up to each round, mean over the data sets."""
        rounds = np.arange(1, self.index.shape[1] + 1)
        mdte = np.sqrt(np.cumsum((self.portfolio - self.index) ** 2, axis=1)) / rounds
        excess = np.cumsum(np.log1p(self.portfolio) - np.log1p(self.index), axis=1)
        return {"mdte": mdte.mean(axis=0).tolist(), "excess_return": excess.mean(axis=0).tolist()}


def mean_and_error(values: FloatArray) -> tuple[float, float | None]:
    """Mean and its standard error."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return float(values.mean()), error


def gaps_at_equal_error(frontier: Sequence[Runs], point: Runs) -> FloatArray | None:
    """Excess return of a frontier over that of a point with the same mean MDTE, one difference per data set.

    The frontier is interpolated between its two neighbours in mean MDTE, data set by data set, so that what both have in common
    cancels. None when the point lies outside it.
    """
    sets = min(len(point.index), *(len(runs.index) for runs in frontier))
    point, runs = point.first(sets), sorted((r.first(sets) for r in frontier), key=lambda r: float(r.mdte.mean()))
    errors = np.array([r.mdte.mean() for r in runs])
    wanted = float(point.mdte.mean())
    if not errors[0] <= wanted <= errors[-1]:
        return None
    right = max(1, int(np.searchsorted(errors, wanted)))
    share = (wanted - errors[right - 1]) / (errors[right] - errors[right - 1])
    return np.asarray((1.0 - share) * runs[right - 1].excess + share * runs[right].excess - point.excess)


def return_at_equal_error(frontier: Sequence[Runs], point: Runs) -> tuple[float, float | None] | None:
    """Mean and standard error of :func:`gaps_at_equal_error`."""
    gaps = gaps_at_equal_error(frontier, point)
    return None if gaps is None else mean_and_error(gaps)
