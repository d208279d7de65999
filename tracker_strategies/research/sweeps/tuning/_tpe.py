"""Optuna's tree-structured Parzen estimator as a proposer of candidates, for spaces too large for a grid."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from tracker_strategies.errors import MissingExtraError
from tracker_strategies.research.sweeps.asking.space import Candidate, Range, Space

Losses = list[tuple[float, float] | None]


def propose(space: Space, evaluate: Callable[[Sequence[Candidate]], Losses], *, trials: int, seed: int, batch: int) -> None:
    """Propose ``trials`` candidates, ``batch`` at a time, learning from the losses of those before.

    The proposals depend on the seed, the batch and the losses alone. What is evaluated is remembered by ``evaluate``.

    Raises
    ------
    MissingExtraError
        When Optuna is not installed.
    """
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("search tpe needs Optuna: pip install 'backtrader-index-tracker[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True, n_startup_trials=max(batch, trials // 4))
    study = optuna.create_study(sampler=sampler)
    worst = 0.0
    for start in range(0, trials, batch):
        asked = [study.ask() for _ in range(min(batch, trials - start))]
        for trial, loss in zip(asked, evaluate([_suggest(trial, space) for trial in asked]), strict=True):
            if loss is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            beyond, value = loss
            # TPE goes by ranks: whatever is beyond the budget stands behind all that is within it, by how far beyond it is.
            worst = max(worst, abs(value))
            study.tell(trial, value if beyond == 0.0 else 1e6 * (1.0 + worst) + 1e3 * math.log1p(beyond))


def _suggest(trial: Any, space: Space) -> Candidate:
    names = space.strategies
    strategy = names[trial.suggest_categorical("strategy", list(range(len(names))))] if len(names) > 1 else names[0]
    params = {}
    for key, domain in space.own(strategy).items():
        label = f"{strategy}.{key}"
        if not isinstance(domain, Range):
            params[key] = domain[trial.suggest_categorical(label, list(range(len(domain))))] if len(domain) > 1 else domain[0]
        elif domain.whole:
            params[key] = trial.suggest_int(label, math.ceil(domain.low), math.floor(domain.high), log=domain.log)
        else:
            params[key] = trial.suggest_float(label, domain.low, domain.high, log=domain.log)
    return Candidate.of(strategy, params)
