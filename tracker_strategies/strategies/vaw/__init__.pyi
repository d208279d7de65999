from .trackers import AdaptiveDiscountTracker as AdaptiveDiscountTracker
from .trackers import DiscountedVAWTracker as DiscountedVAWTracker
from .trackers import VAWTracker as VAWTracker
