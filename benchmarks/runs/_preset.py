"""A strategy that holds given weights: what engines are compared on, without a learner's time."""

from __future__ import annotations

from typing import Any

import backtrader as bt
import numpy as np
from numpy.typing import NDArray

from tracker_strategies.algorithms import ConstantWeights, OnlineAlgorithm
from tracker_strategies.strategies import TrackerStrategy

FloatArray = NDArray[np.float64]


def random_weights(n_bars: int, n_assets: int) -> FloatArray:
    """New weights for every name on every bar: what a daily rebalanced tracker trades, and more."""
    return np.random.default_rng(3).dirichlet(np.full(n_assets, 5.0), size=n_bars)


class PresetAlgorithm(ConstantWeights):
    """Plays back rows of weights."""

    def __init__(self, rows: FloatArray) -> None:
        super().__init__(rows.shape[1], start=rows[0])
        self._rows, self._t = rows, 0

    def update(self, x: Any, y: Any, **masks: Any) -> FloatArray:
        self._t += 1
        row: FloatArray = self._rows[self._t]
        return row


class Preset(TrackerStrategy):
    """Holds the rows of ``rows``, one after the other."""

    params = (("rows", None),)

    @classmethod
    def make_algorithm(cls, p: Any, symbols: tuple[str, ...], n_targets: int) -> OnlineAlgorithm:
        return PresetAlgorithm(p.rows)


class ListeningPreset(Preset):
    """The same, told of every order."""

    def __init__(self) -> None:
        super().__init__()
        self.fills = 0

    def notify_order(self, order: bt.Order) -> None:
        if order.status == order.Completed:
            self.fills += 1


class NaivePreset(bt.Strategy):
    """The same job as most users of backtrader write it."""

    params = (("rows", None),)

    def next(self) -> None:
        for data, weight in zip(self.datas[1:], self.p.rows[len(self) - 1], strict=True):
            self.order_target_percent(data, target=float(weight))
