"""What a sweep found: the best cells with their uncertainty, how they compare with the baselines, and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.files import replace_file, write_json
from tracker_strategies.analysis.inference.bootstrap import DRAWS
from tracker_strategies.analysis.inference.objectives import LEVEL, OBJECTIVES
from tracker_strategies.analysis.inference.verdicts import BETTER, OPEN, SAME, WORSE
from tracker_strategies.analysis.pages.comparison_page import Curve, Field, Floats, comparison_page
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.research.sweeps.asking.values import in_words, setting_words
from tracker_strategies.research.sweeps.judging.results import SEGMENT, SETTING, Entry, Results, Setting, load
from tracker_strategies.research.sweeps.running.store import read_batches

#: Candidates of a setting that are told, and those shown bar by bar; baselines not counted.
TOP = 20


def write_report(
    folder: str | Path, *, objective: str | None = None, axes: tuple[str, str] | None = None, draws: int = DRAWS
) -> dict[str, Any]:
    """Judge a sweep, finished or not, and write ``report.html``, ``comparison.html`` and ``report.json`` into its folder.

    Parameters
    ----------
    folder : path
        Of a sweep.
    objective : {"te_rms", "te_centred", "excess_log_return"}, optional
        What "best" means; by default the sweep's own objective.
    axes : pair of str, optional
        The two parameters of the heat maps; by default the first two that vary.
    draws : int, default 1000
        Resamples of the bootstrap.

    Returns
    -------
    dict
        What ``report.json`` holds.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, run_sweep, write_report
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=120",))
    >>> summary = run_sweep(sweep, "sweep", jobs=1)
    >>> found = write_report("sweep")
    """
    from tracker_strategies.research.sweeps.judging.page import page  # draws charts

    if objective is not None and objective not in OBJECTIVES:
        raise ParameterError(f"objective={objective!r} is unknown; choose one of {', '.join(OBJECTIVES)}")
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 100:
        raise ParameterError(f"draws={draws!r} must be a whole number >= 100")
    results = load(Path(folder).expanduser(), objective)
    found = findings(results, draws=draws)
    text = page(results, found, axes)
    fields = fields_of(results, found)
    try:
        if fields:
            compared = comparison_page(fields, "Candidates on the same bars", lead_of(results))
            replace_file(results.folder / "comparison.html", compared.encode())
        write_json(results.folder / "report.json", found)
        replace_file(results.folder / "report.html", text.encode())
    except OSError as problem:
        raise OutputError(f"cannot write the report to {folder}: {problem.strerror or problem}") from None
    return found


def findings(results: Results, *, draws: int = DRAWS) -> dict[str, Any]:
    """All that the report says, as plain values."""
    asked = results.asked
    baselines = tuple(asked.get("baselines", ()))
    settings = [judge(s, baselines, results.level, draws, results.planned) for s in results.settings]
    for setting, found in zip(results.settings, settings, strict=True):
        found["warnings"] = [*filter(None, [results.unfinished]), *found["warnings"]]
        found["train_test_rank_correlation"] = _rank_correlation(setting, results.training)
    return {
        "objective": results.objective.name,
        "rows": results.n_rows,
        "cells": results.n_planned,
        "finished": not results.unfinished,
        "failed": results.n_failed,
        "rows_of_other_code": results.n_other_code,
        "level": LEVEL,
        "draws": draws,
        "edge": any(s["edge"] for s in settings),
        "settings": settings,
    }


def judge(setting: Setting, baselines: tuple[str, ...], level: float, draws: int = DRAWS, planned: float = 1.0) -> dict[str, Any]:
    """One setting: its best candidates, and whether the best of all is distinguishable from every baseline.

    ``level`` is that of a claim: below it, an adjusted p-value counts. ``planned`` times as many trials as have rows are counted.
    """
    resamples = setting.resamples(draws)
    base = {name: entry for name in baselines if (entry := setting.find(name)) is not None}
    versus: dict[str, dict[int, dict[str, Any]]] = {}
    for name, entry in base.items():
        ordered, c = setting.against(entry, resamples, level, planned)
        columns = zip(ordered, c.delta.tolist(), c.p.tolist(), c.low.tolist(), c.high.tolist(), strict=True)
        versus[name] = {
            e.row: {"delta": d, "p": p, "low": lo, "high": hi, "verdict": verdict_of(d, p, lo, hi, level)}
            for e, d, p, lo, hi in columns
        }
    best = setting.best(resamples, level)
    tried = [e for e in setting.full if not any(e is b for b in base.values())]

    def tell(entry: Entry) -> dict[str, Any]:
        low, high = setting.interval(entry, LEVEL)
        return {
            "strategy": entry.strategy,
            "params": dict(entry.params),
            **entry.figures,
            "interval": [low, high],
            "among_best": entry.row in best,
            "versus": {name: found[entry.row] for name, found in versus.items() if entry.row in found},
        }

    top = [tell(e) for e in tried[:TOP]]
    found: dict[str, Any] = {
        **{key: setting.about[key] for key in SETTING if key != "sha"},
        "days": list(setting.days),
        "n_bars": setting.n_bars,
        "n_segments": len(setting.segments),
        "trials": len(setting.entries),
        "trials_planned": round(planned * len(setting.entries)),
        "failed": len(setting.failures),
        "incomplete": setting.incomplete,
        "failures": setting.failures[:TOP],
        "n_best": len(best),
        "level": level,
        "p_floor": min(1.0, planned / (1.0 + draws)),
        "years": _years(setting),
        "baselines": {name: tell(entry) for name, entry in base.items()},
        "best": top,
    }
    equal = [name for name in base if not top or top[0]["versus"][name]["p"] >= level]
    found["edge"] = bool(top and base and not equal)
    found["not_distinguishable_from"] = equal
    found["warnings"] = _warnings(setting, found, baselines)
    return found


def _years(setting: Setting) -> float | None:
    """Length of the scored bars in years; None where they are put together from several windows, with gaps between them."""
    if len(setting.segments) > 1:
        return None
    first, last = (np.datetime64(day[:10]) for day in setting.days)
    days = float((last - first) / np.timedelta64(1, "D"))
    return days / 365.25 if days > 0.0 else None


def verdict_of(delta: float, p: float, low: float, high: float, level: float) -> str:
    """Better, worse, no difference shown, or no difference at all, of one candidate against a baseline after all trials."""
    if delta == low == high == 0.0:
        return SAME
    return BETTER if p < level and delta > 0.0 else WORSE if high < 0.0 else OPEN


def _warnings(setting: Setting, found: Mapping[str, Any], baselines: tuple[str, ...]) -> list[str]:
    words = []
    missing = [name for name in baselines if name not in found["baselines"]]
    if missing:
        words.append(f"Nothing to compare with: the baseline {', '.join(missing)} has no finished run here.")
    if not baselines:
        words.append("The sweep has no baseline: nothing here says that any candidate is better than doing nothing.")
    if not found["best"]:
        words.append("No candidate except the baselines has all bars.")
        return words
    best = found["best"][0]
    name = f"{best['strategy']} {in_words(best['params'])}".strip()
    for other in found["not_distinguishable_from"]:
        against = best["versus"][other]
        words.append(
            f"The best cell, {name}, is not ahead of the baseline {other}."
            if against["delta"] <= 0.0
            else f"The best cell, {name}, is ahead of the baseline {other} by no more than luck explains: adjusted p = "
            f"{against['p']:.2f} after {found['trials_planned']} trials."
        )
    if limits := sorted({key for entry in setting.full for key in entry.params} & set(KEYS)):
        words.append(f"Candidates differ in limits ({', '.join(limits)}): a looser limit is no better strategy.")
    if setting.n_bars < 100:
        words.append(f"Only {setting.n_bars} scored bars: intervals from so few are rough.")
    if found["failed"]:
        words.append(f"{found['failed']} candidates failed; the first: {found['failures'][0]}")
    return words


def _rank_correlation(setting: Setting, training: pd.DataFrame) -> float | None:
    """Spearman correlation of the candidates' objective in training and in test: near 0, choosing in training is no use."""
    if setting.about["part"] != "test" or not len(training):
        return None
    own = training[np.logical_and.reduce([training[c] == setting.about[c] for c in SETTING if c != "part"])]
    name = setting.objective.name
    own = own.sort_values("stop").drop_duplicates(["strategy", "params", *SEGMENT], keep="last")
    trained = own.groupby(["strategy", "params"])[name].mean()
    tested = {(e.strategy, json.dumps(e.params, sort_keys=True)): e.figures[name] for e in setting.full}
    pairs = pd.DataFrame({"train": trained, "test": pd.Series(tested, dtype=float)}).dropna()
    if len(pairs) < 3 or (pairs.nunique() < 2).any():
        return None
    ranks = pairs.rank()
    return float(ranks["train"].corr(ranks["test"]))


