"""Online learners of tracking portfolios and their building blocks. Needs numpy only: no backtrader, no pandas."""

from tracker_strategies.algorithms.apas import APAS
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
from tracker_strategies.algorithms.grouped import GroupedSimplex
from tracker_strategies.algorithms.metric_projections import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.multi_target_pa import MultiTargetPA
from tracker_strategies.algorithms.multiplicative_pa import MultiplicativePA
from tracker_strategies.algorithms.pa import PA
from tracker_strategies.algorithms.pa_batch import BatchResult, pa_batch
from tracker_strategies.algorithms.pa_tasks import PAClassifier, PAUniclass
from tracker_strategies.algorithms.pas import PAS
from tracker_strategies.algorithms.projections import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)
from tracker_strategies.algorithms.sca import sca
from tracker_strategies.algorithms.side_costs import GroupLasso, SwitchingCost, WeightedL1
from tracker_strategies.algorithms.side_information import Round, SideInformation, Sum, side_from_dict
from tracker_strategies.algorithms.side_smooth import AlphaSignal, Constant, Linear, NegativeLogReturn, Quadratic, UserDefined
from tracker_strategies.algorithms.slait import SlaitResult, slait
from tracker_strategies.algorithms.slait_online import SLAIT

__all__ = [
    "APAS",
    "PA",
    "PAS",
    "SLAIT",
    "AlphaSignal",
    "BatchResult",
    "Box",
    "CappedSimplex",
    "Constant",
    "ConstantWeights",
    "FeasibleSet",
    "GroupLasso",
    "GroupedSimplex",
    "Hyperplane",
    "L1Ball",
    "Linear",
    "MultiTargetPA",
    "MultiplicativePA",
    "NegativeLogReturn",
    "OnlineAlgorithm",
    "PAClassifier",
    "PAUniclass",
    "Quadratic",
    "RealSpace",
    "Round",
    "SideInformation",
    "Simplex",
    "SlaitResult",
    "Sum",
    "SwitchingCost",
    "UserDefined",
    "WeightedL1",
    "feasible_from_dict",
    "pa_batch",
    "project_box",
    "project_capped_simplex",
    "project_hyperplane",
    "project_l1_ball",
    "project_l1_ball_diag_metric",
    "project_simplex",
    "project_simplex_diag_metric",
    "project_simplex_full_metric",
    "project_weighted_l1_ball",
    "sca",
    "side_from_dict",
    "slait",
]
