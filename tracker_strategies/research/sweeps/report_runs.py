"""The best candidates of a sweep bar by bar, for the comparison page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tracker_strategies.analysis.comparison import Curve, Field
from tracker_strategies.research.sweeps.results import Entry, Results
from tracker_strategies.research.sweeps.store import read_batches
from tracker_strategies.research.sweeps.values import in_words, setting_words

#: Candidates of a setting, baselines not counted.
MOST = 20


def fields_of(results: Results, found: Mapping[str, Any]) -> list[Field]:
    """Baselines and best candidates of each setting.

    Bars have numbers, not dates: a path may be put together from several windows and markets.
    """
    fields = []
    chosen: list[list[Entry]] = []
    for setting, told in zip(results.settings, found["settings"], strict=True):
        base = [entry for name in told["baselines"] if (entry := setting.find(name)) is not None]
        chosen.append([*base, *[entry for entry in setting.full if entry not in base][:MOST]])
    paths = _paths(results, {key for entries in chosen for entry in entries for key in entry.keys})
    for entries, told in zip(chosen, found["settings"], strict=True):
        curves = [
            Curve(
                f"{entry.strategy} {in_words(entry.params)}".strip(),
                entry.figures,
                *(np.concatenate([paths[key][i] for key in entry.keys]) for i in (0, 1)),
            )
            for entry in entries
        ]
        if curves:
            fields.append(Field(setting_words(told), curves))
    return fields


def _paths(results: Results, wanted: set[str]) -> dict[str, tuple[Any, Any]]:
    """Active returns and log returns over the index, by key."""
    found: dict[str, tuple[Any, Any]] = {}
    for batch in read_batches(results.folder, ("key", "active", "excess")):
        for i, key in enumerate(batch["key"].to_pylist()):
            if key in wanted and batch["active"][i].values is not None:
                active, excess = (batch[name][i].values.to_numpy(zero_copy_only=False) for name in ("active", "excess"))
                found[key] = active, excess
    return found
