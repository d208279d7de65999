"""What a tuning is worth: the stitched out-of-sample path against the baselines on the same bars."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from datafeeds.files import replace_file, staged_file, write_json
from tracker_strategies._fingerprint import code_version
from tracker_strategies.analysis.inference.bootstrap import DRAWS, Resamples
from tracker_strategies.analysis.inference.objectives import LEVEL, Objective
from tracker_strategies.analysis.inference.verdicts import BETTER, judge
from tracker_strategies.analysis.pages.charts import (
    INDEX,
    OTHERS,
    PORTFOLIO,
    SOFT,
    Chart,
    chart_style,
    curve,
    day_numbers,
    finish,
    panels,
    percent_axis,
)
from tracker_strategies.analysis.pages.page import Cell, Table, render
from tracker_strategies.analysis.pages.words import minus
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import returns_frame
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.execution.mandate import Mandate
from tracker_strategies.execution.named_costs import named
from tracker_strategies.research.sweeps.asking.space import Candidate
from tracker_strategies.research.sweeps.asking.values import in_words
from tracker_strategies.research.sweeps.judging.page import best_table, section
from tracker_strategies.research.sweeps.judging.results import FIGURES
from tracker_strategies.research.sweeps.running.engines import LocalEngine
from tracker_strategies.research.sweeps.tuning.stitch import stitch
from tracker_strategies.research.sweeps.tuning.tuner import Tuned


def out_of_sample(tuned: Tuned, candidates: Sequence[Candidate], name: str) -> RunRecord:
    """The account that holds a candidate in each fold's test window."""
    shipped = {} if tuned.context.data.synthetic else {tuned.context.data.sha: tuned.panel}
    code, cells = code_version(), tuned.cells(candidates)
    with LocalEngine(1, shipped) as engine:
        rows = {row["key"]: row for row in engine.run(cells, whole=True)}
    records = []
    for cell in cells:
        row = rows[cell.key(code)]
        if row["status"] != "ok":
            raise ParameterError(f"{cell.strategy} {in_words(cell.params)} failed on the bars after its training: {row['error']}")
        # One account goes from fold to fold: only the first has to get to its target from cash.
        records.append(row["record"].from_row(cell.window.score_from - cell.window.start - 1))
    chosen = [{"fold": c.fold, "strategy": own.strategy, **own.params} for c, own in zip(tuned.choices, candidates, strict=True)]
    about = {"strategy": name, "params": {"folds": chosen, "fill": tuned.context.fill, "costs": asdict(tuned.context.costs)}}
    costs = named(tuned.context.costs, Mandate.of(tuned.tuning.sweep.mandate).fees, tuned.panel.symbols)
    return stitch(records, tuned.panel, costs, tuned.tuning.sweep.cash, **about)


def write_tuning(tuned: Tuned, *, draws: int = DRAWS) -> dict[str, Any]:
    """Run the chosen parameters and the baselines through the test windows, judge, and write ``tune.json``, ``tune.html`` and
    ``path.parquet`` (the out-of-sample path, bar by bar) into the folder of the tuning.

    Returns
    -------
    dict
        What ``tune.json`` holds; ``edge`` says whether the path is distinguishable from every baseline.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, Tuning, WalkForward, run_tuning, write_tuning
    >>> space, folds = Space(("pa",), {"eps": (1e-4, 3e-4)}), WalkForward(folds=2)
    >>> tuning = Tuning(Sweep(space, data=("synthetic:n_assets=5,n_bars=200",), walk_forward=folds))
    >>> found = write_tuning(run_tuning(tuning, "tuning", jobs=1))
    """
    path = out_of_sample(tuned, [c.candidate for c in tuned.choices], "tuned")
    base = {
        name: out_of_sample(tuned, [Candidate(name)] * len(tuned.choices), name)
        for name in dict.fromkeys(tuned.tuning.sweep.baselines)
    }
    found = findings(tuned, path, base, draws)
    text = page(tuned, found, path, base)
    frame = returns_frame(path).join(pd.DataFrame({f"{n}_active": np.r_[np.nan, r.active] for n, r in base.items()}, path.dates))
    try:
        write_json(tuned.folder / "tune.json", found)
        with staged_file(tuned.folder / "path.parquet") as file:
            frame.to_parquet(file)
        replace_file(tuned.folder / "tune.html", text.encode())
    except OSError as problem:
        raise OutputError(f"cannot write to {tuned.folder}: {problem.strerror or problem}") from None
    return found


