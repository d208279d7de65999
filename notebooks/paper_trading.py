# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Paper trading
#
# A month in a paper account, in seconds: recorded history takes the place of the market, one session per step. The strategy is
# the one of the backtests. Nothing here needs keys or a network.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

from tracker_strategies import CostModel
from tracker_strategies.papertrade import PaperAccount, RiskLimits, StepResult
from tracker_strategies.papertrade.live.watching import practise
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of

folder = Path(tempfile.mkdtemp()) / "demo"
month = {"replay": "2012-01-03", "costs": CostModel(bps=5)}
account = PaperAccount.create(folder, "ensemble", "sample", {"rebalance": "weekly"}, limits=RiskLimits(max_weight=0.5), **month)

# %% [markdown]
# Each step settles the fills of earlier orders, reads one more session, lets the strategy decide and sends the orders. It could
# be a separate process: everything that it has done is in the journal.


# %%
def say(result: StepResult) -> None:
    if result.decision == "act":
        print(f"{result.session}: {result.sent} orders sent, decided from a {result.way}")


_ = practise(account, say, sessions=21)

# %%
status = status_of(account)
print(f"{status.session}: worth {status.value:,.0f} ({status.since_start:+.2%}, index {status.index_since_start:+.2%})")
for holding in status.holdings[:5]:
    print(f"  {holding.symbol:>5} {holding.shares:10.2f} shares, {100 * holding.weight:5.2f} % of the account")

# %% [markdown]
# The account against its own backtest on the same bars. There were no faults, so the two agree. The shortfall is what price
# moves from the decision to the fill cost; missed is by how much buys were reduced because prices opened higher and the cash was
# not enough.

# %%
report = report_of(account)
print(f"paper {report.paper.value[-1]:,.2f}, backtest {report.backtest.value[-1]:,.2f}")
print(f"shortfall {report.gap['shortfall']:,.2f}, fees {report.gap['fees']:,.2f}, missed {report.gap['missed']:,.2f}")

# %% [markdown]
# The same month with a simulated broker that rejects some orders and fills others in part. What was not filled is ordered again
# at the next session. The report shows the difference from the backtest, a loss or, by chance, a gain.

# %%
faults = {"reject": 0.1, "partial": 0.2, "disconnect": 0.1, "delay": 0.1}
faulty = PaperAccount.create(folder.with_name("faulty"), "ensemble", "sample", {"rebalance": "weekly"}, faults=faults, **month)
_ = practise(faulty, lambda result: None, sessions=21)
with_faults = report_of(faulty)
gap = with_faults.gap
print(f"{gap['missed_orders']:.0f} orders failed; value against the backtest {1e4 * gap['value_gap']:+.2f} bp")

# %%
fig, ax = plt.subplots(figsize=(7, 2.8), dpi=80)
for label, run, style in (("no faults", report.paper, "-"), ("with faults", with_faults.paper, "--")):
    ax.plot(run.dates, run.value / 1e6, style, lw=1.2, label=f"paper account, {label}")
ax.set(ylabel="value, millions")
ax.legend(frameon=False)
fig.autofmt_xdate()
plt.show()
