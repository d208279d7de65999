"""Limits: a rebalance that breaks one is refused as a whole, until it is changed or no longer broken."""

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.papertrade.harness import market, open_account, orders, step_through
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import RiskLimits
from tracker_strategies.papertrade.errors import RiskError

# -- 19: limits; 20, parity: see test_parity ----------


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"max_order_value": 1000.0}, "max_order_value=1000"),
        ({"max_turnover": 0.5}, "turns over 0.999 of the account"),
        ({"max_weight": 0.2}, "max_weight=0.2: S0, S1"),
        ({"max_orders": 3}, "max_orders=3: 4 orders"),
        ({"allow": ("S0", "S1")}, "allow: S2, S3 may not be bought"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_a_broken_limit_rejects_the_whole_rebalance(folder, limits, problem):
    panel = market()
    account = open_account(folder / "a", panel, "equal-weight", limits=RiskLimits(**limits))
    with pytest.raises(RiskError, match=problem):
        step_through(account, panel, stop=1)
    assert not orders(account)
    with account.journal(readonly=True) as journal:
        assert journal.one("select kind from decisions") == "refused"
    with pytest.raises(RiskError):  # again, while nothing has changed
        step_through(account, panel, stop=1)
    account.change_limits(dict.fromkeys(limits))
    assert step_through(account, panel, stop=1)[0].sent == 4


def test_a_large_loss_stops_trading(folder):
    panel = market()
    crash = MarketPanel(
        panel.dates,
        panel.symbols,
        np.vstack([panel.close[:5], panel.close[5:] * 0.7]),
        panel.targets,
        np.vstack([panel.target_close[:5], panel.target_close[5:] * 0.7]),
    )
    account = open_account(folder / "a", crash)
    step_through(account, crash, stop=5)
    with pytest.raises(RiskError, match=r"max_daily_loss=0.25: the account lost \d\d.\d%"):
        step_through(account, crash, start=6, stop=6)
    assert step_through(account, crash, start=7, stop=7)[0].decision == "act"


def test_limits_that_make_no_sense_are_refused():
    for given in ({"max_weight": 0.0}, {"max_turnover": float("nan")}, {"max_orders": True}, {"allow": (1,)}):
        with pytest.raises(ParameterError, match="limit"):
            RiskLimits(**given)
    with pytest.raises(ParameterError, match="there is no limit 'max_size'"):
        RiskLimits().changed({"max_size": 1})
