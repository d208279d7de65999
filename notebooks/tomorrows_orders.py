# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # From a download to tomorrow's orders
#
# `yfinance.download(["^GSPC", "AAPL", ...])` returns a frame whose columns have two levels: the field (Close, High, ...) and the
# ticker. Here the bundled sample is given this shape, so that the notebook runs without the internet. Four steps lead from it to
# an order list.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from datafeeds import MarketPanel, load_sample
from tracker_strategies import Account, CostModel, Mandate, backtest, orders_for

folder = Path(tempfile.mkdtemp())
closes = load_sample().to_frame().loc["2020":"2022"].rename(columns={"INDEX": "^GSPC"})
fields = dict.fromkeys(("Close", "High", "Low", "Open", "Volume"), closes)
download = pd.concat(fields, axis=1, names=["Price", "Ticker"])
download.iloc[-3:, :4].round(2)

# %% [markdown]
# ## 1. From the download to a panel
#
# Use closes as they are quoted: download with `auto_adjust=False` and take `Close`, not `Adj Close`. Prices that are adjusted for
# dividends give wrong share counts.

# %%
panel = MarketPanel.from_frame(download["Close"], "^GSPC", source="yfinance")
print(panel)

# %% [markdown]
# ## 2. What is held
#
# A file with symbol, quantity and a row CASH, or an export of the broker. A column with the broker's prices is compared with the
# last closes: a difference of more than two percent is refused, and if it looks like a split, the message gives the ratio.

# %%
last = dict(zip(panel.symbols, panel.close[-1], strict=True))
rows = [(name, qty, round(last[name], 2)) for name, qty in (("AAPL", 400), ("MSFT", 150), ("XOM", 300))]
pd.DataFrame([*rows, ("CASH", 5000, None)], columns=["symbol", "qty", "price"]).to_csv(folder / "holdings.csv", index=False)
account = Account.read(folder / "holdings.csv")
print(account.cash, dict(account.shares))

# %% [markdown]
# ## 3. The list
#
# The ensemble learns from all bars and decides at the last close, within the mandate and after costs. Sells come first. Buys of
# batch 2 need the proceeds of the sells.

# %%
mandate = Mandate(max_weight=0.10, lot=1)
plan = orders_for(panel, "ensemble", account, mandate=mandate, costs=CostModel(bps=5), name="fund1")
plan.table[["symbol", "side", "qty", "est_price", "weight_now", "weight_target", "reason", "batch"]].round(4)

# %%
for line in plan.foot:
    print(line)

# %%
shown = plan.table.sort_values("weight_target")
fig, ax = plt.subplots(figsize=(7, 3.8), dpi=80)
ax.barh(shown["symbol"], 100 * shown["weight_now"], height=0.7, color="0.8", label="now")
ax.barh(shown["symbol"], 100 * shown["weight_target"], height=0.35, color="C0", label="after the orders")
ax.set(xlabel="weight, %")
ax.tick_params(axis="y", labelsize=7)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# ## 4. The broker's file
#
# BasketTrader of Interactive Brokers takes whole shares only; Alpaca takes fractions, too. Nothing is sent: you place the orders.

# %%
print(plan.to_csv(folder / "basket.csv", broker="ibkr")[:400])

# %% [markdown]
# ## The same as a backtest
#
# A backtest that learns up to the same close, starts from the same holdings and trades there sends the same orders.

# %%
params = {"mandate": mandate, "fill": "close", "holdings": account, "trade_from": panel.dates[-3]}
record = backtest(panel, "ensemble", params, costs=CostModel(bps=5), cash=account.cash)
early = Account(account.cash, account.shares)  # prices of another day are not those of the holdings
listed = orders_for(panel, "ensemble", early, mandate=mandate, costs=CostModel(bps=5), as_of=panel.day(-3))
sent = record.orders[record.orders["date"] == panel.dates[-3]].set_index("symbol")["size"].abs()
print(f"{len(listed)} orders, largest difference {(listed.table.set_index('symbol')['qty'] - sent).abs().max():.1e} shares")
