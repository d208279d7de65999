"""What a trade costs, as arrays: commission in basis points, per share, with a minimum fee, and slippage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.sums import inner

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class CostModel:
    """Costs of filling orders.

    A buy of d shares at the quoted price p fills at P = p (1 + slippage), a sell at P = p (1 - slippage). Each order pays

        fee = max( min_fee, |d| ( P bps / 10^4 + per_share ) ).

    Parameters
    ----------
    bps : float, default 0
        Commission in basis points of the traded value.
    per_share : float, default 0
        Commission per share, in account currency.
    min_fee : float, default 0
        Minimum commission per order, in account currency.
    slippage_bps : float, default 0
        How much worse than the quoted price an order fills, in basis points.

    Examples
    --------
    >>> import numpy as np
    >>> from tracker_strategies import CostModel
    >>> CostModel(bps=5, min_fee=1.0).fees(np.array([100.0, 1.0]), np.array([50.0, 50.0])).tolist()
    [2.5, 1.0]
    """

    bps: float = 0.0
    per_share: float = 0.0
    min_fee: float = 0.0
    slippage_bps: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would make trading profitable or impossible."""
        for name in ("bps", "per_share", "min_fee", "slippage_bps"):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and value >= 0.0):
                raise ParameterError(f"cost {name}={value!r} must be a finite number >= 0")
        if self.bps + self.slippage_bps >= 5000.0:
            raise ParameterError(
                f"costs of {self.bps + self.slippage_bps:g} basis points per trade leave nothing to invest; 5 is typical"
            )

    @cached_property
    def even_odd(self) -> tuple[float, float]:
        """Half the sum and half the difference of what buying and selling a unit of value costs, per-share fees aside."""
        buy, sell = replace(self, per_share=0.0).side_rates(np.ones(1))
        return 0.5 * float(buy + sell), 0.5 * float(buy - sell)

    @cached_property
    def sides(self) -> tuple[float, float]:
        """Cash that a unit of value takes when it is bought, and brings when it is sold, per-share fees aside."""
        even, odd = self.even_odd
        return 1.0 + even + odd, 1.0 - even + odd

    @cached_property
    def proportional(self) -> bool:
        """Whether costs grow in proportion to what is traded: no minimum, nothing unknown."""
        return not self.min_fee

    @property
    def convex(self) -> bool:
        """Whether costs grow faster than what is traded, without jumps."""
        return False

    @cached_property
    def free(self) -> bool:
        """Whether trading costs nothing."""
        return not (self.bps or self.per_share or self.min_fee or self.slippage_bps)

    def taken(self, which: Any) -> CostModel:
        """The costs of some of the names, by an index or a mask; None for all. The same for all here."""
        return self

    @property
    def rates(self) -> tuple[float, float, float]:
        """Basis points, money per share and the minimum fee."""
        return self.bps, self.per_share, self.min_fee

    def in_words(self) -> str:
        """What is charged, for a caption: every part of it that is not zero."""
        parts = (
            (self.bps, f"{self.bps:g} bp costs"),
            (self.per_share, f"{self.per_share:g} per share"),
            (self.min_fee, f"at least {self.min_fee:,g} per order"),
            (self.slippage_bps, f"{self.slippage_bps:g} bp slippage"),
        )
        return ", ".join(words for value, words in parts if value) or "no costs"

    def fill_prices(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """Prices at which orders of these sizes fill."""
        if not self.slippage_bps:
            return prices
        return np.asarray(prices * (1.0 + np.sign(deltas) * (self.slippage_bps * 1e-4)))

    def fees(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """Commission of each order; 0 where nothing is traded. Prices are the quoted ones."""
        size = np.abs(deltas)
        fee = size * (self.fill_prices(deltas, prices) * (self.bps * 1e-4) + self.per_share)
        return np.where(size > 0.0, np.maximum(fee, self.min_fee), 0.0) if self.min_fee else np.asarray(fee)

    def cash_flow(self, deltas: FloatArray, prices: FloatArray) -> float:
        """Change of cash when all orders fill: sells minus buys minus fees."""
        return self.outcome(deltas, prices)[0]

    def outcome(self, deltas: FloatArray, prices: FloatArray) -> tuple[float, float, float]:
        """Change of cash, value traded and costs (fees and slippage), all in money, when all orders fill.

        With B = sum d p and A = sum |d| p the fills cost B + slip A, and fees without a minimum are
        bps (A + slip B) + per_share sum |d|.
        """
        size = np.abs(deltas)
        net, gross = inner(deltas, prices), inner(size, prices)
        if self.min_fee:
            slip = self.slippage_bps * 1e-4
            fees = float(self.fees(deltas, prices).sum())
            return -net - slip * gross - fees, gross + slip * net, fees + slip * gross
        flow, traded, paid = self.charged(net, gross)
        if self.per_share:
            more = self.per_share * float(size.sum())
            return flow - more, traded, paid + more
        return flow, traded, paid

    def charged(self, net: Any, gross: Any) -> tuple[Any, Any, Any]:
        """The outcome of trades with B = `net` and A = `gross`, numbers or arrays of them, where costs depend on nothing else."""
        slip = self.slippage_bps * 1e-4
        traded = gross + slip * net
        fees = (self.bps * 1e-4) * traded
        return -net - slip * gross - fees, traded, fees + slip * gross

    @cached_property
    def by_value(self) -> bool:
        """Whether costs depend on the value traded alone, which is when :meth:`charged` tells all."""
        return not (self.per_share or self.min_fee)

    def side_rates(self, prices: FloatArray) -> tuple[FloatArray | float, FloatArray | float]:
        """Cost of a buy and of a sell per unit of quoted value, minimum fee aside.

        Buying value v takes (1 + b) v of cash, selling value v yields (1 - s) v, with
        b = (1 + slip)(1 + bps) - 1 + per_share / p and s = 1 - (1 - slip)(1 - bps) + per_share / p.
        """
        slip, rate = self.slippage_bps * 1e-4, self.bps * 1e-4
        buy, sell = (1.0 + slip) * (1.0 + rate) - 1.0, 1.0 - (1.0 - slip) * (1.0 - rate)
        if not self.per_share:
            return buy, sell
        share = self.per_share / prices
        return buy + share, sell + share


def outcome_of_fills(costs: CostModel, deltas: FloatArray, prices: FloatArray) -> tuple[float, float, float]:
    """The outcome from the fill price and the fee of each order, for costs that no closed form adds up."""
    fills, fees = costs.fill_prices(deltas, prices), float(costs.fees(deltas, prices).sum())
    slipped = float(np.abs(deltas) @ np.abs(fills - prices))
    return -float(deltas @ fills) - fees, float(np.abs(deltas) @ fills), fees + slipped
