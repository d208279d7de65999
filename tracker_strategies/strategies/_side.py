"""Side information from the params of a strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracker_strategies.algorithms import (
    AlphaSignal,
    Constant,
    Linear,
    NegativeLogReturn,
    Quadratic,
    SideInformation,
    Sum,
    SwitchingCost,
    WeightedL1,
)
from tracker_strategies.errors import ParameterError

#: The params with their defaults and what they are.
SIDE: dict[str, tuple[Any, str]] = {
    "side": (
        "log-return",
        '"log-return" (what has just risen), "switching" (trade little), "signal" (your own view), "none", several joined by '
        '"+", or a :class:`~tracker_strategies.algorithms.SideInformation` that you define',
    ),
    "log_weight": (1.0, "factor of the log return"),
    # With the default lam of 1/N and N = 100 the dead zone lam * kappa of a weight is 3e-5.
    "kappa": (3e-3, "factor of the switching cost, which is against what is really held, so that it prices real turnover"),
    "signal": (
        None,
        "callable from a :class:`~tracker_strategies.execution.gate.Bar` to one number per asset. A subclass may set "
        "``self.signal_lines`` to one backtrader line per asset instead. No number yet (NaN) is no view",
    ),
    "signal_weight": (1.0, "factor of the signal"),
}


def names_positions(side: Any) -> bool:
    """Whether side information knows assets by their positions; the terms that strategies make by name do not."""
    if not isinstance(side, SideInformation):
        return False
    if isinstance(side, Sum):
        return any(map(names_positions, side.terms))
    same_for_all = isinstance(side, NegativeLogReturn | SwitchingCost | AlphaSignal | Constant | Linear | Quadratic | WeightedL1)
    return not same_for_all or any(isinstance(getattr(side, name), np.ndarray) for name in side.parameters)


def side_information(p: Any) -> SideInformation:
    """The side information that the params describe."""
    if isinstance(p.side, SideInformation):
        return p.side
    makers: dict[str, Callable[[], SideInformation]] = {
        "log-return": lambda: NegativeLogReturn(p.log_weight),
        "switching": lambda: SwitchingCost(p.kappa, against="drifted"),
        "signal": lambda: AlphaSignal(p.signal_weight, optional=True),
        "none": lambda: Constant(0.0),
    }
    names = [name.strip() for name in str(p.side).split("+")]
    if p.signal is not None and "signal" not in names:
        names.append("signal")
    unknown = [name for name in names if name not in makers]
    if unknown:
        raise ParameterError(f"side={unknown[0]!r} is unknown; choose one of {', '.join(makers)}, or several joined with '+'")
    terms = [makers[name]() for name in dict.fromkeys(names)]
    return terms[0] if len(terms) == 1 else Sum(terms)


def signal_of(p: Any) -> Any:
    """The function of the param ``signal``, or None."""
    signal = getattr(p, "signal", None)
    if signal is not None and not callable(signal):
        raise ParameterError(f"signal={signal!r} must be a function that takes a bar and returns one number per asset")
    return signal
