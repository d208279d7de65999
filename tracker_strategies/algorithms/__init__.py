"""Online learners of tracking portfolios and their building blocks. Needs numpy only: no backtrader, no pandas."""

from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.constant import ConstantWeights
from tracker_strategies.algorithms.feasible import (
    Box,
    CappedSimplex,
    FeasibleSet,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
    feasible_from_dict,
)
from tracker_strategies.algorithms.metric_projections import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.pa import PA
from tracker_strategies.algorithms.projections import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)

__all__ = [
    "PA",
    "Box",
    "CappedSimplex",
    "ConstantWeights",
    "FeasibleSet",
    "Hyperplane",
    "L1Ball",
    "OnlineAlgorithm",
    "RealSpace",
    "Simplex",
    "feasible_from_dict",
    "project_box",
    "project_capped_simplex",
    "project_hyperplane",
    "project_l1_ball",
    "project_l1_ball_diag_metric",
    "project_simplex",
    "project_simplex_diag_metric",
    "project_simplex_full_metric",
    "project_weighted_l1_ball",
]
