"""Observers that draw a tracker while it runs. Add them with ``cerebro.addobserver``.

backtrader adds an observer beside every strategy of the cerebro. Those of tracking error and excess return watch any strategy
with a target; the others only trackers, which know what they hold and trade.
"""

from __future__ import annotations

import math
from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from indicators.by_date import Series
from indicators.tracking import ErrorWindow
from tracker_strategies.analysis.account_rows import AccountRows
from tracker_strategies.errors import TrackerError
from tracker_strategies.execution.account_watch import AccountWatch
from tracker_strategies.strategies.feeds import find_targets

FloatArray = NDArray[np.float64]


class ObserverError(TrackerError, TypeError):
    """An observer was added to a strategy that it cannot observe.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import ObserverError, Turnover
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(bt.Strategy)
    >>> cerebro.addobserver(Turnover)
    >>> try:
    ...     run = cerebro.run()
    ... except ObserverError as error:
    ...     print(type(error).__name__)
    ...
    ObserverError
    """


class TrackerObserver(bt.Observer):
    """An observer with one value per bar of the strategy, from the first bar on, also before every feed has begun.

    Subclasses say in ``_bar`` what a bar adds, and write their lines there. A turn of the engine that brings the strategy no bar
    (a resampled feed has some of its own) repeats the values.
    """

    plotinfo: Any = {"plot": True, "subplot": True}
    #: Looks at neither orders nor trades, so that none have to be made for it.
    blind = True
    _stclock = True
    #: What a strategy must have to be watched, by name; checked before the first bar.
    _needs: tuple[str, ...] = ()

    def start(self) -> None:
        """Refuse a strategy that cannot be watched."""
        for name in self._needs:
            if not hasattr(self._owner, name):
                raise ObserverError(
                    f"{type(self).__name__} works with trackers only; {type(self._owner).__name__} has no {name}. "
                    "cerebro.addobserver adds it to every strategy: remove the observer, or run the other strategy in a separate "
                    "cerebro"
                )

    def next(self) -> None:
        """One turn of the engine."""
        if getattr(self._owner, "new_bar", True):
            self._bar()
        elif len(self) > 1:
            for line in self.lines:
                line[0] = line[-1]

    prenext = next

    def _bar(self) -> None:
        raise NotImplementedError


class ActiveObserver(TrackerObserver):
    """Watches the account against what is tracked: the target, the blend of several that the strategy tracks, or one of them.

    What it sees is what :class:`~tracker_strategies.TrackingAnalyzer` measures. Bars count from the first on that the account
    began at its target. A return spans the bars from one on which every target has a level of its own to the next such bar: a
    holiday of the index is no return of zero. Money that comes in or goes out is no return of the account.
    """

    def start(self) -> None:
        """Find the targets."""
        super().start()
        owner, wanted = self._owner, self.p.target
        targets = getattr(owner, "targets", None) if wanted is None else None
        tracker = getattr(owner, "tracker", None) if wanted is None else None
        targets = targets or find_targets(owner.datas, wanted)
        self._targets = [Series(data) for data in targets]
        self._blend = np.full(len(targets), 1.0 / len(targets)) if tracker is None else tracker.target.blend
        self._account = AccountRows(owner, getattr(owner, "assets", owner.datas), trades=False)
        self._growth = 1.0  # of the account since the targets last had levels
        self._levels: FloatArray | None = None  # and those

    def next(self) -> None:
        """One turn of the engine."""
        self._account.turn()
        super().next()

    prenext = next

    def _levels_now(self) -> FloatArray | None:
        """Levels of the targets; None unless all have one of this bar."""
        when = self._owner.datetime[0]
        levels = [pair[1] for series in self._targets if (pair := series.now()) is not None and pair[0] == when]
        return np.array(levels) if len(levels) == len(self._targets) else None

    def _returns(self) -> tuple[float, float] | None:
        """Returns of the account and of what is tracked since the last bar with levels; None on a bar without, or not scored."""
        account, levels = self._account, self._levels_now()
        begun = account.entry.row
        if begun is None or begun >= len(account.value) - 1:  # not at its target at the close before
            self._levels, self._growth = levels, 1.0
            return None
        if self._levels is not None:
            self._growth *= (account.value[-1] - account.newest_carried) / account.value[-2]
        if levels is None:
            return None
        before, growth = self._levels, self._growth
        self._levels, self._growth = levels, 1.0
        return None if before is None else (growth - 1.0, float((levels / before - 1.0) @ self._blend))


