"""Forecasters on streams whose targets move: losses, regrets, and the terms of the bound on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import VAW, AdaptiveDiscount, DiscountedVAW, StronglyAdaptive
from tracker_strategies.algorithms.numerics.expert_weights import share_of
from tracker_strategies.algorithms.vaw import discount_grid

Array = NDArray[np.float64]

LAM = 1.0
CURVE_POINTS = 200


@dataclass(frozen=True)
class Stream:
    """Regressors, targets, and the comparators that generated them, one row a round."""

    name: str
    X: Array
    Y: Array
    U: Array

    @property
    def comparator_losses(self) -> Array:
        """Half the squared errors of the comparators."""
        return np.asarray(0.5 * (self.Y - (self.X * self.U).sum(axis=1)) ** 2)


def switching_stream(rounds: int) -> Stream:
    """Return the paper's example: x = 1, the target -1 in the first half, +1 in the second, which the comparators hit."""
    target = np.where(np.arange(rounds) < rounds // 2, -1.0, 1.0)
    return Stream("one regressor", np.ones((rounds, 1)), target, target[:, None])


def regression_stream(rounds: int, d: int, switches: int, seed: int) -> Stream:
    """Return Gaussian regressors and a linear target with noise whose coefficients are drawn anew at every switch."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rounds, d))
    coefficients = rng.standard_normal((switches + 1, d))
    U = coefficients[np.arange(rounds) * (switches + 1) // rounds]
    return Stream("several regressors", X, (X * U).sum(axis=1) + 0.3 * rng.standard_normal(rounds), U)


def study(stream: Stream, gammas: Sequence[float], hints: Sequence[str], strongly_adaptive: bool) -> dict[str, Any]:
    """Run all forecasters on a stream; return their losses, the terms of Theorem 3.1 and curves of regret and bound."""
    d, rounds = stream.X.shape[1], len(stream.Y)
    comparators = stream.comparator_losses
    single, curves = [], {}
    for gamma in gammas:
        learner = VAW(d, lam=LAM, prior=None) if gamma == 1.0 else DiscountedVAW(d, gamma=gamma, lam=LAM, prior=None)
        losses, given = _run(learner, stream)
        terms = theorem_3_1(stream, given, gamma, LAM)
        regret = np.cumsum(losses - comparators)
        bound = np.sum(list(terms.values()), axis=0)
        single.append(
            {
                "gamma": float(gamma),
                "loss": float(losses.sum()),
                "direct": float(_direct(stream, gamma).sum()),
                "regret": float(regret[-1]),
                "terms": {name: float(values[-1]) for name, values in terms.items()},
                "bound": float(bound[-1]),
                "always_below": bool((regret <= bound * (1.0 + 1e-12) + 1e-12).all()),
            }
        )
        curves[f"gamma {gamma:g}"] = {"regret": _thinned(regret), "bound": _thinned(bound)}
    votes = []
    for hint in hints:
        yref = "last" if hint == "last" else "zero"
        vote = AdaptiveDiscount(d, lam=LAM, prior=None, hint=hint, yref=yref, horizon=rounds)
        votes.append(_vote("meta", vote, stream, hint, curves))
    if strongly_adaptive:
        coarse = discount_grid(d, rounds, 4.0)
        adaptive = StronglyAdaptive(d, gammas=coarse, lam=LAM, prior=None, horizon=rounds)
        votes.append(_vote("strongly adaptive", adaptive, stream, "zero", curves))
    return {
        "name": stream.name,
        "d": d,
        "comparator_loss": float(comparators.sum()),
        "single": single,
        "votes": votes,
        "curves": curves,
    }


def _run(learner: Any, stream: Stream) -> tuple[Array, Array]:
    """Return half the squared errors of the forecasts, and the hints (0 for a vote, whose experts have their own)."""
    found = []
    for x, y in zip(stream.X, stream.Y.tolist(), strict=True):
        learner.update(x, y)
        said = learner.diagnostics()
        found.append((said["loss"], said.get("hint", 0.0)))
    losses, hints = np.array(found).T
    return losses, hints


def _vote(name: str, learner: Any, stream: Stream, hint: str, curves: dict[str, Any]) -> dict[str, Any]:
    """Run a vote; for the vote over discounts also what Theorem E.1 allows beyond its best expert."""
    experts = np.zeros(len(learner.discounts)) if name == "meta" else None
    losses = []
    for x, y in zip(stream.X, stream.Y.tolist(), strict=True):
        if experts is not None:
            experts += 0.5 * (y - learner.expert_forecasts(x)[0]) ** 2
        learner.update(x, y)
        losses.append(learner.diagnostics()["loss"])
    regret = np.cumsum(np.array(losses) - stream.comparator_losses)
    curves[f"{name}, hint {hint}"] = {"regret": _thinned(regret)}
    found = {"name": name, "hint": hint, "loss": float(sum(losses)), "regret": float(regret[-1])}
    if experts is None:
        return found
    said = learner.diagnostics()
    allowed = (2.0 * math.log(len(experts) / share_of(len(losses))) + 1.0) / said["alpha"]
    best = int(experts.argmin())
    return found | {
        "discounts": len(experts),
        "best_gamma": float(learner.discounts[best]),
        "best_loss": float(experts[best]),
        "voted_gamma": said["gamma_best"],
        "theorem_e_1": float(allowed),
    }


def _direct(stream: Stream, gamma: float) -> Array:
    """Return the losses of discounted VAW without hint by the formulas as printed, solved anew in every round."""
    d = stream.X.shape[1]
    sigma, theta, losses = LAM * np.eye(d), np.zeros(d), []
    for x, y in zip(stream.X, stream.Y.tolist(), strict=True):
        sigma, theta = gamma * sigma + np.outer(x, x), gamma * theta
        losses.append(0.5 * (y - float(x.dot(np.linalg.solve(sigma, theta)))) ** 2)
        theta = theta + y * x
    return np.array(losses)


def theorem_3_1(stream: Stream, hints: Array, gamma: float, lam: float) -> dict[str, Array]:
    r"""Return the four terms that bound the regret against the comparators after each round, by name.

    `start` :math:`\frac{\gamma\lambda}{2}\|u_1\|^2`; `static` :math:`\frac d2 \max_t (y_t - \tilde y_t)^2 \ln(1 + \sum_t
    \gamma^{T-t}\|x_t\|^2/(\lambda d))`, what even a fixed comparator costs; `variability`
    :math:`\gamma \sum_{t<T} [F_t(u_{t+1}) - F_t(u_t)]`, what its moves cost; `stability`
    :math:`\frac d2 \ln\frac1\gamma \sum_t (y_t - \tilde y_t)^2`, what forgetting costs. There
    :math:`F_t(w) = \gamma^t \frac\lambda2 \|w\|^2 + \sum_{s \le t} \gamma^{t-s} \ell_s(w)`.
    """
    X, Y, U = stream.X, stream.Y, stream.U
    T, d = X.shape
    off = (Y - hints) ** 2
    sigma, theta, weight = lam * np.eye(d), np.zeros(d), 0.0
    weights, variability = np.empty(T), np.zeros(T)
    for t in range(T):
        sigma, theta = gamma * sigma + np.outer(X[t], X[t]), gamma * theta + Y[t] * X[t]
        weight = gamma * weight + float(X[t].dot(X[t]))
        weights[t] = weight
        if t + 1 < T and not np.array_equal(U[t + 1], U[t]):  # F_t is the quadratic 1/2 w'Sigma w - theta.w + const
            move, middle = U[t + 1] - U[t], 0.5 * (U[t + 1] + U[t])
            variability[t + 1] = gamma * float(move.dot(sigma.dot(middle) - theta))
    return {
        "start": np.full(T, 0.5 * gamma * lam * float(U[0].dot(U[0]))),
        "static": 0.5 * d * np.maximum.accumulate(off) * np.log1p(weights / (lam * d)),
        "variability": np.cumsum(variability),
        "stability": 0.5 * d * math.log(1.0 / gamma) * np.cumsum(off),
    }


def _thinned(values: Array) -> list[list[float]]:
    """Rounds and values, the first and the last among them."""
    at = np.unique(np.linspace(0, values.size - 1, min(values.size, CURVE_POINTS)).round().astype(int))
    return [[float(i + 1), float(values[i])] for i in at]
