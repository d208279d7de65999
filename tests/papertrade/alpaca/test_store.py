"""A strategy of one's own at Alpaca's: market orders are worked, others are rejected by name."""

import backtrader as bt
import pytest

from tests.papertrade.alpaca.market import closes, evening, market, next_session, open_account
from tests.papertrade.harness import books_balance, orders
from tracker_strategies.papertrade import PaperAccount, PaperStore

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


class Mixed(bt.Strategy):
    """Two market orders in one name, and a limit order, on the account's first session."""

    def __init__(self):
        self.made = []

    def next(self):
        if self.datetime.date(0).isoformat() == "2024-05-06":
            data = self.getdatabyname("AAA")
            self.made = [self.buy(data, size=3), self.buy(data, size=2.5)]
            self.made.append(self.buy(data, size=1, exectype=bt.Order.Limit, price=1.0))


def run(account, rows):
    store = PaperStore(PaperAccount(account.folder, pause=lambda seconds: None), panel=lambda: market(rows), poll=0.0, sessions=1)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(Mixed)
    return cerebro.run()[0]


def test_market_orders_are_worked_one_by_one_and_others_rejected(folder, alpaca):
    account = open_account(folder / "a", alpaca)
    evening(alpaca, 4)
    first = run(account, 4)
    assert first.made[2].getstatusname() == "Rejected"
    assert "Limit orders are not supported by the broker 'alpaca'; it accepts Market" in first.made[2].info.reason
    assert [float(o["qty"]) for o in alpaca.state["orders"]] == [3.0, 2.5]
    next_session(alpaca, 5)
    evening(alpaca, 5)
    second = run(account, 5)
    assert [o.getstatusname() for o in second.made] == ["Completed", "Completed", "Rejected"]
    assert [o.executed.size for o in second.made] == [3.0, 2.5, 0]
    assert {round(o.executed.price, 6) for o in second.made[:2]} == {round(closes(5)["AAA"], 6)}
    assert [o["filled"] for o in orders(account)] == [3.0, 2.5]
    books_balance(account)
