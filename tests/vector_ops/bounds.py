"""Family `bounds`: run the algorithm, compute the left side, and demand that it stays below the right one."""

from typing import Any

import numpy as np

from tests.vector_ops.apas import follow, make_apas
from tests.vector_ops.pa import run_batch, run_classification, run_multiplicative, run_regression, run_uniclass
from tests.vector_ops.registry import register
from tracker_strategies.algorithms import AlphaSignal
from tracker_strategies.algorithms.passive_aggressive.multiplicative import kl_divergence

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


@register("bounds", "pa_thm1_hinge")
def pa_thm1_hinge(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    loss = run_classification(params, inputs)["loss"]
    return bounded(float((loss**2).sum()), largest_norm2(inputs) / params["margin_star"] ** 2)


@register("bounds", "pa_hinge_l1")
def pa_hinge_l1(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    loss = run_classification(params, inputs)["loss"]
    return bounded(float(loss.sum()), 2.0 * largest_norm2(inputs) / params["margin_star"] ** 2)


@register("bounds", "pa_mistakes")
def pa_mistakes(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    prediction = run_classification(params, inputs)["pred"]
    mistakes = np.count_nonzero(np.array(inputs["Y"]) * prediction <= 0.0)
    return bounded(float(mistakes), largest_norm2(inputs) / params["margin_star"] ** 2)


@register("bounds", "pa_thm1_uniclass")
def pa_thm1_uniclass(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star = arrays(inputs, "w1", "w_star")
    loss = run_uniclass(params, inputs)["loss"]
    lhs = float((loss**2).sum() + 2.0 * (params["eps"] - params["eps_star"]) * loss.sum())
    return bounded(lhs, float(((w_star - w1) ** 2).sum()))


@register("bounds", "mpa_thm4", "mpa_thm4_range")
def mpa_thm4(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star, X = arrays(inputs, "w1", "w_star", "X")
    loss = run_multiplicative("regression", params, inputs)["loss"]
    sizes = np.abs(X).max(axis=1) if params["scale"] == "inf" else np.ptp(X, axis=1)
    lhs = float((loss**2).sum() + 2.0 * (params["eps"] - params["eps_star"]) * loss.sum())
    return bounded(lhs, 0.5 * float((sizes**2).max()) * kl_divergence(w_star, w1))


@register("bounds", "mpa_uniclass")
def mpa_uniclass(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star = arrays(inputs, "w1", "w_star")
    loss = run_multiplicative("uniclass", params, inputs)["loss"]
    lhs = 15.0 / 16.0 * float((loss**2).sum()) + (params["eps"] - params["eps_star"]) * float(loss.sum())
    return bounded(lhs, 8.0 * kl_divergence(w_star, w1))


@register("bounds", "pa_batch_updates")
def pa_batch_updates(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    w1, w_star = arrays(inputs, "w1", "w_star")
    result = run_batch(params, inputs)
    assert result.converged
    rhs = np.ceil(largest_norm2(inputs) * float(((w_star - w1) ** 2).sum()) / params["beta"])
    return bounded(float(len(result.used)), float(rhs))


def largest_norm2(inputs: dict[str, Any]) -> float:
    return float((np.array(inputs["X"]) ** 2).sum(axis=1).max())


# ------------------------------------------------------------------ regret of the APAS threshold


def threshold_regret(params: dict[str, Any], X: Any, Y: Any, c: Any, w1: Any) -> dict[str, Any]:
    """Regret of the thresholds for h_t(w) = c_t.w in R^N, against the best fixed one for the weights that were realised.

    There f_t(eps) = c.what(eps) - lam/2 ||c||^2 is linear in eps up to |err_t| and constant beyond, so the best eps is an end of
    the domain or one of the errors.
    """
    X, Y, c = (np.array(values, dtype=float) for values in (X, Y, c))
    run = follow(make_apas(params, w1, AlphaSignal()), X, Y, signals=-c)
    W, nu, D = np.array(run["w"])[:-1], params["nu"], params["D"]
    error = Y - (W * X).sum(axis=1)
    den = (X**2).sum(axis=1) + (1.0 / (2.0 * params["C"]) if params["variant"] == "PA-II" else 0.0)
    fixed = (c * W).sum(axis=1) - 0.5 * params["lam"] * (c**2).sum(axis=1)

    def total(eps: float) -> float:
        step = np.sign(error) * np.maximum(np.abs(error) - eps, 0.0) / den
        return float((fixed + step * (c * X).sum(axis=1)).sum())

    candidates = [nu, D, *(e for e in np.abs(error) if nu < e < D)]
    best = min(candidates, key=total)
    lhs = float(np.sum(run["f"])) - total(best)
    rhs = 2.0 * np.sqrt(D**3 * params["G"] ** 2 / nu) * np.sqrt(len(Y))
    return {"lhs": lhs, "rhs": float(rhs), "eps": run["eps"], "best_eps": float(best), "violated": lhs > rhs}


@register("bounds", "apas_thm2_constant_zeta")
def apas_thm2_constant_zeta(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    found = threshold_regret(params, inputs["X"], inputs["Y"], inputs["c"], inputs["w1"])
    return found | bounded(found["lhs"], found["rhs"])


@register("bounds", "apas_thm2_counterexample")
def apas_thm2_counterexample(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    T = params["T"]
    found = threshold_regret(params, np.full((T, 1), inputs["x"]), inputs["Y"], np.reshape(inputs["c"], (T, 1)), [inputs["w1"]])
    assert found["violated"], f"the printed theorem should fail here, but {found['lhs']!r} <= {found['rhs']!r}"
    return found
