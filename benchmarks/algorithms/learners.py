"""One step of passive-aggressive regression, projection on the simplex included, against river and scikit-learn without one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._measure import Report, side_by_side
from benchmarks.algorithms.prox import market
from tracker_strategies.algorithms import APAS, PA

SIZES = (500, 5000)
ROUNDS, REPEATS = 60, 9


def ours(cls: Any, X: np.ndarray, Y: list[float]) -> Callable[[], Any]:
    def steps() -> Any:
        learner = cls(X.shape[1])
        for x, y in zip(X, Y, strict=True):
            learner.update(x, y)
        return learner.weights

    return steps


def river(X: np.ndarray, Y: list[float]) -> Callable[[], Any] | None:
    """PARegressor on dictionaries that are ready made."""
    try:
        from river import linear_model
    except ImportError:
        return None
    rounds = [dict(enumerate(x)) for x in X.tolist()]

    def steps() -> Any:
        model = linear_model.PARegressor(C=1e9, mode=1, eps=1e-4, learn_intercept=False)
        for x, y in zip(rounds, Y, strict=True):
            model.learn_one(x, y)
        return model.weights

    return steps


def sklearn(X: np.ndarray, Y: list[float]) -> Callable[[], Any] | None:
    """partial_fit of PassiveAggressiveRegressor, or of SGDRegressor with the same rule where that is gone."""
    try:
        from sklearn import linear_model
    except ImportError:
        return None
    rows, targets = [x.reshape(1, -1) for x in X], [np.array([y]) for y in Y]

    def make() -> Any:
        if hasattr(linear_model, "PassiveAggressiveRegressor"):
            return linear_model.PassiveAggressiveRegressor(C=1e9, epsilon=1e-4, fit_intercept=False)
        return linear_model.SGDRegressor(
            loss="epsilon_insensitive", penalty=None, learning_rate="pa1", eta0=1e9, epsilon=1e-4, fit_intercept=False
        )

    def steps() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a deprecated class is still a peer
            model = make()
            for x, y in zip(rows, targets, strict=True):
                model.partial_fit(x, y)
        return model.coef_

    return steps


def run() -> Report:
    report = Report("learners")
    wanted = {500: {"river": 10, "scikit-learn": 10}, 5000: {"river": 20, "scikit-learn": 4}}
    for n in SIZES:
        X, Y = market(n, ROUNDS)
        targets = Y.tolist()
        contenders: dict[str, Callable[[], Any]] = {"PA": ours(PA, X, targets), "APAS": ours(APAS, X, targets)}
        for name, peer in (("river", river(X, targets)), ("scikit-learn", sklearn(X, targets))):
            if peer is None:
                report.notes.append(f"{name} is not installed: not measured at N = {n}")
            else:
                contenders[name] = peer
        timings, _ = side_by_side(contenders, {name: 3 if name == "river" else REPEATS for name in contenders})
        for name, timing in timings.items():
            ratio = timing.least / timings["PA"].least
            report.rows.append({"N": n, "learner": name, "us per step": 1e6 * timing.least / ROUNDS, "x PA": ratio})
            if name in wanted[n]:
                report.claim(f"PA step with projection against {name} at N = {n}, times faster", ratio, at_least=wanted[n][name])
    return report
