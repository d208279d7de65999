from .composition import check_composition as check_composition
from .errors import CheckError as CheckError
from .errors import LookAheadError as LookAheadError
from .learner import check_learner as check_learner
from .lookahead import check_no_lookahead as check_no_lookahead
from .strategy import check_strategy as check_strategy
