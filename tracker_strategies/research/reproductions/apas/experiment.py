"""The experiments of the APAS paper: which methods run on which data, and what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import read_panel
from tracker_strategies.errors import DataError
from tracker_strategies.research.reproductions.apas.claims import COMBINATIONS, PAPER_MDTE, Tails, real_claims
from tracker_strategies.research.reproductions.apas.market import DataSet
from tracker_strategies.research.reproductions.apas.runs import LAMS, Method, Runs

FloatArray = NDArray[np.float64]

N_ASSETS, ROUNDS, LEARN = 100, 200, 100
GAUSSIAN = COMBINATIONS[0]
LAMS_WIDE = (*LAMS, 0.4)
APAS_PAPER = tuple(Method("APAS", (("D", 1e-2), ("lam", lam))) for lam in LAMS)
PA_SHOWN = Method("PA", (("eps", 3e-4),))
TABLE_2 = (PA_SHOWN, *APAS_PAPER)
LEARNERS = (
    *(Method("PA", (("eps", eps),)) for eps in (1e-4, 3e-4, 4e-4, 5e-4, 1e-3)),
    *(Method("PAS", (("eps", eps), ("lam", lam))) for eps in (1e-4, 5e-4, 1e-3, 5e-3) for lam in LAMS_WIDE),
    *(Method("APAS", (("D", 1e-3), ("lam", lam))) for lam in LAMS_WIDE),
    *APAS_PAPER,
)
RIVALS = tuple(Method(family, (("lam", lam),)) for family in ("SLAIT-ETE", "SLAIT-DR") for lam in (1e-7, 1e-6))
OVER_TIME = (PA_SHOWN, *APAS_PAPER[:2], RIVALS[0], RIVALS[2])
"""The curves of Figure 3."""
LAMS_REAL = (1e-3, 1e-2, 1e-1)
REAL = (
    Method("Equal weight"),
    PA_SHOWN,
    *(Method("PAS", (("eps", 1e-4), ("lam", lam))) for lam in LAMS_REAL),
    *(Method("APAS", (("D", D), ("lam", lam))) for D in (1e-3, 1e-2) for lam in LAMS_REAL),
    RIVALS[0],
    RIVALS[2],
)


def synthetic(seed: int, n_sets: int, rivals_on: int, step: Callable[[], None]) -> dict[Tails, dict[str, Runs]]:
    """Runs by combination of tails and name: all methods with normal draws, those of Table 2 with heavy tails.

    `step` is called after each data set, first for the learners, then for SLAIT on the first `rivals_on` of them.
    """
    data = [DataSet.draw(seed, k, ROUNDS, N_ASSETS) for k in range(n_sets)]
    heavy = [(tails, method) for tails in COMBINATIONS[1:] for method in TABLE_2]
    found = run_methods([*((GAUSSIAN, m) for m in LEARNERS), *heavy], data, step)
    rivals = run_methods([(GAUSSIAN, m) for m in RIVALS], data[:rivals_on], step)
    found[GAUSSIAN] |= rivals.get(GAUSSIAN, {})
    return found


def run_methods(
    plan: Iterable[tuple[Tails, Method]], data: Sequence[DataSet], step: Callable[[], None] = lambda: None
) -> dict[Tails, dict[str, Runs]]:
    """Run each method of the plan on each data set with the tails that it asks for."""
    if not data:
        return {}
    earned: dict[tuple[Tails, Method], list[FloatArray]] = {key: [] for key in plan}
    index: dict[Tails, list[FloatArray]] = {tails: [] for tails, _ in earned}
    for one in data:
        samples = {tails: one.sample(*tails) for tails in index}
        for tails, (_, y) in samples.items():
            index[tails].append(y[LEARN:])
        for (tails, method), rows in earned.items():
            X, y = samples[tails]
            rows.append(method.returns(X, y, LEARN, window=LEARN, every=3))
        step()
    targets = {tails: np.array(rows) for tails, rows in index.items()}
    found: dict[Tails, dict[str, Runs]] = {tails: {} for tails in index}
    for (tails, method), rows in earned.items():
        found[tails][method.name] = Runs(method, np.array(rows), targets[tails])
    return found


def table_2(found: Mapping[Tails, Mapping[str, Runs]]) -> list[dict[str, Any]]:
    """Rows of Table 2, the paper's figure in each, with the returns that its Table 3 should have had."""
    return [
        {"noise": c[0], "data": c[1], "paper_mdte": None if m.lam is None else PAPER_MDTE[m.lam][i], **found[c][m.name].row()}
        for m in TABLE_2
        for i, c in enumerate(COMBINATIONS)
    ]


def thresholds(seed: int, n_sets: int) -> dict[str, float]:
    """Mean threshold of APAS over the scored rounds, for both domains, with normal draws: where adapting leads."""
    found = {}
    for D in (1e-3, 1e-2):
        method = Method("APAS", (("D", D), ("lam", 0.05)))
        seen = []
        for k in range(n_sets):
            X, y = DataSet.draw(seed, k, ROUNDS, N_ASSETS).sample(*GAUSSIAN)
            learner = method.learner(N_ASSETS)
            for t, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
                if t >= LEARN:
                    seen.append(learner.diagnostics()["eps"])
                learner.update(x, target)
        found[method.name] = float(np.mean(seen))
    return found


def read_market(path: Path) -> tuple[dict[str, Any], FloatArray, FloatArray]:
    """What the file holds, returns of the names that have a price on every day, and of the index."""
    panel = read_panel(path, "INDEX", gaps="freeze")
    whole = np.asarray(panel.has_bar.all(axis=0))
    if panel.n_bars < 41 or not whole.any():
        raise DataError(
            f"{path.name} has {panel.n_bars} days and {int(whole.sum())} names with a price on every day; at least 41 days and "
            "one such name are needed, because half of the days are for learning"
        )
    close, level = panel.close[:, whole], panel.target_close[:, 0]
    about = {
        "source": panel.source,
        "sha256": panel.fingerprint(),
        "first": panel.day(0),
        "last": panel.day(-1),
        "n_assets": int(whole.sum()),
        "left_out": [name for name, kept in zip(panel.symbols, whole.tolist(), strict=True) if not kept],
    }
    return about, close[1:] / close[:-1] - 1.0, level[1:] / level[:-1] - 1.0


def real_market(about: dict[str, Any], X: FloatArray, y: FloatArray) -> dict[str, Any]:
    """First half to learn from, second half scored, as in the paper's Figure 5; SLAIT every 10 days on half the days."""
    start = len(y) // 2
    runs = [Runs(m, m.returns(X, y, start, window=start, every=10)[None, :], y[None, start:]) for m in REAL]
    rows = [{key: value for key, value in r.row().items() if not key.endswith("_se")} for r in runs]
    curves = {r.method.name: r.over_time() for r in runs}
    found = {r.method.name: r for r in runs}
    days = {"learnt": start, "scored": len(y) - start}
    return {**about, **days, "rows": rows, "claims": real_claims(found), "over_time": curves}
