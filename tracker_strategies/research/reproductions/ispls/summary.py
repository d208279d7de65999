"""What many runs of the iS-PLS simulations come to: means with standard errors, and the acceptance criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.research.reproductions.ispls import data
from tracker_strategies.research.reproductions.ispls.runs import (
    ALPHAS,
    CHECKPOINTS,
    FORGETTING,
    NOISE_SIZES,
    RIVAL_SIZES,
    ROC_SIZES,
    Found,
)

FloatArray = NDArray[np.float64]
Runs = Mapping[str, Sequence[Found]]

SEGMENTS = ((0, 100), (100, 300), (300, 400))
STEP_ROUNDS, NEVER = 50, 100
"""Most rounds that a step of the number of factors may take, and what counts where it is not reached before the next."""
LATE = 25
"""Last rounds of a segment, by which a learner that adapts has settled."""
JUMPS = (100, 300)
"""Rounds before which the coefficients change, from 0."""


def mean_and_error(values: Any) -> tuple[float, float | None]:
    """Mean over the runs and its standard error; none for a single run."""
    array = np.asarray(values, dtype=np.float64)
    return float(array.mean()), float(array.std(ddof=1) / len(array) ** 0.5) if len(array) > 1 else None


def over(runs: Sequence[Found], of: Callable[[Found], Any]) -> FloatArray:
    """One figure, or one array, of each run."""
    return np.array([of(run) for run in runs], dtype=np.float64)


def summary(found: Runs) -> dict[str, Any]:
    """All figures of the simulations by section; those of rivals are None when they were not run."""
    rivals = found["responses_one_by_one"], found["restless"]
    return {
        "selection": _selection(found["selection"]),
        "convergence": {
            str(t): mean_and_error(over(found["convergence"], lambda r, t=t: r["sensitivity"][t - 1]))  # type: ignore[misc]
            for t in CHECKPOINTS
        },
        "convergence_each": {
            str(t): over(found["convergence"], lambda r, t=t: r["sensitivity"][t - 1]).tolist()  # type: ignore[misc]
            for t in CHECKPOINTS
        },
        "convergence_curve": over(found["convergence"], lambda r: r["sensitivity"]).mean(axis=0).tolist(),
        "changes": {name: _changes([run[name] for run in found["changes"]]) for name in FORGETTING},
        "parameters": _parameters(found["parameters"]),
        "responses": {name: _changes([run[name] for run in found["responses"]]) for name in found["responses"][0]},
        "rivals": _rivals(rivals[0]) if rivals[0] else None,
        "restless": _restless(rivals[1]) if rivals[1] else None,
        "factors": _factors(found["factors"]),
    }


def _selection(runs: Sequence[Found]) -> dict[str, Any]:
    return {
        "sensitivity": mean_and_error(over(runs, lambda r: r["sensitivity"])),
        "names by cross-validation": mean_and_error(over(runs, lambda r: r["names by cross-validation"])),
        "each": {
            "names": over(runs, lambda r: r["names by cross-validation"]).tolist(),
            **{rival: over(runs, lambda r, n=rival: _lead(r["roc"], n)).tolist() for rival in ("LARS", "S-PCA")},  # type: ignore[misc]
        },
        "sizes": list(ROC_SIZES),
        "roc": {name: over(runs, lambda r, n=name: r["roc"][n]).mean(axis=0).tolist() for name in runs[0]["roc"]},  # type: ignore[misc]
    }


def _lead(roc: Found, rival: str) -> float:
    """By how much larger a share of the right variables S-PLS has than a rival, mean over the numbers selected."""
    return float((np.asarray(roc["S-PLS"])[:, 0] - np.asarray(roc[rival])[:, 0]).mean())


def _changes(runs: Sequence[Found]) -> dict[str, Any]:
    """Sensitivity of both components, by segment and in all, errors, and lambda over time; under ``each`` run by run."""
    first = over(runs, lambda r: r["sensitivity"][0])
    lam = over(runs, lambda r: r["lambda"])
    each = {
        "sensitivity": first.mean(axis=1),
        "second component": over(runs, lambda r: r["sensitivity"][1].mean()),
        "segments": np.stack([first[:, a:b].mean(axis=1) for a, b in SEGMENTS], axis=1),
        "late": np.stack([first[:, b - LATE : b].mean(axis=1) for _, b in SEGMENTS], axis=1),
        "soon": np.stack([first[:, t + LATE : t + 2 * LATE].mean(axis=1) for t in JUMPS], axis=1),
        "mse": over(runs, lambda r: r["mse"].mean()),
        "lambda": np.stack([_dip(lam, t) for t in JUMPS], axis=1),
        **({"seconds": over(runs, lambda r: r["seconds"])} if "seconds" in runs[0] else {}),
    }
    timed = {"seconds": mean_and_error(over(runs, lambda r: r["seconds"]))} if "seconds" in runs[0] else {}
    return {
        "sensitivity": mean_and_error(first.mean(axis=1)),
        "second component": mean_and_error(over(runs, lambda r: r["sensitivity"][1].mean())),
        "by segment": [float(first[:, a:b].mean()) for a, b in SEGMENTS],
        "mse": mean_and_error(over(runs, lambda r: r["mse"].mean())),
        "curve": first.mean(axis=0).tolist(),
        "lambda": lam.mean(axis=0).tolist(),
        "each": {key: values.tolist() for key, values in each.items()},
        **timed,
    }


def _dip(lam: FloatArray, jump: int) -> FloatArray:
    """(runs, 3) lambda before a change, at its lowest in the five rounds after, and thirty rounds later."""
    return np.stack([lam[:, jump - 1], lam[:, jump : jump + 5].min(axis=1), lam[:, jump + 30]], axis=1)


def _parameters(runs: Sequence[Found]) -> dict[str, Any]:
    base = over(runs, lambda r: r["alpha"][f"{ALPHAS[0]:g}"]).mean()
    return {
        "alpha": {key: float(over(runs, lambda r, k=key: r["alpha"][k]).mean() / base) for key in runs[0]["alpha"]},  # type: ignore[misc]
        "windows": {key: mean_and_error(over(runs, lambda r, k=key: r["windows"][k])) for key in runs[0]["windows"]},  # type: ignore[misc]
        "alpha_each": {key: over(runs, lambda r, k=key: r["alpha"][k]).tolist() for key in runs[0]["alpha"]},  # type: ignore[misc]
        "windows_each": {key: over(runs, lambda r, k=key: r["windows"][k]).tolist() for key in runs[0]["windows"]},  # type: ignore[misc]
        "sizes": list(NOISE_SIZES),
        "noise": {key: over(runs, lambda r, k=key: r["noise"][k]).mean(axis=0).tolist() for key in runs[0]["noise"]},  # type: ignore[misc]
    }


def _rivals(runs: Sequence[Found]) -> dict[str, Any]:
    return {
        name: {
            "sensitivity": mean_and_error([float(run[name]["sensitivity"].mean()) for run in runs]),
            "active": mean_and_error([float(run[name]["active"].mean()) for run in runs]),
            "mse": mean_and_error([float(run[name]["mse"].mean()) for run in runs]),
            "seconds": mean_and_error([run[name]["seconds"] for run in runs]),
            "curve": np.mean([run[name]["sensitivity"] for run in runs], axis=0).tolist(),
            "each": {
                "sensitivity": [float(run[name]["sensitivity"].mean()) for run in runs],
                "seconds": [float(run[name]["seconds"]) for run in runs],
            },
        }
        for name in runs[0]
    }


def _restless(runs: Sequence[Found]) -> dict[str, Any]:
    return {
        str(size): {
            name: {key: mean_and_error([run[str(size)][name][key] for run in runs]) for key in ("sensitivity", "mse")}
            | {"each": [float(run[str(size)][name]["sensitivity"]) for run in runs]}
            for name in runs[0][str(size)]
        }
        for size in RIVAL_SIZES
    }


def _factors(runs: Sequence[Found]) -> dict[str, Any]:
    R = over(runs, lambda r: r["factors"])
    mean = R.mean(axis=0)
    ends = [s - 1 for s in (*data.STEPS[1:], data.ROUNDS)]
    delays = _delays(mean)
    each = [[NEVER if d is None else d for d in _delays(one)] for one in R]
    return {
        "curve": mean.tolist(),
        "before steps": [float(mean[t]) for t in ends],
        "delays": delays,
        "each": {"before steps": R[:, ends].tolist(), "delays": each},
    }


def _delays(R: FloatArray) -> list[int | None]:
    """Rounds from each step of the true number of factors until R is within half a factor of it; None if not before the next."""
    found: list[int | None] = []
    for start, count in list(zip(data.STEPS, data.ACTIVE, strict=True))[1:]:
        reached = np.flatnonzero(np.abs(R[start : start + NEVER] - count) <= 0.5)
        found.append(int(reached[0]) + 1 if reached.size else None)
    return found


def accepted(s: Mapping[str, Any]) -> dict[str, bool]:
    """Whether the runs are the experiment: each criterion by name, and `all`."""
    variants = [s["changes"][name] for name in ("lambda 1", "lambda 0.9", "self-tuned")]
    sensitivity, errors = ([v[key][0] for v in variants] for key in ("sensitivity", "mse"))
    checks = {
        "4.1: offline sensitivity above 0.95": s["selection"]["sensitivity"][0] > 0.95,
        "4.2: online sensitivity above 0.85 after 50 rounds": s["convergence"]["50"][0] > 0.85,
        "4.3: sensitivity of self-tuned above 0.9 above 1": sensitivity == sorted(sensitivity),
        "4.3: errors of self-tuned below 0.9 below 1": errors == sorted(errors, reverse=True),
        "4.6: both increases of R within 50 rounds": all(d is not None and d <= STEP_ROUNDS for d in s["factors"]["delays"][:2]),
    }
    if s["rivals"] is not None:
        own = s["responses"]["self-tuned"]["sensitivity"][0]
        checks["4.5: sensitivity above R-LARS and aLasso"] = own > max(v["sensitivity"][0] for v in s["rivals"].values())
        checks["4.5: at least 50 times faster than R-LARS response by response"] = _times_faster(s) >= 50.0
    return {**checks, "all": all(checks.values())}


def _times_faster(s: Mapping[str, Any]) -> float:
    """Seconds of R-LARS for fifty responses over those of iS-PLS for all at once."""
    return float(data.RESPONSES * s["rivals"]["R-LARS"]["seconds"][0] / s["responses"]["self-tuned"]["seconds"][0])
