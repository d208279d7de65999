# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Several indices at once
#
# One account, several targets: a blend of them, a tolerance for each of them, or a few names that carry what they have in
# common.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from datafeeds import Market, MultiIndexData, synthetic_market
from tracker_strategies import backtest

panel = synthetic_market(n_assets=40, n_bars=500, seed=2, n_indices=2)
panel

# %% [markdown]
# ## A blend, and a tube for each
#
# `blend` weighs the targets; every strategy then tracks their weighted mean. `multi-index` keeps them apart: it is passive
# while the error against each index stays within `eps`, and otherwise takes the shortest step that meets all of them. Figures
# are against the blend and against each index.


# %%
def show(strategy: str, **params: object) -> tuple[float, float]:
    found = backtest(panel, strategy, params, orders=False).since(0.3).metrics_by_target()
    each = [1e4 * found["targets"][name]["te_rms"] for name in panel.targets]
    label = ", ".join([strategy, *(f"{k}={v}" for k, v in params.items())])
    print(f"{label:52} blend {1e4 * found['te_rms']:5.1f} bp,  INDEX {each[0]:5.1f},  INDEX2 {each[1]:5.1f}")
    return each[0], each[1]


show("pa")
show("ensemble", blend=(0.8, 0.2))
show("multi-index")
show("multi-index", eps=(1e-4, 5e-3))
show("sparse-pls", max_names=15)

# %% [markdown]
# ## What can be had
#
# No portfolio can follow two indices exactly. Every blend is a point on the frontier between them.

# %%
frontier = [show("least-squares", blend=(a, 1 - a)) for a in (1.0, 0.75, 0.5, 0.25, 0.0)]
tubes = show("multi-index", coordinates="shares")

# %%
fig, ax = plt.subplots(figsize=(5, 3.2), dpi=80)
ax.plot(*zip(*frontier, strict=True), "o-", lw=1, label="least squares, blends 1:0 to 0:1")
ax.plot(*tubes, "s", color="C1", label="multi-index, holdings")
ax.set(xlabel="RMS tracking error against INDEX, bp", ylabel="against INDEX2, bp")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Beating them by a margin
#
# `margin=0.15` sets the target 15 % per year above the index, bar by bar: one margin for all, or one for each. It is a target,
# not a promise: the learner looks for weights that would have returned that much.

# %%
show("sparse-pls", max_names=15, margin=0.15)

# %% [markdown]
# ## Markets with different calendars
#
# New York and Tokyo do not close at the same moment and not on the same days. A bar is decided at the close of one of them
# (here New York, which closes last); of the other it knows the latest close that had happened by then. A holiday is a missing
# bar and never a return of zero.


# %%
def prices(days: list[str], **columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns, index=pd.DatetimeIndex(days))


ny = prices(["2024-01-02", "2024-01-03", "2024-01-04"], SPX=[10.0, 11, 12], AAPL=[5.0, 6, 7])
tokyo = prices(["2024-01-02", "2024-01-04"], NKY=[20.0, 21], SONY=[3.0, 4])
both = MultiIndexData.from_markets(
    {"NY": Market(ny, "SPX", "America/New_York", "16:00"), "TOKYO": Market(tokyo, "NKY", "Asia/Tokyo", "15:30")}
).panel
frame = pd.DataFrame(both.close, index=pd.DatetimeIndex(both.dates), columns=both.symbols)
print(frame, "\nlevels seen on 3 January:", dict(zip(both.targets, both.target_seen[1].tolist(), strict=True)))
print("returns:", np.round(both.returns, 3).tolist())
