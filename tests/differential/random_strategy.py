"""An ordinary strategy that does a bit of everything, drawn from a seed, and writes down all it is told."""

from __future__ import annotations

import datetime
import random

import backtrader as bt

TYPES = (
    bt.Order.Market,
    bt.Order.Close,
    bt.Order.Limit,
    bt.Order.Stop,
    bt.Order.StopLimit,
    bt.Order.StopTrail,
    bt.Order.StopTrailLimit,
)


class DayRange(bt.Indicator):
    """An indicator in ``next`` form: range of the bar over the one before."""

    lines = ("ratio",)

    def __init__(self):
        self.addminperiod(2)

    def next(self):
        before = self.data.high[-1] - self.data.low[-1]
        self.lines.ratio[0] = (self.data.high[0] - self.data.low[0]) / (before or 1.0)


class Distance(bt.Indicator):
    """An indicator in ``once`` form: distance of the close from its mean."""

    lines = ("distance",)
    params = (("period", 4),)

    def __init__(self):
        self.lines.distance = self.data.close - bt.indicators.SMA(self.data.close, period=self.p.period)


def part_of(data):
    """What an order asks for, or what became of it."""
    return {
        k: getattr(data, k)
        for k in (
            "dt",
            "size",
            "price",
            "pricelimit",
            "plimit",
            "pclose",
            "remsize",
            "value",
            "comm",
            "margin",
            "pnl",
            "psize",
            "pprice",
        )
        if hasattr(data, k)
    }


def bits_of(executed):
    return [
        {k: getattr(bit, k) for k in ("dt", "size", "price", "closed", "opened", "closedvalue", "openedvalue", "closedcomm",
                                      "openedcomm", "value", "comm", "pnl", "psize", "pprice")}
        for bit in executed.exbits
    ]  # fmt: skip


def seen_of(order):
    """Everything of an order that an outsider may look at."""
    return {
        "data": order.data._name,
        "type": order.getordername(),
        "side": order.ordtypename(),
        "status": order.getstatusname(),
        "size": order.size,
        "alive": order.alive(),
        "plen": order.plen if hasattr(order, "plen") else None,
        "dteos": order.dteos,
        "created": part_of(order.created),
        "executed": part_of(order.executed),
        "bits": bits_of(order.executed),
        "pending": len(order.executed.getpending()),
        "comminfo": type(order.comminfo).__name__,
        "broker": order.broker is None,
        "triggered": order.triggered,
        "tradeid": order.tradeid,
        "info": {k: v for k, v in order.info.items() if k != "coc"},
        "params": order.p.size,
    }


TRADE = (
    "size", "price", "value", "commission", "pnl", "pnlcomm", "isopen", "isclosed", "justopened", "baropen", "barclose", "barlen",
    "dtopen", "dtclose",
)  # fmt: skip


def seen_of_trade(trade):
    return {"data": trade.data._name, **{k: getattr(trade, k) for k in TRADE}}


class RandomStrategy(bt.Strategy):
    """Sends, cancels, brackets and links orders of every type on every feed; its log is all that it is told and all it sees."""

    params = (("seed", 0), ("busy", 0.35), ("size", 9), ("short", True), ("timer", True), ("names", None))

    def __init__(self):
        self.random = random.Random(self.p.seed)
        self.log = []
        self.mine = []
        self.ranges = [DayRange(d) for d in self.datas[:3]]
        self.distances = [Distance(d) for d in self.datas[:3]]
        if self.p.timer:
            self.add_timer(bt.timer.SESSION_START, cheat=True)
            self.add_timer(bt.timer.SESSION_END, weekdays=[2, 4])

    def write(self, what, *more):
        self.log.append((what, len(self), *more))

    def notify_order(self, order):
        self.write("order", seen_of(order), len(self.broker.pending), self.broker.getcash())

    def notify_trade(self, trade):
        self.write("trade", seen_of_trade(trade))

    def notify_cashvalue(self, cash, value):
        self.write("cash", cash, value)

    def notify_fund(self, cash, value, fundvalue, shares):
        self.write("fund", fundvalue, shares)

    def notify_timer(self, timer, when, *args, **kwargs):
        self.write("timer", str(when))

    def next_open(self):
        self.write("next_open", [d.open[0] for d in self.datas if len(d)])

    prenext_open = nextstart_open = next_open

    def prenext(self):
        self.act("prenext")

    def nextstart(self):
        self.act("nextstart")

    def next(self):
        self.act("next")

    def act(self, hook):
        lines = [line[0] for ind in (*self.ranges, *self.distances) for line in ind.lines if len(line)]
        positions = [(p.size, p.price) for d in self.datas if len(d) for p in [self.getposition(d)]]
        account = self.broker
        self.write(hook, lines, positions, account.getvalue(), account.get_leverage(), account.get_value(mkt=True))
        if self.random.random() < self.p.busy:
            self.send()
        if self.random.random() < 0.1:
            alive = [o for o in self.mine if o is not None and o.alive()]
            if alive:
                self.cancel(self.random.choice(alive))
        if self.random.random() < 0.04:
            self.broker.add_cash(self.random.choice((500.0, -200.0)))

    def send(self):
        rng = self.random
        datas = [d for d in self.datas if len(d) and (self.p.names is None or d._name in self.p.names)]
        if not datas:
            return
        data, kind = rng.choice(datas), rng.choice(TYPES)
        buy = not self.p.short or rng.random() < 0.6
        size = rng.randint(1, self.p.size)
        way = 1.0 if buy else -1.0
        sign = way if kind in (bt.Order.Stop, bt.Order.StopLimit) else -way
        price = data.close[0] * (1.0 + sign * rng.choice((0.0, 0.004, 0.01)))
        terms = {"data": data, "size": size, "exectype": kind, "tradeid": rng.choice((0, 0, 1))}
        if kind in (bt.Order.Limit, bt.Order.Stop, bt.Order.StopLimit):
            terms["price"] = price
        if kind == bt.Order.StopLimit:
            terms["plimit"] = price * (1.0 + way * 0.003)
        if kind in (bt.Order.StopTrail, bt.Order.StopTrailLimit):
            terms["trailpercent"] = 0.01
        if kind == bt.Order.StopTrailLimit:
            terms["plimit"] = data.close[0] * (1.0 + way * 0.002)
        terms["valid"] = rng.choice((None, None, datetime.timedelta(days=3)))
        chance = rng.random()
        send = self.buy if buy else self.sell
        if chance < 0.12:
            bracket = self.buy_bracket if buy else self.sell_bracket
            near, far = data.close[0] * (1.0 - way * 0.01), data.close[0] * (1.0 + way * 0.01)
            self.mine += bracket(data=data, size=size, exectype=bt.Order.Market, stopprice=near, limitprice=far)
        elif chance < 0.2 and self.mine and self.mine[-1] is not None:
            self.mine.append(send(**terms, oco=self.mine[-1]))
        elif chance < 0.28:
            self.mine.append(self.order_target_percent(data, target=rng.choice((0.0, 0.05, 0.1))))
        elif chance < 0.34:
            self.mine.append(self.close(data))
        else:
            self.mine.append(send(**terms))
