# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Several indices at once
#
# One account, several targets: a blend of them, a tolerance for each of them, or a few names that represent the factors behind
# all of them.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from datafeeds import Market, MultiIndexData, synthetic_market
from tracker_strategies import backtest

panel = synthetic_market(n_assets=40, n_bars=500, seed=2, n_indices=2)
panel

# %% [markdown]
# ## A blend, or a tolerance for each
#
# `blend` sets weights of the targets; every strategy then tracks their weighted mean (the plain mean by default).
# `multi-index` keeps them apart: it is passive while the error against each index stays within `eps`, and otherwise takes the
# shortest step that meets all of them. Figures are against the blend and against each index.


# %%
def show(strategy: str, **params: object) -> tuple[float, float]:
    found = backtest(panel, strategy, params, orders=False).since(0.3).metrics_by_target()
    each = [1e4 * found["targets"][name]["te_rms"] for name in panel.targets]
    label = ", ".join([strategy, *(f"{k}={v}" for k, v in params.items())])
    print(f"{label:52} blend {1e4 * found['te_rms']:5.1f} bp,  INDEX {each[0]:5.1f},  INDEX2 {each[1]:5.1f}")
    return each[0], each[1]


for strategy, params in (
    ("ensemble", {}),
    ("ensemble", {"blend": (0.8, 0.2)}),
    ("multi-index", {}),
    ("multi-index", {"eps": (1e-4, 5e-3)}),
    ("sparse-pls", {"max_names": 15}),
):
    show(strategy, **params)

# %% [markdown]
# ## The frontier
#
# No portfolio can follow two different indices exactly. Every blend is a point on the frontier between them.

# %%
frontier = [show("ensemble", blend=(a, 1 - a)) for a in (1.0, 0.75, 0.5, 0.25, 0.0)]
tubes = show("multi-index", coordinates="shares")

# %%
fig, ax = plt.subplots(figsize=(5, 3.2), dpi=80)
ax.plot(*zip(*frontier, strict=True), "o-", lw=1, label="ensemble, blends 1:0 to 0:1")
ax.plot(*tubes, "s", color="C1", label="multi-index, holdings")
ax.set(xlabel="RMS tracking error against INDEX, bp", ylabel="against INDEX2, bp")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## A target excess return
#
# `margin=0.15` raises the targets by 15 % per year, bar by bar: one margin for all, or one for each. It is a target, not a
# forecast: the learner looks for weights that would have returned that much in the past. What was delivered is another figure:

# %%
for margin in (None, 0.15):
    found = backtest(panel, "sparse-pls", {"max_names": 15, "margin": margin}, orders=False).since(0.3).metrics()
    per_year = 252 * found["excess_log_return"] / found["n_bars"]
    print(f"margin={margin}: {1e4 * found['te_rms']:.1f} bp per bar, excess log return {100 * per_year:+.1f} % per year")

# %% [markdown]
# ## Markets with different calendars
#
# New York and Tokyo do not close at the same moment and not on the same days. A bar is decided at the close of one of them
# (here New York, which closes last). For the other it has the latest close before that moment. A holiday is a missing bar,
# never a return of zero.


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
