"""OrderPlan: tomorrow's orders as a table, and as files that brokers read."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from datafeeds.files import named_errors, replace_file
from tracker_strategies.desk.formats import COLUMNS, broker_rows
from tracker_strategies.execution.holdings import Spelling


@dataclass(frozen=True, eq=False)
class OrderPlan:
    """Orders for the next session, decided at the close of the last bar. Nothing is sent.

    Attributes
    ----------
    as_of : str
        Date of the last bar.
    table : DataFrame
        One row per order, sells first: as_of, symbol, side, qty, type, time_in_force, est_price, est_value, est_cost, weight_now,
        weight_target, reason, client_order_id, batch. Orders of batch 2 need the money that the sells of batch 1 bring.
    figures : mapping
        value (with the flow), cash_before, flow, cash_after, turnover, cost, tracking_error (per bar, of the weights after the
        orders over the latest bars), gap_covered (how much higher the buys may open so that the cash still pays for them).
    foot : tuple of str
        Lines below the table: cash after, expected tracking error, limits, names that are not traded and why.
    notes : tuple of str
        Notes on what was read and done.

    Examples
    --------
    >>> from datafeeds import load_sample
    >>> from tracker_strategies import Account, orders_for
    >>> plan = orders_for(load_sample().rows(0, 250), "pa", Account(100_000.0))
    >>> print(plan.to_csv("orders.csv").partition(",")[0])
    as_of
    """

    as_of: str
    table: pd.DataFrame
    figures: Mapping[str, float | None]
    foot: tuple[str, ...]
    notes: tuple[str, ...] = ()
    spelling: Spelling = field(default_factory=Spelling)
    account: str = "desk"
    currency: str = "USD"

    def __len__(self) -> int:
        return len(self.table)

    def rows(self, broker: str = "generic") -> tuple[pd.DataFrame, list[str]]:
        """The orders in the format of a broker's file, and which orders had to be left out, with the reason."""
        return broker_rows(self.table, broker, self.spelling, tag=f"{self.account}-{self.as_of}", currency=self.currency)

    def to_csv(self, path: str | os.PathLike[str] | None = None, *, broker: str = "generic") -> str:
        """Write the orders, whole or not at all, and return the text.

        Parameters
        ----------
        path : path, optional
            None to write nothing.
        broker : {"generic", "alpaca", "ibkr"}

        Raises
        ------
        ParameterError
            The broker does not take orders like these: fractions of a share, or fractions in an auction.
        """
        rows, _ = self.rows(broker)
        text = io.StringIO()
        rows.to_csv(text, index=False, lineterminator="\n")
        if path is not None:
            file = Path(path).expanduser()
            with named_errors(file.parent):
                replace_file(file, text.getvalue().encode())
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        orders = self.table.to_dict("records")
        return {"as_of": self.as_of, "orders": orders, "figures": dict(self.figures), "foot": list(self.foot)}

    def __repr__(self) -> str:
        return f"OrderPlan({len(self)} orders as of {self.as_of})"


__all__ = ["COLUMNS", "OrderPlan"]
