"""Family `apas`."""

from typing import Any

import numpy as np

from tests.vector_ops.pa import aggressiveness
from tests.vector_ops.prox import side_information
from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.sets import feasible_from_dict

NAMES = {"err": "err", "zeta": "zeta", "eta": "eta", "g": "g", "gtilde": "g_tilde", "G": "G"}


def follow(learner: Any, X: Any, Y: Any, signals: Any = None) -> dict[str, Any]:
    """Run PAS or APAS; return all that vectors compare. `what`, `f` and `h` follow from what the learner says of its step."""
    w, eps, out = [learner.weights], [learner.diagnostics()["eps"]], {k: [] for k in (*NAMES, "what", "f", "h")}
    lam = learner.lam
    for t, (x, y) in enumerate(zip(np.array(X, dtype=float), Y, strict=True)):
        signal = None if signals is None else np.array(signals[t], dtype=float)
        before = learner.weights
        after = learner.update(x, y) if signal is None else learner.update(x, y, signal=signal)
        said = learner.diagnostics()
        said["err"] = abs(said["prediction"] - y)
        what = before + np.copysign(said["tau"], y - said["prediction"]) * x
        h = learner.side.value(after, a.Round(x, before, signal))
        out["what"].append(what)
        out["h"].append(h)
        out["f"].append(h + float(((after - what) ** 2).sum()) / (2.0 * lam))
        for key, name in NAMES.items():
            if name in said:
                out[key].append(said[name])
        w.append(after)
        eps.append(said["eps"])
    return {"w": w, "eps": eps, **{k: v for k, v in out.items() if v}}


def make_apas(params: dict[str, Any], w1: Any, side: a.SideInformation) -> a.APAS:
    return a.APAS(
        len(w1),
        side=side,
        lam=params["lam"],
        nu=params["nu"],
        D=params["D"],
        eps=params["eps1"],
        G=params["G"],
        G_mode=params["G_mode"],
        variant=params["variant"],
        C=aggressiveness(params),
        feasible=feasible_from_dict(params["W"]),
        start=w1,
    )


@register("apas", "apas", "apas_branch")
def apas(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return follow(make_apas(params, inputs["w1"], side_information(params["h"])), inputs["X"], inputs["Y"])


@register("apas", "pas")
def pas(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    learner = a.PAS(
        len(inputs["w1"]),
        side=side_information(params["h"]),
        lam=params["lam"],
        eps=params["eps"],
        variant=params["variant"],
        C=aggressiveness(params),
        feasible=feasible_from_dict(params["W"]),
        start=inputs["w1"],
    )
    return follow(learner, inputs["X"], inputs["Y"])


@register("apas", "pas_const_equals_pa")
def pas_const_equals_pa(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    n, W = len(inputs["w1"]), feasible_from_dict(params["W"])
    start, eps = inputs["w1"], params["eps"]
    pas = a.PAS(n, side=a.Constant(), lam=params["lam"], eps=eps, feasible=W, start=start)
    pa = a.PA(n, eps=eps, feasible=W, start=start)
    w = follow(pas, inputs["X"], inputs["Y"])["w"]
    w_pa = [pa.weights, *(pa.update(x, y) for x, y in zip(inputs["X"], inputs["Y"], strict=True))]
    np.testing.assert_allclose(w, w_pa, rtol=0, atol=1e-12)
    return {"w": w}
