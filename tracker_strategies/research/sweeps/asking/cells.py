"""Cells: plain descriptions of one run each, and the key under which its row is kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from datafeeds import MarketPanel, open_source, synthetic_market
from tracker_strategies._fingerprint import strategy_fingerprint
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.sweeps.asking.values import canonical, parse_value
from tracker_strategies.strategies.registry import is_strategy, load_strategy

#: What runs a cell. They agree to 1e-9; the replay is about three times faster.
ENGINES = ("replay", "cerebro")
SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Data:
    """Where the prices of a cell come from.

    Parameters
    ----------
    source : str
        As on the command line: ``sample``, a path, or ``synthetic``, which may bring arguments of
        :func:`datafeeds.synthetic_market`: ``synthetic:n_assets=40,n_bars=300``.
    targets : tuple of str, default ("INDEX",)
    gaps : {"error", "freeze"}
    seed : int, default 0
        Of the synthetic market; 0 for everything else.
    sha : str
        Fingerprint of the panel. Empty for a synthetic market, which its description and the code version determine.
    """

    source: str
    targets: tuple[str, ...] = ("INDEX",)
    gaps: str = "error"
    seed: int = 0
    sha: str = ""

    @property
    def synthetic(self) -> bool:
        """Whether the panel can be drawn anew wherever it is needed, so that it need not be shipped."""
        return self.source.partition(":")[0] == SYNTHETIC

    @property
    def identity(self) -> str:
        """What the cell depends on: for a file its content, whatever it is called."""
        return self.sha or json.dumps([self.source, self.targets, self.seed])

    def open(self) -> MarketPanel:
        """Read or draw the panel."""
        name, _, options = self.source.partition(":")
        if name != SYNTHETIC or not options:
            return open_source(self.source, self.targets, gaps=self.gaps, seed=self.seed)
        given = {}
        for pair in options.split(","):
            key, found, text = pair.partition("=")
            if not found:
                raise ParameterError(f"data {self.source!r}: {pair!r} must look like key=value, as in synthetic:n_assets=40")
            given[key.strip()] = parse_value(text)
        if given.keys() & {"seed", "n_indices"}:
            raise ParameterError(f"data {self.source!r}: choose the seeds with seeds, the indices with index")
        try:
            panel = synthetic_market(seed=self.seed, n_indices=len(self.targets), **given)
        except TypeError as problem:
            raise ParameterError(f"data {self.source!r}: {str(problem).removeprefix('simulate_market() ')}") from None
        if panel.targets != self.targets:
            raise ParameterError(f"index {', '.join(self.targets)}: this market has {', '.join(panel.targets)}")
        return panel


@dataclass(frozen=True)
class Window:
    """Rows of the panel: learning starts at ``start``, scores count from ``score_from`` on, ``stop`` is the first row left out.

    ``part`` says what the window is for ("whole", "train", "test", or the words of a period), ``fold`` and ``rung`` count walk
    forward folds and rungs of a successive halving.
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
    """One run: what a worker gets, and all it needs beside the panel.

    Parameters
    ----------
    strategy : str
        Name on the command line.
    params : mapping
        Parameters other than the strategy's defaults, ``fill`` aside. JSON values.
    data, window : Data, Window
    costs : CostModel
    fill : {"next_open", "open", "close"}
    engine : {"replay", "cerebro"}
    cash : float
    """

    strategy: str
    data: Data
    window: Window
    params: Mapping[str, Any] = field(default_factory=dict)
    costs: CostModel = field(default_factory=CostModel)
    fill: str = str(FillMode.NEXT_OPEN)
    engine: str = "replay"
    cash: float = 1_000_000.0

    def key(self, code: str) -> str:
        """Hash of the description, the data and the code version: equal keys, equal rows."""
        window = self.window
        told = {
            "strategy": self.strategy,
            "params": self.params,
            "data": self.data.identity,
            "window": [window.start, window.score_from, window.stop],
            "costs": asdict(self.costs),
            "fill": self.fill,
            "engine": self.engine,
            "cash": self.cash,
            "code": code + _own_code(self.strategy),
        }
        return hashlib.sha256(json.dumps(canonical(told)).encode()).hexdigest()[:32]


@cache
def _own_code(strategy: str) -> str:
    """Fingerprint of a user's own strategy, ``path/to/file.py:Class``; the code version covers those of this project."""
    return "" if is_strategy(strategy) else f".{strategy_fingerprint(load_strategy(strategy))}"
