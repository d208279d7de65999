# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Learn holdings, not weights
#
# An index is a basket of share counts. Between two reviews the counts stay as they are, and the weights drift with prices. A
# learner that keeps its *weights* constant while it is passive therefore aims at a moving target, and has to trade on every bar
# just to keep them unchanged. In holdings coordinates "passive" means that no order is sent.

# %%
import matplotlib.pyplot as plt
import numpy as np

from datafeeds import simulate_market
from tracker_strategies import backtest
from tracker_strategies.algorithms import PA, Holdings

# %% [markdown]
# ## One bar
#
# Two assets, half of the account in each. The first gains 10 %, and so the index (half and half as well) gains 5 %: there is no
# tracking error and nothing to learn. What should be held next?

# %%
x, y = [0.10, 0.00], 0.05
print("weights: ", np.round(PA(2).update(x, y), 4), "the winner is sold to get back to one half each")
print("holdings:", np.round(Holdings(2, learner=PA(2)).update(x, y), 4), "what the account holds anyway: 0.55 and 0.5 of 1.05")

# %% [markdown]
# ## An index whose share counts are known
#
# A simulated market of 40 names. The index holds share counts of the largest 80 % of them and changes the counts once, in the
# middle. The weight of its largest name moves on every bar, although the index does not trade.

# %%
market = simulate_market(n_assets=40, n_bars=500, seed=3, review_every=250)
truth = np.array([market.weights(row)[0] for row in range(market.panel.n_bars)])
name = int(truth[0].argmax())
runs = {
    c: backtest(market.panel, "pa", {"eps": 0.0, "coordinates": c, "fill": "close"}, orders=False) for c in ("weights", "shares")
}

fig, ax = plt.subplots(figsize=(7, 2.8), dpi=80)
ax.plot(market.panel.dates, 100 * truth[:, name], color="black", lw=1.6, label="in the index")
for coordinates, record in runs.items():
    ax.plot(record.dates, 100 * record.weights[:, name], lw=1, label=f"pa, {coordinates}")
ax.set(ylabel="weight of one name, %")
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Every algorithm
#
# Learners without second moments continue from the drifted weights. Those with second moments restate them: with
# s = (1 + x)/(1 + y) the matrix C becomes S^-1 C S^-1, which is exact for share counts that track the index. The table has
# tracking error and turnover per bar, without costs. `ensemble` always learns share counts.

# %%
print(f"{'':16} {'weights':>22} {'holdings':>22}")
for strategy in ("pa", "adagrad", "discounted-vaw", "rls", "sparse-pls", "least-squares"):
    cells = []
    for coordinates in ("weights", "shares"):
        m = backtest(market.panel, strategy, {"coordinates": coordinates, "fill": "close"}, orders=False).since(0.3).metrics()
        cells.append(f"{1e4 * m['te_rms']:6.2f} bp, {100 * m['turnover']:5.2f} %")
    print(f"{strategy:16} {cells[0]:>22} {cells[1]:>22}")
m = backtest(market.panel, "ensemble", {"fill": "close"}, orders=False).since(0.3).metrics()
print(f"{'ensemble':39} {1e4 * m['te_rms']:6.2f} bp, {100 * m['turnover']:5.2f} %")

# %% [markdown]
# Here every one of them tracks closer and trades less with share counts. What they do not do: a review of the index changes
# its share counts, and these have to be learned. Prices must be adjusted for splits; a dividend that is not in the prices
# looks like a small loss of shares.
