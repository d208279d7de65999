# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Extending: your own algorithm, side information and signal
#
# An algorithm defines one method, `_learn`, in terms of the assets that take part in a round. The base class does the rest:
# checks of the input, listings, holidays, copies and storage. One decorator makes it a strategy with the same parameters.

# %%
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from datafeeds import load_sample
from tracker_strategies import CostModel, PASTracker, backtest
from tracker_strategies.algorithms import OnlineAlgorithm, Simplex, UserDefined, learner
from tracker_strategies.strategies import strategy_of
from tracker_strategies.testing import check_learner, check_no_lookahead

panel = load_sample().rows(0, 750)


# %%
@learner("nlms", shows=("error",))
class NormalisedLMS(OnlineAlgorithm):
    """w <- P_W(w - eta e x / (delta + |x|^2)), e the error of the round: least mean squares (Widrow, Hoff 1960), normalised."""

    _state = ("_error",)

    def __init__(self, n_assets: int, *, eta: float = 0.3, delta: float = 1e-6) -> None:
        super().__init__(n_assets, feasible=Simplex())
        self.eta, self.delta = eta, delta
        self._error = 0.0

    def _learn(self, w: Any, x: Any, y: float, xx: float, W: Any, free: Any) -> Any:
        self._error = float(w @ x) - y
        return W.project(w - (self.eta * self._error / (self.delta + xx)) * x)

    def diagnostics(self) -> dict[str, float]:
        return {"error": self._error}


# For cerebro, backtests and paper accounts; with share counts as coordinates, and with costs in mind:
NormalisedLMSTracker = strategy_of(NormalisedLMS)

# %%
for params in ({}, {"coordinates": "shares"}, {"coordinates": "shares", "cost_aware": 5}):
    m = backtest(panel, NormalisedLMSTracker, params, costs=CostModel(bps=5)).metrics()
    print(f"TE {1e4 * m['te_rms']:.1f} bp, turnover {100 * m['turnover']:.2f} % per bar, {params or 'weights'}")

# %% [markdown]
# The checks of the project run on your own learner, too: copies are independent, a state that is saved and restored continues
# bit by bit, permuting assets permutes weights, and so on. A check that fails is an error that names it. The check of look-ahead
# runs the whole engine with other futures and compares decisions, orders and values bit by bit.

# %%
print(len(check_learner(NormalisedLMS, rounds=2000)), "checks passed")
check_no_lookahead(NormalisedLMSTracker, panel.rows(0, 120))

# %% [markdown]
# ## Your own side information
#
# Side information is a convex function h(w) that is part of the objective on every bar. `UserDefined` needs its gradient only.
# Keep `lam` times the curvature of h at 1 or below; then its iteration converges fast. This one tilts two groups of names
# towards half of the account each; the group of a name could be its sector, its country, or a score.

# %%
group = np.array([0.0, 1.0] * (panel.n_assets // 2))


def balance(w: Any, at: Any) -> Any:
    """Gradient of (share of group 1 - share of group 0)^2 / (2 N)."""
    sign = (2.0 * group - 1.0) / np.sqrt(len(w))
    return float(sign @ w) * sign


fig, ax = plt.subplots(figsize=(7, 2.6), dpi=80)
for lam in (1e-9, 0.1, 1.0):
    record = backtest(panel, PASTracker, {"side": UserDefined(balance), "lam": lam})
    share = record.weights[250:] @ group
    print(f"lam={lam:g}: TE {1e4 * record.metrics()['te_rms']:.1f} bp per bar, group 1 is {share.mean():.3f} of the account")
    ax.plot(record.dates[250:], share, lw=1, label=f"lam={lam:g}")
ax.set(ylabel="share of group 1")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## A signal
#
# If your view is one number per asset, pass a function of the bar (or one backtrader line per asset, as `signal_lines`). The bar
# has what is known at its close and nothing else. NaN means no view. `tilted-ensemble` takes the same function, and tilts the
# recommended tracker.

# %%
closes: list[Any] = []


def reversal(bar: Any) -> Any:
    """Minus the return of the last five bars."""
    closes.append(bar.close)
    return -(bar.close / closes[-6] - 1.0) if len(closes) > 5 else np.full(panel.n_assets, np.nan)


for strategy in ("pas", "tilted-ensemble"):
    closes.clear()
    m = backtest(panel, strategy, {"side": "signal", "signal": reversal, "lam": 0.05}, costs=CostModel(bps=5)).metrics()
    print(
        f"{strategy:16} TE {1e4 * m['te_rms']:.1f} bp, turnover {100 * m['turnover']:.1f} % per bar, "
        f"excess log return {m['excess_log_return']:+.3f} after costs"
    )
