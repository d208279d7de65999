# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Costs, fills and the rebalancer
#
# What a decision earns depends on when it fills and on what it pays. This market has real opens: they gap from the close
# before.

# %%
import backtrader as bt

from datafeeds import SingleIndexData, synthetic_market
from tracker_strategies import CostModel, PATracker, TrackerStrategy, backtest, charge

panel = synthetic_market(n_assets=40, n_bars=500, seed=4, ohlc=True)


def show(label: str, record: object) -> None:
    m = record.since(0.3).metrics()
    print(
        f"{label:36} {1e4 * m['te_rms']:5.2f} bp off, {100 * m['turnover']:5.2f} % traded, costs {m['cost_bps']:6.3f} bp, "
        f"excess {1e4 * m['excess_log_return'] / m['n_bars']:+6.3f} bp per bar"
    )


# %% [markdown]
# ## Three fill modes
#
# The weights are decided at the close of bar t. `next_open` is the default, without look-ahead: shares are fixed at that close
# and filled at the next open, whatever it is. `open` sizes the orders at the open at which they fill. `close` fills at the
# very prices from which the decision was made: what the papers assume, a deliberate look-ahead.

# %%
for fill in ("next_open", "open", "close"):
    show(f"pa, fill={fill}", backtest(panel, "pa", {"fill": fill}, orders=False))

# %% [markdown]
# ## What trading costs
#
# Basis points of the value, money per share, a minimum for each order, slippage. The budget pays for all of it: target values
# shrink by one common factor until they are affordable.

# %%
for charges in ({}, {"bps": 5}, {"bps": 5, "slippage_bps": 5}, {"per_share": 0.005, "min_fee": 1.0}):
    label = ", ".join(f"{k}={v}" for k, v in charges.items()) or "free"
    show(label, backtest(panel, "pa", costs=CostModel(**charges), orders=False))

# %% [markdown]
# ## Trading less
#
# In order of what usually helps most: holdings instead of weights; a decision that minds the cost (`cost_aware`, in basis
# points: a name is traded only where the gain in tracking pays for it); a rarer rebalance; a band; a limit on turnover.

# %%
costs = CostModel(bps=20)
for params in (
    {},
    {"coordinates": "shares"},
    {"coordinates": "shares", "cost_aware": 20},
    {"rebalance": "weekly"},
    {"band": 0.002},
    {"max_turnover": 0.01},
    {"lot": 1},
):
    show(", ".join(f"{k}={v}" for k, v in params.items()) or "as in the papers", backtest(panel, "pa", params, costs=costs))

# %% [markdown]
# ## Why not a loop of `order_target_percent`?
#
# Because cash is counted order by order: sells of a later name cannot pay for buys of an earlier one, and a gap at the open
# leaves too little. The broker then refuses orders. The rebalancer sees the whole vector.


# %%
class Loop(bt.Strategy):
    """The usual loop, with the weights of a tracker."""

    params = (("weights", None),)

    def __init__(self) -> None:
        self.sent, self.refused = 0, 0

    def next(self) -> None:
        for data, weight in zip(self.datas[1:], self.p.weights[len(self) - 1], strict=True):
            self.order_target_percent(data, target=weight)

    def notify_order(self, order: bt.Order) -> None:
        self.sent += order.status == bt.Order.Submitted
        self.refused += order.status in (bt.Order.Margin, bt.Order.Rejected)


class Counted(PATracker):
    """The tracker itself, with the same counters."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.refused = 0, 0

    notify_order = Loop.notify_order


def run(strategy: type[bt.Strategy], **params: object) -> TrackerStrategy:
    cerebro = bt.Cerebro(stdstats=False)
    SingleIndexData(panel.rows(0, 120)).add_to(cerebro)
    cerebro.broker.setcash(1_000_000)
    charge(cerebro.broker, CostModel(bps=5))
    cerebro.addstrategy(strategy, **params)
    return cerebro.run()[0]


ours = run(Counted)
weights = backtest(panel.rows(0, 120), "pa", costs=CostModel(bps=5)).decisions
naive = run(Loop, weights=weights)
for label, strategy in (("loop of order_target_percent", naive), ("rebalancer", ours)):
    print(f"{label:30} {strategy.sent:5d} orders, {strategy.refused:4d} refused")
