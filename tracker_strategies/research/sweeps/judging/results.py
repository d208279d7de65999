"""Rows put together: which cells are runs of the same candidate, on which bars, and how they compare with the baselines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.inference.best_set import confidence_set
from tracker_strategies.analysis.inference.bootstrap import DRAWS, Comparison, Group, Resamples, compare
from tracker_strategies.analysis.inference.objectives import LEVEL, OBJECTIVES, Objective, per_bar
from tracker_strategies.analysis.inference.verdicts import interval
from tracker_strategies.errors import OutputError
from tracker_strategies.research.sweeps.running.store import PLAIN, read_batches, read_description, read_rows

FloatArray = NDArray[np.float64]
#: What candidates have in common when they are compared.
SETTING = ("data", "targets", "sha", "costs", "fill", "engine", "cash", "mandate", "part")
#: What the bars of one candidate are put together from.
SEGMENT = ("seed", "fold", "start", "score_from")
FIGURES = ("te_rms", "te_centred", "excess_log_return", "turnover", "cost_bps", "n_holdings")

#: Candidates among which those are marked that cannot be distinguished from the best.
MOST_IN_SET = 2000

#: Why a candidate is not compared with others.
LATE = "got to its target later than others and has fewer scored bars; compare it with an eval_from after its entry"


@dataclass(eq=False)
class Entry:
    """A candidate in a setting: all its rows, one a segment, as one path."""

    strategy: str
    params: Mapping[str, Any]
    figures: Mapping[str, float]
    lengths: tuple[int, ...]
    """Scored bars of each segment; fewer than the segment has where a halving dropped the candidate."""
    keys: tuple[str, ...]
    row: int = -1
    """Of the setting's paths."""


@dataclass(eq=False)
class Setting:
    """Candidates that were run on the same bars with the same costs, fill mode and engine."""

    about: Mapping[str, Any]
    segments: tuple[tuple[Any, ...], ...]
    sizes: tuple[int, ...]
    entries: list[Entry]
    failures: list[str]
    incomplete: int
    objective: Objective
    days: tuple[str, str]
    paths: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))

    @property
    def n_bars(self) -> int:
        """Scored bars in all segments together."""
        return sum(self.sizes)

    @cached_property
    def n_seeds(self) -> int:
        """Markets that the bars come from."""
        return len({segment[0] for segment in self.segments})

    @cached_property
    def full(self) -> list[Entry]:
        """Those with all bars, best first."""
        whole = [e for e in self.entries if e.lengths == self.sizes]
        return sorted(whole, key=lambda e: (self.objective.better(e.figures[self.objective.name]), e.keys[0]))

    def find(self, strategy: str) -> Entry | None:
        """The run of a strategy with its defaults."""
        return next((e for e in self.full if e.strategy == strategy and not e.params), None)

    def bars(self, lengths: Sequence[int]) -> NDArray[np.intp]:
        """Columns of the paths that a candidate with these lengths has."""
        starts = np.cumsum((0, *self.sizes[:-1]))
        return np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths, strict=True)])

    def groups(self, entries: Sequence[Entry]) -> tuple[list[Entry], Iterator[Group]]:
        """Entries with the same bars together, and their paths as the comparison takes them."""
        by: dict[tuple[int, ...], list[Entry]] = {}
        for entry in entries:
            by.setdefault(entry.lengths, []).append(entry)
        ordered = [entry for own in by.values() for entry in own]

        def paths() -> Iterator[Group]:
            for lengths, own in by.items():
                bars = self.bars(lengths)
                for at in range(0, len(own), 1000):
                    rows = [entry.row for entry in own[at : at + 1000]]
                    yield bars, self.paths[rows][:, bars]

        return ordered, paths()

    def against(
        self, baseline: Entry, resamples: Resamples, level: float, planned: float = 1.0
    ) -> tuple[list[Entry], Comparison]:
        """All candidates but the baseline itself, and how they compare with it where so many times as many were planned."""
        ordered, groups = self.groups([e for e in self.entries if e is not baseline])
        path = self.paths[baseline.row].astype(np.float64)
        found = compare(groups, path, self.objective, resamples, level=level, planned=planned)
        scale = self.n_seeds if self.objective.path == "excess" else 1
        return ordered, Comparison(found.delta / scale, found.p, found.low / scale, found.high / scale)

    def best(self, resamples: Resamples, level: float) -> set[int]:
        """Rows of the candidates with all bars that cannot be distinguished from the best; at most 2,000 are compared."""
        rows = [entry.row for entry in self.full[:MOST_IN_SET]]
        if not rows:
            return set()
        losses = -self.objective.sign * per_bar(self.paths[rows].astype(np.float64), self.objective)
        return {row for row, kept in zip(rows, confidence_set(losses, resamples, level), strict=True) if kept}

    def interval(self, entry: Entry, level: float) -> tuple[float, float]:
        """Of the objective of one candidate with all bars."""
        scale = self.n_seeds if self.objective.path == "excess" else 1
        low, high = interval(self.paths[entry.row].astype(np.float64), self.objective, level)
        return low / scale, high / scale

    def resamples(self, draws: int = DRAWS) -> Resamples:
        """Of its bars."""
        return Resamples(self.n_bars, draws)


