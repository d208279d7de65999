"""Cells: plain descriptions of one run each, and the key under which its row is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from datafeeds import MarketSource
from tracker_strategies._fingerprint import own_code
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.sweeps.asking.values import canonical

#: What runs a cell. They agree to 1e-9; the replay is about three times faster.
ENGINES = ("replay", "cerebro")


@dataclass(frozen=True)
class Data(MarketSource):
    """Where the prices of a cell come from.

    Parameters
    ----------
    source, targets, ...
        See :class:`datafeeds.MarketSource`. The seed is 0 for everything that is not synthetic.
    sha : str
        Fingerprint of the panel. Empty for a synthetic market, which its description and the code version determine: it is drawn
        anew wherever it is needed and need not be shipped.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Data
    >>> Data("sample").open().n_assets
    20
    """

    sha: str = ""

    @property
    def identity(self) -> str:
        """What the cell depends on: for a file its content, not its name."""
        return self.sha or json.dumps([self.source, self.targets, self.seed, self.clean])


@dataclass(frozen=True)
class Window:
    """Rows of the panel: learning starts at ``start``, scores count from ``score_from`` on, ``stop`` is the first row left out.

    ``part`` says what the window is for ("whole", "train", "test", or the words of a period), ``fold`` and ``rung`` count walk
    forward folds and rungs of a successive halving.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Window
    >>> Window(start=0, score_from=100, stop=200).n_scored
    100
    """

    start: int
    score_from: int
    stop: int
    part: str = "whole"
    fold: int = 0
    rung: int = 0

    @property
    def n_scored(self) -> int:
        """Scored bars; nothing can have been earned on the first row."""
        return self.stop - max(self.score_from, self.start + 1)

    def cut(self, fraction: float, rung: int) -> Window:
        """The same window with only the first fraction of its scored bars."""
        first = max(self.score_from, self.start + 1)
        return replace(self, stop=min(self.stop, first + max(2, round(self.n_scored * fraction))), rung=rung)


@dataclass(frozen=True)
class Cell:
    """One run: all that a worker needs besides the panel.

    Parameters
    ----------
    strategy : str
        Name on the command line; for one of the user's own, the absolute path of its file, and its class.
    params : mapping
        Parameters other than the strategy's defaults, ``fill`` aside. JSON values.
    data, window : Data, Window
    costs : CostModel
    fill : {"next_open", "open", "close"}
    engine : {"replay", "cerebro"}
    cash : float
    mandate : mapping
        Limits that hold for all strategies of the sweep, as plain values.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, read_rows, run_sweep
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=120",))
    >>> summary = run_sweep(sweep, "sweep", jobs=1)
    >>> sorted(set(read_rows("sweep")["strategy"].to_pylist()))
    ['equal-weight', 'pa']
    """

    strategy: str
    data: Data
    window: Window
    params: Mapping[str, Any] = field(default_factory=dict)
    costs: CostModel = field(default_factory=CostModel)
    fill: str = str(FillMode.NEXT_OPEN)
    engine: str = "replay"
    cash: float = 1_000_000.0
    mandate: Mapping[str, Any] = field(default_factory=dict)

    def key(self, code: str) -> str:
        """Hash of the description, the data and the code version: equal keys, equal rows."""
        window = self.window
        told = {
            "strategy": own_code(self.strategy) or self.strategy,
            "params": self.params,
            "data": self.data.identity,
            "window": [window.start, window.score_from, window.stop],
            "costs": asdict(self.costs),
            "fill": self.fill,
            "engine": self.engine,
            "cash": self.cash,
            "code": code,
            "mandate": self.mandate,
        }
        return hashlib.sha256(json.dumps(canonical(told)).encode()).hexdigest()[:32]
