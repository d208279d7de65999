"""What a strategy's account is worth, and the cash that came in or went out, as analyzers and observers read them per bar."""

from __future__ import annotations

from typing import Any

from tracker_strategies.execution.tracker_route import TrackerRoute


class AccountWatch:
    """Reads the account of one strategy. Call :meth:`flow` once per bar, at its close.

    ``broker.add_cash`` books money after the fills of the next bar. It is no return: with the value V_t at the close and the cash
    F_t booked on bar t the account returned (V_t - F_t) / V_{t-1} - 1.

    A tracker that owns a part of the account (``capital``) is measured by its part. Otherwise it is the whole account. Brokers
    that host trackers keep the sum of what was paid in; any other of backtrader's issues shares of a fund for new money at the
    last fund value, which is how the amount is known there, whoever called ``add_cash``.
    """

    def __init__(self, strategy: Any) -> None:
        self._broker = strategy.broker
        route = getattr(strategy, "route", None)
        self._route = route if isinstance(route, TrackerRoute) and route.part.cash is not None else None
        self._paid_in = self._sum()
        self._shares, self._price = self._fund()

    def value(self) -> float:
        """Value at the current closes."""
        return float(self._broker.getvalue()) if self._route is None else self._route.value()

    def flow(self) -> float:
        """Cash booked since the last call, or since the watch began: + deposits, - withdrawals."""
        known = self._sum()
        if known is not None and self._paid_in is not None:
            before, self._paid_in = self._paid_in, known
            return known - before
        shares, price = self._shares, self._price
        self._shares, self._price = self._fund()
        return 0.0 if self._shares == shares else (self._shares - shares) * price

    def _sum(self) -> float | None:
        paid_in: float | None = getattr(self._broker, "paid_in", None) if self._route is None else self._route.part.flow
        return paid_in

    def _fund(self) -> tuple[float, float]:
        broker = self._broker
        return float(getattr(broker, "fundshares", 0.0)), float(getattr(broker, "fundvalue", 0.0))
