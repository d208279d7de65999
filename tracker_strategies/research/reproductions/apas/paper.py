"""The experiments of the APAS paper, run again: ``tracker reproduce apas``.

Shi, Ying, Palomar, *Adaptive passive-aggressive framework with side information*, NeurIPS 2024: enhanced tracking of a synthetic
index (Figures 2 and 3, Table 2), of the NASDAQ-100 (Figure 5), and the time of a step (Table 1, Figure 6).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tracker_strategies.research.reproductions._steps import Progress, Steps, several, whole
from tracker_strategies.research.reproductions.apas.claims import (
    CITATION,
    EXPECTED_MDTE,
    PAPER_SECONDS,
    accepted,
    claims,
    theorem_2,
)
from tracker_strategies.research.reproductions.apas.experiment import (
    GAUSSIAN,
    OVER_TIME,
    read_market,
    real_market,
    synthetic,
    table_2,
    thresholds,
)
from tracker_strategies.research.reproductions.apas.timing import time_steps

SLAIT_SETS = 12
"""Most data sets that SLAIT runs on: a fit takes as long as a thousand steps of a learner."""


def reproduce_apas(
    *,
    n_sets: int = 50,
    seed: int = 0,
    nasdaq: Path | None = None,
    progress: Progress | None = None,
    timing: bool = True,
    slait_sets: int = SLAIT_SETS,
) -> dict[str, Any]:
    """Run the experiments and return the results, next to those of the paper.

    Parameters
    ----------
    n_sets : int, default 50
        Synthetic data sets, >= 2. Data set k of a seed is the same whatever the number.
    seed : int, default 0
        Of the data sets, >= 0.
    nasdaq : Path, optional
        Wide file of daily prices with the column INDEX, for the setting of Figure 5. Names without a price on every day are left
        out, and named in the result.
    progress : callable, optional
        ``progress(done, total)`` after each part of the work.
    timing : bool, default True
        Whether to time the proximal step as well.
    slait_sets : int, default 12
        Data sets that SLAIT runs on, the first of them; 0 leaves it out.

    Returns
    -------
    dict
        Plain numbers, strings and lists. But for `timing` it depends on the arguments only.

    Raises
    ------
    ParameterError, DataError
        Before any work, when an argument or the file cannot be used.

    Notes
    -----
    The learners take about 0.3 s a data set, SLAIT 2 s and more where the linear algebra library spreads small products over
    threads, the timing 10 s.
    """
    several("n_sets", n_sets)
    whole("seed", seed)
    rivals_on = min(whole("slait_sets", slait_sets), n_sets)
    market = None if nasdaq is None else read_market(Path(nasdaq))
    step = Steps(n_sets + rivals_on + (market is not None) + bool(timing), progress)
    tails = synthetic(int(seed), int(n_sets), rivals_on, step)
    found = tails[GAUSSIAN]
    result: dict[str, Any] = {
        "paper": CITATION,
        "n_sets": int(n_sets),
        "slait_sets": rivals_on,
        "seed": int(seed),
        "accepted": accepted(found),
        "expected_mdte": {f"{lam:g}": value for lam, value in EXPECTED_MDTE.items()},
        "table_2": table_2(tails),
        "frontier": [runs.row() for runs in found.values()],
        "over_time": {m.name: found[m.name].over_time() for m in OVER_TIME if m.name in found},
        "claims": claims(found, tails),
        "thresholds": thresholds(int(seed), min(n_sets, 12)),
        "theorem_2": theorem_2(),
        "nasdaq": None,
        "timing": None,
    }
    if market is not None:
        result["nasdaq"] = real_market(*market)
        step()
    if timing:
        steps = time_steps(seed=int(seed))
        result["timing"] = {"paper_seconds": {str(n): dict(row) for n, row in PAPER_SECONDS.items()}, "steps": steps}
        step()
    return result
