"""What the APAS paper says, in numbers and in words, and how a run of the experiment answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import APAS, AlphaSignal, RealSpace
from tracker_strategies.research.reproductions.apas.runs import LAMS, Runs, gaps_at_equal_error, mean_and_error
from tracker_strategies.research.reproductions.verdicts import Part, answer, below, positive, within

FloatArray = NDArray[np.float64]

CITATION = "Shi, Ying, Palomar: Adaptive passive-aggressive framework with side information. NeurIPS 2024."
Tails = tuple[str, str]
COMBINATIONS: tuple[Tails, ...] = (("N", "N"), ("N", "t"), ("t", "N"), ("t", "t"))
"""Tails of the noise and of the data: the columns of Table 2."""
PAPER_MDTE = {
    0.01: (1.57e-4, 1.59e-4, 1.64e-4, 1.74e-4),
    0.05: (1.98e-4, 2.06e-4, 1.98e-4, 2.04e-4),
    0.1: (2.61e-4, 2.71e-4, 2.59e-4, 2.61e-4),
    0.2: (3.54e-4, 3.69e-4, 3.53e-4, 3.46e-4),
}
"""Table 2: MDTE of APAS by trade-off, one entry per combination."""
PAPER_SECONDS = {
    500: {"log_return": 8.4e-4, "switching_cost": 8.4e-4, "weighted_l1": 4.5e-4, "group_lasso": 1.62e-3},
    1000: {"log_return": 1.19e-3, "switching_cost": 8.4e-4, "weighted_l1": 8.4e-4, "group_lasso": 2.52e-3},
    2000: {"log_return": 1.81e-3, "switching_cost": 1.56e-3, "weighted_l1": 1.13e-3, "group_lasso": 3.44e-3},
    5000: {"log_return": 3.35e-3, "switching_cost": 3.56e-3, "weighted_l1": 2.82e-3, "group_lasso": 7.02e-3},
}
"""Table 1: mean CPU time of Algorithm 2, by number of assets and side information."""
EXPECTED_MDTE = {0.01: 1.5e-4, 0.05: 1.9e-4, 0.1: 2.5e-4, 0.2: 3.2e-4}
"""What the stand-in market should give, within `TOLERATED`."""
TOLERATED = 0.15
LEAST_RETURN, MOST_PA_RETURN = 0.02, 0.006

MOST_LOST = 0.005
"""Return over the scored rounds that "does well" may give up to the best fixed threshold."""
COMPARABLE = 1.25
"""Largest ratio of two tracking errors that are "comparable"."""


def accepted(found: Mapping[str, Runs]) -> dict[str, bool]:
    """Whether the run is the experiment: each criterion by name, and `all`."""
    rows = [found[f"APAS D=0.01, λ={lam:g}"] for lam in LAMS]
    errors = [float(r.mdte.mean()) for r in rows]
    checks = {
        f"mdte_lam_{lam:g}": abs(error / EXPECTED_MDTE[lam] - 1.0) <= TOLERATED for lam, error in zip(LAMS, errors, strict=True)
    }
    checks["mdte_rises_with_lam"] = bool(np.all(np.diff(errors) > 0.0))
    checks["return_at_lam_0.05_above_0.02"] = float(rows[1].excess.mean()) > LEAST_RETURN
    neutral = [abs(float(r.excess.mean())) for r in found.values() if r.method.family == "PA"]
    checks["pa_return_below_0.006"] = max(neutral) < MOST_PA_RETURN
    return {**checks, "all": all(checks.values())}


def claims(found: Mapping[str, Runs], tails: Mapping[Tails, Mapping[str, Runs]]) -> list[dict[str, str]]:
    """The paper's statements about Figures 2 and 3 and Tables 2 and 3, what was found, and a verdict that follows from it."""
    curves: dict[str, list[Runs]] = {}
    for runs in found.values():
        curves.setdefault(runs.method.curve, []).append(runs)
    apas = curves["APAS D=0.01"]
    errors, returns = [float(r.mdte.mean()) for r in apas], [float(r.excess.mean()) for r in apas]
    last = mean_and_error(apas[-1].excess - apas[-2].excess)
    pa = found["PA \u03b5=1e-4"]
    online = [r for r in found.values() if r.method.family in ("PAS", "APAS")]
    answers = [
        answer(
            "A larger \u03bb means a larger tracking error and a larger excess return (Figure 2a).",
            f"MDTE {_each(errors, 1e4, 2)} \u00d7 1e-4, excess return {_each(returns, 1.0, 3)} for \u03bb = {_each(LAMS, 1.0, 2)}"
            f". From \u03bb = {LAMS[-2]:g} to {LAMS[-1]:g} the return changes by {_difference(last)}.",
            [part for a, b in pairwise(apas) for part in (positive(b.mdte - a.mdte), positive(b.excess - a.excess))],
        ),
        answer(
            "PA has the smallest tracking error of the online methods and the smallest return (Figure 3).",
            f"{pa.method.name}: {_micro(pa)}, excess return {_signed(float(pa.excess.mean()))}; compared with {len(online)} PAS "
            f"and APAS, whose least are {1e4 * min(float(r.mdte.mean()) for r in online):.2f} \u00d7 1e-4 and "
            f"{_signed(min(float(r.excess.mean()) for r in online))}.",
            [part for r in online for part in (positive(r.mdte - pa.mdte), positive(r.excess - pa.excess))],
        ),
    ]
    answers.append(_heavy_tails(tails, [r.method.name for r in apas]))
    answers.append(_against_fixed([curve for name, curve in curves.items() if name.startswith("PAS ")], apas))
    return answers + [_against_slait(curves, family) for family in ("SLAIT-ETE", "SLAIT-DR") if family in curves]


