"""The best candidates of a sweep bar by bar, for the comparison page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracker_strategies.analysis.comparison import Curve, Field, Floats
from tracker_strategies.research.sweeps.results import Entry, Results
from tracker_strategies.research.sweeps.store import read_batches
from tracker_strategies.research.sweeps.values import in_words, setting_words

#: Candidates of a setting, baselines not counted.
MOST = 20


def fields_of(results: Results, found: Mapping[str, Any]) -> list[Field]:
    """Baselines and best candidates of each setting, with paths that add up to the figures of the table.

    Bars have numbers, not dates: a path may be put together from several windows and markets.
    """
    fields = []
    chosen: list[list[Entry]] = []
    for setting, told in zip(results.settings, found["settings"], strict=True):
        base = [entry for name in told["baselines"] if (entry := setting.find(name)) is not None]
        chosen.append([*base, *[entry for entry in setting.full if entry not in base][:MOST]])
    paths = _paths(results, {key for entries in chosen for entry in entries for key in entry.keys})
    for entries, setting, told in zip(chosen, results.settings, found["settings"], strict=True):
        curves = [
            Curve(
                f"{entry.strategy} {in_words(entry.params)}".strip(),
                entry.figures,
                *_over_seeds([paths[key] for key in entry.keys], setting.n_seeds),
            )
            for entry in entries
        ]
        if curves:
            fields.append(Field(setting_words(told), curves))
    return fields


def _over_seeds(pieces: Sequence[tuple[Floats, Floats]], n_seeds: int) -> tuple[Floats, Floats]:
    """From the paths of all segments, those of each seed one after the other, to a path of the length of one seed.

    Of the log returns over the index it is the mean: cumulated, they end at the ``excess_log_return`` of the table. Of the active
    returns it is the root mean square, of which the page takes nothing but squares: those over all bars give ``te_rms``.
    """
    # The windows are the same for all seeds, and a synthetic index has a level on every bar.
    active, excess = (np.concatenate(parts).reshape(n_seeds, -1) for parts in zip(*pieces, strict=True))
    if n_seeds == 1:
        return active[0], excess[0]
    return np.sqrt((active.astype(np.float64) ** 2).mean(axis=0)).astype(np.float32), excess.mean(axis=0)


def _paths(results: Results, wanted: set[str]) -> dict[str, tuple[Floats, Floats]]:
    """Active returns and log returns over the index, by key."""
    found: dict[str, tuple[Floats, Floats]] = {}
    for batch in read_batches(results.folder, ("key", "active", "excess")):
        for i, key in enumerate(batch["key"].to_pylist()):
            if key in wanted and batch["active"][i].values is not None:
                active, excess = (batch[name][i].values.to_numpy(zero_copy_only=False) for name in ("active", "excess"))
                found[key] = active, excess
    return found
