"""Positions that are there when a backtrader run begins: in the broker, at the prices of the first bar, without an order."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from backtrader import Trade, num2date
from numpy.typing import NDArray

from tracker_strategies.errors import AccountError
from tracker_strategies.execution.basket.part import Part

FloatArray = NDArray[np.float64]


def begin_with(strategy: Any, part: Part, sizes: FloatArray) -> None:
    """Put shares into a tracker's part of an account, before the first bar.

    The account is worth them from the start, at the closes of the first bar: no return comes of it. A position is an open trade
    for those who follow trades.
    """
    broker, (when, closes) = strategy.broker, strategy.gate.first()
    held = np.flatnonzero(sizes)
    check_priced(strategy.symbols, sizes, closes, str(num2date(when).date()))
    worth = np.where(sizes > 0.0, sizes * np.nan_to_num(closes), 0.0)
    part.owned.sizes, part.owned.cost = sizes, worth
    for i in held.tolist():
        data, size, price = part.owned.datas[i], float(sizes[i]), float(closes[i])
        if broker.owned is None:
            position = broker.positions[data]
            position.update(size, price)
            position.adjbase = price
        trade = _open_trade(data, size, price, when, history=strategy._tradehistoryon)
        strategy._trades[data][0].append(trade)
        strategy._tradespending.append(copy(trade))  # told on the first bar
        trade.justopened = False
    broker.take_in_kind(float(worth.sum()))


def check_priced(symbols: Sequence[str], sizes: FloatArray, prices: FloatArray, day: str) -> None:
    """Refuse names that are held and have no price."""
    bare = [symbols[i] for i in np.flatnonzero((sizes > 0.0) & ~np.isfinite(prices)).tolist()]
    if bare:
        more = f" (without a price: {len(bare)} names, {', '.join(bare[:5])})" if len(bare) > 1 else ""
        raise AccountError(
            f"{bare[0]} is held but has no price on {day}{more}, so its value is unknown; add a price, or remove it from the "
            "holdings"
        )


def _open_trade(data: Any, size: float, price: float, when: float, *, history: bool) -> Any:
    trade = Trade(data=data, historyon=history, size=size, price=price, value=size * price)
    trade.isopen, trade.justopened, trade.long = True, True, True
    trade.status, trade.dtopen, trade.baropen = Trade.Open, when, 1
    return trade
