from .relaxing import relax as relax
from .solver import Solution as Solution
from .solver import Start as Start
from .solver import inside as inside
from .solver import nearest as nearest
