"""One currency for all series of a panel: a return of one must not hold an exchange rate that the others do not have.

Yahoo quotes London in pence (GBp), Johannesburg in cents (ZAc) and Tel Aviv in agorot (ILA), a hundredth of the currency each:
these are always turned into the currency itself. Different currencies are refused, unless one is named that all are converted to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

import pandas as pd

from datafeeds.adjustment import PRICES
from datafeeds.errors import DataError
from datafeeds.yahoo.cache import PriceSeries

#: Hundredths, by Yahoo's names, and what they are hundredths of.
HUNDREDTHS = {"GBp": "GBP", "GBX": "GBP", "ZAc": "ZAR", "ZAC": "ZAR", "ILA": "ILS"}
#: Days before the first price that a rate is asked for: the first day may be a holiday of the rate.
EARLIER = timedelta(days=14)
SHOWN = 3


def currency_of(series: PriceSeries) -> str:
    """The currency of a series, the whole one where Yahoo quotes hundredths; empty when Yahoo did not say."""
    return HUNDREDTHS.get(series.currency, series.currency)


def check_currency(code: str) -> str:
    """A code of three capital letters, or a DataError."""
    if not (isinstance(code, str) and len(code) == 3 and code.isascii() and code.isalpha() and code.isupper()):
        whole = HUNDREDTHS.get(code, "USD") if isinstance(code, str) else "USD"
        raise DataError(f"currency={code!r} is not a currency; write its code in three capital letters, such as {whole}")
    return code


def rate_ticker(currency: str, wanted: str) -> str:
    """Yahoo's name of the price of one unit of `currency` in another."""
    return f"{currency}{wanted}=X"


def other_currencies(series: Iterable[PriceSeries], wanted: str) -> list[str]:
    """Those that have to be converted."""
    return sorted({currency_of(kept) for kept in series} - {wanted, ""})


def in_one_currency(
    series: Mapping[str, PriceSeries], bars: Mapping[str, pd.DataFrame], wanted: str | None, rates: Mapping[str, PriceSeries]
) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """The bars of all series in one currency, and remarks on what was done.

    Parameters
    ----------
    series : mapping of name to PriceSeries
    bars : mapping of name to DataFrame
        Their bars as traded, perhaps not all of them.
    wanted : str or None
        The currency to convert to; None refuses different ones.
    rates : mapping of currency to PriceSeries
        What a unit of another currency costs in the wanted one.

    Raises
    ------
    DataError
        Currencies differ and none is wanted, or a rate is not known on the first day.
    """
    remarks: list[str] = []
    by_currency: dict[str, list[str]] = {}
    for name in bars:
        by_currency.setdefault(currency_of(series[name]), []).append(name)
    unknown = by_currency.pop("", [])
    if unknown and (wanted is not None or len(by_currency) > 0):
        assumed = wanted or "that of the others"
        remarks.append(f"Yahoo does not state the currency of {_some(unknown)}; {assumed} is assumed")
    if wanted is None and len(by_currency) > 1:
        found = ", ".join(f"{currency} ({_some(names)})" for currency, names in sorted(by_currency.items()))
        raise DataError(
            f"prices are in different currencies: {found}; their returns cannot be compared. Convert them with --currency "
            f"{next(iter(by_currency))} (currency=...), or fetch each market separately and join them with "
            "MultiIndexData.from_markets, which handles calendars and exchange rates"
        )
    result = {}
    for name, frame in bars.items():
        factor: float | pd.Series = 0.01 if series[name].currency in HUNDREDTHS else 1.0
        currency = currency_of(series[name])
        if wanted is not None and currency not in ("", wanted):
            factor = factor * _rate(rates[currency], frame, name)
        result[name] = frame if isinstance(factor, float) and factor == 1.0 else _multiplied(frame, factor)
    for quoted in sorted({series[name].currency for name in bars} & set(HUNDREDTHS)):
        names = [name for name in bars if series[name].currency == quoted]
        remarks.append(f"{_some(names)}: prices in {quoted} were divided by 100, they are in {HUNDREDTHS[quoted]} now")
    for currency in () if wanted is None else other_currencies((series[name] for name in bars), wanted):
        names = by_currency[currency]
        remarks.append(f"{_some(names)}: converted from {currency} to {wanted} by {rate_ticker(currency, wanted or '')}")
    return result, remarks


def _rate(rate: PriceSeries, frame: pd.DataFrame, name: str) -> pd.Series:
    """The rate of each day, or the last one before it."""
    known = rate.bars["close"].reindex(rate.bars.index.union(frame.index)).ffill().reindex(frame.index)
    if known.isna().any():
        raise DataError(
            f"{name} has a price on {frame.index[0]:%Y-%m-%d}, but the exchange rate {rate.ticker} begins on "
            f"{rate.bars.index[0]:%Y-%m-%d}; choose a later start"
        )
    return known


def _multiplied(frame: pd.DataFrame, factor: float | pd.Series) -> pd.DataFrame:
    frame = frame.copy()
    for column in (*PRICES, "dividend"):
        frame[column] = frame[column] * factor
    return frame


def _some(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
