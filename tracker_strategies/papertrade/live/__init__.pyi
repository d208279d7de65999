from .watching import practise as practise
from .watching import watch as watch
