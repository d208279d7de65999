# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Five algorithms, and what each is for
#
# Each comes from a paper and solves a different problem. All learn from one pair per bar, the returns x of the assets and the
# return y of the index, and return weights for the next bar: long only, fully invested. The market is simulated, so there is no
# survivorship in it: 40 names, and an index that holds share counts and is reviewed every 63 bars.

# %%
import matplotlib.pyplot as plt
import numpy as np

from datafeeds import simulate_market
from tracker_strategies import CostModel, backtest
from tracker_strategies.algorithms import PA

market = simulate_market(n_assets=40, n_bars=500, seed=1)
panel = market.panel


def score(name: str, **params: object) -> dict[str, float]:
    record = backtest(panel, name, params, costs=CostModel(bps=5), orders=False).since(0.3)
    m = record.metrics()
    label = ", ".join([name, *(f"{k}={v}" for k, v in params.items())])
    print(
        f"{label:38} TE {1e4 * m['te_rms']:5.1f} bp, turnover {100 * m['turnover']:5.2f} % per bar, "
        f"{m['n_holdings']:3.0f} names, excess log return {m['excess_log_return']:+.3f}"
    )
    return m


equal = score("equal-weight")

# %% [markdown]
# ## Passive-aggressive (Crammer et al. 2003): correct at once, or not at all
#
# While the error of a bar is within `eps`, the weights stay. Beyond it they move just as far as needed to get back within it.
# One parameter, in units of returns: a larger `eps` means less trading and a larger tracking error. Cost per bar: O(N).

# %%
for eps in (0.0, 3e-4, 3e-3):
    score("pa", eps=eps)

# %% [markdown]
# ## APAS (Shi, Ying, Palomar 2024): tracking with a tilt
#
# A convex function h(w), the side information, tilts the weights. `lam` is the strength of the tilt, and the tolerated error
# `eps` adapts to what the tilt gains. The default h prefers names that have just risen; such a bet on momentum need not pay.
# `side="switching"` is a price on trading instead.

# %%
for params in ({"lam": 0.001}, {"lam": 0.1}, {"side": "switching", "lam": 0.01}):
    score("apas", **params)

# %% [markdown]
# ## AdaGrad (Duchi, Hazan, Singer 2010): a learning rate for every name
#
# Names that have contributed much to past gradients get small steps, the others large ones; no scale has to be chosen. The
# projection on the simplex is in the metric of the learning rates. Cost: O(N log N) with the diagonal, O(N^3) with the full
# matrix.

# %%
adagrad = score("adagrad")

# %% [markdown]
# ## Discounted VAW (Jacobsen, Cutkosky 2024): forecasts without prior knowledge
#
# Ridge regression that discounts the past. Its forecasts have optimal regret against comparators that change, and a vote over
# discounts removes the choice of one. The theorem is about forecasts. The portfolio is the projection of the causal
# coefficients, and a single discount can track closer than the vote, as it does here. Cost: O(N^2) per expert.

# %%
for name, params in (("vaw", {}), ("discounted-vaw", {"gamma": 0.99}), ("adaptive-discount", {})):
    score(name, **params)

# %% [markdown]
# ## Sparse PLS (McWilliams, Montana 2010): few names
#
# Latent factors of assets and indices, each with `theta` names, updated bar by bar. It is made for a small number of names and
# for several indices at once.

# %%
for names in (5, 10, 20):
    score("sparse-pls", max_names=names)

# %% [markdown]
# ## What we recommend
#
# `ensemble`: four estimates of the index's share counts, combined, with nothing to choose. Here it tracks closest and trades
# least. Of the five algorithms all but `apas` track closer, and trade less, with share counts instead of weights (see the
# notebook on holdings). In the picture, left is close to the index and low is little trading.

# %%
points: dict[str, dict[str, float]] = {"equal-weight": equal}
for name in ("pa", "apas", "adagrad", "discounted-vaw", "sparse-pls"):
    points[name] = score(name)
    points[f"{name}, holdings"] = score(name, coordinates="shares")
points["ensemble"] = score("ensemble")

# %%
fig, ax = plt.subplots(figsize=(7, 3.6), dpi=80)
for name, m in points.items():
    x, y = 1e4 * m["te_rms"], 100 * m["turnover"]
    ax.scatter(x, y, s=22, color="C1" if "holdings" in name or name == "ensemble" else "C0")
    ax.annotate(name, (x, y), xytext=(4, 3 if "holdings" in name else -9), textcoords="offset points", fontsize=7)
ax.set(xlabel="tracking error (RMS), bp per bar", ylabel="turnover, % per bar", xscale="log", yscale="log")
plt.show()

# %% [markdown]
# The algorithms can be used without backtrader, in numpy. One round by hand:

# %%
learner = PA(3, eps=0.001)
print(np.round(learner.update([0.02, -0.01, 0.00], 0.01), 4))
