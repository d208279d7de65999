"""The rivals of sparse PLS in the family `comparators`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.numerics import lars_path, lasso_gram


@register("comparators", "lasso_gram")
def run_lasso_gram(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"beta": lasso_gram(inputs["C"], inputs["m"], params["mu"])}


@register("comparators", "lars_path")
def run_lars_path(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    path = lars_path(inputs["C"], inputs["m"], method=params["method"])
    return {"knots": path.knots, "coefs": path.coefs, "active": path.active}


def follow(learner: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Coefficients after each round."""
    beta = []
    for x, y in zip(np.array(inputs["X"], dtype=float), inputs["Y"], strict=True):
        learner.update(x, y)
        beta.append(learner.coefficients[:, 0])
    return {"beta": beta}


@register("comparators", "rls")
def rls(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    n = np.shape(inputs["X"])[1]
    return follow(a.RLS(n, forgetting=params["lam"], delta=params["delta"], prior="zero", floor=0.0), inputs)


@register("comparators", "alasso")
def alasso(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    n = np.shape(inputs["X"])[1]
    return follow(a.AdaptiveLasso(n, forgetting=params["lam"], mu=params["mu"], standardise=False), inputs)
