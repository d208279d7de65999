"""Family `comparators`: the rivals of AdaGrad that work with gradients or beliefs."""

from typing import Any

import numpy as np

from tests.vector_ops.adagrad import MATRICES, follow, regulariser
from tests.vector_ops.pa import pairs
from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.sets import feasible_from_dict

SCHEDULES = {"sqrt": "sqrt", "const": "constant", "constant": "constant", "linear": "linear", "1/t": "linear"}


def common(params: dict[str, Any]) -> dict[str, Any]:
    W = feasible_from_dict(params.get("W", {"kind": "Rn"}))
    return {"loss": params["loss"], "eps": params.get("eps", 0.0), "eta": params["eta"], "feasible": W}


@register("comparators", "ogd")
def ogd(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    schedule = SCHEDULES[params.get("schedule", "sqrt")]
    return follow(a.OGD(len(inputs["x1"]), schedule=schedule, start=inputs["x1"], **common(params)), inputs)


@register("comparators", "fobos")
def fobos(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    phi = regulariser(params.get("phi"))
    return follow(a.FOBOS(len(inputs["x1"]), start=inputs["x1"], **phi, **common(params)), inputs)


@register("comparators", "rda")
def rda(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    phi = regulariser(params.get("phi"))
    return follow(a.RDA(len(inputs["x1"]), start=inputs["x1"], **phi, **common(params)), inputs)


@register("comparators", "arow")
def arow(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The `loss` of a regression vector is the signed error y - mu.x."""
    n = len(inputs["X"][0])
    matrix = MATRICES["diag" if params["diag"] else "full"]
    learner = a.AROW(n, task=params["task"], matrix=matrix, r=params["r"], feasible=a.RealSpace(), start=inputs.get("x1"))
    w, variances, loss = [learner.weights], [learner.variances], []
    for x, y in pairs(inputs):
        w.append(learner.update(x, y))
        said = learner.diagnostics()
        variances.append(learner.variances)
        loss.append(said["loss"] if params["task"] == "classification" else y - said["prediction"])
    np.testing.assert_array_equal(w[-1], learner.mean)
    return {"w": w, "Sdiag": variances, "loss": loss}
