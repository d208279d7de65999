"""From what a strategy wants, in units, to orders in shares that a broker can take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.papertrade.brokers.base import Broker, Ticket
from tracker_strategies.papertrade.brokers.order_types import Terms
from tracker_strategies.papertrade.config import AccountConfig

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

#: A quantity that misses a whole step by less than this (in steps) counts as that step.
_SLACK = 1e-6


def client_id(account: str, session: str, place: int, symbol: str, purpose: str = "") -> str:
    """The same order always gets the same id, so that it can be sent any number of times and placed once.

    At most 128 characters (Alpaca's limit), letters, digits and hyphens only.
    """
    plain = re.sub(r"[^A-Za-z0-9]", "", symbol)[:24]
    return "-".join(filter(None, (account, re.sub(r"\D", "", session), str(place), plain, purpose)))


@dataclass(frozen=True)
class SingleOrder:
    """An order of a strategy's own, for one session.

    Parameters
    ----------
    place : int
        Of the name.
    units : float
        To buy, or, below zero, to sell.
    terms : Terms
        With prices of a unit.
    key : str
        What tells it from other orders of the account, now and when everything is run again.
    """

    place: int
    units: float
    terms: Terms
    key: str


def single_tickets(
    config: AccountConfig,
    session: str,
    singles: Sequence[SingleOrder],
    factor: FloatArray,
    prices: FloatArray,
    tickers: Sequence[str],
    broker: Broker,
) -> tuple[list[Ticket], list[str]]:
    """One order for each, and the names that they are for. A broker that has a market of its own gets market orders as it knows
    them.
    """
    tickets = []
    for order in singles:
        i, ratio = order.place, float(factor[order.place])
        size = order.units * ratio
        if broker.quantum:
            size = round(size / broker.quantum) * broker.quantum
        due = str(order.terms.scaled(1.0 / ratio)) if broker.simulated else "open"
        cid = client_id(config.name, session, i, config.symbols[i], order.key)
        tickets.append(Ticket(cid, tickers[i], size, float(prices[i]), due))
    return tickets, [config.symbols[order.place] for order in singles]


def in_shares(deltas: FloatArray, factor: FloatArray, sizes: FloatArray, broker: Broker, lot: float) -> FloatArray:
    """Units to trade as shares: sells never beyond what is held, and in the steps that broker and account trade in.

    Parameters
    ----------
    deltas : (N,) float
        In units.
    factor : (N,) float
        Units that a share stands for.
    sizes : (N,) float
        Shares held.
    """
    shares = np.maximum(deltas * factor, -sizes)
    step = max(broker.quantum, lot if (factor != 1.0).any() else 0.0)  # without actions, the strategy has counted in lots itself
    if step:  # targets are rounded, not trades: what is left of an odd lot after a split goes with the next order
        after = sizes + shares
        target = np.where(after <= _SLACK * step, 0.0, np.floor(after / step + _SLACK) * step)
        shares = np.where(shares != 0.0, target - sizes, 0.0)
        if broker.quantum:
            shares = np.round(shares / broker.quantum) * broker.quantum
        shares = np.maximum(np.where(np.abs(shares) < _SLACK * step, 0.0, shares), -sizes)
    return np.asarray(shares)


def make_tickets(
    config: AccountConfig,
    session: str,
    shares: FloatArray,
    prices: FloatArray,
    tickers: Sequence[str],
    broker: Broker,
    *,
    due: str = "open",
    purpose: str = "",
    out: BoolArray | None = None,
) -> tuple[list[Ticket], list[str]]:
    """Orders, sells first, and the names that they are for. Orders too small for the broker are left out, but for those that sell
    a position `out`: nothing of it is to remain.
    """
    worth = np.abs(shares) * np.where(np.isfinite(prices), prices, 0.0)
    large = worth >= broker.least_value
    if out is not None:
        large |= out & (shares < 0.0)
    which = [int(i) for sign in (-1.0, 1.0) for i in np.flatnonzero((np.sign(shares) == sign) & large)]
    tickets = [
        Ticket(
            client_id(config.name, session, i, config.symbols[i], purpose), tickers[i], float(shares[i]), float(prices[i]), due
        )
        for i in which
    ]
    return tickets, [config.symbols[i] for i in which]
