"""Finished runs, judged on the bars that they share, and in what they differ apart from their strategies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from datafeeds.bar_length import moment
from tracker_strategies.analysis.inference.verdicts import Judged, judge
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.execution.mandate.mandate import KEYS

#: Parameters of a run, beside its limits, that decide what trading costs and when it happens.
_TRADING = {"fill": "fills", "costs": "costs", "capital": "capital", "rebalance": "bars between rebalances"}


def on_common_bars(records: Mapping[str, RunRecord]) -> dict[str, RunRecord]:
    """Runs that got to their targets on different bars, each from the latest of these on."""
    parts = {label: run.part for label, run in records.items()}
    base = max((run.dates[0] for run in parts.values() if run.begins_at_entry), default=None)
    if base is None:
        return parts
    return {label: run.from_row(int(np.searchsorted(run.dates, base))) for label, run in parts.items()}


def judge_runs(records: Mapping[str, RunRecord], against: str | None = None) -> dict[str, Judged]:
    """Judge the tracking error of runs of the same bars and index against one of them, by default the first.

    See :func:`~tracker_strategies.analysis.inference.verdicts.judge`. Only bars that are scored in all runs count; tell
    :func:`differences` of the same records first.
    """
    common = on_common_bars(records)
    return judge({name: np.subtract(*run.scored()) for name, run in common.items()}, against)


def differences(records: Mapping[str, RunRecord]) -> list[str]:
    """In which limits, costs, fills and bars runs differ, one sentence each; empty if they do not.

    The records are the scored parts of the runs, by name.
    """
    words = {**_TRADING, "mandate": "mandate", **{key: f"limit {key.replace('_', ' ')}" for key in KEYS}}
    found = [_sentence(told, {n: r.params.get(key) for n, r in records.items()}) for key, told in words.items()]
    found.append(_sentence("cash at the start", {n: float((r.whole or r).value[0]) for n, r in records.items()}))
    found.append(_sentence("number of candidate names", {n: len(r.symbols) for n, r in records.items()}))
    found.append(_sentence("first scored bar", {n: _first(r) for n, r in records.items()}))
    found.append(_sentence("bars per year", {n: float(r.periods_per_year) for n, r in records.items()}))
    return [sentence for sentence in found if sentence]


def _first(record: RunRecord) -> str:
    dates = record.part.dates
    return moment(dates[1]) if len(dates) > 1 else "none"


def _sentence(what: str, values: Mapping[str, Any]) -> str:
    told = {name: _plain(value) for name, value in values.items()}
    groups: dict[str, list[str]] = {}
    for name, value in told.items():
        groups.setdefault(value, []).append(name)
    if len(groups) < 2:
        return ""
    return f"The runs differ in {what}: " + "; ".join(f"{value} ({_some(names)})" for value, names in groups.items()) + "."


def _some(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} others"


def _plain(value: Any) -> str:
    """A value as text, the same in memory and read from a folder; nothing, zero and an empty list are all "none"."""
    if isinstance(value, Mapping):
        inner = {key: _plain(each) for key, each in value.items()}
        return ", ".join(f"{key} {each}" for key, each in inner.items() if each != "none") or "none"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_plain(each) for each in value) or "none"
    if isinstance(value, (bool, str)) or value is None:
        return str(value) if value else "none"
    if isinstance(value, (int, float, np.number)):
        return f"{float(value):.10g}" if value else "none"
    return str(value)
