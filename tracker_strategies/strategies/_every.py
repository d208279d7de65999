"""Every strategy that can be run by its name alone. Importing this imports them all."""

from tracker_strategies.strategies.registry import NAMES, NEED_WEIGHTS, load_strategy

#: In the order in which they are listed, but for those that need the weights of the index to run.
STRATEGIES = tuple(load_strategy(name) for name in NAMES if name not in NEED_WEIGHTS)
