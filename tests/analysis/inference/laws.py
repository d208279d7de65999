"""Errors of pairs of equally good runs under known laws, and how often intervals hold the truth. Benchmarks use them too."""

import numpy as np
from scipy.signal import lfilter

from tracker_strategies.analysis.inference.verdicts import judge

LAWS = {
    **{f"AR {rho}, {tails}": ("ar", rho, tails) for tails in ("normal", "t5") for rho in (0.0, 0.3, 0.6)},
    "GARCH (0.10, 0.85)": ("garch", 0.0, "normal"),
    "GARCH (0.10, 0.85), common volatility": ("garch", 1.0, "normal"),
}
_BEFORE = 300


def pairs(law: str, n_bars: int, count: int, seed: int = 1) -> np.ndarray:
    """(count, 2, T) errors with a mean square of one: the same law, different errors."""
    kind, value, tails = LAWS[law]
    rng = np.random.default_rng([seed, n_bars])
    shape = (count, 2, n_bars + _BEFORE)
    z = rng.standard_normal(shape) if tails == "normal" else rng.standard_t(5, shape) / np.sqrt(5.0 / 3.0)
    if kind == "ar":
        return lfilter([np.sqrt(1.0 - value**2)], [1.0, -value], z)[..., _BEFORE:]
    e, h = np.empty_like(z), np.ones((count, 2))
    for t in range(z.shape[-1]):
        e[..., t] = np.sqrt(h) * z[..., t]
        square = e[..., t] ** 2
        if value:  # both runs live through the same storms
            square = np.broadcast_to(square.mean(axis=1, keepdims=True), square.shape)
        h = 0.05 + 0.10 * square + 0.85 * h
    return e[..., _BEFORE:]


def coverage(law: str, n_bars: int, count: int, seed: int = 1) -> dict[str, float]:
    """Shares of pairs whose intervals hold the truth (no difference; a tracking error of 1), and that are called different."""
    difference = te = different = 0
    for first, second in pairs(law, n_bars, count, seed):
        found = judge({"first": first, "second": second}, draws=2)
        versus = found["second"].versus
        assert versus is not None
        difference += versus.low <= 0.0 <= versus.high
        te += sum(run.low <= 1.0 <= run.high for run in found.values())
        different += versus.verdict in ("better", "worse")
    return {"difference": difference / count, "te": te / (2 * count), "called different": different / count}
