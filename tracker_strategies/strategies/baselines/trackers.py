"""Portfolios that do not learn. Every result is shown beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracker_strategies.algorithms import ConstantWeights, OnlineAlgorithm, PublishedShares
from tracker_strategies.errors import ParameterError, UniverseError
from tracker_strategies.strategies.base import TrackerStrategy


class EqualWeight(TrackerStrategy):
    """Every name the same share of the account, restored at each rebalance."""

    alias_name = "equal-weight"

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Equal weights on every bar."""
        return ConstantWeights(len(symbols))


class BuyAndHold(EqualWeight):
    """Equal shares bought on the first bar and then held; trades again only when a name lists or is delisted."""

    alias_name = "buy-and-hold"
    params = (("rebalance", "once"),)


class ConstantWeight(TrackerStrategy):
    """Fixed weights that you give, restored at each rebalance.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``weights`` (None): mapping of symbol to weight, or a sequence in the order of the feeds; scaled to sum 1. From the
        command line: ``--param weights=AAPL:0.5,MSFT:0.5``. None means equal weights
    """

    alias_name = "constant-weight"
    params = (("weights", None),)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """The given weights, scaled to sum 1."""
        return ConstantWeights(len(symbols), start=given_weights(_not_excluded(p), symbols))

    @classmethod
    def by_position(cls, p: Any) -> bool:
        """Where the weights are a sequence."""
        return p.weights is not None and not isinstance(p.weights, str | Mapping)


class Replicate(TrackerStrategy):
    """The published weights of the index: their share counts are held until the next row of weights.

    It buys nothing before the first row is known. The difference to the index is what is not in the file: rounding, names
    without prices, and changes between its dates.

    Params (in addition to those of :class:`TrackerStrategy`):
      - ``index_weights`` (needed): the weights
      - ``coordinates`` ("shares"): it holds share counts, so there is no other choice
    """

    alias_name = "replicate"
    params = (("coordinates", "shares"),)
    sets_coordinates = takes_index_weights = must_know_weights = True

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        """Share counts, from the weights that are known."""
        if p.index_weights is None:
            raise ParameterError(
                "replicate needs the weights of the index, because it holds them; give index_weights or --index-weights FILE"
            )
        if p.coordinates != "shares":
            raise ParameterError(
                f"coordinates={p.coordinates!r} is not possible: replicate holds share counts; omit it, or choose constant-weight"
            )
        return PublishedShares(len(symbols), start=getattr(p, "start_weights", None))


def _not_excluded(p: Any) -> Any:
    """The weights that were given, without those of names that the mandate excludes: the others share them."""
    kept: Any = p.weights
    if isinstance(p.weights, str):
        parts = {part.partition(":")[0].strip(): part for part in p.weights.split(",")}
        kept = ",".join(part for name, part in parts.items() if _is_allowed(p, name))
    elif isinstance(p.weights, Mapping):
        kept = {name: weight for name, weight in p.weights.items() if _is_allowed(p, name)}
    if p.weights and not kept:
        raise ParameterError(
            f"the mandate excludes every name in weights={p.weights!r}; give weights of others, or exclude fewer"
        )
    return kept


def _is_allowed(p: Any, name: str) -> bool:
    return name not in (p.exclude or ()) and (not p.only or name in p.only)


def given_weights(given: Any, symbols: tuple[str, ...]) -> Any:
    """A weight vector in the order of the symbols, from a mapping, a sequence or ``SYMBOL:WEIGHT,...``."""
    if given is None:
        return None
    try:
        if isinstance(given, str):
            given = {k.strip(): float(v) for k, v in (part.split(":") for part in given.split(","))}
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in symbols]
            if unknown:
                raise UniverseError(
                    f"weights contain {unknown[0]!r}, which is not one of the {len(symbols)} assets; correct or remove it"
                )
            given = [given.get(name, 0.0) for name in symbols]
        w = np.asarray(given, dtype=np.float64)
    except (ValueError, TypeError) as problem:
        if isinstance(problem, UniverseError):
            raise
        raise ParameterError(
            f"weights={given!r} cannot be read; write AAPL:0.5,MSFT:0.5 or pass a mapping of symbol to weight"
        ) from None
    if w.shape != (len(symbols),) or not np.isfinite(w).all() or (w < 0.0).any() or not w.sum() > 0.0:
        raise ParameterError(f"weights must be {len(symbols)} finite numbers >= 0 with a positive sum, got {given!r}")
    return w / w.sum()