@dataclass(eq=False)
class Results:
    """A sweep's rows, put together."""

    folder: Path
    asked: Mapping[str, Any]
    objective: Objective
    settings: list[Setting]
    n_rows: int
    n_failed: int
    n_other_code: int
    n_planned: int
    """Cells that the sweep stands for, with a row or not."""
    training: pd.DataFrame
    """Rows of training windows."""

    @property
    def unfinished(self) -> str:
        """What to say of a sweep without all its rows; empty when it has them."""
        if self.n_rows >= self.n_planned:
            return ""
        rows, planned = f"{self.n_rows:,}", f"{self.n_planned:,}"
        return f"The sweep is unfinished: {rows} of {planned} cells have rows. p-values count all {planned}."

    @property
    def planned(self) -> float:
        """Planned cells per cell with a row."""
        return max(1.0, self.n_planned / self.n_rows)

    @property
    def level(self) -> float:
        """Of a claim in one setting, so that all settings together keep to 5 %."""
        return LEVEL / max(1, len(self.settings))


def load(folder: str | Path, objective: str | None = None) -> Results:
    """Read the rows of a sweep, finished or not.

    Raises
    ------
    OutputError
        When there are none, or none that went well.
    """
    about = read_description(folder)
    goal = OBJECTIVES[objective or about["asked"].get("objective", "te_rms")]
    rows = read_rows(folder, PLAIN).to_pandas()
    current = rows[rows["code"] == about["code"]]
    if not len(current):
        raise OutputError(
            f"{folder} has no rows yet; run 'tracker sweep' first; 'tracker sweep status {folder}' shows its progress"
        )
    good = current[current["status"] == "ok"]
    if not len(good):
        raise OutputError(f"all {len(current)} cells of {folder} failed; the first error is: {current['error'].iloc[0]}")
    judged = good[good["part"] != "train"]
    if not len(judged):
        raise OutputError(f"{folder} has training runs only; the result of the tuning is in its tune.html")
    failed = current[(current["status"] != "ok") & (current["part"] != "train")]
    settings = [_setting(name, own, failed, goal) for name, own in judged.groupby(list(SETTING), sort=True)]
    _fill_paths(folder, settings, goal)
    return Results(
        folder=Path(folder),
        asked=about["asked"],
        objective=goal,
        settings=settings,
        n_rows=len(current),
        n_failed=int((current["status"] != "ok").sum()),
        n_other_code=len(rows) - len(current),
        n_planned=about["cells"],
        training=good[good["part"] == "train"],
    )


