"""Costs that differ from name to name: what the table ``fees`` of a mandate says, bound to the names of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel, outcome_of_fills

FloatArray = NDArray[np.float64]
#: Share of the account, as least fees for one order in every name, above which fees are said to make trading pointless.
DEAR = 0.05


@dataclass(frozen=True)
class NamedCosts(CostModel):
    """Costs of N names. The numbers for all are the largest of any name.

    Parameters
    ----------
    each : tuple of N CostModel
        Of each name; slippage is that of all.
    """

    each: tuple[CostModel, ...] = ()

    by_value = property(lambda self: False)

    @classmethod
    def of(cls, each: Sequence[CostModel], slippage_bps: float) -> CostModel:
        """From those of the names."""
        bps, per_share, least = np.max([(0.0, 0.0, 0.0), *(one.rates for one in each)], axis=0).tolist()
        own = tuple(replace(one, slippage_bps=slippage_bps) for one in each)
        return cls(bps=bps, per_share=per_share, min_fee=least, slippage_bps=slippage_bps, each=own)

    @cached_property
    def _table(self) -> FloatArray:
        """(3, N) basis points, money per share, least fee."""
        return np.array([one.rates for one in self.each]).reshape(-1, 3).T

    def taken(self, which: Any) -> CostModel:
        """Of some of the names only."""
        if which is None:
            return self
        return NamedCosts.of([self.each[i] for i in np.arange(len(self.each))[which]], self.slippage_bps)

    def fees(self, deltas: FloatArray, prices: FloatArray) -> FloatArray:
        """Commission of each order."""
        bps, per_share, least = self._table
        size = np.abs(deltas)
        fee = size * (self.fill_prices(deltas, prices) * (bps * 1e-4) + per_share)
        return np.where(size > 0.0, np.maximum(fee, least), 0.0)

    def outcome(self, deltas: FloatArray, prices: FloatArray) -> tuple[float, float, float]:
        """Change of cash, value traded and costs."""
        return outcome_of_fills(self, deltas, prices)

    def side_rates(self, prices: FloatArray) -> tuple[FloatArray | float, FloatArray | float]:
        """Cost of a buy and of a sell of each name per unit of quoted value, minimum fee aside."""
        bps, per_share, _ = self._table
        slip, rate, share = self.slippage_bps * 1e-4, bps * 1e-4, per_share / prices
        return (1.0 + slip) * (1.0 + rate) - 1.0 + share, 1.0 - (1.0 - slip) * (1.0 - rate) + share


def named(costs: CostModel, fees: Mapping[str, Mapping[str, Any]] | None, symbols: Sequence[str]) -> CostModel:
    """Costs in which some names pay fees of their own; what these do not say is as for all.

    Parameters
    ----------
    costs : CostModel
        What all pay.
    fees : mapping, optional
        As :class:`~tracker_strategies.execution.Mandate` has it.
    symbols : sequence of N str

    Raises
    ------
    ParameterError
        A name that is not there, or that stands in two tables.
    """
    if not fees:
        return costs
    if type(costs) not in (CostModel, NamedCosts):
        raise ParameterError("fees by name, and the broker has commission schemes of its own for single names; keep one of them")
    before = costs.each if isinstance(costs, NamedCosts) else (costs,) * len(symbols)
    own = _own(fees, symbols)
    each = [replace(one, **own.get(name, {})) for one, name in zip(before, symbols, strict=True)]
    return NamedCosts.of(each, costs.slippage_bps)


def fee_notes(costs: CostModel, n_names: int, worth: float) -> list[str]:
    """Whether least fees per order eat an account of this worth: an order that is not worth its fee is not sent."""
    least = [one.min_fee for one in costs.each] if isinstance(costs, NamedCosts) else [costs.min_fee] * n_names
    share = sum(least) / worth if worth > 0.0 else 0.0
    if share <= DEAR:
        return []
    low, high = min(least), max(least)
    many = int(np.searchsorted(np.cumsum(sorted(least)), worth * (1.0 + 1e-12), side="right"))
    most = many if high > low else int(worth / high)
    fee = f"{low:,g} to {high:,g}" if high > low else f"{low:,g}"
    reach = f"the account pays for at most {most} orders" if most else "one fee is more than the account: nothing can be bought"
    return [
        f"a fee of at least {fee} per order makes trading pointless: one order in each of {n_names} "
        f"names costs {share:.0%} of the account, and {reach}; orders worth less than their fee are not sent"
    ]


def fees_in_words(fees: Mapping[str, Mapping[str, Any]] | None, most: int = 3) -> str:
    """What names pay instead, for a caption; empty without fees by name."""
    if not fees:
        return ""
    parts = []
    for key, rules in list(fees.items())[:most]:
        said = {name: value for name, value in rules.items() if name != "names"}
        units = {"bps": "{:g} bp", "per_share": "{:g} per share", "min_fee": "at least {:,g} per order"}
        parts.append(f"{key} {', '.join(units[name].format(value) for name, value in said.items())}")
    more = len(fees) - most
    return f" ({'; '.join(parts)}{f'; and {more} more' if more > 0 else ''})"


def _own(fees: Mapping[str, Mapping[str, Any]], symbols: Sequence[str]) -> dict[str, dict[str, float]]:
    """What each name pays by the tables: those of its market first, then its own."""
    wide: dict[str, tuple[str, dict[str, float]]] = {}
    exact: dict[str, dict[str, float]] = {}
    every: dict[str, float] = {}
    for key, rules in fees.items():
        said = {name: value for name, value in rules.items() if name != "names"}
        if key == "*":
            every = said
            continue
        market = "names" in rules or any(mark in key for mark in "*?[")
        asked = list(rules.get("names", (key,)))
        for one in asked:
            found = [symbol for symbol in symbols if symbol == one or (symbol not in asked and fnmatchcase(symbol, one))]
            if not found:
                near = get_close_matches(one, symbols, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ParameterError(f"fees of {key!r}: no name {one!r} in the data{hint}")
            for symbol in found:
                if not market:
                    exact[symbol] = said
                elif wide.setdefault(symbol, (key, said))[0] != key:
                    raise ParameterError(f"fees: {symbol!r} stands under {wide[symbol][0]!r} and under {key!r}; keep one")
    return {name: {**every, **wide.get(name, ("", {}))[1], **exact.get(name, {})} for name in symbols}
