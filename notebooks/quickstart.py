# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # An index tracker in cerebro
#
# Twenty large US stocks follow the S&P 500 with the recommended tracker, at 5 bp costs. The sample has closes only, so orders
# fill at the next close. Open this file as a notebook (jupytext, VS Code, PyCharm) or run it as a script.

# %%
import backtrader as bt
import matplotlib.pyplot as plt

from datafeeds import SingleIndexData
from tracker_strategies import CostModel, EnsembleTracker, EqualWeight, HoldingsAnalyzer, TrackingAnalyzer, charge, record_of

data = SingleIndexData.from_source("sample")
data.panel

# %% [markdown]
# One cerebro per strategy, everything else equal. The baseline shows how much of the excess return is survivorship: these
# stocks were chosen with hindsight, so equal weights beat the index, too.


# %%
def run(strategy: type[bt.Strategy], **params: object) -> bt.Strategy:
    cerebro = bt.Cerebro(stdstats=False)
    data.add_to(cerebro)
    cerebro.broker.setcash(1_000_000)
    charge(cerebro.broker, CostModel(bps=5))
    cerebro.addstrategy(strategy, **params)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings")
    return cerebro.run()[0]


# %%
runs = {"ensemble": run(EnsembleTracker, rebalance="weekly"), "equal weight": run(EqualWeight, rebalance="weekly")}
for name, strategy in runs.items():
    tracking, holdings = strategy.analyzers.tracking.get_analysis(), strategy.analyzers.holdings.get_analysis()
    print(
        f"{name:>12}: tracking error {1e4 * tracking['te_rms']:.1f} bp, turnover {100 * holdings['turnover']:.2f} % per bar, "
        f"excess log return {tracking['excess_log_return']:+.2f}"
    )

# %% [markdown]
# A record has the whole run as arrays: `value`, `index`, `weights`, `turnover`, `cost`, and figures computed from them. The
# picture shows the tracking error over the last 63 bars, a quarter of a year:

# %%
fig, ax = plt.subplots(figsize=(7, 2.6), dpi=80)
for name, strategy in runs.items():
    record = record_of(strategy)
    miss = (record.active**2).cumsum()
    ax.plot(record.dates[64:], 1e4 * ((miss[63:] - miss[:-63]) / 63) ** 0.5, lw=1, label=name)
ax.set(ylabel="RMS tracking error\nover 63 bars, bp per bar", ylim=(0, None))
ax.legend(frameon=False)
plt.show()