class PortfolioTrackingError(ActiveObserver):
    """Rolling tracking error of the account against what it tracks, per bar: the indicator of that name, on the account itself.

    Params:
      - ``period`` (63): returns in the window, at least 2; NaN until it is full
      - ``centred`` (True), ``annualise`` (None): as for :class:`~indicators.tracking.TrackingError`
      - ``target`` (None): name of one index feed to compare with; by default what the strategy tracks, blended as it blends

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import PortfolioTrackingError
    >>> from tracker_strategies import EqualWeight
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addobserver(PortfolioTrackingError)
    >>> 0.0 < cerebro.run()[0].observers[0][0] < 0.02
    True
    """

    lines: Any = ("te",)
    params: Any = (("period", 63), ("centred", True), ("annualise", None), ("target", None))
    plotinfo: Any = {"plotname": "Tracking error"}

    def __init__(self) -> None:
        self._window, self._te = ErrorWindow(self.p), math.nan

    def _bar(self) -> None:
        both = self._returns()
        if both is not None:
            self._te = self._window.add(both[0] - both[1])
        self.lines.te[0] = self._te


class PortfolioExcessReturn(ActiveObserver):
    """Cumulative log return of the account minus that of what it tracks, 0 until the account is first at its target.

    Params:
      - ``target`` (None): name of one index feed to compare with; by default what the strategy tracks, blended as it blends

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import PortfolioExcessReturn
    >>> from tracker_strategies import EqualWeight
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addobserver(PortfolioExcessReturn)
    >>> print(f"{cerebro.run()[0].observers[0][0]:.3f}")
    0.008
    """

    lines: Any = ("excess",)
    params: Any = (("target", None),)
    plotinfo: Any = {"plotname": "Excess log return", "plothlines": [0.0]}

    def __init__(self) -> None:
        self._excess = 0.0

    def _bar(self) -> None:
        both = self._returns()
        if both is not None:
            self._excess += math.log1p(both[0]) - math.log1p(both[1])
        self.lines.excess[0] = self._excess


class Turnover(TrackerObserver):
    """Value bought plus value sold on the bar, over the account's value at the previous close. For trackers only.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import Turnover
    >>> from tracker_strategies import EqualWeight
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addobserver(Turnover)
    >>> 0.0 < cerebro.run()[0].observers[0][0] < 0.02
    True
    """

    lines: Any = ("turnover",)
    plotinfo: Any = {"plotname": "Turnover"}
    plotlines: Any = {"turnover": {"_method": "bar"}}
    _needs = ("route",)

    def start(self) -> None:
        """Before the first bar."""
        super().start()
        self._account, self._before, self._early = AccountWatch(self._owner), math.nan, 0.0

    def next(self) -> None:
        """One turn of cerebro. Fills on a turn without a bar are counted on the next bar."""
        fills = self._owner.route.fills()
        self._early += 0.0 if fills is None else fills.traded
        super().next()

    prenext = next

    def _bar(self) -> None:
        value = self._account.value()
        self.lines.turnover[0] = self._early / self._before if self._early else 0.0
        self._before, self._early = value, 0.0


class EffectiveHoldings(TrackerObserver):
    """``effective``: 1 / sum of squared weights, the number of names if all had equal weight; ``names``: how many are held.

    For trackers only.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from indicators import EffectiveHoldings
    >>> from tracker_strategies import EqualWeight
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EqualWeight)
    >>> cerebro.addobserver(EffectiveHoldings)
    >>> print(f"{cerebro.run()[0].observers[0].effective[0]:.1f}")
    20.0
    """

    lines: Any = ("effective", "names")
    plotinfo: Any = {"plotname": "Holdings"}
    _needs = ("route", "bar")

    def _bar(self) -> None:
        sizes = self._owner.route.sizes()
        held = sizes > 0.0
        values = sizes[held] * self._owner.bar.close[held]
        total = values.sum()
        self.lines.effective[0] = float(total**2 / (values @ values)) if total > 0.0 else 0.0
        self.lines.names[0] = float(held.sum())
