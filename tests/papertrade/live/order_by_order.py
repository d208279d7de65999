"""Random strategies that order in every way, over a paper account and over backtrader's own broker on the same bars."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from itertools import pairwise
from typing import Any

import backtrader as bt
import numpy as np

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import open_account
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount, PaperStore

#: Kinds of orders that a case draws from.
KINDS = ("market", "close", "limit", "stop", "stoplimit", "trail", "traillimit", "bracket", "oco", "cancel")


class Grows:
    """A market that has one more session whenever the account has decided about all that it has, and sent it."""

    def __init__(self, account: PaperAccount, panel: MarketPanel, begin: int = 1) -> None:
        self.account, self.panel, self.rows = account, panel, begin

    def __call__(self) -> MarketPanel:
        with self.account.journal(readonly=True) as journal:
            known = journal.one("select count(*) from bars")
            decided = journal.one("select max(session) from decisions") == journal.one("select max(session) from bars")
            waits = journal.one("select count(*) from orders where status = 'intent'")
        if known == self.rows and decided and not waits:
            self.rows = min(self.rows + 1, self.panel.n_bars)
        return self.panel.rows(0, self.rows)


class Drawn(bt.Strategy):
    """Orders that depend on (seed, bar) alone, and a diary of everything that it is told."""

    params = (("seed", 0), ("kinds", KINDS), ("names", ("S0", "S1", "S2")))

    def __init__(self) -> None:
        self.diary: list[tuple[Any, ...]] = []
        self.made: list[Any] = []
        self.number: dict[int, int] = {}
        self.alive: list[Any] = []

    def notify_order(self, order: Any) -> None:
        day = bt.num2date(self.datetime[0]).date().isoformat()
        done = order.executed
        entry = (self.number.get(order.ref, order.ref), order.getstatusname(), round(done.size, 9), round(done.price, 9))
        self.diary.append((day, *entry, round(done.comm, 9), round(done.pnl, 6), round(done.value, 6)))

    def notify_store(self, message: str, *args: Any, **kwargs: Any) -> None:
        self.told = [*getattr(self, "told", []), message]

    def keep(self, *orders: Any) -> None:
        for order in orders:
            if order is not None:
                self.number[order.ref] = len(self.made)
                self.made.append(order)

    def next(self) -> None:
        rng = np.random.default_rng([self.p.seed, len(self)])
        for name in self.p.names:
            data = self.getdatabyname(name)
            if rng.random() < 0.5 or not len(data):
                continue
            kind, price = rng.choice(self.p.kinds), float(data.close[0])
            size = float(rng.integers(1, 30))
            held = self.getposition(data).size + sum(
                min(o.executed.remsize, 0.0) for o in self.made if o.alive() and o.data is data
            )
            buys = rng.random() < 0.6 or held < size
            near = price * float(1.0 + rng.normal(0.0, 0.012))
            valid = [None, None, timedelta(days=int(rng.integers(1, 6)))][rng.integers(3)]
            self.order(kind, data, size, buys, near, price, valid, rng)

    def order(
        self, kind: str, data: Any, size: float, buys: bool, near: float, price: float, valid: Any, rng: np.random.Generator
    ) -> None:
        side = self.buy if buys else self.sell
        E = bt.Order
        if kind == "market":
            self.keep(side(data, size=size))
        elif kind == "close":
            self.keep(side(data, size=size, exectype=E.Close))
        elif kind == "limit":
            self.keep(side(data, size=size, exectype=E.Limit, price=near, valid=valid))
        elif kind == "stop":
            self.keep(side(data, size=size, exectype=E.Stop, price=near, valid=valid))
        elif kind == "stoplimit":
            limit = near * float(1.0 + rng.normal(0.0, 0.004))
            self.keep(side(data, size=size, exectype=E.StopLimit, price=near, plimit=limit, valid=valid))
        elif kind == "trail":
            self.keep(side(data, size=size, exectype=E.StopTrail, trailpercent=0.02, valid=valid))
        elif kind == "traillimit":
            limit = price * (1.004 if buys else 0.996)
            self.keep(side(data, size=size, exectype=E.StopTrailLimit, price=price, plimit=limit, trailamount=price * 0.015))
        elif kind == "bracket" and buys:
            kinds = {"exectype": E.Limit if rng.random() < 0.7 else E.Market}
            self.keep(*self.buy_bracket(data, size=size, price=near, stopprice=near * 0.975, limitprice=near * 1.02, **kinds))
        elif kind == "oco":
            first = side(data, size=size, exectype=E.Limit, price=price * (0.985 if buys else 1.015), valid=valid)
            self.keep(first, side(data, size=size, exectype=E.Stop, price=price * (1.015 if buys else 0.985), oco=first))
        elif kind == "cancel":
            waiting = [o for o in self.made if o.alive()]
            if waiting:
                self.cancel(waiting[int(rng.integers(len(waiting)))])


def market(seed: int, n_bars: int = 20) -> MarketPanel:
    return random_panel(n_bars=n_bars, n_assets=3, seed=seed, ohlc=True)


def paper(account: PaperAccount, panel: MarketPanel, cls: type = Drawn, *, begin: int = 1, sessions: int, **params: Any) -> Any:
    """The strategy over a paper account, in one process."""
    store = PaperStore(account, panel=Grows(account, panel, begin), poll=0.0, sessions=sessions)
    cerebro = bt.Cerebro(stdstats=False)
    cerebro.setbroker(store.getbroker())
    store.add_to(cerebro)
    cerebro.addstrategy(cls, **params)
    return cerebro.run()[0]


def stock(panel: MarketPanel, costs: CostModel, cash: float, cls: type = Drawn, **params: Any) -> Any:
    """The strategy over backtrader's own broker and feeds."""
    from tests.markets import ordinary_feeds

    cerebro = bt.Cerebro(stdstats=False, runonce=False, preload=False)
    for feed in ordinary_feeds(panel):
        cerebro.adddata(feed)
    cerebro.broker.setcash(cash)
    charge(cerebro.broker, costs)
    cerebro.addstrategy(cls, **params)
    return cerebro.run()[0]