def findings(tuned: Tuned, path: RunRecord, base: Mapping[str, RunRecord], draws: int = DRAWS) -> dict[str, Any]:
    """The choices, the out-of-sample figures and the verdict, as plain values."""
    tuning, objective = tuned.tuning, tuned.tuning.objective
    resamples = Resamples(len(path.active), draws)
    paths = {name: _path(record, objective) for name, record in {"tuned": path, **base}.items()}
    judged = {other: judge(paths, other, objective=objective, resamples=resamples) for other in base or paths}
    own = judged[next(iter(judged))]

    def tell(name: str, record: RunRecord) -> dict[str, Any]:
        metrics = record.metrics()
        versus: dict[str, dict[str, Any]] = {}
        for other in base:
            if (v := judged[other][name].versus) is not None:
                versus[other] = {"delta": v.delta, "p": v.p_adjusted, "low": v.low, "high": v.high, "verdict": v.verdict}
        words = "chosen fold by fold" if name == "tuned" else "defaults"
        figures = {k: metrics[k] for k in FIGURES}
        found = {"interval": [own[name].low, own[name].high], "among_best": own[name].among_best, "versus": versus}
        return {"strategy": name, "params": {}, "words": words, **figures, **found}

    best = tell("tuned", path)
    equal = [name for name in base if best["versus"][name]["verdict"] != BETTER]
    metrics = path.metrics()
    told: dict[str, Any] = {
        "objective": objective.name,
        "te_budget": tuning.te_budget,
        "turnover_budget": tuning.turnover_budget,
        "data": tuned.context.data.source,
        "fill": tuned.context.fill,
        "opens": tuned.panel.open is not None,
        "costs": json.dumps(asdict(tuned.context.costs)),
        "part": "test",
        "days": [str(path.dates[1])[:10], str(path.dates[-1])[:10]],
        "n_bars": metrics["n_bars"],
        "years": metrics["n_bars"] / path.periods_per_year or None,
        "level": LEVEL,
        "draws": draws,
        "folds": [_fold(c, tuned) for c in tuned.choices],
        "metrics": metrics,
        "baselines": {name: tell(name, record) for name, record in base.items()},
        "best": [best],
        "within_budget": tuning.strain(metrics) <= 1.0,
        "not_distinguishable_from": equal,
        "edge": bool(base) and not equal,
    }
    told["warnings"] = _warnings(tuned, told)
    return told


def _path(record: RunRecord, objective: Objective) -> Any:
    if objective.path == "active":
        return record.active
    return np.log1p(record.returns) - np.log1p(record.index_returns[:, 0])


def _fold(choice: Any, tuned: Tuned) -> dict[str, Any]:
    return {
        "fold": choice.fold + 1,
        "strategy": choice.candidate.strategy,
        "params": dict(choice.candidate.params),
        "trained": dict(choice.trained),
        "within_budget": choice.within_budget,
        "tried": choice.tried,
        "failed": choice.failed,
        "train": [tuned.panel.day(choice.train.start), tuned.panel.day(choice.train.stop - 1)],
        "test": [tuned.panel.day(choice.test.score_from), tuned.panel.day(choice.test.stop - 1)],
    }


def _warnings(tuned: Tuned, told: Mapping[str, Any]) -> list[str]:
    words = []
    for name in told["not_distinguishable_from"]:
        v = told["best"][0]["versus"][name]
        words.append(
            f"The tuned path is not ahead of the baseline {name}."
            if v["delta"] <= 0.0
            else f"The tuned path is ahead of the baseline {name} by no more than luck explains: p = {v['p']:.2f}."
        )
    for fold in told["folds"]:
        if not fold["within_budget"]:
            words.append(f"Fold {fold['fold']}: no candidate kept to the budget in training; the one nearest to it was taken.")
    if not told["within_budget"]:
        words.append("Out of sample the path is beyond the budget that was kept in training.")
    if not told["baselines"]:
        words.append("No baseline was run: nothing here says that tuning is better than not tuning.")
    return words


def page(tuned: Tuned, told: Mapping[str, Any], path: RunRecord, base: Mapping[str, RunRecord]) -> str:
    """The page of a tuning, as text."""
    objective = tuned.tuning.objective
    with chart_style():
        chart = _excess_chart(path, base)
    budget = [
        f"{words} at most {scale * limit:g} {unit} per bar"
        for words, limit, scale, unit in (
            ("tracking error", tuned.tuning.te_budget, 1e4, "bp"),
            ("turnover", tuned.tuning.turnover_budget, 100.0, "%"),
        )
        if limit is not None
    ]
    lead = f"Best {objective.words}" + (f" with {' and '.join(budget)}" if budget else "") + ", chosen in training."
    title = f"{len(tuned.choices)} folds, {told['n_bars']:,} bars out of sample"
    tables = [("What was chosen", _fold_table(told["folds"])), ("Out of sample", best_table(told, objective))]
    sections = [section(told, objective, about="", tables=tables, charts=[chart])]
    return render("tune.html", title=title, lead=lead, sections=sections, draws=told["draws"])


def _fold_table(folds: Sequence[Mapping[str, Any]]) -> Table:
    head = (
        "Fold",
        "Chosen",
        "Trained on",
        "Tested on",
        "TE in training, bp per bar",
        "Excess log return in training, %",
        "Turnover, % per bar",
        "Tried",
    )
    rows = [
        (
            f"{f['fold']}",
            Cell(f["strategy"], in_words(f["params"]) or "defaults"),
            " to ".join(f["train"]),
            " to ".join(f["test"]),
            f"{1e4 * f['trained']['te_rms']:.2f}",
            minus(f"{100 * f['trained']['excess_log_return']:+.2f}"),
            f"{100 * f['trained']['turnover']:.2f}",
            f"{f['tried']}",
        )
        for f in folds
    ]
    return Table(head, rows, kind="chosen")


def _excess_chart(path: RunRecord, base: Mapping[str, RunRecord]) -> Chart:
    figure, (ax,) = panels()
    x = day_numbers(path.dates)
    legend = []
    for (name, record), colour in zip({"tuned": path, **base}.items(), (PORTFOLIO, INDEX, *OTHERS), strict=False):
        e = np.r_[0.0, np.cumsum(np.log1p(record.returns) - np.log1p(record.index_returns[:, 0]))]
        curve(ax, x, e, colour)
        legend.append((name, colour))
    ax.axhline(0.0, color=SOFT, linewidth=0.8)
    percent_axis(ax.yaxis)
    return finish(figure, "Out-of-sample excess return", legend, y="Cumulated log return over the index")
