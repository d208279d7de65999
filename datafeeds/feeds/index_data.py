"""Adapters: from a panel to the feeds of a cerebro, in one call."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Self

import backtrader as bt

from datafeeds.errors import UniverseError
from datafeeds.feeds.clock import PanelClock
from datafeeds.feeds.feed import PanelAssets, PanelFeed
from datafeeds.index_levels import Targets
from datafeeds.panel import MarketPanel
from datafeeds.sources import Source, open_source

#: More plotted feeds than this make a chart that nobody can read.
MAX_PLOTTED = 6


class IndexData:
    """A panel and its backtrader feeds.

    Parameters
    ----------
    panel : MarketPanel, DataFrame, mapping of frames, or path
        Anything but a panel is read by :func:`datafeeds.open_source`: wide and long frames, those of yfinance, files.
    targets : str, Series, or sequence of them, optional
        Which columns to track, or the levels to track, if `panel` is not a MarketPanel.
    gaps : {"error", "freeze"}
        And other options of :func:`datafeeds.open_source`.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> cerebro = bt.Cerebro()
    >>> len(IndexData(load_sample()).add_to(cerebro))
    21
    """

    def __init__(self, panel: Source, targets: Targets = "INDEX", *, gaps: str = "error", **options: Any) -> None:
        self.panel = panel if isinstance(panel, MarketPanel) else open_source(panel, targets, gaps=gaps, **options)

    @classmethod
    def from_source(cls, source: Source, targets: Targets = "INDEX", **options: Any) -> Self:
        """Open ``sample``, ``synthetic``, Yahoo, the path of a file or folder, or frames: see :func:`datafeeds.open_source`."""
        return cls(open_source(source, targets, **options))

    @classmethod
    def from_yahoo(
        cls,
        index: str | Sequence[str],
        tickers: str | os.PathLike[str] | Iterable[str],
        start: str | date,
        end: str | date | None = None,
        **options: Any,
    ) -> Self:
        """Daily bars from Yahoo, through the cache: see :func:`datafeeds.yahoo.fetching.yahoo_panel` for the options.

        >>> SingleIndexData.from_yahoo("^GSPC", ["AAPL", "MSFT"], "2015-01-01", adjust="split", policy="drop")  # doctest: +SKIP
        """
        from datafeeds.yahoo.fetching import yahoo_panel

        return cls(yahoo_panel(index, tickers, start, end, **options))

    def feeds(self) -> list[PanelFeed]:
        """New feeds with their own clock: targets first (so that ``data0`` is the index), then the assets in order."""
        first, *others = self._target_feeds()
        first.clock.assets = None
        return [first, *others, *map(first.sibling, self.panel.symbols)]

    def _target_feeds(self) -> list[PanelFeed]:
        first = PanelFeed(clock=PanelClock(self.panel), symbol=self.panel.targets[0])
        first.clock.assets = PanelAssets(first)
        return [first, *map(first.sibling, self.panel.targets[1:])]

    def add_to(self, cerebro: bt.Cerebro, *, lazy: bool = False, plot_assets: bool | None = None) -> list[PanelFeed]:
        """Add the feeds to a cerebro under their symbols and return those that were added.

        Parameters
        ----------
        lazy : bool, default False
            Add only the targets; trackers find the assets in the panel and make the feed of one when it is first looked at
            (``strategy.assets[3].close[0]``). With hundreds of assets a run starts faster, and a bar costs backtrader no more
            than with one feed. Strategies of other origin see the targets only.
        plot_assets : bool, optional
            Whether ``cerebro.plot`` draws the assets too. By default only when there are at most six of them.
        """
        feeds = self.feeds() if not lazy else self._target_feeds()
        drawn = self.panel.n_assets <= MAX_PLOTTED if plot_assets is None else plot_assets
        for feed in feeds:
            feed.plotinfo.plot = feed.is_target or drawn
            cerebro.adddata(feed, name=feed.p.symbol)
        return feeds

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.panel!r})"


class SingleIndexData(IndexData):
    """One index and its candidate assets.

    >>> import backtrader as bt
    >>> from datafeeds import SingleIndexData
    >>> feeds = SingleIndexData.from_source("sample").add_to(bt.Cerebro())
    >>> feeds[0]._name, len(feeds)
    ('INDEX', 21)
    """

    def __init__(self, panel: Source, targets: Targets = "INDEX", *, gaps: str = "error", **options: Any) -> None:
        super().__init__(panel, targets, gaps=gaps, **options)
        if len(self.panel.targets) != 1:
            raise UniverseError(
                f"SingleIndexData takes one target, but this panel has {len(self.panel.targets)}: {', '.join(self.panel.targets)}"
            )
