r"""Which run is better, and is it real: intervals, verdicts on pairs, and all runs that cannot be distinguished from the best.

Runs on the same T bars with errors :math:`e_{k,t}` are compared by :math:`u_k = e_k^2` (or, for other objectives, by what those
are the mean of). A pair is tested on :math:`d_t = u_{1,t} - u_{2,t}` (Diebold-Mariano): what both runs have in common on a bar is
no part of it. The mean of d over its HAC standard error is judged by fixed-b critical values (:mod:`.fixed_b`), p-values of all
pairs are adjusted together by Holm's rule. The reference is named before anything is seen.

The interval of one tracking error is that of the logarithm of its mean square, by the same theory; that of a difference belongs
to the one pair, without Holm's adjustment. "Best" is a set: the :mod:`model confidence set <.best_set>`.

On volatility that clusters strongly, intervals are too narrow: docs/concepts/analysis.md has the measured
coverage.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.best_set import confidence_set
from tracker_strategies.analysis.inference.bootstrap import Resamples
from tracker_strategies.analysis.inference.fixed_b import critical_value, long_run_covariance, p_value
from tracker_strategies.analysis.inference.objectives import LEVEL, OBJECTIVES, TRIFLE, Objective, figure, per_bar
from tracker_strategies.errors import DataError, ParameterError

FloatArray = NDArray[np.float64]

BETTER, WORSE, OPEN, SAME = "better", "worse", "no difference shown", "no difference"
#: Fewer bars than this say nothing about a variance.
LEAST_BARS = 10
#: Resamples behind the set of the best: near its level of 5 % they are off by at most 2 %.
DRAWS = 500
TE = OBJECTIVES["te_rms"]


@dataclass(frozen=True)
class Versus:
    """One run against the reference.

    Attributes
    ----------
    reference : str
    delta, low, high : float
        How far the run is ahead, in units of the objective (positive is better), and its 95 % interval.
    p, p_adjusted : float
        Two-sided p-value of "equally good": of this pair, and by Holm's rule over all pairs of runs.
    verdict : {"better", "no difference shown", "worse", "no difference"}
        By the adjusted p-value. The last is for runs that are the same bar by bar.
    """

    reference: str
    delta: float
    low: float
    high: float
    p: float
    p_adjusted: float
    verdict: str


@dataclass(frozen=True)
class Judged:
    """One of several runs.

    Attributes
    ----------
    name : str
    figure, low, high : float
        The objective and its 95 % interval; NaN where there are too few bars.
    among_best : bool
        Whether it cannot be distinguished from the best run.
    versus : Versus or None
        None for the reference itself.
    """

    name: str
    figure: float
    low: float
    high: float
    among_best: bool
    versus: Versus | None

    @property
    def verdict(self) -> str:
        """In one or two words."""
        return "reference" if self.versus is None else self.versus.verdict

    def told(self) -> dict[str, Any]:
        """As plain values, for JSON; None for what is not a number."""
        found = {"interval": [self.low, self.high], "among_best": self.among_best, "verdict": self.verdict}
        if self.versus is not None:
            found["versus"] = {key: value for key, value in asdict(self.versus).items() if key != "verdict"}
        return {key: _plain(value) for key, value in found.items()}

    @classmethod
    def from_told(cls, name: str, figure: float, told: Mapping[str, Any]) -> Judged:
        """The inverse of :meth:`told`."""

        def known(value: Any) -> float:
            return math.nan if value is None else float(value)

        v, versus = told.get("versus"), None
        if v is not None:
            numbers = {key: known(v[key]) for key in ("delta", "low", "high", "p", "p_adjusted")}
            versus = Versus(reference=v["reference"], verdict=told["verdict"], **numbers)
        low, high = map(known, told["interval"])
        return cls(name, figure, low, high, told["among_best"], versus)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def interval(path: FloatArray, objective: Objective = TE, level: float = LEVEL) -> tuple[float, float]:
    """Interval of the objective of one run that holds with probability ``1 - level``; NaN on fewer than 10 bars.

    Parameters
    ----------
    path : (T,) float
        Active returns, or log returns over the index: ``objective.path`` says which.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.analysis.inference import interval
    >>> low, high = interval(1e-3 * np.random.default_rng(0).standard_normal(1000))
    >>> low < 1e-3 < high
    True
    """
    u = per_bar(np.asarray(path, dtype=np.float64)[None, :], objective)
    T, mean = u.shape[1], float(u.mean())
    if T < LEAST_BARS:
        return math.nan, math.nan
    reach = critical_value(T, level) * math.sqrt(float(long_run_covariance(u)[0, 0]) / T)
    if objective.path == "excess":
        ends = mean - reach, mean + reach
    elif mean > 0.0:
        ends = mean * math.exp(-reach / mean), mean * math.exp(min(reach / mean, 700.0))
    else:
        ends = 0.0, 0.0
    low, high = (float(figure(np.array(end), T, objective)) for end in ends)
    return low, high


def judge(
    paths: Mapping[str, FloatArray],
    against: str | None = None,
    *,
    objective: Objective = TE,
    level: float = LEVEL,
    draws: int = DRAWS,
    resamples: Resamples | None = None,
) -> dict[str, Judged]:
    """Judge runs on the same bars.

    Parameters
    ----------
    paths : mapping of name to (T,) float
        Active returns bar by bar, or log returns over the index: ``objective.path`` says which.
    against : str, optional
        The reference; by default the first.
    objective : Objective
        Tracking error, RMS, by default.
    level : float, default 0.05
    draws : int, default 500
        Of the bootstrap behind the set of the best.
    resamples : Resamples, optional
        Those of the T bars, if they are known already.

    Returns
    -------
    dict of name to Judged
        In the order of the paths.

    Raises
    ------
    ParameterError
        An unknown reference, or no run.
    DataError
        Runs with different numbers of bars, or with values that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies.analysis.inference import judge
    >>> rng = np.random.default_rng(0)
    >>> common, own = rng.standard_normal((2, 500))
    >>> found = judge({"a": 1e-3 * common, "b": 1e-3 * (common + 0.7 * own), "c": 1e-3 * common})
    >>> [(run.verdict, run.among_best) for run in found.values()]
    [('reference', True), ('worse', False), ('no difference', True)]
    """
    names = list(paths)
    if not names:
        raise ParameterError("there are no runs to judge; give at least one")
    reference = names[0] if against is None else against
    if reference not in paths:
        raise ParameterError(f"the reference {reference!r} is not one of the runs: choose one of {', '.join(names)}")
    if len({len(path) for path in paths.values()}) > 1:
        raise DataError(
            "runs of different lengths cannot be paired bar by bar: "
            f"{', '.join(f'{len(p)} bars ({n})' for n, p in paths.items())}"
        )
    u = per_bar(np.array([paths[name] for name in names], dtype=np.float64), objective)
    if not np.isfinite(u).all():
        raise DataError("a run has a return that is not finite")
    T, base = u.shape[1], names.index(reference)
    if T < LEAST_BARS:
        return {name: _unknown(name, u[i], reference, objective) for i, name in enumerate(names)}
    gains, errors, same = _pairs(objective.sign * u)
    p = _p_values(gains, errors, same, T)
    adjusted = holm(p)
    if len(names) == 1:
        best = np.ones(1, dtype=bool)
    else:
        best = confidence_set(-objective.sign * u, resamples or Resamples(T, draws), level)
        best |= (same & best).any(axis=1)
    mean, reach = u.mean(axis=1), critical_value(T, level) * errors

    def ahead(gain: float) -> float:
        there, here = (float(figure(np.array(m), T, objective)) for m in (mean[base] + objective.sign * gain, mean[base]))
        return objective.sign * (there - here) + 0.0

    found = {}
    for i, name in enumerate(names):
        versus = None
        if i != base:
            gain, width = gains[i, base], reach[i, base]
            sure = adjusted[i, base] < level
            verdict = SAME if same[i, base] else OPEN if not sure else BETTER if gain > 0.0 else WORSE
            ends = ahead(gain), ahead(gain - width), ahead(gain + width)
            versus = Versus(reference, *ends, float(p[i, base]), float(adjusted[i, base]), verdict)
        low, high = interval(paths[name], objective, level)
        found[name] = Judged(name, float(figure(mean[i], T, objective)), low, high, bool(best[i]), versus)
    return found


def _pairs(gain: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """(K, K) of all pairs: the mean of row minus column, its HAC standard error, and whether the two are the same run."""
    K, T = gain.shape
    mean, covariance = gain.mean(axis=1), long_run_covariance(gain)
    own = np.diag(covariance)
    variance = own[:, None] + own[None, :] - 2.0 * covariance
    size = np.sqrt((gain**2).mean(axis=1))
    errors, gains, same = np.zeros((K, K)), mean[:, None] - mean[None, :], np.eye(K, dtype=bool)
    for i, j in zip(*np.triu_indices(K, 1), strict=True):
        v = float(variance[i, j])
        if v < 1e-6 * (own[i] + own[j]):  # what the difference of large numbers leaves is rounding
            difference = (gain[i] - gain[j])[None, :]
            v, gains[i, j] = float(long_run_covariance(difference)[0, 0]), float(difference.mean())
            gains[j, i] = -gains[i, j]
        errors[i, j] = errors[j, i] = math.sqrt(max(v, 0.0) / T)
        least = TRIFLE * max(size[i], size[j])
        same[i, j] = same[j, i] = errors[i, j] <= least and abs(gains[i, j]) <= 10.0 * least
    gains[same], errors[same] = 0.0, 0.0
    return gains, errors, same


def _p_values(gains: FloatArray, errors: FloatArray, same: NDArray[np.bool_], n_bars: int) -> FloatArray:
    p = np.ones_like(gains)
    for i, j in zip(*np.triu_indices(len(p), 1), strict=True):
        if not same[i, j]:
            t = math.inf if errors[i, j] == 0.0 else gains[i, j] / errors[i, j]
            p[i, j] = p[j, i] = p_value(t, n_bars)
    return p


def holm(p: FloatArray) -> FloatArray:
    """Holm's adjusted p-values of all pairs of a symmetric matrix: the k-th smallest of m times m - k + 1, never falling."""
    rows = np.triu_indices(len(p), 1)
    flat = p[rows]
    order = np.argsort(flat, kind="stable")
    raised = np.minimum(1.0, np.maximum.accumulate(flat[order] * np.arange(len(flat), 0, -1)))
    adjusted = np.ones_like(p)
    adjusted[rows[0][order], rows[1][order]] = raised
    adjusted[rows[1][order], rows[0][order]] = raised
    return adjusted


def _unknown(name: str, u: FloatArray, reference: str, objective: Objective) -> Judged:
    """Too few bars to say anything."""
    own = float(figure(np.asarray(u.mean() if len(u) else math.nan), len(u), objective))
    nothing = Versus(reference, math.nan, math.nan, math.nan, 1.0, 1.0, OPEN)
    return Judged(name, own, math.nan, math.nan, True, None if name == reference else nothing)
