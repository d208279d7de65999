"""Splits and dividends: from a vendor's restated prices to those that were traded, and from those to a series one can compare.

Bars are frames with ascending dates and the columns :data:`COLUMNS`. Prices, volume and dividends are *as traded*: in the money
and the shares of their own day. ``split`` is the number of new shares for one old share that day (1 where there was none, 0.1 for
a reverse split of 1:10). A dividend belongs to the shares of its ex-date: when a split falls on the same day, to the new ones.

Stored that way a price never changes again. A vendor's "close" does: Yahoo divides the whole past by every later split.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds.choices import Adjustment as Adjustment

FloatArray = NDArray[np.float64]
PRICES = ("open", "high", "low", "close")
COLUMNS = (*PRICES, "volume", "dividend", "split")


def later_splits(split: FloatArray) -> FloatArray:
    r"""(T,) product of the ratios of all *later* days, :math:`S_t = \prod_{s>t} r_s`; 1 on the last day."""
    factor = np.ones(len(split))
    factor[:-1] = np.cumprod(split[:0:-1])[::-1]
    return factor


def as_traded(bars: pd.DataFrame) -> pd.DataFrame:
    r"""Undo the restatement of a vendor who has divided every price and dividend by all later splits.

    .. math:: P_t = S_t \, \tilde P_t, \qquad D_t = S_t \, \tilde D_t, \qquad V_t = \tilde V_t / S_t

    `bars` must reach to the day of the vendor's answer: a split after its last row has been applied to the prices, and could not
    be undone.
    """
    return _scaled(bars, later_splits(bars["split"].to_numpy(dtype=np.float64)))


def adjust(bars: pd.DataFrame, mode: Adjustment) -> pd.DataFrame:
    r"""Prices cleared of the events inside the given rows; the last row keeps the price that was traded.

    ``split``: :math:`P_t / S_t`, and volume the other way round. ``total``: moreover every dividend buys shares at the close of
    its ex-date,

    .. math:: \prod_{s>t} \frac{P_s}{P_s + D_s} \cdot \frac{P_t}{S_t},

    so that the return over an ex-date is :math:`r_s (P_s + D_s) / P_{s-1} - 1`, what a holder earned (CRSP and the total return
    indices count so; Yahoo's own "Adj Close" buys at :math:`P_{s-1} - D_s` instead, which is not positive for every dividend).

    Only events within the rows count: cut out the period first, and its prices never change, whatever happens to the stock later.
    """
    if mode is Adjustment.RAW:
        return bars
    shares = 1.0 / later_splits(bars["split"].to_numpy(dtype=np.float64))
    if mode is Adjustment.SPLIT:
        return _scaled(bars, shares)
    close, paid = bars["close"].to_numpy(dtype=np.float64), bars["dividend"].to_numpy(dtype=np.float64)
    return _scaled(bars, shares, later_splits(close / (close + paid)))


def _scaled(bars: pd.DataFrame, shares: FloatArray, reinvested: FloatArray | None = None) -> pd.DataFrame:
    """All that is counted in shares times `shares`, and prices moreover times `reinvested`."""
    if (shares == 1.0).all() and (reinvested is None or (reinvested == 1.0).all()):
        return bars
    prices = shares if reinvested is None else shares * reinvested
    columns = {name: bars[name].to_numpy(dtype=np.float64) * prices for name in PRICES}
    columns["volume"] = bars["volume"].to_numpy(dtype=np.float64) / shares
    columns["dividend"] = bars["dividend"].to_numpy(dtype=np.float64) * shares
    return pd.DataFrame({**columns, "split": bars["split"]}, index=bars.index)


def whole_bars(bars: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Bars whose low and high hold their open and close, and how many had to be mended.

    Vendors leave the open of old bars empty or zero, and round the four prices apart. The close is never touched: an open that is
    missing becomes the close, a high or low that is missing or cuts a price off is moved to that price.
    """
    close, o, h, l = (bars[name].to_numpy(dtype=np.float64) for name in ("close", "open", "high", "low"))
    with np.errstate(invalid="ignore"):
        if ((l > 0.0) & (l <= o) & (l <= close) & (o <= h) & (close <= h) & np.isfinite(h)).all():
            return bars, 0
        first = np.where(np.isfinite(o) & (o > 0.0), o, close)
        high = np.fmax(np.where(np.isfinite(h), h, close), np.fmax(first, close))
        low = np.fmin(np.where(np.isfinite(l) & (l > 0.0), l, close), np.fmin(first, close))
    mended = ~np.isclose([o, h, l], [first, high, low], rtol=1e-6, atol=0.0).all(axis=0)
    return bars.assign(open=first, high=high, low=low), int(mended.sum())