def new_account(place: Any, panel: MarketPanel, costs: CostModel, **options: Any) -> PaperAccount:
    return open_account(place, panel, costs=costs, **options)


def case(
    place: Any,
    seed: int,
    *,
    costs: CostModel,
    kinds: tuple[str, ...] = KINDS,
    cash: float = 1e6,
    n_bars: int = 20,
    ends: tuple[int, ...] = (),
) -> list[str]:
    """What is wrong with one random strategy over a paper account; empty when nothing is.

    After the sessions `ends` the process ends and another one goes on.
    The strategy must be told the same as by backtrader's broker; and what it ordered, what the journal sent and what the broker
    filled must agree, order by order.
    """
    panel = market(seed, n_bars)
    account = new_account(place, panel, costs, cash=cash)
    for begin, end in pairwise((0, *ends, n_bars)):
        run = paper(PaperAccount(place), panel, begin=max(begin, 1), sessions=end - begin, seed=seed, kinds=kinds)
    other = stock(panel, costs, cash, seed=seed, kinds=kinds)
    wrong = [
        f"told {mine}, backtrader tells {theirs}" for mine, theirs in zip(run.diary, other.diary, strict=False) if mine != theirs
    ]
    if len(run.diary) != len(other.diary):
        wrong.append(f"told {len(run.diary)} things, backtrader tells {len(other.diary)}")
    if abs(run.broker.getvalue() - other.broker.getvalue()) > 1e-6:
        wrong.append(f"worth {run.broker.getvalue()}, in backtrader {other.broker.getvalue()}")
    with account.journal(readonly=True) as journal:
        sent = journal.rows("select * from orders")
    with sqlite3.connect(account.folder / "broker.db") as db:
        filled = dict(db.execute("select cid, filled from orders").fetchall())
    for order in run.made:
        mine = [o for o in sent if o["cid"].endswith(f"-{getattr(order, 'key', '?')}")]
        for what, total in (
            ("the journal", sum(o["filled"] for o in mine)),
            ("the broker", sum(filled.get(o["cid"], 0) for o in mine)),
        ):
            if abs(total - order.executed.size) > 1e-9 * abs(order.size):
                wrong.append(f"{order.getordername()} {order.size:g}: {order.executed.size:g} filled, {what} says {total:g}")
    known = {getattr(order, "key", "?") for order in run.made}
    wrong += [f"{o['cid']} was sent, and nobody ordered it" for o in sent if o["cid"].rpartition("-")[2] not in known]
    return wrong
