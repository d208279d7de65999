"""Limits: a rebalance that breaks one is refused as a whole, until it is changed or no longer broken."""

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.papertrade.harness import at_the_broker, day, market, open_account, orders, step_through, values
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import RiskLimits
from tracker_strategies.papertrade.errors import RiskError
from tracker_strategies.papertrade.views.status import status_of

# -- 19: limits; 20, parity: see test_parity ----------


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"max_order_value": 1000.0}, "max_order_value=1000"),
        ({"max_turnover": 0.5}, "would turn over 0.999 of the account"),
        ({"max_weight": 0.2}, "max_weight=0.2: S0, S1"),
        ({"max_orders": 3}, "max_orders=3: 4 orders"),
        ({"allow": ("S0", "S1")}, "allow: S2, S3 is not on the list"),
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


def crash():
    """All prices fall by three tenths on the sixth session."""
    panel = market()
    return MarketPanel(
        panel.dates,
        panel.symbols,
        np.vstack([panel.close[:5], panel.close[5:] * 0.7]),
        panel.targets,
        np.vstack([panel.target_close[:5], panel.target_close[5:] * 0.7]),
    )


@pytest.mark.parametrize("first", [6, 8], ids=["seen at once", "seen two sessions later"])
def test_after_a_large_loss_nothing_is_traded_until_a_person_resumes(folder, first):
    panel = crash()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    with pytest.raises(RiskError, match=r"max_daily_loss=0.25: the account lost \d\d.\d% on .*tracker paper resume"):
        step_through(account, panel, start=first, stop=first)
    for result in step_through(account, panel, start=first, stop=10):
        assert not result.decision
        assert "max_daily_loss=0.25" in result.halted
    assert not orders(account, f"session >= '{day(panel, first - 1)}'")
    assert "max_daily_loss=0.25" in status_of(account).halted
    account.resume()
    (again,) = step_through(account, panel, start=10, stop=10)
    assert (again.decision, again.sent > 0) == ("act", True)
    assert [r.decision for r in step_through(account, panel, start=11)] == ["act", "act"]


def test_a_loss_that_a_person_has_looked_at_does_not_halt_the_same_session_again(folder):
    panel = crash()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    with pytest.raises(RiskError, match="max_daily_loss"):
        step_through(account, panel, start=6, stop=6)
    account.resume()
    assert step_through(account, panel, start=6, stop=6)[0].decision == "act"


def test_money_that_was_taken_out_is_no_loss(folder):
    panel = market()
    account = open_account(folder / "a", panel, "buy-and-hold")
    step_through(account, panel, stop=4)
    at_the_broker(account, "delete from positions where ticker in ('S0', 'S1')")
    account.adopt()
    assert step_through(account, panel, start=5, stop=5)[0].decision
    assert values(account)[-1] < 0.75 * values(account)[-2]


def test_limits_that_make_no_sense_are_refused():
    for given in ({"max_weight": 0.0}, {"max_turnover": float("nan")}, {"max_orders": True}, {"allow": (1,)}):
        with pytest.raises(ParameterError, match="limit"):
            RiskLimits(**given)
    with pytest.raises(ParameterError, match="unknown limit 'max_size'"):
        RiskLimits().changed({"max_size": 1})
