"""Family `metrics`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register


@register("metrics", "metrics")
def metrics(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    from tracker_strategies.analysis.metrics import vector_metrics

    W, X, Y = (np.array(inputs[name], dtype=float) for name in ("W", "X", "Y"))
    return dict(vector_metrics(W, X, Y, params["periods"]))
