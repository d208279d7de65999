"""The synthetic market as a source that is named on the command line."""

from __future__ import annotations

from dataclasses import replace

from datafeeds.choices import SYNTHETIC
from datafeeds.errors import ParameterError, UniverseError
from datafeeds.panel import MarketPanel
from datafeeds.synthetic.market import index_names, synthetic_market
from datafeeds.texts import parse_pairs


def synthetic_source(targets: tuple[str, ...], seed: int, more: str) -> MarketPanel:
    """A synthetic market, with just the indices that were requested. ``more`` are arguments, ``n_assets=40,n_bars=300``."""
    known = index_names(9)
    unknown = [name for name in targets if name not in known]
    if unknown:
        raise UniverseError(
            f"no index named {unknown[0]!r} in the synthetic market; it has {', '.join(known[:3])}, ... to {known[-1]}"
        )
    if not targets:
        raise UniverseError("no target to track; name at least one index")
    name = f"{SYNTHETIC}:{more}" if more else SYNTHETIC
    given = parse_pairs(more.split(",") if more else (), f"data {name!r}:", "synthetic:n_assets=40")
    if given.keys() & {"seed", "n_indices"}:
        raise ParameterError(f"data {name!r}: set the seeds with seeds (--seed) and the indices with index instead")
    columns = [known.index(target) for target in targets]
    try:
        panel = synthetic_market(seed=seed, n_indices=max(columns) + 1, **given)
    except TypeError as problem:
        raise ParameterError(f"data {name!r}: {str(problem).partition('() ')[2] or problem}") from None
    seen = None if panel.target_seen is None else panel.target_seen[:, columns]
    return replace(panel, targets=targets, target_close=panel.target_close[:, columns], target_seen=seen, source=SYNTHETIC)
