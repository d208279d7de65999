"""The simulated broker: an account of its own in a file of its own, which fills orders at the open of the next session.

It stands where a real broker stands: apart from the journal, with its own memory, answering questions. So everything that can go
wrong between a program and its broker can be tried with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.errors import AccountError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.execution.holdings.flows import with_flow
from tracker_strategies.execution.mandate.account import AccountState
from tracker_strategies.execution.mandate.fills import FillGuard
from tracker_strategies.execution.rebalancer import Rebalancer
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.papertrade.brokers.base import (
    KEPT_BACK,
    NO_BAR,
    PARTLY,
    SHORT_OF_CASH,
    TOO_LARGE,
    Holdings,
    Hours,
    Payment,
    Quotes,
    Report,
    Status,
    Ticket,
)
from tracker_strategies.papertrade.brokers.broker_file import BrokerFile, apply_action
from tracker_strategies.papertrade.brokers.order_types import fill_singles
from tracker_strategies.papertrade.errors import DuplicateOrderError, OrderRefusedError
from tracker_strategies.papertrade.market.corporate_actions import Action

FloatArray = NDArray[np.float64]

#: Orders of one question; SQLite takes at most 999 values.
_AT_ONCE = 500
#: Below this share of an order the rest of it is rounding.
_ROUNDING = 1e-9


class SimulatedBroker:
    """A broker's account in an SQLite file.

    Market orders fill at the open of the next session, with the costs given. If the market gapped so that cash no longer
    suffices, all buys shrink by one common factor; a name without a bar is not filled. What is left is cancelled at the close.
    This is what a backtest with ``fill="next_open"`` assumes, and the outcome is the same to rounding.

    Parameters
    ----------
    path : path
        The file; made when absent.
    cash : float
        Deposit, when the file is made.
    costs : CostModel
    lot : float, default 0
        Smallest number of shares; 0 for fractions.
    part : callable, optional
        From a client id to the share of the order that the market takes, for practice with partial fills.
    guard : FillGuard, optional
        Counts of names that the account's mandate limits, in the order of its names: no name enters in the place of one whose
        sell did not fill.
    liquidity : Liquidity, optional
        How much of an order a session's volume takes, and at which price.
    expected : bool, default False
        Whether the file must be there: the account has had sessions.
    from_copy : bool, default False
        The file was put there on purpose, from a copy.
    holdings : mapping of str to float, optional
        Shares that are there when the file is made, by ticker.

    Examples
    --------
    >>> from tracker_strategies.papertrade import PaperAccount
    >>> broker = PaperAccount.create("account", "pa", "sample", replay="2022-12-20").broker()
    """

    simulated = True
    nets = True
    quantum = 0.0
    least_value = 0.0

    def __init__(
        self,
        path: str | os.PathLike[str],
        cash: float,
        costs: CostModel,
        lot: float = 0.0,
        part: Callable[[str], float] | None = None,
        guard: FillGuard | None = None,
        liquidity: Liquidity | None = None,
        *,
        expected: bool = False,
        from_copy: bool = False,
        holdings: Mapping[str, float] | None = None,
    ) -> None:
        self.path = Path(path)
        self._market = Rebalancer(costs, lot)
        self._part, self._guard, self._liquidity = part, FillGuard() if guard is None else guard, liquidity
        self._file = BrokerFile.open(self.path, cash, holdings, expected=expected, from_copy=from_copy)
        self.db = self._file.db

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    # -- orders ----------

    def submit(self, ticket: Ticket) -> Report:
        """Accept an order. A settlement books the position out at once. An order for a past open is refused."""
        if not (np.isfinite(ticket.size) and ticket.size != 0.0):
            raise OrderRefusedError(f"a size of {ticket.size!r} cannot be traded")
        with self._file.transaction("order", durable=ticket.due == "settle") as db:
            (newest,) = db.execute("select coalesce(max(session), '') from sessions").fetchone()
            if ticket.session and newest > ticket.session and not self._has(ticket.cid):
                raise OrderRefusedError(
                    f"too late: decided on {ticket.session} for the next open, but session {newest} is already over"
                )
            new = db.execute(
                "insert or ignore into orders (cid, ticker, size, price, due, status) values (?, ?, ?, ?, ?, 'open')",
                (ticket.cid, ticket.ticker, ticket.size, ticket.price, ticket.due),
            )
            if not new.rowcount:
                raise DuplicateOrderError(f"client id {ticket.cid} exists already")
            if ticket.due == "settle":
                db.execute("update account set cash = cash - ?", (ticket.size * ticket.price,))
                db.execute("delete from positions where ticker = ?", (ticket.ticker,))
                db.execute("update orders set status = 'filled', filled = size, average = price where cid = ?", (ticket.cid,))
        if ticket.due == "settle":
            return self.reports([ticket.cid])[ticket.cid]
        return Report(ticket.cid, ticket.ticker, ticket.size, Status.OPEN, broker_id=f"sim-{ticket.cid}")

    def _has(self, cid: str) -> bool:
        return self.db.execute("select 1 from orders where cid = ?", (cid,)).fetchone() is not None

    def reports(self, cids: Sequence[str]) -> dict[str, Report]:
        """Status of orders."""
        with self._file.errors():
            rows: list[Any] = []
            for start in range(0, len(cids), _AT_ONCE):
                some = cids[start : start + _AT_ONCE]
                rows += self.db.execute(f"select * from orders where cid in ({','.join('?' * len(some))})", tuple(some))
            return {row[0]: _report(row) for row in rows}

    def open_orders(self) -> list[Report]:
        """Orders that wait for the next session."""
        with self._file.errors():
            return [_report(row) for row in self.db.execute("select * from orders where status = 'open' order by rowid")]

    def cancel(self, report: Report) -> None:
        """Cancel an order."""
        with self._file.transaction("cancelling", durable=False) as db:
            db.execute(
                "update orders set status = 'cancelled', reason = 'on request' where cid = ? and status = 'open'", (report.cid,)
            )

    def holdings(self) -> Holdings:
        """Cash and shares."""
        with self._file.errors():
            (cash,) = self.db.execute("select cash from account").fetchone()
            return Holdings(cash, dict(self.db.execute("select ticker, size from positions where size != 0").fetchall()))

    def hours(self) -> Hours | None:
        """None: it has sessions, but no clock."""
        return None

    def listen(self, seconds: float) -> bool:
        """Nothing happens between two sessions."""
        return False

    # -- the market ----------

    def advance(self, quotes: Quotes, actions: Sequence[Action]) -> None:
        """A session: orders for the last close, corporate actions, orders for the open, and cancelling of what is left."""
        with self._file.transaction("market") as db:
            if db.execute("insert or ignore into sessions values (?)", (quotes.session,)).rowcount == 0:
                return
            closing = [cid for (cid,) in db.execute("select cid from orders where status = 'open' and due = 'close'")]
            closing += quotes.paid.cids if quotes.paid is not None and quotes.paid.due == "close" else ()
            self._fill("close", quotes.old_tickers, quotes.closes, quotes)
            for action in actions:
                apply_action(db, action)
                if action.kind == "split":  # told in new shares, as the books have the position by then
                    db.executemany(
                        "update orders set size = size * :v, filled = filled * :v, price = price / :v, average = average / :v "
                        "where cid = :cid and ticker = :ticker and status != 'open'",
                        [{"v": action.value, "cid": cid, "ticker": action.symbol} for cid in closing],
                    )
            self._fill("open", quotes.tickers, quotes.open, quotes)
            fill_singles(db, quotes, self._market.costs, self._part)
            db.execute("update orders set status = 'cancelled', reason = ? where status = 'open'", (NO_BAR,))

    def has_had(self, session: str) -> bool:
        """Whether a session has passed here."""
        with self._file.errors():
            return self.db.execute("select 1 from sessions where session = ?", (session,)).fetchone() is not None

    def _fill(self, due: str, tickers: Sequence[str], prices: FloatArray, quotes: Quotes) -> None:
        place = {ticker: i for i, ticker in enumerate(tickers)}
        rows = self.db.execute("select cid, ticker, size from orders where status = 'open' and due = ? order by rowid", (due,))
        orders = [
            (cid, place[ticker], size) for cid, ticker, size in rows if ticker in place and np.isfinite(prices[place[ticker]])
        ]
        paid = quotes.paid if quotes.paid is not None and quotes.paid.due == due else None
        if not orders and paid is None:
            return
        part = {cid: 1.0 if self._part is None else self._part(cid) for cid, _, _ in orders}
        wanted = np.zeros(len(tickers))
        for cid, i, size in orders:
            wanted[i] += size * part[cid]
        held = self.holdings()
        sizes = np.array([held.sizes.get(ticker, 0.0) for ticker in tickers])
        # Books that differ by rounding sell all of a position, too: nothing of it may stay behind.
        wanted = np.where((wanted < 0.0) & (np.abs(sizes + wanted) <= _ROUNDING * sizes), -sizes, wanted)
        quoted = np.where(np.isfinite(prices), prices, 1.0)
        lasts = quotes.lasts_before if due == "close" and quotes.lasts_before is not None else quotes.lasts
        known = prices if lasts is None else np.where(np.isfinite(prices), prices, lasts)
        turnover = quotes.turnover if due == "open" else None  # orders for a close were planned at its prices
        market, taken, depth = self._market, wanted, quotes.depth if due == "open" else quotes.depth_before
        if self._liquidity is not None and depth is not None:
            market, taken = self._liquidity.priced(market, depth), self._liquidity.taken(wanted, depth, market.lot)
        allowed = self._guard.kept(taken, AccountState.of(sizes, known, held.cash, None, None), turnover, market)
        kept_out = paid.amount if paid is not None and not paid.cids and paid.amount < 0.0 else 0.0
        got = market.fit(allowed, sizes, quoted, held.cash + kept_out)
        costs, done = market.costs, got
        if paid is not None and paid.cids:
            traded = np.isfinite(prices)
            done = with_flow(market, sizes, got, held.cash, known, paid.amount, paid.day, current=traded)
        at, fees = costs.fill_prices(done, quoted), costs.fees(done, quoted)
        change = costs.outcome(done, quoted)[0]
        if paid is not None and kept_out and held.cash + change + kept_out < 0.0:
            raise AccountError(
                f"the withdrawal of {-kept_out:,.2f} on {paid.day} needs shares to be sold, and the account is halted, with "
                f"{held.cash + change:,.2f} in cash; continue with: tracker paper resume"
            )
        self.db.execute("update account set cash = cash + ?", (change + (0.0 if paid is None else paid.amount),))
        more = np.where(np.abs(done - got) > 1e-12 * np.abs(done), done - got, 0.0)
        if paid is not None and paid.cids:
            fees = self._fill_payment(paid, tickers, got, more, at, fees)
        news, fills = [], []
        for cid, i, size in orders:
            # The only order of a name gets exactly what the account got: a later sell of all of it leaves nothing.
            filled = float(got[i] * (size * part[cid] / wanted[i])) if wanted[i] else 0.0
            fills.append((tickers[i], filled))
            whole = abs(size - filled) <= _ROUNDING * abs(size)
            status = Status.FILLED if whole else Status.CANCELLED
            reason = "" if whole else PARTLY if part[cid] < 1.0 else SHORT_OF_CASH
            if not whole and part[cid] == 1.0 and allowed[i] != wanted[i]:
                reason = KEPT_BACK if allowed[i] != taken[i] else TOO_LARGE
            news.append((status, filled, float(at[i]), float(fees[i]) * abs(filled / got[i]) if got[i] else 0.0, reason, cid))
        self.db.executemany("update orders set status = ?, filled = ?, average = ?, fee = ?, reason = ? where cid = ?", news)
        self._take(held, [*fills, *((tickers[i], float(more[i])) for i in np.flatnonzero(more).tolist())])

    def _take(self, held: Holdings, fills: Sequence[tuple[str, float]]) -> None:
        """Add fills to positions one by one, as the books do: the sums are the same to the last bit."""
        sizes = dict(held.sizes)
        for ticker, size in fills:
            left = sizes.get(ticker, 0.0) + size
            sizes[ticker] = 0.0 if abs(left) < _ROUNDING * abs(size) else left
        rows = [(ticker, sizes[ticker]) for ticker in dict.fromkeys(ticker for ticker, _ in fills)]
        self.db.executemany("insert into positions values (?, ?) on conflict (ticker) do update set size = excluded.size", rows)
        self.db.execute("delete from positions where size = 0")

    def _fill_payment(
        self, paid: Payment, tickers: Sequence[str], got: FloatArray, more: FloatArray, at: FloatArray, fees: FloatArray
    ) -> FloatArray:
        """Orders for what a payment trades beside those that were sent; each name pays one fee. Returns what is left of it for
        the latter.
        """
        done = got + more
        share = np.where((got * done > 0.0) & (np.abs(got) < np.abs(done)), got / np.where(done != 0.0, done, 1.0), 1.0)
        own = np.where(got != 0.0, fees * share, 0.0)
        self.db.executemany(
            "insert into orders (cid, ticker, size, price, due, status, filled, average, fee) "
            "values (?, ?, ?, ?, 'flow', 'filled', ?, ?, ?)",
            [
                (paid.cids[i], tickers[i], float(more[i]), float(at[i]), float(more[i]), float(at[i]), float(fees[i] - own[i]))
                for i in np.flatnonzero(more).tolist()
            ],
        )
        return own


def _report(row: tuple[str, str, float, float, str, str, float, float, float, str]) -> Report:
    cid, ticker, size, _, _, status, filled, average, fee, reason = row
    return Report(cid, ticker, size, Status(status), filled, average, fee, broker_id=f"sim-{cid}", reason=reason)