def _heavy_tails(tails: Mapping[Tails, Mapping[str, Runs]], names: Sequence[str]) -> dict[str, str]:
    """The mean error with heavy tails stays within `TOLERATED` of the Gaussian one, the noise of both included."""
    moves, middle, parts = [], 0.0, []
    for tail in COMBINATIONS[1:]:
        for name in names:
            heavy, normal = tails[tail][name].mdte, tails[COMBINATIONS[0]][name].mdte
            relative = (heavy - normal) / float(normal.mean())
            mean, error = mean_and_error(relative)
            moves.append((abs(mean), error or 0.0))
            parts.append(within(relative, TOLERATED))
            middle = max(middle, abs(float(np.median(heavy) / np.median(normal)) - 1.0))
    size, error = max(moves)
    return answer(
        f"APAS is robust to heavy tails in data and noise: no mean MDTE moves by more than {TOLERATED:.0%} (Table 2).",
        f"The largest move of a mean MDTE from its Gaussian value is {100 * size:.0f} \u00b1 {100 * error:.0f} %: with three "
        f"degrees of freedom it depends on a few days. The largest move of a median is {100 * middle:.0f} %.",
        parts,
    )


def _against_fixed(fixed: Sequence[Sequence[Runs]], apas: Sequence[Runs]) -> dict[str, str]:
    """At the error of each APAS, the best fixed threshold: how much more it returns."""
    words, parts = [], []
    for point in apas:
        rivals = [(gaps, curve[0].method) for curve in fixed if (gaps := gaps_at_equal_error(curve, point)) is not None]
        if not rivals:
            words.append(f"none reaches the error of \u03bb = {point.method.lam:g}")
            parts.append(Part.UNTESTED)
            continue
        gaps, method = max(rivals, key=lambda rival: float(rival[0].mean()))
        words.append(f"{_difference(mean_and_error(gaps))} at the error of \u03bb = {point.method.lam:g} ({method.curve})")
        parts.append(below(gaps, MOST_LOST))
    return answer(
        f"Adapting \u03b5 does well without knowing the best fixed \u03b5: it gives up at most {MOST_LOST:g} (Figure 2b).",
        f"Excess return of PAS with the best fixed \u03b5 over APAS at equal MDTE: {'; '.join(words)}.",
        parts,
    )


def _against_slait(curves: Mapping[str, Sequence[Runs]], family: str) -> dict[str, str]:
    """At the error of each SLAIT: how much more APAS returns."""
    words, parts = [], []
    for rival in curves[family]:
        # Below the range of D = 1e-2 the smaller domain has to stand in; the paper names neither.
        for curve in (curves["APAS D=0.01"], curves["APAS D=1e-3"]):
            gaps = gaps_at_equal_error(curve, rival)
            if gaps is not None:
                shown = _difference(mean_and_error(gaps))
                words.append(f"{shown} at the error of {rival.method.name} (with {curve[0].method.curve})")
                parts.append(positive(gaps))
                break
        else:
            words.append(f"{rival.method.name}, {_micro(rival)}, lies outside the errors of APAS")
            parts.append(Part.UNTESTED)
    return answer(
        f"At equal tracking error APAS returns more than {family} (Figure 2a).",
        f"Excess return of APAS over it: {'; '.join(words)}.",
        parts,
    )


