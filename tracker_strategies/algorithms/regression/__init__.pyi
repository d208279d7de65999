from .adaptive_lasso import AdaptiveLasso as AdaptiveLasso
from .forgetting import SelfTuning as SelfTuning
from .random_portfolios import RandomPortfolios as RandomPortfolios
from .recursive_lars import RecursiveLars as RecursiveLars
from .rls import RLS as RLS
from .to_portfolio import beta_to_portfolio as beta_to_portfolio
from .to_portfolio import refit_portfolio as refit_portfolio
