# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Bring your own data
#
# A wide file is enough: the first column is the date, every other column one series of prices, one of them the index. Here the
# bundled sample takes the place of your file, with the usual defects added.

# %%
import tempfile
from pathlib import Path

import backtrader as bt
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from datafeeds import DataError, MarketPanel, SingleIndexData, clean, load_sample, open_source
from tracker_strategies import EnsembleTracker, TrackingAnalyzer, backtest
from tracker_strategies.research.data_check import tracking_floor

folder = Path(tempfile.mkdtemp())
frame = load_sample().to_frame().loc["2019":"2021"]
frame.to_csv(folder / "prices.csv")
frame.iloc[:3, :5].round(2)

# %%
panel = open_source(folder / "prices.csv")
print(panel)
print(f"tracking error: {1e4 * backtest(panel, 'ensemble').metrics()['te_rms']:.1f} bp per bar")

# %% [markdown]
# ## Listings, delistings, halts
#
# A name whose prices begin late lists then; one whose prices end early is delisted. A hole in the middle may be a halt or a
# fault in the file, so it is an error until you decide: `gaps="freeze"` makes it a halt, in which the name keeps its weight and
# is not traded.

# %%
holed = frame.copy()
holed.loc[:"2019-06-28", "AAPL"] = np.nan  # lists in July 2019
holed.loc["2021-03-01":, "GE"] = np.nan  # delisted
holed.loc["2020-05-04":"2020-05-08", "JNJ"] = np.nan  # a week without prices
try:
    MarketPanel.from_frame(holed)
except DataError as error:
    print(error)

# %%
panel = MarketPanel.from_frame(holed, gaps="freeze")
record = backtest(panel, "ensemble", {"rebalance": "weekly"})
for event in record.events:
    print(str(event["date"])[:10], event["symbol"], event["event"])

# %%
fig, ax = plt.subplots(figsize=(7, 2.8), dpi=80)
for symbol in ("AAPL", "GE", "JNJ"):
    ax.plot(record.dates, 100 * record.weights[:, panel.symbols.index(symbol)], lw=1, label=symbol)
ax.axvspan(pd.Timestamp("2020-05-04"), pd.Timestamp("2020-05-08"), color="0.85", label="JNJ halted")
ax.set(ylabel="weight, %")
ax.legend(frameon=False)
fig.autofmt_xdate()
plt.show()

# %% [markdown]
# ## Implausible prices
#
# `clean` looks for bad prints, jumps and stale prices, and flags, drops or winsorises them. It never changes the index.

# %%
spiked = frame.copy()
spiked.loc["2020-07-15", "PFE"] *= 10.0
panel, report = clean(MarketPanel.from_frame(spiked), policy="drop")
print(report)

# %% [markdown]
# ## How close can these names come?
#
# `tracker data check prices.csv` reports coverage, gaps, outliers, listings and survivorship, and how close these names can
# track: the tracking error of the best constant weights and of the best constant share counts, both chosen in hindsight. A
# learner of share counts can be closer than the best constant weights, because the weights of an index drift.

# %%
for key, value in tracking_floor(MarketPanel.from_frame(frame)).items():
    print(f"{key}: {value:.4g}" if isinstance(value, float) else f"{key}: {value}")

# %% [markdown]
# ## Feeds of any origin
#
# Any backtrader feeds work. Name each by its symbol and call the index `INDEX` (or pass `target=`). Names may list late: the
# strategy does not wait for them.

# %%
cerebro = bt.Cerebro(stdstats=False)
for symbol in ("INDEX", "AAPL", "JPM", "JNJ", "XOM", "PG", "WMT"):
    closes = holed[symbol].dropna().to_frame("close")
    # Closes only, used as the open, too. Without a column backtrader's open is NaN, and no order fills at NaN.
    bar = dict.fromkeys(("open", "high", "low", "close"), "close")
    feed = bt.feeds.PandasData(dataname=closes, **bar, volume=None, openinterest=None)
    cerebro.adddata(feed, name=symbol)
cerebro.addstrategy(EnsembleTracker, rebalance="weekly")
cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
te = cerebro.run()[0].analyzers.tracking.get_analysis()["te_rms"]
print(f"tracking error with six names: {1e4 * te:.1f} bp per bar")

# %% [markdown]
# Feeds of a panel are faster, because all of them share one clock, and they never show a price before it exists.

# %%
cerebro = bt.Cerebro(stdstats=False)
print(SingleIndexData(panel).add_to(cerebro)[0]._name, "and", panel.n_assets, "assets")
