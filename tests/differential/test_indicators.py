"""Every indicator of backtrader shows on panel feeds what it shows on backtrader's own, bar by bar, in both of its forms."""

from __future__ import annotations

import inspect
from functools import cache

import backtrader as bt
import pytest

from tests.differential.side_by_side import PANEL, STOCK, assert_same, cerebro_with, outcome, some_slow
from tests.markets import random_panel

CLASSES = sorted(
    {c for c in vars(bt.indicators).values() if inspect.isclass(c) and issubclass(c, bt.Indicator)},
    key=lambda c: (c.aliased != "", c.__name__),
)
#: Other names come after the indicators: subclasses without a line of their own, as slow tests.
N_INDICATORS = sum(c.aliased == "" for c in CLASSES)
PANELS = {
    "complete": random_panel(n_bars=90, n_assets=4, seed=3, ohlc=True),
    "gaps": random_panel(n_bars=90, n_assets=4, seed=5, ohlc=True, gaps=True),
}
#: What an indicator is put on: the index, an asset, a line of an asset, a line of an indicator, two feeds at once.
PLACES = {
    "index": lambda s: (s.datas[0],),
    "asset": lambda s: (s.datas[2],),
    "line": lambda s: (s.datas[4].high,),
    "nested": lambda s: (bt.indicators.EMA(s.datas[3], period=3),),
    "two": lambda s: (s.datas[0], s.datas[4]),
}


class Probe(bt.Strategy):
    """Writes down an indicator on every bar that it is called for."""

    params = (("kind", None), ("place", None))

    def __init__(self):
        self.seen = []
        self.ind = self.p.kind(*PLACES[self.p.place](self))

    def look(self, hook):
        values = [line[0] if len(line) else None for line in self.ind.lines]
        self.seen.append((hook, self.datetime[0], len(self.ind), values))

    def prenext(self):
        self.look("prenext")

    def next(self):
        self.look("next")


@cache
def seen(kind, market, cls, place, runonce):
    def run():
        cerebro = cerebro_with(kind, PANELS[market], runonce=runonce)
        cerebro.addstrategy(Probe, kind=cls, place=place)
        return cerebro.run()[0].seen

    return outcome(run)


#: Market, place and whether indicators are worked out in advance (``once``, or ``next`` on feeds that are moved for it alone).
CASES = [
    ("complete", "index", True),
    ("complete", "asset", True),
    ("complete", "asset", False),
    ("complete", "line", True),
    ("complete", "nested", True),
    ("complete", "two", True),
    ("gaps", "asset", True),
    ("gaps", "two", False),
]


@pytest.mark.parametrize("cls", some_slow(CLASSES, N_INDICATORS), ids=lambda c: c.__name__)
def test_an_indicator_shows_the_same_on_panel_feeds(cls):
    for market, place, runonce in CASES:
        theirs = seen(STOCK, market, cls, place, runonce)
        ours = seen(PANEL, market, cls, place, runonce)
        assert_same(ours, theirs, f"{market} {place} runonce={runonce}")


def test_nearly_all_indicators_can_be_compared():
    """The others need more feeds, other arguments or packages; they end with the same error on both kinds of feeds."""
    works = [cls for cls in CLASSES if not isinstance(seen(STOCK, "complete", cls, "asset", True), str)]
    assert len(CLASSES) == 315
    assert len(works) >= 290
