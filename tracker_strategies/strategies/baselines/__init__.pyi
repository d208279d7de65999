from .trackers import BuyAndHold as BuyAndHold
from .trackers import ConstantWeight as ConstantWeight
from .trackers import EqualWeight as EqualWeight
from .trackers import Replicate as Replicate
