"""Online learners of tracking portfolios and their building blocks. Needs numpy only: no backtrader, no pandas."""

from tracker_strategies.algorithms.base import OnlineAlgorithm
from tracker_strategies.algorithms.baselines.constant import ConstantWeights
from tracker_strategies.algorithms.baselines.static import StaticPortfolio
from tracker_strategies.algorithms.gradient.adagrad import AdaGrad
from tracker_strategies.algorithms.gradient.arow import AROW
from tracker_strategies.algorithms.gradient.first_order import FOBOS, OGD, RDA
from tracker_strategies.algorithms.gradient.metric_projections import (
    project_l1_ball_diag_metric,
    project_simplex_diag_metric,
    project_simplex_full_metric,
    project_weighted_l1_ball,
)
from tracker_strategies.algorithms.gradient.sparse_adagrad import SparseAdaGrad
from tracker_strategies.algorithms.least_squares.dense import LeastSquares
from tracker_strategies.algorithms.least_squares.sparse import SparseLeastSquares
from tracker_strategies.algorithms.numerics import kernels
from tracker_strategies.algorithms.numerics.fixed_share import FixedShare
from tracker_strategies.algorithms.numerics.lasso_path import LarsPath, lars_path, lasso_gram
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp
from tracker_strategies.algorithms.passive_aggressive.apas import APAS
from tracker_strategies.algorithms.passive_aggressive.batch import BatchResult, pa_batch
from tracker_strategies.algorithms.passive_aggressive.batch_slait import SlaitResult, slait
from tracker_strategies.algorithms.passive_aggressive.multi_target import MultiTargetPA
from tracker_strategies.algorithms.passive_aggressive.multiplicative import MultiplicativePA
from tracker_strategies.algorithms.passive_aggressive.online_slait import SLAIT
from tracker_strategies.algorithms.passive_aggressive.pa import PA
from tracker_strategies.algorithms.passive_aggressive.pas import PAS
from tracker_strategies.algorithms.passive_aggressive.tasks import PAClassifier, PAUniclass
from tracker_strategies.algorithms.regression.adaptive_lasso import AdaptiveLasso
from tracker_strategies.algorithms.regression.forgetting import SelfTuning
from tracker_strategies.algorithms.regression.random_portfolios import RandomPortfolios
from tracker_strategies.algorithms.regression.recursive_lars import RecursiveLars
from tracker_strategies.algorithms.regression.rls import RLS
from tracker_strategies.algorithms.regression.to_portfolio import beta_to_portfolio, refit_portfolio
from tracker_strategies.algorithms.sets.feasible import (
    Box,
    CappedSimplex,
    FeasibleSet,
    Hyperplane,
    L1Ball,
    RealSpace,
    Simplex,
    feasible_from_dict,
)
from tracker_strategies.algorithms.sets.grouped import GroupedSimplex
from tracker_strategies.algorithms.sets.projections import (
    project_box,
    project_capped_simplex,
    project_hyperplane,
    project_l1_ball,
    project_simplex,
)
from tracker_strategies.algorithms.side.base import Round, SideInformation, Sum, side_from_dict
from tracker_strategies.algorithms.side.convex_approximation import sca
from tracker_strategies.algorithms.side.costs import GroupLasso, SwitchingCost, WeightedL1
from tracker_strategies.algorithms.side.smooth import AlphaSignal, Constant, Linear, NegativeLogReturn, Quadratic, UserDefined
from tracker_strategies.algorithms.sparse_pls.batch import SparsePLSFit, sparse_pls
from tracker_strategies.algorithms.sparse_pls.cross_validation import SparsePLSChoice, choose_sparse_pls
from tracker_strategies.algorithms.sparse_pls.factor_count import FactorCount
from tracker_strategies.algorithms.sparse_pls.online import SparsePLS
from tracker_strategies.algorithms.sparse_pls.thresholding import sparsify
from tracker_strategies.algorithms.targets import enhanced_target
from tracker_strategies.algorithms.vaw._discount_grid import discount_grid, geometric_intervals
from tracker_strategies.algorithms.vaw.adaptive_discount import AdaptiveDiscount
from tracker_strategies.algorithms.vaw.sketched import SketchedVAW
from tracker_strategies.algorithms.vaw.strongly_adaptive import StronglyAdaptive
from tracker_strategies.algorithms.vaw.vaw import VAW, DiscountedVAW
from tracker_strategies.algorithms.voting.vote import Vote
from tracker_strategies.algorithms.wrappers.cost_aware import CostAware
from tracker_strategies.algorithms.wrappers.holdings import Holdings
from tracker_strategies.algorithms.wrappers.tilted import Tilted
from tracker_strategies.algorithms.wrappers.top_names import TopNames

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
