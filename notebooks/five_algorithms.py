# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Five algorithms, and what each is for
#
# Each comes from a paper, and each answers another question. All learn from one pair a bar: the returns of the assets x and
# that of the index y. All answer with weights for the time after: long only, fully invested. The market here is drawn, so that
# there is no hindsight in it: 40 names, an index that holds share counts and is reviewed every 63 bars.

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
        f"{label:38} {1e4 * m['te_rms']:6.1f} bp per bar off, {100 * m['turnover']:5.2f} % traded, {m['n_holdings']:4.0f} names, "
        f"excess log return {m['excess_log_return']:+.3f}"
    )
    return m


equal = score("equal-weight")

# %% [markdown]
# ## Passive-aggressive (Crammer et al. 2003): correct at once, or not at all
#
# While the error of a bar stays within `eps`, nothing is learnt. Beyond it the weights move just as far as needed to get back.
# One parameter, in units of returns, trades tracking for trading. Cost of a bar: O(N).

# %%
for eps in (0.0, 3e-4, 3e-3):
    score("pa", eps=eps)

# %% [markdown]
# ## APAS (Shi, Ying, Palomar 2024): track, and lean towards something
#
# Side information h(w) pulls on the weights; `lam` says how strongly, and the tolerated error `eps` adapts to what that gains.
# The default h is what has just risen, a bet on momentum that need not pay. `side="switching"` is a price on trading instead.

# %%
score("apas", lam=0.001)
score("apas", lam=0.1)
score("apas", side="switching", lam=0.01)

# %% [markdown]
# ## AdaGrad (Duchi, Hazan, Singer 2010): a learning rate for every name
#
# Names that have moved the error a lot get small steps, the others large ones; no scale has to be known. The projection on the
# simplex is in the metric of the learning rates. Cost: O(N log N) with the diagonal, O(N^3) with the full matrix.

# %%
score("adagrad")

# %% [markdown]
# ## Discounted VAW (Jacobsen, Cutkosky 2024): forecasts without prior knowledge
#
# Ridge regression that forgets. Its forecasts are optimal against comparators that move, and a vote over discounts needs no
# choice of one. The theorem is about forecasts. The portfolio is the projection of the causal coefficients, and there a single
# discount can track closer than the vote, as it does here. Cost: O(N^2) per expert.

# %%
score("vaw")
score("discounted-vaw", gamma=0.99)
score("adaptive-discount")

# %% [markdown]
# ## Sparse PLS (McWilliams, Montana 2010): few names
#
# Latent factors of assets and indices, each carried by `theta` names, updated a bar at a time. It is made for a small number of
# names and for several indices at once.

# %%
for names in (5, 10, 20):
    score("sparse-pls", max_names=names)

# %% [markdown]
# ## What we recommend
#
# Any of the above in holdings instead of weights (see the notebook on holdings), or the ensemble: four estimates of the share
# counts of the index, stacked, so that nothing has to be chosen. The picture shows all of it: left is close to the index, low
# is cheap.

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
ax.set(xlabel="RMS tracking error, bp per bar", ylabel="turnover, % per bar", xscale="log", yscale="log")
plt.show()

# %% [markdown]
# The algorithms stand on their own, in numpy. One round by hand:

# %%
learner = PA(3, eps=0.001)
print(np.round(learner.update([0.02, -0.01, 0.00], 0.01), 4))
