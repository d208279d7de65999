from ._grid import discount_grid as discount_grid
from .adaptive_discount import AdaptiveDiscount as AdaptiveDiscount
from .adaptive_discount import geometric_intervals as geometric_intervals
from .sketched import SketchedVAW as SketchedVAW
from .strongly_adaptive import StronglyAdaptive as StronglyAdaptive
from .vaw import VAW as VAW
from .vaw import DiscountedVAW as DiscountedVAW
