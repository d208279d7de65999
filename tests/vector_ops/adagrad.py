"""Family `adagrad`."""

from typing import Any

import numpy as np

from tests.vector_ops.pa import pairs
from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.gradient._base import loss_and_slope
from tracker_strategies.algorithms.sets import feasible_from_dict

MATRICES = {"diag": "diagonal", "diagonal": "diagonal", "full": "full"}


def regulariser(phi: dict[str, Any] | None) -> dict[str, Any]:
    """The parameters of a learner that a vector's phi stands for."""
    phi = phi or {"type": "none"}
    return {"regulariser": phi["type"], "lam": phi.get("lam"), "groups": phi.get("groups")}


def make_adagrad(params: dict[str, Any], x1: Any) -> a.AdaGrad:
    return a.AdaGrad(
        len(x1),
        loss=params["loss"],
        eps=params.get("eps", 0.0),
        rule=params["update"],
        matrix=MATRICES[params["matrix"]],
        eta=params["eta"],
        delta=params["delta"],
        strongly_convex=params.get("strongly_convex", False),
        feasible=feasible_from_dict(params.get("W", {"kind": "Rn"})),
        start=x1,
        **regulariser(params.get("phi")),
    )


def follow(learner: Any, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    """Feed every round; return w, loss and the gradients, and the metric of a learner that has one."""
    w, out = [learner.weights], {"loss": [], "g": [], "H": []}
    for x, y in pairs(inputs):
        w.append(learner.update(x, y))
        said = learner.diagnostics()
        out["loss"].append(said["loss"])
        out["g"].append(loss_and_slope(learner.loss, said["prediction"], y, learner.eps)[1] * np.array(x))
        if hasattr(learner, "H"):
            out["H"].append(learner.H)
    return {"w": np.array(w)} | {name: np.array(rows) for name, rows in out.items() if rows}


@register("adagrad", "adagrad")
def adagrad(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return follow(make_adagrad(params, inputs["x1"]), inputs)


@register("adagrad", "motivating_example")
def motivating_example(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """AdaGrad, its sparse twin, and gradient descent with steps eta/sqrt(t) on signed unit vectors, one after the other."""
    d, W, loss = params["d"], feasible_from_dict(params["W"]), params["loss"]
    eta, delta = params["eta"], params["delta"]
    adagrad = a.AdaGrad(d, loss=loss, eta=eta, delta=delta, feasible=W)
    sparse = a.SparseAdaGrad(d, loss=loss, eta=eta, delta=delta, feasible=W)
    ogd = a.OGD(d, loss=loss, eta=eta, feasible=W)
    lost = {"adagrad": 0.0, "sparse": 0.0, "ogd": 0.0}
    for t, sign in enumerate(inputs["signs"][: params["rounds"]]):
        z = sign * np.eye(d)[t % d]
        lost["sparse"] += sparse.update([t % d], [float(sign)], float(sign))
        for name, learner in (("adagrad", adagrad), ("ogd", ogd)):
            learner.update(z, float(sign))
            lost[name] += learner.diagnostics()["loss"]
    np.testing.assert_array_equal(sparse.weights, adagrad.weights)
    assert lost["sparse"] == lost["adagrad"]
    return {"loss_adagrad": lost["adagrad"], "loss_ogd": lost["ogd"], "lower_bound_ogd": d + d * np.sqrt(d) / 4.0}
