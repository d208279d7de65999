from .multi_index import MultiIndexTracker as MultiIndexTracker
from .trackers import APASTracker as APASTracker
from .trackers import MultiplicativePATracker as MultiplicativePATracker
from .trackers import PASTracker as PASTracker
from .trackers import PATracker as PATracker
from .trackers import SLAITTracker as SLAITTracker
