"""The best candidates of a sweep bar by bar, for the comparison page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tracker_strategies.analysis.pages.comparison_page import Curve, Field, Floats
from tracker_strategies.research.sweeps.asking.values import in_words, setting_words
from tracker_strategies.research.sweeps.judging.results import Entry, Results, Setting
from tracker_strategies.research.sweeps.running.store import read_batches

#: Candidates of a setting, baselines not counted.
MOST = 20


def fields_of(results: Results, found: Mapping[str, Any]) -> list[Field]:
    """Baselines and best candidates of each setting, with log returns over the index that add up to the figures of the table.

    Every source of data is a setting of its own, and so a field; the markets of one setting differ by their seeds alone.
    Bars have numbers, not dates: a path may be put together from several windows.
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
                *_over_seeds([paths[key] for key in entry.keys], setting),
            )
            for entry in entries
        ]
        if curves:
            fields.append(Field(setting_words(told), curves))
    return fields


def lead_of(results: Results) -> str:
    """What the curves are, in words."""
    words = "Baselines and best candidates of the sweep, on the scored bars."
    shown = [setting for setting in results.settings if setting.full]
    if any(setting.n_seeds > 1 for setting in shown):
        words += " Of several seeds: the mean of their active returns, the root mean square of their tracking errors."
    if any(len(own) < setting.n_seeds for setting in shown for own in _windows(setting)):
        words += (
            " Where not all seeds were scored on the same bars, one window stands after the other: the active return is the mean"
            " over all seeds, to which those without the window add nothing, the tracking error is that of the seeds with it."
        )
    return words


def _windows(setting: Setting) -> list[list[int]]:
    """The segments of a setting, by number, those of several seeds on the same bars together."""
    found: dict[tuple[Any, ...], list[int]] = {}
    # Only synthetic markets have seeds, and their index has a level on every bar: as many scored bars, the same stop.
    for number, ((_, *window), size) in enumerate(zip(setting.segments, setting.sizes, strict=True)):
        found.setdefault((*window, size), []).append(number)
    return [found[window] for window in sorted(found)]


def _over_seeds(pieces: Sequence[tuple[Floats, Floats]], setting: Setting) -> tuple[Floats, Floats]:
    """From the paths of all segments to one path through all windows, each of them once.

    Of the log returns over the index it is the sum over the seeds with the window, divided by the number of all seeds: cumulated,
    they end at the ``excess_log_return`` of the table. Of the active returns it is the root mean square over the seeds with the
    window, of which the page takes nothing but squares: where all seeds have all windows, those over all bars give ``te_rms``.
    """
    if setting.n_seeds == 1:
        active, excess = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return active, excess
    windows = [[pieces[number] for number in own] for own in _windows(setting)]
    active = np.concatenate([np.sqrt(np.mean([a.astype(np.float64) ** 2 for a, _ in own], axis=0)) for own in windows])
    excess = np.concatenate([np.sum([e for _, e in own], axis=0, dtype=np.float64) for own in windows]) / setting.n_seeds
    return active.astype(np.float32), excess.astype(np.float32)


def _paths(results: Results, wanted: set[str]) -> dict[str, tuple[Floats, Floats]]:
    """Active returns and log returns over the index, by key."""
    found: dict[str, tuple[Floats, Floats]] = {}
    for batch in read_batches(results.folder, ("key", "active", "excess")):
        for i, key in enumerate(batch["key"].to_pylist()):
            if key in wanted and batch["active"][i].values is not None:
                active, excess = (batch[name][i].values.to_numpy(zero_copy_only=False) for name in ("active", "excess"))
                found[key] = active, excess
    return found
