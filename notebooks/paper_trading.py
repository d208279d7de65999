# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: percent
# ---

# %% [markdown]
# # Paper trading
#
# A month in a paper account, in seconds: recorded history takes the part of the market, one session a step. The strategy is the
# one of the backtests. Nothing here needs keys or a network.

# %%
import tempfile
from pathlib import Path

from tracker_strategies import CostModel
from tracker_strategies.papertrade import PaperAccount, RiskLimits, StepResult
from tracker_strategies.papertrade.live.watching import practise
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of

folder = Path(tempfile.mkdtemp()) / "demo"
month = {"replay": "2012-01-03", "costs": CostModel(bps=5)}
account = PaperAccount.create(folder, "apas", "sample", {"rebalance": "weekly"}, limits=RiskLimits(max_weight=0.5), **month)

# %% [markdown]
# Each step settles the fills of the orders before, takes one more session in, lets the strategy decide and sends the orders. It
# could be a process of its own; whatever it has done is in the journal.


# %%
def say(result: StepResult) -> None:
    if result.decision == "act":
        print(f"{result.session}: {result.sent} orders sent, decided from a {result.way}")


practise(account, say, sessions=21)

# %%
status = status_of(account)
print(f"{status.session}: worth {status.value:,.0f} ({status.since_start:+.2%}, index {status.index_since_start:+.2%})")
for holding in status.holdings[:5]:
    print(f"  {holding.symbol:>5} {holding.shares:10.2f} shares, {100 * holding.weight:5.2f} % of the account")

# %% [markdown]
# Against its own backtest on the same bars. Nothing went wrong on the way, so the two agree. The shortfall is what the market
# took from the decision to the fill; missed is what buys shrank by when the market opened higher and cash ran short.

# %%
report = report_of(account)
print(f"paper {report.paper.value[-1]:,.2f}, backtest {report.backtest.value[-1]:,.2f}")
print(f"shortfall {report.gap['shortfall']:,.2f}, fees {report.gap['fees']:,.2f}, missed {report.gap['missed']:,.2f}")

# %% [markdown]
# The same month with a broker that rejects and fills in part. What was refused or cut off is ordered again at the next session,
# and the report says what it cost.

# %%
faults = {"reject": 0.1, "partial": 0.2, "disconnect": 0.1, "delay": 0.1}
trouble = PaperAccount.create(folder.with_name("trouble"), "apas", "sample", {"rebalance": "weekly"}, faults=faults, **month)
practise(trouble, lambda result: None, sessions=21)
gap = report_of(trouble).gap
print(f"{gap['missed_orders']:.0f} orders failed; against the backtest {1e4 * gap['value_gap']:+.2f} bp")