def _setting(name: tuple[Any, ...], rows: pd.DataFrame, failed: pd.DataFrame, objective: Objective) -> Setting:
    # A candidate that went through several rungs counts with its longest run; one whose own file was changed, with its newest.
    rows = rows.sort_values(["stop", "finished"], ascending=False).drop_duplicates(["strategy", "params", *SEGMENT])
    # One that got to its target later than others was scored on other bars: its path cannot be laid over theirs.
    late = (rows["first_day"] > rows.groupby(list(SEGMENT))["first_day"].transform("min")) | (
        rows["n_bars"] < rows.groupby([*SEGMENT, "stop"])["n_bars"].transform("max")
    )
    others, rows = rows[late], rows[~late]
    sizes = rows.groupby(list(SEGMENT), sort=True)["n_bars"].max()
    place = {segment: i for i, segment in enumerate(sizes.index)}
    entries, incomplete = [], 0
    apart = dict.fromkeys(zip(others["strategy"], others["params"], strict=True))
    columns = {c: rows[c].tolist() for c in ("strategy", "params", "key", "n_bars", *SEGMENT, *FIGURES)}
    by: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for i, (strategy, params, *segment) in enumerate(zip(*(columns[c] for c in ("strategy", "params", *SEGMENT)), strict=True)):
        by.setdefault((strategy, params), []).append((place[tuple(segment)], i))
    n_seeds = len({segment[0] for segment in place})
    for (strategy, params), own in sorted(by.items()):
        if len(own) < len(place):
            incomplete += (strategy, params) not in apart
            continue
        at = [i for _, i in sorted(own)]
        n = np.array([columns["n_bars"][i] for i in at], dtype=np.float64)
        values = {c: np.array([columns[c][i] for i in at], dtype=np.float64) for c in FIGURES}
        figures = {c: float(v @ n / n.sum()) for c, v in values.items()}
        figures |= {c: float(np.sqrt(values[c] ** 2 @ n / n.sum())) for c in ("te_rms", "te_centred")}
        figures["excess_log_return"] = float(values["excess_log_return"].sum()) / n_seeds
        keys = tuple(columns["key"][i] for i in at)
        entries.append(Entry(strategy, json.loads(params), figures, tuple(int(k) for k in n), keys))
    about = dict(zip(SETTING, name, strict=True))
    same = failed[np.logical_and.reduce([failed[c] == about[c] for c in SETTING])] if len(failed) else failed
    return Setting(
        about=about,
        segments=tuple(place),
        sizes=tuple(int(k) for k in sizes),
        entries=entries,
        failures=sorted(
            {f"{s} {p}: {e}" for s, p, e in zip(same["strategy"], same["params"], same["error"], strict=True)}
            | {f"{s} {p}: {LATE}" for s, p in apart}
        ),
        incomplete=incomplete,
        objective=objective,
        days=(str(rows["first_day"].min()), str(rows["last_day"].max())),
    )


def _fill_paths(folder: str | Path, settings: Sequence[Setting], objective: Objective) -> None:
    """Read the paths of all entries into one matrix a setting, batch by batch."""
    where: dict[str, tuple[NDArray[np.float32], int, int]] = {}
    for setting in settings:
        setting.paths = np.zeros((len(setting.entries), setting.n_bars), dtype=np.float32)
        starts = np.cumsum((0, *setting.sizes[:-1])).tolist()
        for row, entry in enumerate(setting.entries):
            entry.row = row
            where |= {key: (setting.paths, row, start) for key, start in zip(entry.keys, starts, strict=True)}
    for batch in read_batches(folder, ("key", objective.path)):
        lists = batch[objective.path]
        flat, edges = lists.flatten().to_numpy(zero_copy_only=False), lists.offsets.to_numpy() - lists.offsets[0].as_py()
        for i, key in enumerate(batch["key"].to_pylist()):
            if key in where and edges[i + 1] > edges[i]:
                paths, row, start = where[key]
                paths[row, start : start + edges[i + 1] - edges[i]] = flat[edges[i] : edges[i + 1]]
