"""The decision about a session: what the strategy wants, whether it may, and the orders for it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracker_strategies._fingerprint import strategy_fingerprint
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.brokers.base import Broker, Ticket
from tracker_strategies.papertrade.deciding.by_cerebro import Wish, needs_cerebro, wish_by_cerebro
from tracker_strategies.papertrade.deciding.by_checkpoint import bar_after, wish_by_checkpoint
from tracker_strategies.papertrade.deciding.checkpoint import Balance, Checkpoint
from tracker_strategies.papertrade.deciding.risk import breaches_with_singles
from tracker_strategies.papertrade.deciding.tickets import SingleOrder, client_id, in_shares, make_tickets, single_tickets
from tracker_strategies.papertrade.errors import JournalError, StrategyError
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.risk_limits import RiskLimits
from tracker_strategies.strategies.registry import load_strategy

FloatArray = NDArray[np.float64]

#: Weights that differ by less are the same decision: other versions of numpy round otherwise.
SAME_WEIGHTS = 1e-9


class Decider:
    """Computes what the strategy wants after the newest session and records it."""

    def __init__(self, ledger: Ledger, limits: RiskLimits, broker: Broker) -> None:
        self.journal, self.config, self.ledger = ledger.journal, ledger.config, ledger
        self.limits, self.broker = limits, broker
        try:
            self.strategy = load_strategy(self.config.strategy)
        except ParameterError as problem:  # the file was sound when the account was opened
            raise StrategyError(f"{problem}; fix it and step again") from problem
        self.code = strategy_fingerprint(self.strategy)
        self.kind: Kind | Literal[""] = ""
        self.way = ""
        self.messages: list[str] = []

    def decide(self, session: str, *, verify: bool = False, wish: Wish | None = None) -> list[str]:
        """Write the decision about the newest session down; return the limits that forbid it."""
        if wish is None:
            wish, history = self._wish(session, verify)
        else:
            self.way, history = "cerebro", History.load(self.journal, self.config, after=self.ledger.last_session(back=1))
        factor, sizes, lasts = history.factor(), self.ledger.sizes(), self.ledger.lasts()
        shares = (
            np.zeros(len(sizes)) if wish.deltas is None else in_shares(wish.deltas, factor, sizes, self.broker, self.config.lot)
        )
        out = self._booked_out(session, wish, factor, sizes)
        singles, owners = single_tickets(self.config, session, wish.singles, factor, lasts, self.ledger.tickers(), self.broker)
        refused = self._breaches(shares, sizes, lasts, history, out, [*zip(wish.singles, singles, strict=True)])
        due = "close" if self.config.fill is FillMode.CLOSE else "open"
        tickets, symbols = make_tickets(
            self.config,
            session,
            shares,
            lasts,
            self.ledger.tickers(),
            self.broker,
            due=due,
            purpose=self.ledger.id_mark(),
            out=sizes + shares <= 0.0,
        )
        self.kind = Kind.REFUSED if refused else Kind.IDLE if wish.deltas is None and not singles else Kind.ACT
        if refused:
            self.ledger.decide(
                session, self.kind, "; ".join(refused), weights=wish.weights, state_hash=wish.state_hash, way=self.way
            )
            return refused
        self.ledger.decide(
            session,
            self.kind,
            weights=wish.weights,
            state_hash=wish.state_hash,
            way=self.way,
            tickets=[*out, *tickets, *singles],
            symbols=[*(self.config.symbols[i] for i, _ in self._out(wish)), *symbols, *owners],
            checkpoint=None if wish.checkpoint is None else (self.code, self._verified(session), wish.checkpoint),
            turnover=wish.turnover,
        )
        return []

    def verify(self, session: str) -> list[str]:
        """Check the journal, replay all sessions and compare with what was decided then; say what differs."""
        self.journal.assure()
        history = History.load(self.journal, self.config)
        wish = self._replay(history)
        recorded = self.journal.one("select state_hash from decisions where session = ?", (session,))
        found = self._divergence(wish, history)
        if not found and recorded and recorded != wish.state_hash:
            found = [
                f"the learner's state after {session} differs from the recorded one (replayed {wish.state_hash}, "
                f"recorded {recorded})"
            ]
        return found or [f"verified: a replay of {len(history.bars.sessions)} sessions reproduces the recorded decisions"]

    # -- what the strategy wants ----------

    def _wish(self, session: str, verify: bool) -> tuple[Wish, History]:
        if verify:
            self.journal.assure()
        point = None if verify else self._checkpoint(session)
        if point is not None:
            self.way = "checkpoint"
            return self._continue(point, session)
        self.way = "replay"
        history = History.load(self.journal, self.config)
        wish = self._replay(history)
        self.messages += self._divergence(wish, history)
        return wish, history

    def _replay(self, history: History) -> Wish:
        balances = self._balances(history)
        opening = next(t for t, s in enumerate(history.bars.sessions) if s >= self.config.start)
        panel = history.panel_until_tomorrow()
        params, costs = dict(self.config.params), self.config.costs
        return wish_by_cerebro(panel, self.strategy, params, costs, balances, opening, books_out=self.broker.simulated)

    def _balances(self, history: History) -> list[Balance]:
        before = Balance(self.config.cash, self.config.held)  # nothing is decided then
        factors = history.factors
        found: list[Balance] = []
        rows = {r["session"]: r for r in self.journal.table("balances", history.bars.sessions[0])}
        with self.journal.errors():
            for t, session in enumerate(history.bars.sessions):
                row = rows.get(session)
                if row is None:
                    if session >= self.config.start:
                        raise JournalError(f"{self.journal.path} has no balance for {session}; restore the file from a copy")
                    found.append(before)
                    continue
                sizes = np.frombuffer(row["sizes"], dtype="<f8")
                found.append(Balance(row["cash"], sizes if factors is None else sizes / factors[t], bool(row["owed"])))
        return found

    def _divergence(self, wish: Wish, history: History) -> list[str]:
        """Sessions on which a replay decides otherwise than was decided: the code or the data have changed since."""
        assert wish.past is not None
        rows = {s: t for t, s in enumerate(history.bars.sessions)}
        wrong, worst = [], 0.0
        for session, blob in self.journal.rows(
            "select session, weights from decisions where weights is not null order by session"
        ):
            with self.journal.errors():
                gap = float(np.abs(np.frombuffer(blob, dtype="<f8") - wish.past[rows[session]]).max())
            if not gap <= SAME_WEIGHTS:
                wrong.append(session)
                worst = max(worst, gap)
        if not wrong:
            return []
        text = (
            f"divergence: a replay today decides differently on {len(wrong)} sessions, first on {wrong[0]} "
            f"(weights differ by up to {worst:.2g}): its code, its parameters or the data have changed. Past "
            "decisions are kept; new ones follow the changed code or data"
        )
        if self.journal.one("select text from events where kind = 'divergence' order by id desc limit 1") != text:
            with self.journal.transaction("divergence"):
                self.journal.note("divergence", text, wrong[0])
        return [text]

    # -- checkpoints ----------

    def _checkpoint(self, session: str) -> Checkpoint | None:
        """Where to go on from, if there is a checkpoint that can be trusted."""
        rows = self.journal.rows("select * from checkpoints order by session desc limit 1")
        if not rows or needs_cerebro(self.strategy):
            return None
        row = rows[0]
        if row["code"] != self.code or row["session"] >= session:
            return None
        if self.journal.one("select count(*) from balances where session > ?", (row["verified"],)) >= self.config.verify_every:
            self.journal.assure()
            return None
        try:
            point = Checkpoint.from_text(row["state"])
        except ValueError as problem:
            self.messages.append(f"the checkpoint of {row['session']} cannot be used ({problem}); replaying all sessions instead")
            return None
        self._after = row["session"]
        return point

    def _continue(self, point: Checkpoint, session: str) -> tuple[Wish, History]:
        """Go on from a checkpoint, session by session."""
        traded = None if self.config.liquidity is None else History.load(self.journal, self.config)
        depths = None if traded is None else traded.depths()
        history = History.load(self.journal, self.config, after=self._after)
        balances = self._balances(history)
        wish = None
        for t, name in enumerate(history.bars.sessions):
            factor = history.factor(t)
            close, opens = history.bars.close[t] * factor, history.opens[t] * factor
            bar = bar_after(point.bar, name, close, opens, history.bars.levels[t])
            if traded is not None and depths is not None:
                bar.depth = depths(traded.bars.sessions.index(name))
            wish = wish_by_checkpoint(point, bar, balances[t], books_out=self.broker.simulated)
            if name != session:
                point = Checkpoint.from_text(wish.checkpoint or "")
        assert wish is not None
        return wish, history

    def _verified(self, session: str) -> str:
        """The last session up to which everything was replayed."""
        if self.way == "replay":
            return session
        return str(self.journal.one("select verified from checkpoints order by session desc limit 1"))

    # -- orders ----------

    def _out(self, wish: Wish) -> list[tuple[int, float]]:
        return wish.booked_out if self.broker.simulated else []

    def _booked_out(self, session: str, wish: Wish, factor: FloatArray, sizes: FloatArray) -> list[Ticket]:
        """Positions that have no market left, at their last price. A real broker has to do that itself."""
        if not self.broker.simulated and wish.booked_out:
            names = ", ".join(self.config.symbols[i] for i, _ in wish.booked_out)
            self.messages.append(
                f"{names}: held, but without bars for a long time; wait until the broker pays the position out, or "
                "run: tracker paper adopt"
            )
        tickers = self.ledger.tickers()
        return [
            Ticket(
                client_id(self.config.name, session, i, self.config.symbols[i], f"out{self.ledger.id_mark()}"),
                tickers[i],
                -float(sizes[i]),
                float(price / factor[i]),
                "settle",
            )
            for i, price in self._out(wish)
        ]

    def _breaches(
        self,
        shares: FloatArray,
        sizes: FloatArray,
        lasts: FloatArray,
        history: History,
        out: list[Ticket],
        singles: list[tuple[SingleOrder, Ticket]],
    ) -> list[str]:
        """Limits broken by the orders; positions booked out count as cash by then."""
        sizes, cash = sizes.copy(), self.ledger.cash()
        tickers = self.ledger.tickers()
        for ticket in out:
            sizes[tickers.index(ticket.ticker)] = 0.0
            cash -= ticket.size * ticket.price
        # One index of several without a level is on holiday, and its names stand still; without any, the data are stale.
        fresh = bool(np.isfinite(history.bars.levels[-1]).any())
        return breaches_with_singles(self.limits, self.config.symbols, sizes, shares, lasts, cash, singles, fresh=fresh)
