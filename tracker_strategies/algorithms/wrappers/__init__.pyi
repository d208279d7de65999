from .budgeted import Budgeted as Budgeted
from .cost_aware import CostAware as CostAware
from .holdings import Holdings as Holdings
from .tilted import Tilted as Tilted
from .top_names import TopNames as TopNames
