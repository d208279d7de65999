"""Prices must be money: share counts come from dividing by them."""

from __future__ import annotations

from datafeeds import MarketPanel
from tracker_strategies.errors import AccountError
from tracker_strategies.execution.holdings import Account

#: By how much the price that a broker shows may differ from the last close.
TOLERANCE = 0.02
#: Splits that companies make, as new shares for old ones.
SPLITS = (
    *((new, 1) for new in (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 50)),
    *((3, 2), (4, 3), (5, 4), (5, 2)),
)


def check_prices(account: Account, panel: MarketPanel) -> None:
    """Refuse an account whose prices are not those of the last bar: data that are adjusted, rebased or split make wrong counts.

    Raises
    ------
    AccountError
        It names the worst of the names, and the split that would explain it.
    """
    wrong = []
    for name, price in account.prices.items():
        if name not in account.shares or name not in panel.symbols:
            continue
        close = float(panel.close[-1, panel.symbols.index(name)])
        if abs(close / price - 1.0) > TOLERANCE:
            wrong.append((abs(close / price - 1.0), name, price, close))
    if not wrong:
        return
    _, name, price, close = max(wrong)
    many = f" ({len(wrong)} of {len(account.shares)} held names differ by more than 2 %)" if len(wrong) > 1 else ""
    raise AccountError(
        f"{name}: its price is {price:g} in the holdings and {close:g} at the end of the data, {close / price - 1.0:+.1%}{many}. "
        f"{explained(price, close)} Use quoted prices of the same date and currency in both"
    )


def explained(price: float, close: float) -> str:
    """What could explain two prices of one name."""
    for new, old in SPLITS:
        for text, ratio in ((f"{new}-for-{old} split", new / old), (f"{old}-for-{new} reverse split", old / new)):
            if abs(price / close / ratio - 1.0) <= TOLERANCE:
                return f"That is the ratio of a {text}, which one of the two does not contain."
    return "Prices that are adjusted for dividends, rebased or out of date give wrong share counts."
