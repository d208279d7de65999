"""Family `prox`."""

from itertools import islice
from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.sets import feasible_from_dict
from tracker_strategies.algorithms.side.convex_approximation import sca_iterates


def side_information(terms: list[dict[str, Any]]) -> a.SideInformation:
    """Return the sum of terms that a vector describes; "x_t" and "w_t" are what a term takes by default."""

    def given(term: dict[str, Any], key: str) -> Any:
        value = term.get(key)
        return None if isinstance(value, str) else value

    made: list[a.SideInformation] = []
    for term in terms:
        match term["type"]:
            case "log_return":
                made.append(a.NegativeLogReturn(term.get("weight", 1.0), x=given(term, "x")))
            case "switching":
                made.append(a.SwitchingCost(term["kappa"], given(term, "w_ref")))
            case "weighted_l1":
                made.append(a.WeightedL1(term["rho"]))
            case "group_lasso":
                made.append(a.GroupLasso(term["groups"], term["rho"]))
            case "const":
                made.append(a.Constant(term["value"]))
            case "linear":
                made.append(a.Linear(term["c"]))
            case "quadratic":
                made.append(a.Quadratic(term["q"], given(term, "w_ref")))
            case other:
                raise ValueError(f"side information {other!r} is not known")
    return made[0] if len(made) == 1 else a.Sum(made)


def round_for(v: np.ndarray, W: a.FeasibleSet) -> a.Round:
    return a.Round(np.zeros(v.shape[0]), W.project(v))


@register(
    "prox", "log_return", "switching", "weighted_l1", "group_lasso", "const", "sum", "user_linear", "user_quadratic", "edge"
)
def prox(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    h, W, lam = side_information(params["h"]), feasible_from_dict(params["W"]), params["lam"]
    v = np.array(inputs["v"], dtype=float)
    at = round_for(v, W)
    w = h.prox(v, lam, W, at)
    assert W.contains(w)
    return {"w": w, "value": h.value(w, at) + float(((w - v) ** 2).sum()) / (2.0 * lam), "grad": (v - w) / lam}


@register("prox", "sca")
def sca(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    h, W, lam = side_information(params["h"]), feasible_from_dict(params["W"]), params["lam"]
    v, start = np.array(inputs["v"], dtype=float), np.array(params["w_init"], dtype=float)
    at = round_for(v, W)
    steps = sca_iterates(lambda w: h.gradient(w, at), v, lam, W.project, start, gamma=params["gamma0"], rho=params["rho"])
    rounds = list(islice(steps, params["K"] + 1))
    user = a.UserDefined(h.gradient, h.value)
    np.testing.assert_allclose(user.prox(v, lam, W, at), h.prox(v, lam, W, at), rtol=0, atol=1e-9)
    return {"w_iterates": [w for w, _, _ in rounds], "gamma": [g for _, _, g in rounds[:-1]], "prox": h.prox(v, lam, W, at)}
