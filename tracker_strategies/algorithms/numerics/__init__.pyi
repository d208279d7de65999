from . import kernels as kernels
from .expert_weights import FixedShare as FixedShare
from .lasso_path import LarsPath as LarsPath
from .lasso_path import lars_path as lars_path
from .lasso_path import lasso_gram as lasso_gram
from .simplex_qp import solve_simplex_qp as solve_simplex_qp
