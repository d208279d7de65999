"""Several indices at once, each with its own calendar, time zone and currency.

**One calendar.** A bar of the panel is a date on which at least one market had a session. A market that was closed on it has no
bar: its assets are missing (a strategy keeps their weights, trades none of them, and sees no return), and its target has no
level of its own (nothing is learned on that bar; the next bar on which all targets have one is compared with the last on which
all had). Never is a holiday a zero return, never does an old price count as a new one.

**One moment.** Each bar is decided at one moment: the close of the *decision market* on that date (or the hour at which it would
have closed, on its holidays). By default that is the market that closes last. Into the bar of date d goes what was known then:
of every market the latest session that had closed by that moment. With New York deciding, Tokyo's close of the same date is in
the bar of that date, since it happened half a day before. With Tokyo deciding, New York's close of the same date lies half a day
ahead; the bar shows New York's session of the date before, as soon as it is new, and dates are those of Tokyo. All of this is
worked out from the instants in UTC, with the summer time of each zone.

**Fills.** Orders that fill at the next open are honest in every market: the next bar shows a session that opens after the
decision, wherever it is. Two simplifications remain: buys in the market that opens first are paid for with sells in those that
open later on the same bar, and an open is converted at the rate of its bar. `fill="close"` assumes that the decision and the
fill happen at the same close. That is so for assets of the decision market only. Tokyo's close is half a day old when New York
decides: to fill there would be to trade on news at a price from before the news. Strategies refuse it with a ParameterError
unless all assets that they trade close at the moment of decision; targets may be anywhere.

**One currency.** Prices are converted to the base currency at the latest rate that was known at the moment of decision. A rate
that is missing on a date on which a price needs it is an error, unless it may be carried on for a stated number of bars.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Self

from datafeeds.feeds.index_data import IndexData
from datafeeds.markets.market import Market
from datafeeds.markets.market_files import read_market_file
from datafeeds.markets.union_calendar import Rate, join_markets


class MultiIndexData(IndexData):
    """Several indices and their candidate assets; :mod:`datafeeds.feeds.multi_index` defines their bars.

    A wide file or frame that holds several targets already needs no more than their names:
    ``MultiIndexData.from_source("prices.csv", ["SPX", "NKY"], gaps="freeze")``. Markets with calendars, closing times and
    currencies of their own are joined by :meth:`from_markets`.

    >>> import pandas as pd
    >>> from datafeeds import Market, MultiIndexData
    >>> def prices(days, **columns):
    ...     return pd.DataFrame(columns, index=pd.DatetimeIndex(days))
    >>> ny = prices(["2024-01-02", "2024-01-03", "2024-01-04"], SPX=[10.0, 11, 12], AAPL=[5.0, 6, 7])
    >>> tokyo = prices(["2024-01-02", "2024-01-04"], NKY=[20.0, 21], SONY=[3.0, 4])
    >>> data = MultiIndexData.from_markets(
    ...     {
    ...         "NY": Market(ny, "SPX", "America/New_York", "16:00"),
    ...         "TOKYO": Market(tokyo, "NKY", "Asia/Tokyo", "15:30"),
    ...     }
    ... )
    >>> data.panel.close.tolist(), data.panel.target_seen.tolist()
    ([[5.0, 3.0], [6.0, nan], [7.0, 4.0]], [[True, True], [True, False], [True, True]])
    """

    @classmethod
    def from_markets(
        cls,
        markets: Mapping[str, Market | Mapping[str, Any]],
        *,
        decision: str | None = None,
        base: str | None = None,
        fx: Mapping[str, Rate] | None = None,
        fx_carry: int = 0,
    ) -> Self:
        """Join several markets.

        Parameters
        ----------
        markets : mapping of name to Market
            Or to a mapping of the parameters of a Market. Each series needs a name that no other market has.
        decision : str, optional
            The market at whose close decisions are made; by default the one that closes last.
        base : str, optional
            Currency of the panel; by default that of the decision market.
        fx : mapping of currency to rates, optional
            For each other currency, units of the base currency per unit of it: a Series, the path of a file, or an
            :class:`~datafeeds.ExchangeRate` that also says at which hour the rate of a day is known (by default 16:00 in
            London).
        fx_carry : int, default 0
            Number of bars for which the last rate may replace a missing one.

        Returns
        -------
        MultiIndexData
            Its panel begins with the first date on which every target has a level, and ends with the last before one of them
            ends; what is dropped is in a warning and in the panel's ``cut``. A session that closes after the last decision
            is not in it.

        Raises
        ------
        DataError
            A target without data, targets without common dates, a gap in a rate, a currency without a rate, an unknown time zone.
        UniverseError
            A name in two markets, no target, or a decision market that is not one of them.

        Notes
        -----
        ``delist_after`` of the strategies counts bars of this calendar. Keep it above the longest holiday of any market: the
        default of 10 covers Golden Week and the Chinese New Year.
        """
        return cls(join_markets(markets, decision=decision, base=base, fx=fx, fx_carry=fx_carry))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str], **how: Any) -> Self:
        """The same from a file that describes the markets: see :mod:`datafeeds.markets.market_files`."""
        return cls(read_market_file(path, **how))
