from .dense import LeastSquares as LeastSquares
from .sparse import SparseLeastSquares as SparseLeastSquares
