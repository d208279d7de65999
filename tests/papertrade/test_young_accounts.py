"""An account that has few bars gets more of them: nobody is told that its schedule or its windows are longer than its data."""

import warnings

import pytest

from tests.markets import random_panel
from tests.papertrade.harness import open_account, step_through
from tracker_strategies import Account, orders_for
from tracker_strategies.errors import DataWarning
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.runner import backtest

PANEL = random_panel(n_bars=6, n_assets=4, seed=5, ohlc=True)
LONG = {"rebalance": 9, "listing_warmup": 30}
OWN = "from tracker_strategies import PATracker\nclass Own(PATracker):\n    def notify_order(self, order): pass\n"


@pytest.mark.parametrize("own", [False, True], ids=["ours", "a class of one's own"])
def test_nothing_is_said_of_a_schedule_longer_than_what_a_young_account_has(folder, own):
    (folder / "own.py").write_text(OWN)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        account = open_account(folder / "a", PANEL, f"{folder / 'own.py'}:Own" if own else "pa", LONG)
        step_through(account, PANEL)
        report_of(account)


def test_a_backtest_whose_data_do_not_grow_says_it(folder):
    with pytest.warns(DataWarning, match=r"rebalance=6 is as long as the data or longer, 6 bars: only the first bar trades"):
        backtest(PANEL, "pa", {"rebalance": 6})


def test_an_order_list_that_ignores_the_schedule_says_only_that(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        plan = orders_for(PANEL, "pa", Account(1e5), {"rebalance": 9})
    assert plan.notes == ("rebalance=9 is ignored: the order list always rebalances now",)
