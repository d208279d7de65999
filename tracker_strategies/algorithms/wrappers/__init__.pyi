from .budgeted import Budgeted as Budgeted
from .holdings import Holdings as Holdings
from .tilted import Tilted as Tilted
