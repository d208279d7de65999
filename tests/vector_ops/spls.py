"""Family `spls`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.regression import SelfTuning, beta_to_portfolio, refit_portfolio
from tracker_strategies.algorithms.sparse_pls import FactorCount, sparse_pls, sparsify


@register("spls", "sparsify")
def run_sparsify(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    u, gamma = sparsify(inputs["u"], params["theta"])
    return {"u_sparse": u, "gamma": gamma}


@register("spls", "spls_offline")
def spls_offline(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    fit = sparse_pls(
        inputs["X"],
        inputs["Y"],
        n_factors=params["R"],
        theta=params["theta"],
        alpha=params["alpha"],
        normalise=params.get("normalize", False),
    )
    return {"U": fit.U, "W": fit.W, "beta": fit.beta}


def learner(params: dict[str, Any], inputs: dict[str, Any]) -> a.SparsePLS:
    """The learner as the reference has it: plain units, no loyalty, and no rule that the vector does not name."""
    assert params["start"] == "sparse", "the power iteration starts from the sparse vectors"
    tune = params.get("self_tune")
    adapt = params.get("adapt_R")
    return a.SparsePLS(
        np.shape(inputs["X"])[1],
        n_targets=np.shape(inputs["Y"])[1],
        n_factors=params["R"],
        theta=params["theta"],
        alpha=params["alpha"],
        loading=params["loading"],
        deflate=params["deflate"],
        q_space=params["q_space"],
        delta0=params["delta0"],
        forgetting=params["lam"] if tune is None else SelfTuning(**tune),
        adapt_factors=adapt is not None
        and FactorCount(adapt["R_max"], **{k: adapt[k] for k in ("k", "h", "cool", "tau_down", "k_down")}),
        standardise=False,
        loyalty=0.0,
        mapping="project",
    )


@register("spls", "ispls", "ispls_adapt_R")
def ispls(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {key: [] for key in ("pred", "lam", "beta", "U", "R", "A_minus", "A_plus")}
    model = learner(params, inputs)
    for x, y in zip(np.array(inputs["X"], dtype=float), inputs["Y"], strict=True):
        found["pred"].append(model.forecast(x))
        model.update(x, y)
        said = model.diagnostics()
        found["lam"].append(said["lambda"])
        found["beta"].append(model.coefficients)
        found["U"].append(model.factors)
        found["R"].append(said["factors"])
        found["A_minus"].append(said.get("ratio_less"))
        found["A_plus"].append(said.get("ratio_more"))
    return found


@register("spls", "enhanced_target")
def enhanced_target(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    kind = {"geometric": "geometric", "additive": "arithmetic"}[params["mode"]]
    return {"target": a.enhanced_target(inputs["Y"], params["annual"], params["periods"], kind)}


@register("spls", "beta_to_portfolio")
def run_beta_to_portfolio(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": beta_to_portfolio(inputs["beta"], params["rule"], params.get("omega"), inputs.get("previous"))}


@register("spls", "refit_portfolio")
def run_refit_portfolio(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": refit_portfolio(inputs["C"], inputs["m"], params["support"])}
