# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Costs, fills and the rebalancer
#
# The price of a trade depends on when its order fills and on what it costs. The market is simulated, with opens that differ
# from the close before. The strategy is `pa`, because it trades a lot: the recommended `ensemble` trades so little here that
# costs hardly show.

# %%
import backtrader as bt
import matplotlib.pyplot as plt

from datafeeds import SingleIndexData, synthetic_market
from tracker_strategies import CostModel, PATracker, TrackerStrategy, backtest, charge

panel = synthetic_market(n_assets=40, n_bars=500, seed=4, ohlc=True)


def show(label: str, record: object) -> dict[str, float]:
    m = record.since(0.3).metrics()
    print(
        f"{label:36} TE {1e4 * m['te_rms']:5.2f} bp, turnover {100 * m['turnover']:5.2f} %, cost {m['cost_bps']:6.3f} bp, "
        f"excess return {1e4 * m['excess_log_return'] / m['n_bars']:+6.3f} bp per bar"
    )
    return m


# %% [markdown]
# ## Three fill modes
#
# The weights are decided at the close of bar t. `next_open` is the default, without look-ahead: share counts are computed from
# that close, and the orders fill at the next open. `open` computes them from the open at which they fill. `close` fills at the
# prices from which the decision was made: what the papers assume, a deliberate look-ahead.

# %%
for fill in ("next_open", "open", "close"):
    show(f"pa, fill={fill}", backtest(panel, "pa", {"fill": fill}, orders=False))

# %% [markdown]
# ## What trading costs
#
# Costs are basis points of the value, money per share, a minimum per order, and slippage. The account pays for them out of the
# same cash: if it is not enough, all target values shrink by one common factor.

# %%
for charges in ({}, {"bps": 5}, {"bps": 5, "slippage_bps": 5}, {"per_share": 0.005, "min_fee": 1.0}):
    label = ", ".join(f"{k}={v}" for k, v in charges.items()) or "free"
    show(label, backtest(panel, "pa", costs=CostModel(**charges), orders=False))

# %% [markdown]
# ## Trading less
#
# These reduce turnover: share counts instead of weights as coordinates; `cost_aware`, your costs in basis points, by which a
# name is traded only where the gain in tracking pays for the trade; a rarer rebalance; a band; a limit on turnover.

# %%
costs, points = CostModel(bps=20), {}
for params in (
    {},
    {"coordinates": "shares"},
    {"coordinates": "shares", "cost_aware": 20},
    {"rebalance": "weekly"},
    {"band": 0.002},
    {"max_turnover": 0.01},
    {"lot": 1},
):
    label = ", ".join(f"{k}={v}" for k, v in params.items()) or "weights, every bar"
    points[label] = show(label, backtest(panel, "pa", params, costs=costs))
points["ensemble"] = show("ensemble", backtest(panel, "ensemble", costs=costs))

# %%
fig, ax = plt.subplots(figsize=(7, 2.8), dpi=80, layout="constrained")
bars = ax.barh(list(points), [m["cost_bps"] for m in points.values()], color="C0")
ax.bar_label(bars, [f"TE {1e4 * m['te_rms']:.1f} bp" for m in points.values()], padding=3, fontsize=8)
ax.set(xlabel="cost, bp per bar", xlim=(0, 0.37))
ax.invert_yaxis()
plt.show()

# %% [markdown]
# ## Why not a loop of `order_target_percent`?
#
# The broker counts cash order by order: sells of a later name cannot pay for buys of an earlier one, and after a gap at the
# open the cash is not enough. It then rejects orders. The rebalancer plans all orders together.


# %%
class Loop(bt.Strategy):
    """The usual loop, with the weights of a tracker."""

    params = (("weights", None),)

    def __init__(self) -> None:
        self.sent, self.rejected = 0, 0

    def next(self) -> None:
        for data, weight in zip(self.datas[1:], self.p.weights[len(self) - 1], strict=True):
            self.order_target_percent(data, target=weight)

    def notify_order(self, order: bt.Order) -> None:
        self.sent += order.status == bt.Order.Submitted
        self.rejected += order.status in (bt.Order.Margin, bt.Order.Rejected)


class Counted(PATracker):
    """The tracker itself, with the same counters."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.rejected = 0, 0

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
    print(f"{label:30} {strategy.sent:5d} orders, {strategy.rejected:4d} rejected")
