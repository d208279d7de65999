from .trackers import LeastSquaresTracker as LeastSquaresTracker
