from .trackers import AdaptiveLassoTracker as AdaptiveLassoTracker
from .trackers import RandomPortfolios as RandomPortfolios
from .trackers import RecursiveLarsTracker as RecursiveLarsTracker
from .trackers import RLSTracker as RLSTracker
