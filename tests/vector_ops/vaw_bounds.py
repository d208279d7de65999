"""Family `bounds`, its part about VAW and the vote over discounts."""

from typing import Any

import numpy as np

from tests.vector_ops.bounds import arrays, bounded
from tests.vector_ops.registry import register
from tests.vector_ops.vaw import follow, follow_meta, make_dvaw, make_meta
from tracker_strategies.algorithms.numerics.expert_weights import share_of


def half_squares(error: np.ndarray) -> np.ndarray:
    return 0.5 * error**2


@register("bounds", "vaw_thm2_1")
def vaw_thm2_1(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    X, Y, u = arrays(inputs, "X", "Y", "u")
    d, lam = X.shape[1], params["lam"]
    run = follow(make_dvaw(params | {"gamma": 1.0}, d), X, Y)
    lhs = float((half_squares(Y - run["pred"]) - half_squares(Y - X @ u)).sum())
    rhs = 0.5 * lam * float(u @ u) + 0.5 * d * float((Y**2).max()) * np.log1p(float((X**2).sum()) / (lam * d))
    return bounded(lhs, float(rhs))


@register("bounds", "dvaw_thm3_1")
def dvaw_thm3_1(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    X, Y, U = arrays(inputs, "X", "Y", "U")
    (T, d), lam, gamma = X.shape, params["lam"], params["gamma"]
    run = follow(make_dvaw(params, d), X, Y)
    lhs = float((half_squares(Y - run["pred"]) - half_squares(Y - (X * U).sum(axis=1))).sum())

    def F(t: int, w: np.ndarray) -> float:
        weights = gamma ** np.arange(t - 1, -1, -1)
        return float(0.5 * gamma**t * lam * (w @ w) + weights @ half_squares(Y[:t] - X[:t] @ w))

    off = (Y - run["hint"]) ** 2
    discounted = float(gamma ** np.arange(T - 1, -1, -1) @ (X**2).sum(axis=1))
    rhs = (
        0.5 * gamma * lam * float(U[0] @ U[0])
        + 0.5 * d * float(off.max()) * np.log1p(discounted / (lam * d))
        + gamma * sum(F(t, U[t]) - F(t, U[t - 1]) for t in range(1, T))
        + 0.5 * d * np.log(1.0 / gamma) * float(off.sum())
    )
    return bounded(lhs, float(rhs))


def meta_regret(params: dict[str, Any], inputs: dict[str, Any]) -> tuple[dict[str, Any], np.ndarray, float]:
    """The run, the losses of the mean prediction, and the regret against an expert as the vote sees it."""
    X, Y = arrays(inputs, "X", "Y")
    run = follow_meta(make_meta(params, X.shape[1]), X, Y)
    losses = half_squares(Y - run["pred"])
    return run, losses, float((losses - half_squares(Y - run["expert_pred"][:, params["expert"]])).sum())


@register("bounds", "meta_thmE_1")
def meta_theorem_e_1(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    run, losses, lhs = meta_regret(params, inputs)
    K = len(params["gammas"])
    return bounded(lhs, float((2.0 * np.log(K / share_of(len(losses))) + 1.0) / run["alpha"][-1]))


@register("bounds", "meta_lemmaD_3")
def meta_lemma_d_3(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The expert's own loss is that of its forecasts before clipping, here by a forecaster of its own."""
    X, Y = arrays(inputs, "X", "Y")
    run, losses, regret = meta_regret(params, inputs)
    gamma, yref = params["gammas"][params["expert"]], params["yref"]
    if gamma > 0.0:
        yref = "zero" if yref == "hint" else yref
        raw = follow(make_dvaw(params | {"gamma": gamma, "yref": yref}, X.shape[1]), X, Y)["pred"]
    else:
        hint = yref if params["hint"] == "self" else params["hint"]
        raw = np.concatenate(([0.0], Y[:-1])) if hint == "last" else np.zeros_like(Y)
    own = float(half_squares(Y - raw).sum())
    return bounded(float(losses.sum()), 0.5 * float(run["M"][-1]) ** 2 + own + regret)
