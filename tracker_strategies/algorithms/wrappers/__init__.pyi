from .budgeted import Budgeted as Budgeted
from .few_names import FewNames as FewNames
from .holdings import Holdings as Holdings
from .tilted import Tilted as Tilted
