"""From the params of a strategy to its mandate, and to the coordinates in which it learns.

A learner is not told of the mandate. Measured on three markets with caps of 3 and 5 % and sectors of 20 %, learners that were
handed the limits as their feasible set (pa, apas, adagrad, vaw) tracked up to a fifth worse and traded three times as much:
inside its set a learner answers an error that only the limits cause by trading on every bar.
"""

from __future__ import annotations

import warnings
from typing import Any

from tracker_strategies.algorithms import Holdings, OnlineAlgorithm
from tracker_strategies.errors import OldNameWarning, ParameterError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.mandate.binding import written_out
from tracker_strategies.execution.mandate.mandate import KEYS


def settle_mandate(cls: Any, p: Any, symbols: tuple[str, ...]) -> Mandate:
    """The mandate of a strategy: what ``mandate`` says and what the params say, together. The params tell all of it after, with
    the sectors of the names in the place of a file.

    Raises :class:`ParameterError` where both say different things.
    """
    defaults = dict(cls.params._getitems())
    mandate = Mandate.of(p.mandate)
    told = mandate.said()
    given = {name: getattr(p, name) for name in KEYS if getattr(p, name, None) is not None}
    # What a strategy has by default gives way to what a mandate says.
    own = {name: value for name, value in given.items() if not (name in told and value == defaults.get(name))}
    mandate = mandate.merged(own)
    if mandate.max_names is not None and mandate.max_names >= len(symbols):
        mandate = mandate.overruled({"max_names": None})  # as many as there are: no limit
    mandate = written_out(mandate)
    for name, value in mandate.plain().items():
        setattr(p, name, value)
    p.mandate = None
    return mandate


def settle_coordinates(p: Any) -> None:
    """Refuse coordinates that are unknown; the old word for share counts becomes the new one."""
    if p.coordinates == "holdings":
        said = "coordinates='holdings' is now called 'shares'; the old name will be removed in the next release"
        warnings.warn(said, OldNameWarning, 2)
        p.coordinates = "shares"
    if p.coordinates not in ("weights", "shares"):
        raise ParameterError(f"coordinates={p.coordinates!r} is unknown; choose weights or shares")


def in_coordinates(p: Any, algorithm: OnlineAlgorithm) -> OnlineAlgorithm:
    """The algorithm, in share counts where the params ask for that."""
    return Holdings(algorithm.n_assets, learner=algorithm) if p.coordinates == "shares" else algorithm