def real_claims(found: Mapping[str, Runs]) -> list[dict[str, str]]:
    """The paper's statements about its Figure 5, what was found on the file, and a verdict.

    There is one path: what chance had in it is judged from its days, which stand in for runs.
    """
    pa, small, large = (found[name] for name in ("PA \u03b5=3e-4", "APAS D=0.01, \u03bb=1e-3", "APAS D=0.01, \u03bb=0.1"))
    tight = found["APAS D=1e-3, \u03bb=1e-3"]
    best = max(found.values(), key=lambda r: float(r.excess[0]))
    others = [r for r in found.values() if r is not large]
    return [
        answer(
            "With a small \u03bb (1e-3) APAS has a tracking error comparable to PA and a better return.",
            f"APAS {_pair(small)}; PA {_pair(pa)}. With D = 1e-3 APAS has {_pair(tight)}. Comparable: at most "
            f"{COMPARABLE:g} times.",
            [positive(COMPARABLE**2 * _squares(pa) - _squares(small)), positive(_days(small) - _days(pa))],
        ),
        answer(
            "With a large \u03bb (0.1) APAS has a larger tracking error than PA and the best return of all methods.",
            f"APAS {_pair(large)}; the best return is that of {best.method.name}, {_signed(float(best.excess[0]))}.",
            [positive(_squares(large) - _squares(pa)), *(positive(_days(large) - _days(r)) for r in others)],
        ),
    ]


def _squares(runs: Runs) -> FloatArray:
    """Squared errors of the days of one path."""
    return np.asarray((runs.portfolio[0] - runs.index[0]) ** 2)


def _days(runs: Runs) -> FloatArray:
    """Log returns of the days of one path."""
    return np.asarray(np.log1p(runs.portfolio[0]))


def _pair(runs: Runs) -> str:
    return f"{_micro(runs)}, return {_signed(float(runs.excess.mean()))}"


def _micro(runs: Runs) -> str:
    return f"MDTE {1e4 * runs.mdte.mean():.2f} \u00d7 1e-4"


def theorem_2(rounds: int = 600) -> dict[str, Any]:
    r"""Regret of the thresholds on a sequence that breaks Theorem 2 of the paper, and the bound that the theorem prints.

    One asset with return 1, weights in R and a linear side term: :math:`f_t(\varepsilon) = c_t [e_t - \varepsilon]_+` plus what
    does not depend on the threshold. Errors 1.01, 1.01, 2 with slopes of f +1, +1, -1 repeat. Steps are in proportion to the
    error, so that the one wrong round in three pulls as hard as the others together and the threshold stays near nu = 1, while
    D = 2 would be best.
    """
    learner = APAS(1, side=AlphaSignal(), lam=0.25, nu=1.0, D=2.0, eps=1.0, G_mode="fixed", feasible=RealSpace(), start=[0.0])
    slopes, errors = np.resize([-1.0, -1.0, 1.0], rounds), np.resize([1.01, 1.01, 2.0], rounds)
    paid = 0.0
    for c, e in zip(slopes.tolist(), errors.tolist(), strict=True):
        paid += c * max(e - learner.diagnostics()["eps"], 0.0)
        learner.update([1.0], float(learner.weights[0]) + e, signal=[-c])
    best = min(float((slopes * np.maximum(errors - eps, 0.0)).sum()) for eps in (1.0, 1.01, 2.0))  # linear in between
    bound = 2.0 * math.sqrt(2.0**3 / 1.0) * math.sqrt(rounds)
    return {"rounds": rounds, "regret": paid - best, "bound": bound, "holds": paid - best <= bound}


def _signed(value: float) -> str:
    return f"{value:+z.3f}".replace("-", "\u2212")


def _each(values: Any, scale: float, digits: int) -> str:
    return ", ".join(f"{scale * v:.{digits}f}".replace("-", "\u2212") for v in values)


def _difference(gap: tuple[float, float | None]) -> str:
    return _signed(gap[0]) + (f" ± {gap[1]:.3f}" if gap[1] is not None else "")
