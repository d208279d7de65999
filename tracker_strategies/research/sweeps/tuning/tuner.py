"""Nested walk-forward tuning: parameters chosen on the past under a budget, judged only on what followed.

For each fold every candidate is run on the training window alone. Its score there is itself an out-of-sample one: each bar is
predicted before it is learned from, so the inner loop of the nesting is the walk of the learner through the window. The best
candidate within the budget is then run on through the test window, and nothing else ever is: no candidate that was not chosen
sees a test bar. The test pieces of the chosen ones, put one after the other with the cost of changing from one portfolio to the
next, are the out-of-sample path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from datafeeds import MarketPanel
from tracker_strategies.analysis.inference.objectives import OBJECTIVES, Objective
from tracker_strategies.errors import ParameterError
from tracker_strategies.research.sweeps.asking.cells import Cell, Window
from tracker_strategies.research.sweeps.asking.refusing import refuse
from tracker_strategies.research.sweeps.asking.space import Candidate
from tracker_strategies.research.sweeps.asking.spec import TRIALS, Context, Sweep, open_panels
from tracker_strategies.research.sweeps.asking.values import as_json
from tracker_strategies.research.sweeps.asking.windows import WalkForward
from tracker_strategies.research.sweeps.running.crew import CELL_SECONDS, Allowance
from tracker_strategies.research.sweeps.running.driver import Interrupts, Progress, Unwatched, Watcher, count_others, description
from tracker_strategies.research.sweeps.running.engines import engine_for
from tracker_strategies.research.sweeps.running.store import Store, read_rows

#: Candidates that TPE proposes at a time. It does not depend on the number of workers, so that neither does what it proposes.
BATCH = 8


@dataclass(frozen=True)
class Tuning:
    """What to tune.

    Parameters
    ----------
    sweep : Sweep
        Strategies, parameters and one context: one source, cost model and fill mode. Its ``walk_forward`` says how to split, its
        ``search`` ("grid", "random" or "tpe") how to look: ``tpe`` needs Optuna (extra ``tune``) and proposes ``trials``
        candidates a fold.
    te_budget : float, optional
        Largest tracking error (RMS, per bar) that is allowed in training: 0.001 is 10 basis points.
    turnover_budget : float, optional
        Largest mean turnover per bar in training.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, Tuning, WalkForward
    >>> space, folds = Space(("pa",), {"eps": (1e-4, 3e-4)}), WalkForward(folds=2)
    >>> tuning = Tuning(Sweep(space, data=("sample",), walk_forward=folds), te_budget=0.003)
    >>> tuning.te_budget
    0.003
    """

    sweep: Sweep
    te_budget: float | None = None
    turnover_budget: float | None = None
    walk: WalkForward = field(init=False)

    def __post_init__(self) -> None:
        """One context, a budget that can be kept."""
        if self.sweep.search == "halving":
            raise ParameterError("search=halving is for sweeps; tuning has grid, random and tpe")
        for name in ("te_budget", "turnover_budget"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0.0 < value < float("inf")):
                raise ParameterError(f"{name}={value!r} must be a positive number per bar; 0.001 is 10 basis points")
        for name in ("data", "costs", "fill", "seeds"):
            if len(set(getattr(self.sweep, name))) != 1:
                raise ParameterError(f"tuning takes exactly one value of {name}, got {len(set(getattr(self.sweep, name)))}")
        if self.sweep.windows or self.sweep.eval_from is not None:
            raise ParameterError(
                "tuning defines its own windows: use folds, test_from and train instead of windows and eval_from"
            )
        object.__setattr__(self, "walk", self.sweep.walk_forward or WalkForward())

    @property
    def objective(self) -> Objective:
        """The objective by which is chosen, within the budget."""
        return OBJECTIVES[self.sweep.objective]

    def strain(self, row: Mapping[str, Any]) -> float:
        """Share of the budget that a run uses; up to 1 it is within the budget."""
        budgets = ((row["te_rms"], self.te_budget), (row["turnover"], self.turnover_budget))
        return max((float(used) / allowed for used, allowed in budgets if allowed is not None), default=0.0)

    def loss(self, row: Mapping[str, Any]) -> tuple[float, float]:
        """Sort key: runs within the budget by the objective, then the others by how far they are beyond it."""
        strain = self.strain(row)
        return max(0.0, strain - 1.0), self.objective.better(float(row[self.objective.name]))

    def tell(self) -> dict[str, Any]:
        """As plain values, for ``sweep.json``."""
        told = {**self.sweep.tell(), "walk_forward": asdict(self.walk)}
        return told | {"kind": "tune", "te_budget": self.te_budget, "turnover_budget": self.turnover_budget}


@dataclass(frozen=True)
class Choice:
    """What was chosen for a fold, and why."""

    fold: int
    candidate: Candidate
    trained: Mapping[str, float]
    within_budget: bool
    tried: int
    failed: int
    train: Window
    test: Window


@dataclass(frozen=True, eq=False)
class Tuned:
    """The choices of all folds, and the panel and context that they were made in.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, Tuning, WalkForward, run_tuning
    >>> space, folds = Space(("pa",), {"eps": (1e-4, 3e-4)}), WalkForward(folds=2)
    >>> tuning = Tuning(Sweep(space, data=("synthetic:n_assets=5,n_bars=200",), walk_forward=folds))
    >>> tuned = run_tuning(tuning, "tuned", jobs=1)
    >>> [choice.candidate.params for choice in tuned.choices]
    [{}, {}]
    """

    tuning: Tuning
    choices: tuple[Choice, ...]
    context: Context
    panel: MarketPanel
    folder: Path
    stopped: bool = False

    def cells(self, candidates: Sequence[Candidate]) -> list[Cell]:
        """Test cells, one per fold."""
        pairs = zip(candidates, self.choices, strict=True)
        return [replace(self.context, window=c.test).cell(own, self.tuning.sweep) for own, c in pairs]


def run_tuning(
    tuning: Tuning,
    folder: str | Path,
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    watcher: Watcher | None = None,
    extend: bool = False,
    cell_seconds: float = CELL_SECONDS,
    cell_memory: float | None = None,
) -> Tuned:
    """Choose the parameters of each fold. Training runs are rows in ``folder``, as those of a sweep; a stopped tuning is resumed.

    See :func:`~tracker_strategies.research.sweeps.tuning.report.write_tuning` for what comes out of it, and
    :func:`~tracker_strategies.research.sweeps.running.driver.run_sweep` for the arguments.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, Tuning, WalkForward, run_tuning
    >>> space, folds = Space(("pa",), {"eps": (1e-4, 3e-4)}), WalkForward(folds=2)
    >>> tuning = Tuning(Sweep(space, data=("synthetic:n_assets=5,n_bars=200",), walk_forward=folds))
    >>> len(run_tuning(tuning, "tuning", jobs=1).choices)
    2
    """
    allowance = Allowance.of(cell_seconds, cell_memory)
    sweep = replace(tuning.sweep, walk_forward=None, baselines=())
    panels = open_panels(sweep)
    ((data, panel),) = panels.items()
    context = Context(data, sweep.costs[0], sweep.fill[0], Window(0, 0, panel.n_bars))
    splits = tuning.walk.splits(panel.dates)
    refuse(tuning.sweep, [replace(context, window=window) for split in splits for window in split], panels)
    per_fold = _trials(tuning)
    watcher = watcher or Unwatched()
    made: list[Choice] = []
    told = description(tuning.tell(), per_fold * len(splits), panels)
    with Store(folder, told, extend=extend) as store, Interrupts(watcher) as interrupts:
        try:
            with engine_for(panels, jobs=jobs, scheduler=scheduler, allowance=allowance) as engine:
                progress = Progress(store, engine, per_fold * len(splits), watcher, interrupts)
                every = _candidates(tuning) if tuning.sweep.search != "tpe" else []
                trained = [replace(context, window=train).cell(c, sweep) for train, _ in splits for c in every]
                count_others(store, told, trained)
                if every:
                    progress.run(trained)
                    store.flush()
                for k, (train, test) in enumerate(splits):
                    trainer = _Trainer(tuning, replace(context, window=train), progress)
                    if tuning.sweep.search == "tpe":
                        from tracker_strategies.research.sweeps.tuning._tpe import propose

                        propose(sweep.space, trainer, trials=per_fold, seed=sweep.seed + k, batch=BATCH)
                    else:
                        trainer(every)
                    made.append(trainer.choose(k, train, test))
        except KeyboardInterrupt:
            return Tuned(tuning, tuple(made), context, panel, store.folder, True)
    return Tuned(tuning, tuple(made), context, panel, store.folder)


class _Trainer:
    """Runs candidates on one training window and remembers how they did."""

    def __init__(self, tuning: Tuning, context: Context, progress: Progress) -> None:
        self._tuning, self._context, self._progress = tuning, context, progress
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._of: dict[str, Candidate] = {}

    def __call__(self, candidates: Sequence[Candidate]) -> list[tuple[float, float] | None]:
        """The loss of each; None for one that failed."""
        cells = {(cell := self._context.cell(c, self._tuning.sweep)).key(self._progress.code): cell for c in candidates}
        self._of |= dict(zip(cells, candidates, strict=True))
        self._progress.run(cells.values(), lambda row: self._rows.update({row["key"]: row}))
        if not self._rows.keys() >= cells.keys():
            self._progress.store.flush()
            stored = read_rows(self._progress.store.folder, _READ).to_pylist()
            self._rows |= {row["key"]: row for row in stored if row["key"] in cells}
        return [self._tuning.loss(row) if (row := self._rows[key])["status"] == "ok" else None for key in cells]

    def choose(self, fold: int, train: Window, test: Window) -> Choice:
        """The best of all that were run."""
        good = [row for row in self._rows.values() if row["status"] == "ok"]
        if not good:
            first = next(self._rows[key] for key in self._of if key in self._rows)
            raise ParameterError(
                f"fold {fold + 1}: all {len(self._rows)} candidates failed; the first error is: {first['error']}"
            )
        best = min(good, key=lambda row: (*self._tuning.loss(row), row["key"]))
        figures = {name: float(best[name]) for name in ("te_rms", "excess_log_return", "turnover")}
        return Choice(
            fold=fold,
            candidate=self._of[best["key"]],
            trained={**figures, self._tuning.objective.name: float(best[self._tuning.objective.name])},
            within_budget=self._tuning.strain(best) <= 1.0,
            tried=len(self._rows),
            failed=len(self._rows) - len(good),
            train=train,
            test=test,
        )


_READ = ("key", "status", "error", "te_rms", "te_centred", "excess_log_return", "turnover")


def _candidates(tuning: Tuning) -> list[Candidate]:
    found = replace(tuning.sweep, baselines=()).candidates()
    return list({(c.strategy, as_json(c.params)): c for c in found}.values())


def _trials(tuning: Tuning) -> int:
    return (tuning.sweep.trials or TRIALS) if tuning.sweep.search == "tpe" else len(_candidates(tuning))
