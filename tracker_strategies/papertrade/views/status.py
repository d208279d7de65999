"""The account at a glance."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.brokers import broker_file
from tracker_strategies.papertrade.brokers.broker_file import BrokerFile
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.journal.history import Bars, History
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.payments import carried_transfers
from tracker_strategies.papertrade.market.new_sessions import OVERLAP
from tracker_strategies.strategies.target import Target

#: Events that ask for a person's attention.
ALARMS = ("unexplained", "rejected", "refused", "divergence", "lost", "missed", "unsent")


@dataclass
class Holding:
    """One name that is held or wanted."""

    symbol: str
    shares: float
    price: float
    value: float
    weight: float
    target: float


@dataclass
class AccountStatus:
    """The account at a glance; every field is plain, so that it can be printed as JSON."""

    folder: str
    strategy: str
    broker: str
    source: str
    clock: str
    state: str
    session: str
    sessions: int
    value: float
    cash: float
    since_start: float
    index_since_start: float  # of what is tracked: the index, or the blend of several
    indices: dict[str, float]  # since the start, of each by its name
    last_change: float
    decision: str
    waiting: int
    halted: str
    holdings: list[Holding] = field(default_factory=list)
    orders: list[dict[str, Any]] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def status_of(account: PaperAccount, *, check: bool = False) -> AccountStatus:
    """Look at an account, without disturbing a step that may run.

    Parameters
    ----------
    check : bool, default False
        Check every row of the journal, and of the simulated broker's file, too; damage raises.
    """
    config, halted = account.config, account.halt_switch.reason()
    if check:
        check_files(account)
    with account.journal(readonly=True) as journal, journal.errors():
        ledger = Ledger(journal, config)
        session = ledger.last_session("balances")
        balances = journal.table("balances")
        values, transfers = [row["value"] for row in balances], carried_transfers(ledger)[1]
        # Time-weighted, as all figures: money that came in is no gain.
        before = [config.opening_value, *values]
        growth = [(v - transfers.get(row["session"], 0.0)) / b for v, b, row in zip(values, before, balances, strict=False)]
        indices, tracked = _indices(
            config, History.load(journal, config, after=ledger.last_session(before=config.start, back=OVERLAP)).bars
        )
        row = journal.rows("select * from decisions order by session desc limit 1")
        weights = np.zeros(len(config.symbols))
        if row and row[0]["weights"] is not None:
            weights = np.frombuffer(row[0]["weights"], dtype="<f8")
        value, cash = ledger.value(), ledger.cash()
        decided = (
            "" if not row else f"{row[0]['kind']} on {row[0]['session']}" + (f": {row[0]['reason']}" if row[0]["reason"] else "")
        )
        waiting = ledger.orders("status in ('intent', 'open', 'partial')")
        since = ledger.last_session("balances", before=session, back=4)
        alarms = [
            f"{e['session'] or e['at'][:10]} {e['kind']}: {e['text']}"
            for e in journal.rows(
                f"select * from events where kind in ({','.join('?' * len(ALARMS))}) and coalesce(session, at) >= ? "
                "order by id desc limit 8",
                (*ALARMS, since),
            )
        ]
        return AccountStatus(
            folder=str(account.folder),
            strategy=config.strategy,
            broker=config.broker,
            source=config.source,
            clock=config.clock,
            state="halted"
            if halted
            else "no session yet"
            if not session
            else "waits for its orders"
            if waiting
            else "up to date",
            session=session,
            sessions=len(values),
            value=value,
            cash=cash,
            since_start=float(np.prod(growth)) * (value - transfers.get("", 0.0)) / before[-1] - 1.0,
            index_since_start=tracked,
            indices=indices,
            last_change=growth[-1] - 1.0 if len(values) > 1 else 0.0,
            decision=decided,
            waiting=len(waiting),
            halted=halted or "",
            holdings=_holdings(ledger, weights, value),
            orders=[{k: o[k] for k in ("session", "symbol", "size", "filled", "status", "reason")} for o in waiting],
            alarms=alarms,
        )


def check_files(account: PaperAccount) -> None:
    """Raise unless every row of the account's files is as it was written."""
    with account.journal(readonly=True) as journal:
        journal.assure()
    place, config = account.folder / broker_file.FILE, account.config
    if config.broker == "simulated" and (account.begun or place.exists()):
        with BrokerFile.open(place, config.cash, config.holdings, expected=account.begun, readonly=True) as file:
            file.assure()


def _indices(config: AccountConfig, bars: Bars) -> tuple[dict[str, float], float]:
    """What each index has made since the account's first session, and what is tracked. From level to level: a holiday of an index
    is no return of zero.
    """
    first = sum(session < config.start for session in bars.sessions)
    seen = np.isfinite(bars.levels)
    each = dict.fromkeys(config.targets, 0.0)
    for j, name in enumerate(config.targets):
        rows = np.flatnonzero(seen[:, j])
        base = rows[rows <= first][-1:] if (rows <= first).any() else rows[:1]
        if len(bars.sessions) > first and len(base):
            each[name] = float(bars.levels[rows[-1], j] / bars.levels[base[0], j] - 1.0)
    whole = np.flatnonzero(seen.all(axis=1))
    whole = whole[max(int((whole <= first).sum()) - 1, 0) :]
    growth = bars.levels[whole[1:]] / bars.levels[whole[:-1]] - 1.0
    return each, float(np.prod(1.0 + growth @ Target(len(config.targets), config.params.get("blend")).blend)) - 1.0


def _holdings(ledger: Ledger, weights: Any, value: float) -> list[Holding]:
    rows = zip(
        ledger.config.symbols, ledger.sizes().tolist(), np.nan_to_num(ledger.lasts()).tolist(), weights.tolist(), strict=True
    )
    held = [Holding(s, size, price, size * price, size * price / value, w) for s, size, price, w in rows if size or w > 1e-12]
    return sorted(held, key=lambda h: -max(h.value, h.target * value))
