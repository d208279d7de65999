"""Family `metrics`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register


@register("metrics", "metrics")
def metrics(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Weights W (held during round t, row t) scored on asset returns X and index returns Y, in the names of the papers."""
    from tracker_strategies.analysis.metrics import annualised, downside_risk, tracking_metrics, weight_turnover

    W, X, Y = (np.array(inputs[name], dtype=float) for name in ("W", "X", "Y"))
    r = np.einsum("tn,tn->t", W, X)
    core = tracking_metrics(r, Y)
    return {
        "portfolio_return": r,
        "mdte": core["mdte"],
        "rmse": core["te_rms"],
        "mse": core["te_rms"] ** 2,
        "te_std": core["te_centred"],
        "te_annual": annualised(core["te_centred"], params["periods"]),
        "excess_cum_return": core["excess_log_return"],
        "downside_risk": downside_risk(r, Y),
        "turnover_oneway_drift": 0.5 * float(weight_turnover(W, X).sum()),
        "weight_change_l1": float(np.abs(np.diff(W, axis=0)).sum()),
    }
