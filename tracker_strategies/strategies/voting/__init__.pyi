from .ensemble import EnsembleTracker as EnsembleTracker
from .tilted_ensemble import EnhancedEnsembleTracker as EnhancedEnsembleTracker
