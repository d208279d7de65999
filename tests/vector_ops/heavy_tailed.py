"""Family `heavy_tailed`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies.algorithms import ShareCounts

#: Keyword arguments by the names that the vectors give to what differs from member to member.
CALLED = {"gamma": "gamma", "c": "ridge", "prior": "prior", "pi": "inertia", "kappa": "kappa"}
COMMON = ("eta", "rho", "psi", "clip", "robust", "ramp", "exact")


@register("heavy_tailed", "heavy_tailed")
def heavy_tailed(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {ours: [member[theirs] for member in params["members"]] for theirs, ours in CALLED.items()}
    learner = ShareCounts(len(inputs["X"][0]), **settings, **{name: params[name] for name in COMMON if name in params})
    found: dict[str, list[Any]] = {"held": [], "p": [], "members": [], "noise": [], "robust_weight": []}

    def look() -> None:
        for name, value in (("held", learner.weights), ("p", learner.p), ("members", learner.members)):
            found[name].append(value)

    look()
    for x, y in zip(inputs["X"], inputs["Y"], strict=True):
        learner.update(x, y)
        look()
        for name in ("noise", "robust_weight"):
            found[name].append(learner.diagnostics()[name])
    return {name: np.array(values) for name, values in found.items()}
