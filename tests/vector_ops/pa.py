"""Family `pa`."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.passive_aggressive import BatchResult, pa_batch
from tracker_strategies.algorithms.sets import feasible_from_dict


def play(learner: a.OnlineAlgorithm, rounds: Iterable[tuple[Any, ...]]) -> dict[str, np.ndarray]:
    """Feed every round to a learner; return w (T+1 rows) and what it says of each round."""
    w, said = [learner.weights], []
    for observation in rounds:
        w.append(learner.update(*observation))
        said.append(learner.diagnostics())
    names = {"loss": "loss", "tau": "tau", "pred": "prediction"}
    return {"w": np.array(w)} | {key: np.array([s[name] for s in said]) for key, name in names.items() if name in said[0]}


def aggressiveness(params: dict[str, Any]) -> float | None:
    return params.get("C") if params.get("variant", "PA") != "PA" else None


def pairs(inputs: dict[str, Any]) -> Iterable[tuple[Any, ...]]:
    return zip(inputs["X"], inputs["Y"], strict=True)


def run_regression(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    W = feasible_from_dict(params["W"])
    C = aggressiveness(params)
    learner = a.PA(len(inputs["w1"]), eps=params["eps"], variant=params["variant"], C=C, feasible=W, start=inputs["w1"])
    return play(learner, pairs(inputs))


def run_classification(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    W = feasible_from_dict(params.get("W", {"kind": "Rn"}))
    variant, C = params.get("variant", "PA"), aggressiveness(params)
    learner = a.PAClassifier(len(inputs["w1"]), margin=params["margin"], variant=variant, C=C, feasible=W, start=inputs["w1"])
    return play(learner, pairs(inputs))


def run_uniclass(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    W = feasible_from_dict(params.get("W", {"kind": "Rn"}))
    return play(a.PAUniclass(len(inputs["w1"]), eps=params["eps"], feasible=W, start=inputs["w1"]), ((x,) for x in inputs["X"]))


def run_multiplicative(task: str, params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    eps = -params["margin"] if task == "classification" else params["eps"]
    scale = params.get("scale", "inf")
    learner = a.MultiplicativePA(len(inputs["w1"]), eps=eps, task=task, scale=scale, start=inputs["w1"])
    return play(learner, pairs(inputs if "Y" in inputs else inputs | {"Y": np.ones(len(inputs["X"]))}))


def run_batch(params: dict[str, Any], inputs: dict[str, Any]) -> BatchResult:
    task = params.get("task", "regression")
    eps = -params["margin"] if task == "classification" else params["eps"]
    W = feasible_from_dict(params.get("W", {"kind": "Rn"}))
    return pa_batch(inputs["X"], inputs.get("Y"), task=task, eps=eps, beta=params["beta"], start=inputs["w1"], feasible=W)


@register("pa", "regression")
def regression(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_regression(params, inputs)


@register("pa", "classification")
def classification(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_classification(params, inputs)


@register("pa", "uniclass")
def uniclass(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_uniclass(params, inputs)


@register("pa", "multiplicative_regression")
def multiplicative_regression(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_multiplicative("regression", params, inputs)


@register("pa", "multiplicative_classification")
def multiplicative_classification(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_multiplicative("classification", params, inputs)


@register("pa", "multiplicative_uniclass")
def multiplicative_uniclass(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_multiplicative("uniclass", params, inputs)


@register("pa", "batch")
def batch(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    result = run_batch(params, inputs)
    assert result.converged
    return {"w": result.w, "used": result.used, "n_updates": len(result.used)}
