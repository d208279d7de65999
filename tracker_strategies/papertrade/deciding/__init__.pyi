from .by_cerebro import Wish as Wish
from .by_cerebro import wish_by_cerebro as wish_by_cerebro
from .by_checkpoint import bar_before_the_open as bar_before_the_open
from .checkpoint import Balance as Balance
from .decider import Decider as Decider
from .tickets import in_shares as in_shares
from .tickets import make_tickets as make_tickets
