"""Family `comparators`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies.algorithms.passive_aggressive.batch_slait import SlaitProblem


@register("comparators", "slait_mm")
def slait_mm(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    X, r, w = (np.array(inputs[name], dtype=float) for name in ("X", "r", "w0"))
    u, p = params["u"], params["p"]
    caps = np.full(X.shape[1], u)
    problem = SlaitProblem(X, r, lam=params["lam"], caps=caps, u=u, measure=params["measure"])
    iterates, values = [w], [problem.objective(w, p)]
    for _ in range(params["K"]):
        iterates.append(problem.step(iterates[-1], p))
        values.append(problem.objective(iterates[-1], p))
    assert (np.diff(values) <= 1e-15 * np.abs(values[0])).all(), "the objective increased"
    return {"w": iterates, "objective": values, "lmax": problem.lmax}
