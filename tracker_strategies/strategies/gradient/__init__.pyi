from .trackers import AdaGradTracker as AdaGradTracker
