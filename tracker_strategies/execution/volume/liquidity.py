r"""What the market can take of an order, and by how much an order moves its price.

No order fills beyond a share of what was traded on the bar that fills it. Filling q shares moves the price against the order by

    impact = coefficient * sigma * sqrt(q / ADV)

of the quoted price, with sigma the daily volatility and ADV the average daily volume of the 20 sessions before the bar
(:mod:`~tracker_strategies.execution.volume.depth`). Both mean the same for bars of every length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._checks import fraction, number, one_of
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel, outcome_of_fills
from tracker_strategies.execution.rebalancer import LOT_SLACK, Rebalancer
from tracker_strategies.execution.volume.depth import Depth

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: The params of a strategy that say what the market takes.
KEYS = ("max_participation", "unfilled", "impact", "impact_coefficient")
UNFILLED = ("carry", "drop")
#: Largest impact at which an order still fills. The square-root law is about orders that a market can digest.
MOST_IMPACT = 0.5


@dataclass(frozen=True)
class Liquidity:
    """How fills depend on the traded volume.

    Parameters
    ----------
    max_participation : float, optional
        Largest share of a bar's volume that one order may be, in (0, 1]. None with an impact: all of it.
    unfilled : {"carry", "drop"}
        What happens to the rest: it is sent again on the next bars until the next rebalance, or it is cancelled.
    impact : {"sqrt"}, optional
        The square-root law; None for fills at the quoted price.
    impact_coefficient : float, default 1
        Its factor.
    """

    max_participation: float | None = None
    unfilled: str = "carry"
    impact: str | None = None
    impact_coefficient: float = 1.0

    def __post_init__(self) -> None:
        """Validate."""
        if self.max_participation is not None:
            share = fraction("max_participation, a share of the volume,", self.max_participation, above=0.0)
            object.__setattr__(self, "max_participation", share)
        one_of("unfilled", self.unfilled, UNFILLED)
        if self.impact is not None:
            one_of("impact", self.impact, ("sqrt",))
        coefficient = number("impact_coefficient", self.impact_coefficient, above=0.0)
        if self.impact is None and coefficient != 1.0:
            raise ParameterError(f"impact_coefficient={coefficient:g} has no effect without impact; add impact=sqrt")
        object.__setattr__(self, "impact_coefficient", coefficient)

    @classmethod
    def of(cls, p: Any) -> Self | None:
        """From the params of a strategy (a namespace or a mapping); None where fills do not depend on volume."""
        get = p.get if hasattr(p, "get") else lambda key: getattr(p, key, None)
        given = {key: value for key in KEYS if (value := get(key)) is not None}
        made = cls(**given)
        return None if made.max_participation is None and made.impact is None else made

    @property
    def carries(self) -> bool:
        """Whether the rest of an order is sent again."""
        return self.unfilled == "carry"

    def tradable(self, depth: Depth, current: BoolArray | None) -> BoolArray | None:
        """Names that can be traded, of those that have a bar (None: all): an impact needs past bars of a name."""
        if self.impact is None or bool(depth.known.all()):
            return current
        return depth.known if current is None else depth.known & current

    def taken(self, deltas: FloatArray, depth: Depth, lot: float = 0.0) -> FloatArray:
        """The part of each order that the bar fills, in whole lots if that is less; the same array if it fills all."""
        most = (1.0 if self.max_participation is None else self.max_participation) * depth.volume
        if self.impact is not None:
            with np.errstate(divide="ignore"):
                bearable = depth.usual * (MOST_IMPACT / (self.impact_coefficient * depth.volatility)) ** 2
            most = np.where(depth.known, np.minimum(most, bearable), 0.0)
        fits = np.abs(deltas) <= most
        if fits.all():
            return deltas
        if lot:
            most = np.floor(most / lot + LOT_SLACK) * lot
        return np.where(fits, deltas, np.sign(deltas) * most + 0.0)

    def priced(self, rebalancer: Rebalancer, depth: Depth, *, ahead: bool = False) -> Rebalancer:
        """The rebalancer with what this market charges on top; `ahead`: for orders of which it will take a usual share only."""
        if self.impact is None:
            return rebalancer
        usual = np.where(depth.known, depth.usual, 1.0)
        rate = np.where(depth.known, self.impact_coefficient * depth.volatility / np.sqrt(usual), 0.0)
        most = usual * (self.max_participation or 1.0) if ahead else np.full(len(rate), np.inf)
        return replace(rebalancer, costs=with_impact(rebalancer.costs, rate, most))


class Impact(CostModel):
    """Mixed into a cost model: fills move the price by ``rate * sqrt(shares)`` of it, for at most so many shares."""

    rate: FloatArray
    most: FloatArray

    proportional = property(lambda self: False)
    free = property(lambda self: False)
    by_value = property(lambda self: False)
    #: What trades cost grows faster than they do, and without jumps unless there is a minimum fee.
    convex = property(lambda self: not self.min_fee)

    def taken(self, which: Any) -> CostModel:
        """Of some of the names."""
        own = slice(None) if which is None else which
        return with_impact(super().taken(which), self.rate[own], self.most[own])

    def moved(self, deltas: FloatArray) -> FloatArray:
        """By how much of its price each order moves it."""
        return np.asarray(self.rate * np.sqrt(np.minimum(np.abs(deltas), self.most)))

    def moved_by(self, place: int, size: float) -> float:
        """The same for one order."""
        return float(self.rate[place] * np.sqrt(min(abs(size), self.most[place])))

    def fill_prices(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """Prices at which orders of these sizes fill."""
        return np.asarray(super().fill_prices(deltas, prices) + np.sign(deltas) * self.moved(deltas) * prices)

    def outcome(self, deltas: FloatArray, prices: FloatArray) -> tuple[float, float, float]:
        """Change of cash, value traded and costs."""
        return outcome_of_fills(self, deltas, prices)


def with_impact(costs: CostModel, rate: FloatArray, most: FloatArray) -> CostModel:
    """These costs, and an impact on top."""
    made = object.__new__(_impacted(cast(Any, type(costs))))
    vars(made).update({name: vars(costs)[name] for name in costs.__dataclass_fields__}, rate=rate, most=most)
    return cast(CostModel, made)


@cache
def _impacted(kind: Any) -> Any:
    return type(f"{kind.__name__}WithImpact", (Impact,) if kind is CostModel else (Impact, kind), {})


def check_filler(liquidity: Liquidity | None, broker: Any) -> None:
    """Refuse a volume filler on the broker beside limits of the tracker's own: each would leave a rest, and to another end."""
    filler = getattr(broker.p, "filler", None)
    if liquidity is not None and filler is not None:
        name = getattr(filler, "__name__", type(filler).__name__)
        raise ParameterError(
            f"the broker has a volume filler ({name}) and the tracker has max_participation or impact: both decide how much "
            "fills; remove one of them (cerebro.broker.set_filler, or the tracker's params)"
        )
