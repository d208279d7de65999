"""Online learners of tracking portfolios and their building blocks. Needs numpy only: no backtrader, no pandas."""

from tracker_strategies.algorithms import kernels
from tracker_strategies.algorithms.adagrad import AdaGrad
from tracker_strategies.algorithms.adaptive_discount import AdaptiveDiscount
from tracker_strategies.algorithms.adaptive_lasso import AdaptiveLasso
from tracker_strategies.algorithms.apas import APAS
from tracker_strategies.algorithms.arow import AROW
from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.coefficients_to_portfolio import beta_to_portfolio, refit_portfolio
from tracker_strategies.algorithms.constant import ConstantWeights
from tracker_strategies.algorithms.cost_aware import CostAware
from tracker_strategies.algorithms.discount_grid import discount_grid, geometric_intervals
from tracker_strategies.algorithms.enhanced_target import enhanced_target
from tracker_strategies.algorithms.factor_count import FactorCount
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
from tracker_strategies.algorithms.fixed_share import FixedShare
from tracker_strategies.algorithms.grouped import GroupedSimplex
from tracker_strategies.algorithms.holdings import Holdings
from tracker_strategies.algorithms.lasso_path import LarsPath, lars_path, lasso_gram
from tracker_strategies.algorithms.least_squares import LeastSquares
from tracker_strategies.algorithms.metric_projections import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.multi_target_pa import MultiTargetPA
from tracker_strategies.algorithms.multiplicative_pa import MultiplicativePA
from tracker_strategies.algorithms.non_adaptive import FOBOS, OGD, RDA
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
from tracker_strategies.algorithms.random_portfolios import RandomPortfolios
from tracker_strategies.algorithms.recursive_lars import RecursiveLars
from tracker_strategies.algorithms.rls import RLS
from tracker_strategies.algorithms.sca import sca
from tracker_strategies.algorithms.self_tuning import SelfTuning
from tracker_strategies.algorithms.side_costs import GroupLasso, SwitchingCost, WeightedL1
from tracker_strategies.algorithms.side_information import Round, SideInformation, Sum, side_from_dict
from tracker_strategies.algorithms.side_smooth import AlphaSignal, Constant, Linear, NegativeLogReturn, Quadratic, UserDefined
from tracker_strategies.algorithms.simplex_least_squares import solve_simplex_qp
from tracker_strategies.algorithms.sketched_vaw import SketchedVAW
from tracker_strategies.algorithms.slait import SlaitResult, slait
from tracker_strategies.algorithms.slait_online import SLAIT
from tracker_strategies.algorithms.sparse_adagrad import SparseAdaGrad
from tracker_strategies.algorithms.sparse_least_squares import SparseLeastSquares
from tracker_strategies.algorithms.sparse_pls import SparsePLSFit, sparse_pls
from tracker_strategies.algorithms.sparse_pls_cv import SparsePLSChoice, choose_sparse_pls
from tracker_strategies.algorithms.sparse_pls_online import SparsePLS
from tracker_strategies.algorithms.sparsify import sparsify
from tracker_strategies.algorithms.static_portfolio import StaticPortfolio
from tracker_strategies.algorithms.strongly_adaptive import StronglyAdaptive
from tracker_strategies.algorithms.tilted import Tilted
from tracker_strategies.algorithms.top_names import TopNames
from tracker_strategies.algorithms.vaw import VAW, DiscountedVAW
from tracker_strategies.algorithms.vote import Vote

__all__ = [
    "APAS",
    "AROW",
    "FOBOS",
    "OGD",
    "PA",
    "PAS",
    "RDA",
    "RLS",
    "SLAIT",
    "VAW",
    "AdaGrad",
    "AdaptiveDiscount",
    "AdaptiveLasso",
    "AlphaSignal",
    "BatchResult",
    "Box",
    "CappedSimplex",
    "Constant",
    "ConstantWeights",
    "CostAware",
    "DiscountedVAW",
    "FactorCount",
    "FeasibleSet",
    "FixedShare",
    "GroupLasso",
    "GroupedSimplex",
    "Holdings",
    "Hyperplane",
    "L1Ball",
    "LarsPath",
    "LeastSquares",
    "Linear",
    "MultiTargetPA",
    "MultiplicativePA",
    "NegativeLogReturn",
    "OnlineAlgorithm",
    "PAClassifier",
    "PAUniclass",
    "Quadratic",
    "RandomPortfolios",
    "RealSpace",
    "RecursiveLars",
    "Round",
    "SelfTuning",
    "SideInformation",
    "Simplex",
    "SketchedVAW",
    "SlaitResult",
    "SparseAdaGrad",
    "SparseLeastSquares",
    "SparsePLS",
    "SparsePLSChoice",
    "SparsePLSFit",
    "StaticPortfolio",
    "StronglyAdaptive",
    "Sum",
    "SwitchingCost",
    "Tilted",
    "TopNames",
    "UserDefined",
    "Vote",
    "WeightedL1",
    "beta_to_portfolio",
    "choose_sparse_pls",
    "discount_grid",
    "enhanced_target",
    "feasible_from_dict",
    "geometric_intervals",
    "kernels",
    "lars_path",
    "lasso_gram",
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
    "refit_portfolio",
    "sca",
    "side_from_dict",
    "slait",
    "solve_simplex_qp",
    "sparse_pls",
    "sparsify",
]

kernels.use_environment()
