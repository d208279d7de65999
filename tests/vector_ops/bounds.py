"""Family `bounds`: run the algorithm, compute the left side, and demand that it stays below the right one."""

from typing import Any

import numpy as np

from tests.vector_ops.pa import run_regression
from tests.vector_ops.registry import register

RN = {"kind": "Rn"}


def bounded(lhs: float, rhs: float) -> dict[str, Any]:
    assert lhs <= rhs, f"the bound is violated: {lhs!r} > {rhs!r}"
    return {"lhs": lhs, "rhs": rhs}


def arrays(inputs: dict[str, Any], *names: str) -> list[np.ndarray]:
    return [np.array(inputs[name], dtype=float) for name in names]


@register("bounds", "pa_thm1")
def pa_thm1(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star, X = arrays(inputs, "w1", "w_star", "X")
    loss = run_regression(params | {"variant": "PA"}, inputs)["loss"]
    B = float((X**2).sum(axis=1).max())
    lhs = float((loss**2).sum() + 2.0 * (params["eps"] - params["eps_star"]) * loss.sum())
    return bounded(lhs, B * float(((w_star - w1) ** 2).sum()))


@register("bounds", "pa_lemma2")
def pa_lemma2(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star = arrays(inputs, "w1", "w_star")
    w = run_regression(params | {"variant": "PA"}, inputs)["w"]
    return bounded(float(np.linalg.norm(w[-1] - w1)), 2.0 * float(np.linalg.norm(w_star - w1)))


@register("bounds", "pa_thm3")
def pa_thm3(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, u, X, Y = arrays(inputs, "w1", "w_star", "X", "Y")
    loss = run_regression({"W": RN} | params, inputs)["loss"]
    B, gamma = float((X**2).sum(axis=1).max()), 1.0 / (2.0 * params["C"])
    others = np.maximum(np.abs(Y - X @ u) - params["eps"], 0.0)
    rhs = (gamma + B) * float(((u - w1) ** 2).sum()) + (1.0 + B / gamma) * float((others**2).sum())
    return bounded(float((loss**2).sum()), rhs)


@register("bounds", "pa_lazy_projection_lemma7")
def pa_lemma7(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, u, X, Y = arrays(inputs, "w1", "w_star", "X", "Y")
    run = run_regression(params, inputs)
    others = np.maximum(np.abs(Y - X @ u) - params["eps"], 0.0)
    lhs = float((run["tau"] * (2.0 * run["loss"] - run["tau"] * (X**2).sum(axis=1) - 2.0 * others)).sum())
    return bounded(lhs, float(((w1 - u) ** 2).sum()))
