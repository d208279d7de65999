"""Family `projections`."""

from typing import Any

from tests.vector_ops.registry import register
from tracker_strategies.algorithms.gradient import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.sets import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)


@register("projections", "simplex")
def simplex(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_simplex(inputs["y"])}


@register("projections", "capped_simplex")
def capped_simplex(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_capped_simplex(inputs["y"], params["u"])}


@register("projections", "l1_ball")
def l1_ball(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_l1_ball(inputs["y"], params["c"])}


@register("projections", "hyperplane")
def hyperplane(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_hyperplane(inputs["y"], params.get("a"), params["b"])}


@register("projections", "box")
def box(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_box(inputs["y"], params["lo"], params["hi"])}


@register("projections", "simplex_diag_metric")
def simplex_diag_metric(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_simplex_diag_metric(inputs["y"], params["H"])}


@register("projections", "l1_ball_diag_metric")
def l1_ball_diag_metric(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_l1_ball_diag_metric(inputs["y"], params["H"], params["c"])}


@register("projections", "weighted_l1_ball")
def weighted_l1_ball(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_weighted_l1_ball(inputs["y"], params["a"], params["c"])}


@register("projections", "simplex_full_metric")
def simplex_full_metric(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"w": project_simplex_full_metric(inputs["y"], params["H"])}
