"""Every strategy that can be run by name. Importing this imports them all."""

from tracker_strategies.strategies.registry import NAMES, load_strategy

#: In the order in which they are listed.
STRATEGIES = tuple(map(load_strategy, NAMES))