# -- bar by bar ----------


def fields_of(results: Results, found: Mapping[str, Any]) -> list[Field]:
    """Baselines and best candidates of each setting, with log returns over the index that add up to the figures of the table.

    Every source of data is a setting of its own, and so a field; the markets of one setting differ by their seeds alone.
    Bars have numbers, not dates: a path may be put together from several windows.
    """
    fields = []
    chosen: list[list[Entry]] = []
    for setting, told in zip(results.settings, found["settings"], strict=True):
        base = [entry for name in told["baselines"] if (entry := setting.find(name)) is not None]
        chosen.append([*base, *[entry for entry in setting.full if entry not in base][:TOP]])
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
            fields.append(Field(setting_words(told), curves, source=told["data"]))
    return fields


def lead_of(results: Results) -> str:
    """What the curves are, in words."""
    words = f"{results.unfinished} Baselines and best candidates of the sweep, on the scored bars.".strip()
    shown = [setting for setting in results.settings if setting.full]
    if any(setting.n_seeds > 1 for setting in shown):
        words += " Of several seeds: the mean of their active returns, the root mean square of their tracking errors."
    if any(len(own) < setting.n_seeds for setting in shown for own in _windows(setting)):
        words += (
            " Where not all seeds were scored on the same bars, the windows follow each other: the active return is the mean"
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
