from .learner import ShareCounts as ShareCounts
