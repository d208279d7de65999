from .ensemble import EnsembleTracker as EnsembleTracker
from .tilted_ensemble import TiltedEnsembleTracker as TiltedEnsembleTracker
