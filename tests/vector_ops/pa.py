"""Family `pa`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies.algorithms import PA, feasible_from_dict


def run_regression(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    """Feed every round to PA; return w (T+1 rows) and what it says of each round."""
    C = params.get("C") if params["variant"] != "PA" else None
    W = feasible_from_dict(params["W"])
    learner = PA(len(inputs["w1"]), eps=params["eps"], variant=params["variant"], C=C, feasible=W, start=inputs["w1"])
    w, rounds = [learner.weights], []
    for x, y in zip(inputs["X"], inputs["Y"], strict=True):
        w.append(learner.update(x, y))
        rounds.append(learner.diagnostics())
    names = {"loss": "loss", "tau": "tau", "pred": "prediction"}
    return {"w": np.array(w)} | {key: np.array([r[name] for r in rounds]) for key, name in names.items()}


@register("pa", "regression")
def regression(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return run_regression(params, inputs)
