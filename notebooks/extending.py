# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Extending: an algorithm and a view of your own
#
# An algorithm writes one method, `_learn`, in terms of the assets that take part in a round. Checks, listings, holidays,
# copies, storage and the fills are done around it. One decorator makes it a strategy with the same parameters.

# %%
from typing import Any

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


# In cerebro, in backtests, in a paper account, in holdings, minding costs:
NormalisedLMSTracker = strategy_of(NormalisedLMS)

# %%
for params in ({}, {"coordinates": "shares"}, {"coordinates": "shares", "cost_aware": 5}):
    m = backtest(panel, NormalisedLMSTracker, params, costs=CostModel(bps=5)).metrics()
    print(f"{1e4 * m['te_rms']:.1f} bp per bar off the index, {100 * m['turnover']:.2f} % traded per bar, {params or 'weights'}")

# %% [markdown]
# The check suite of the project is for everybody: copies are independent, the state goes out and comes back in mid-stream,
# permuting assets permutes weights, and so on; a broken promise is an error that names it. And the past does not depend on the
# future: that check runs the whole engine on other futures and compares decisions, orders and values bit by bit.

# %%
print(len(check_learner(NormalisedLMS, rounds=2000)), "promises kept")
check_no_lookahead(NormalisedLMSTracker, panel.rows(0, 120))

# %% [markdown]
# ## A view of your own
#
# Side information is a convex function h(w) that is priced on every bar. `UserDefined` needs its gradient only; keep `lam`
# times the curvature of h at 1 or below, then its iteration converges fast. This one pulls two groups of names towards half of
# the account each; the group of a name could be its sector, its country, or a score.

# %%
group = np.array([0.0, 1.0] * (panel.n_assets // 2))


def balance(w: Any, at: Any) -> Any:
    """Gradient of (share of group 1 - share of group 0)^2 / (2 N)."""
    sign = (2.0 * group - 1.0) / np.sqrt(len(w))
    return float(sign @ w) * sign


for lam in (1e-9, 0.1, 1.0):
    record = backtest(panel, PASTracker, {"side": UserDefined(balance), "lam": lam})
    share = record.weights[250:] @ group
    print(f"lam={lam:g}: {1e4 * record.metrics()['te_rms']:.1f} bp off, group 1 is {share.mean():.3f} of the account")

# %% [markdown]
# ## A signal
#
# When the view is one number per asset, hand over a function of the bar (or one backtrader line per asset, as `signal_lines`).
# It sees what is known at the close of the bar and nothing else. NaN means no view.

# %%
closes: list[Any] = []


def reversal(bar: Any) -> Any:
    """Minus the return of the last five bars."""
    closes.append(bar.close)
    return -(bar.close / closes[-6] - 1.0) if len(closes) > 5 else np.full(panel.n_assets, np.nan)


record = backtest(panel, PASTracker, {"side": "signal", "signal": reversal, "lam": 0.05}, costs=CostModel(bps=5))
m = record.metrics()
print(f"{1e4 * m['te_rms']:.1f} bp, {100 * m['turnover']:.1f} % traded per bar, excess {m['excess_log_return']:+.3f} after costs")
