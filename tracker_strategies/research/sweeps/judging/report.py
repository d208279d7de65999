"""What a sweep found: the best cells with their uncertainty, how they compare with the baselines, and warnings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.files import replace_file, write_json
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.research.sweeps.asking.objectives import OBJECTIVES
from tracker_strategies.research.sweeps.asking.values import in_words
from tracker_strategies.research.sweeps.judging.inference import DRAWS, LEVEL
from tracker_strategies.research.sweeps.judging.results import SEGMENT, SETTING, Entry, Results, Setting, load

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
        What "best" means; by default what the sweep was asked for.
    axes : pair of str, optional
        The two parameters of the heat maps; by default the first two that vary.
    draws : int, default 1000
        Resamples of the bootstrap.

    Returns
    -------
    dict
        What ``report.json`` holds.
    """
    from tracker_strategies.analysis.pages.comparison_page import comparison_page
    from tracker_strategies.research.sweeps.judging.page import page
    from tracker_strategies.research.sweeps.judging.report_runs import fields_of, lead_of

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
    settings = [judge(s, tuple(asked.get("baselines", ())), results.level, draws) for s in results.settings]
    for setting, found in zip(results.settings, settings, strict=True):
        found["train_test_rank_correlation"] = _rank_correlation(setting, results.training)
    return {
        "objective": results.objective.name,
        "rows": results.n_rows,
        "failed": results.n_failed,
        "rows_of_other_code": results.n_other_code,
        "level": LEVEL,
        "draws": draws,
        "edge": any(s["edge"] for s in settings),
        "settings": settings,
    }


def judge(setting: Setting, baselines: tuple[str, ...], level: float, draws: int = DRAWS) -> dict[str, Any]:
    """One setting: its best candidates, and whether the best of all is distinguishable from every baseline.

    ``level`` is that of a claim: below it, an adjusted p-value counts.
    """
    resamples = setting.resamples(draws)
    base = {name: entry for name in baselines if (entry := setting.find(name)) is not None}
    versus: dict[str, dict[int, dict[str, float]]] = {}
    for name, entry in base.items():
        ordered, c = setting.against(entry, resamples, level)
        columns = zip(ordered, c.delta.tolist(), c.p.tolist(), c.low.tolist(), c.high.tolist(), strict=True)
        versus[name] = {e.row: {"delta": d, "p": p, "low": lo, "high": hi} for e, d, p, lo, hi in columns}
    tried = [e for e in setting.full if not any(e is b for b in base.values())]

    def tell(entry: Entry) -> dict[str, Any]:
        low, high = setting.interval(entry, resamples, LEVEL)
        return {
            "strategy": entry.strategy,
            "params": dict(entry.params),
            **entry.figures,
            "interval": [low, high],
            "versus": {name: found[entry.row] for name, found in versus.items() if entry.row in found},
        }

    top = [tell(e) for e in tried[:TOP]]
    found: dict[str, Any] = {
        **{key: setting.about[key] for key in SETTING if key != "sha"},
        "days": list(setting.days),
        "n_bars": setting.n_bars,
        "n_segments": len(setting.segments),
        "trials": len(setting.entries),
        "failed": len(setting.failures),
        "incomplete": setting.incomplete,
        "failures": setting.failures[:TOP],
        "level": level,
        "baselines": {name: tell(entry) for name, entry in base.items()},
        "best": top,
    }
    equal = [name for name in base if not top or top[0]["versus"][name]["p"] >= level]
    found["edge"] = bool(top and base and not equal)
    found["not_distinguishable_from"] = equal
    found["warnings"] = _warnings(setting, found, baselines)
    return found


def _warnings(setting: Setting, found: Mapping[str, Any], baselines: tuple[str, ...]) -> list[str]:
    words = []
    missing = [name for name in baselines if name not in found["baselines"]]
    if missing:
        words.append(f"Nothing to compare with: the baseline {', '.join(missing)} has no finished run here.")
    if not baselines:
        words.append("The sweep has no baseline: nothing here says that any candidate is better than doing nothing.")
    if not found["best"]:
        words.append("No candidate beside the baselines has all bars.")
        return words
    best = found["best"][0]
    name = f"{best['strategy']} {in_words(best['params'])}".strip()
    for other in found["not_distinguishable_from"]:
        against = best["versus"][other]
        words.append(
            f"The best cell, {name}, is not ahead of the baseline {other}."
            if against["delta"] <= 0.0
            else f"The best cell, {name}, is ahead of the baseline {other} by no more than luck explains: adjusted p = "
            f"{against['p']:.2f} after {found['trials']} trials."
        )
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
