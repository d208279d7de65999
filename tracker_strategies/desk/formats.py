"""The order list as brokers read it: a table for people, Alpaca's orders, the basket of Interactive Brokers' BasketTrader."""

from __future__ import annotations

import math

import pandas as pd

from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.holdings import Spelling
from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

BROKERS = ("generic", "alpaca", "ibkr")
#: Columns of the table.
COLUMNS = (
    "as_of", "symbol", "side", "qty", "type", "time_in_force", "est_price", "est_value", "est_cost", "weight_now",
    "weight_target", "reason", "client_order_id", "batch",
)  # fmt: skip
ALPACA = ("symbol", "qty", "side", "type", "time_in_force", "client_order_id")
IBKR = ("Action", "Quantity", "Symbol", "SecType", "Exchange", "Currency", "TimeInForce", "OrderType", "BasketTag")
#: Times in force that are known here: for the day, or for the opening auction.
TIMES = ("day", "opg")


def check_format(broker: str, time_in_force: str, lot: float) -> None:
    """Refuse, before anything runs, what a broker does not take.

    Raises
    ------
    ParameterError
        An unknown broker or time in force; fractions of shares where they are not taken, with the way out.
    """
    if broker not in BROKERS:
        raise ParameterError(f"the format {broker!r} is unknown; choose one of {', '.join(BROKERS)}")
    if time_in_force not in TIMES:
        raise ParameterError(f"time_in_force={time_in_force!r} is unknown; choose one of {', '.join(TIMES)}")
    whole = lot > 0.0 and lot % 1.0 == 0.0
    if not whole and broker == "ibkr":
        raise ParameterError(_NO_FRACTIONS)
    if not whole and time_in_force == "opg":
        raise ParameterError("opg, the opening auction, takes whole shares only; add --whole-shares (lot=1), or use day")


def broker_rows(
    table: pd.DataFrame, broker: str, spelling: Spelling, *, tag: str, currency: str = "USD"
) -> tuple[pd.DataFrame, list[str]]:
    """The orders as a broker's file has them, and what had to be left out and why."""
    if broker not in BROKERS:
        raise ParameterError(f"the format {broker!r} is unknown; choose one of {', '.join(BROKERS)}")
    if broker == "generic":
        return table, []
    whole = all(float(qty).is_integer() for qty in table["qty"])
    if broker == "ibkr":
        if not whole:
            raise ParameterError(_NO_FRACTIONS)
        return _basket(table, spelling, tag, currency), []
    if not whole and (table["time_in_force"] == "opg").any():
        raise ParameterError("opg, the opening auction, takes whole shares only; add --whole-shares (lot=1), or use day")
    return _at_alpaca(table, spelling)


_NO_FRACTIONS = (
    "BasketTrader of Interactive Brokers takes whole shares only, but these orders may have fractions; add --whole-shares "
    "(lot=1), or write them in another format"
)


def _at_alpaca(table: pd.DataFrame, spelling: Spelling) -> tuple[pd.DataFrame, list[str]]:
    rows, left = [], []
    for order in table.to_dict("records"):
        # Down to the broker's step, with a hair for numbers that are a step but for rounding: never more than is held or paid.
        qty = math.floor(order["qty"] / AlpacaBroker.quantum + 1e-6) * AlpacaBroker.quantum
        symbol = spelling.at("alpaca", order["symbol"])
        fraction = not float(order["qty"]).is_integer()
        if qty <= 0.0 or (fraction and order["side"] == "buy" and order["est_value"] < AlpacaBroker.least_value):
            left.append(
                f"{symbol}: {order['side']} of {order['est_value']:.2g}, below Alpaca's minimum of {AlpacaBroker.least_value:g}"
            )
            continue
        text = f"{qty:.9f}".rstrip("0").rstrip(".")
        rows.append((symbol, text, order["side"], order["type"], order["time_in_force"], order["client_order_id"]))
    return pd.DataFrame(rows, columns=list(ALPACA)), left


def _basket(table: pd.DataFrame, spelling: Spelling, tag: str, currency: str) -> pd.DataFrame:
    rows = [
        (
            order["side"].upper(),
            str(int(order["qty"])),
            spelling.at("ibkr", order["symbol"]),
            "STK",
            "SMART",
            currency,
            order["time_in_force"].upper(),
            "MKT",
            f"{tag}-{order['batch']}",
        )
        for order in table.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=list(IBKR))
