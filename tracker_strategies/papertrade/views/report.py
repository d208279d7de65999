"""How the paper account did, beside its own backtest on the same bars: what was lost on the way from decision to fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import backtrader as bt
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from datafeeds import IndexData, MarketPanel
from datafeeds.files import named_errors, write_json
from tracker_strategies.analysis.analyzers import HoldingsAnalyzer, TrackingAnalyzer
from tracker_strategies.analysis.breaches import breach_table
from tracker_strategies.analysis.entry import Entry, EntryWatch
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.analysis.pages.words import minus
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.recording import record_of
from tracker_strategies.errors import DataError, MissingExtraError
from tracker_strategies.execution.basket.broker import BasketBroker
from tracker_strategies.execution.commission import charge
from tracker_strategies.execution.mandate.keeper import Keeper
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.account import PaperAccount
from tracker_strategies.papertrade.brokers.order_types import Terms
from tracker_strategies.papertrade.deciding.checkpoint import Checkpoint
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.ledger import Ledger
from tracker_strategies.papertrade.journal.payments import carried_transfers, made
from tracker_strategies.papertrade.journal.schema import Kind
from tracker_strategies.papertrade.views.gap import gap_words, netted, unfilled
from tracker_strategies.strategies.bar_lengths import more_to_come
from tracker_strategies.strategies.registry import load_strategy
from tracker_strategies.strategies.tracker import Tracker

FloatArray = NDArray[np.float64]

#: Sessions that a report needs: one to buy on, two to score.
MIN_SESSIONS = 3


@dataclass(frozen=True, eq=False)
class PaperReport:
    """The account, its own backtest, and what lies between them.

    Attributes
    ----------
    paper, backtest : RunRecord
        On the same bars, from the account's first session on.
    gap : dict
        ``shortfall``: money lost between the closes at which orders were decided and the prices at which they filled, and
        ``shortfall_bps`` of the traded value; ``fees``; ``traded``; ``missed``: value of what was ordered and failed to be
        filled, and ``missed_orders``; ``cut`` and ``cut_orders``: what a backtest would not have filled either; ``value_gap``:
        final value of the paper account (without money that came in later) over the backtest's, minus one; ``weights_gap``:
        largest difference between a decided weight and the backtest's; ``missed_sessions``; ``divergences``.
    """

    paper: RunRecord
    backtest: RunRecord
    gap: dict[str, float]


class OpeningBroker(BasketBroker):
    """An account whose shares are there from a given bar on."""

    opening = 0
    row = -1
    held: FloatArray

    def start(self) -> None:
        """An account without cash is worth nothing before its shares are there, and its fund has a share all the same."""
        super().start()
        self._fundshares = self._fundshares or 1.0

    def next(self) -> None:
        """The broker's turn on a bar."""
        self.row += 1
        if self.row == self.opening and self.owned is not None:
            self.owned.sizes = self.held
        super().next()


def report_of(account: PaperAccount) -> PaperReport:
    """Build the report. Takes about as long as a backtest."""
    config = account.config
    with account.journal(readonly=True) as journal, journal.errors():
        history = History.load(journal, config)
        balances, decisions, orders = (journal.table(name) for name in ("balances", "decisions", "orders"))
        of = {order["cid"]: {"symbol": order["symbol"], "due": order["due"], "decided": order["price"]} for order in orders}
        booked = sorted((fill for fill in journal.table("fills") if fill["session"] is not None), key=lambda fill: fill["id"])
        fills = netted([{**fill, **of[fill["cid"]]} for fill in booked])
        divergences = journal.one("select count(*) from events where kind = 'divergence'")
        transfers = carried_transfers(Ledger(journal, config))
        flows = made(journal)
        adopted = [event["session"] for event in journal.table("events") if event["kind"] == "adopt" and event["session"]]
        states = [row["state"] for row in journal.table("checkpoints")]
    if len(balances) < MIN_SESSIONS:
        raise DataError(
            f"{len(balances)} sessions so far; a report needs at least {MIN_SESSIONS}: step again when more are available"
        )
    # A step that was refused may have taken bars in, and no balance yet.
    history.bars = history.bars.rows(0, history.bars.sessions.index(balances[-1]["session"]) + 1)
    first = history.bars.sessions.index(balances[0]["session"])
    panel = history.panel_until_tomorrow().rows(0, len(history.bars.sessions))
    backtest, tracker = own_backtest(account, panel, first, config.held / history.factor(first), flows)
    paper = _paper_record(account, history, first, balances, fills, transfers)
    entry = _entry(paper, history, first, balances, decisions, tracker)
    # What gave way is in the account's own state; without a checkpoint, in that of the backtest, which decides the same.
    keeper = tracker.keeper
    with suppress(IndexError, ValueError):
        keeper = Checkpoint.from_text(states[-1]).tracker.keeper
    same: dict[str, Any] = {"periods_per_year": backtest.periods_per_year, "blend": backtest.blend}
    paper = replace(paper, entry=entry, **same, **_limits_kept(paper, keeper, decisions, adopted))
    size, price = (np.array([f[k] for f in fills]) for k in ("size", "price"))
    decided = np.array([f["decided"] for f in fills])
    traded = float((np.abs(size) * price).sum()) if len(fills) else 0.0
    lost = float((size * (price - decided)).sum()) if len(fills) else 0.0
    assert backtest.decisions is not None
    both = [
        np.abs(
            np.frombuffer(d["weights"], dtype="<f8") - backtest.decisions[history.bars.sessions.index(d["session"]) - first]
        ).max()
        for d in decisions
        if d["weights"] is not None
    ]
    gap = {
        "shortfall": lost,
        "shortfall_bps": 1e4 * lost / traded if traded else 0.0,
        "fees": float(sum(f["fee"] for f in fills)),
        "traded": traded,
        **unfilled(orders),
        "missed_sessions": float(sum(d["kind"] == Kind.MISSED for d in decisions)),
        "value_gap": float(paper.growth[-1] / backtest.growth[-1] - 1.0),
        "weights_gap": float(max(both, default=0.0)),
        "divergences": float(divergences),
    }
    return PaperReport(paper, backtest, gap)


def own_backtest(
    account: PaperAccount, panel: MarketPanel, first: int, held: FloatArray, flows: Mapping[str, float]
) -> tuple[RunRecord, Tracker]:
    """The strategy in cerebro on the account's bars, trading from the account's first session on, with what it held by then, in
    units, and the payments of its schedule; and its tracker.
    """
    config = account.config
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(panel).add_to(cerebro, lazy=True)
    cerebro.setbroker(broker := OpeningBroker())
    broker.opening, broker.held = first, held
    broker.setcash(config.cash)
    charge(broker, config.costs)
    params = {**config.params, "cash_flows": dict(flows) or None}
    cerebro.addstrategy(load_strategy(config.strategy), **params, trade_from=panel.dates[first])
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    cerebro.addanalyzer(HoldingsAnalyzer, _name="holdings", orders=True)
    with more_to_come(), np.errstate(divide="ignore", invalid="ignore"):  # an account without cash was worth nothing before
        (run,) = cerebro.run()
        record = record_of(run)
        record.returns  # noqa: B018 (kept)
    assert record.decisions is not None
    columns = ["dates", "value", "index", "weights", "names_held", "turnover", "cost", "decisions"]
    columns += [name for name in ("seen", "flow", "carried", "unfilled") if getattr(record, name) is not None]
    own = replace(
        record,
        strategy=f"{record.strategy}, backtest",
        entry=record.entry.later(first),
        breaches=None if record.breaches is None else record.breaches[record.breaches["date"] >= record.dates[first]],
        **{k: getattr(record, k)[first:] for k in columns},
    )
    return own, run.tracker


def _limits_kept(paper: RunRecord, keeper: Keeper | None, decisions: Any, adopted: Sequence[str]) -> dict[str, Any]:
    """What the account decided, and where it was outside its limits; nothing for one without limits.

    `adopted`: sessions after which positions were taken over from the broker; what they broke is inherited.
    """
    if keeper is None:
        return {}
    made = {np.datetime64(d["session"], "ns"): np.frombuffer(d["weights"], dtype="<f8") for d in decisions if d["weights"]}
    rows, standing = [], np.zeros(len(paper.symbols))
    for date in paper.dates:
        standing = made.get(date, standing)
        rows.append(standing)
    decided = np.array(rows)
    after = np.searchsorted(paper.dates, np.array(adopted, dtype="datetime64[ns]"), side="right").tolist()
    rows_after = [row for row in after if row < len(paper.dates)]
    table = breach_table(keeper, paper.symbols, paper.dates, paper.weights, decided, taken_over=rows_after)
    return {"decisions": decided, "breaches": table, "invested": keeper.limits.total}


def _entry(paper: RunRecord, history: History, first: int, balances: Any, decisions: Any, tracker: Tracker) -> Entry:
    """How the paper account got to its target."""
    decided = {d["session"]: np.frombuffer(d["weights"], dtype="<f8") for d in decisions if d["weights"] is not None}
    keeper = tracker.keeper
    if keeper is not None and keeper.mandate.entry_turnover is not None:  # on its way to the same weights, fully invested
        whole = keeper.limits.total
        decided = {session: w * (whole / w.sum()) if w.any() else w for session, w in decided.items()}
    close = pd.DataFrame(history.bars.close).ffill().to_numpy()[first:]
    watch = EntryWatch(tracker.rebalancer)
    for balance, prices, traded in zip(balances, close, paper.turnover, strict=True):
        watch.close(
            np.frombuffer(balance["sizes"], dtype="<f8"),
            prices,
            balance["value"],
            decided.get(balance["session"]),
            filled=traded > 0.0,
            at_close=paper.params.get("fill") == str(FillMode.CLOSE),
        )
        if not watch.waits:
            break
    return watch.entry


def _paper_record(
    account: PaperAccount,
    history: History,
    first: int,
    balances: Any,
    fills: Any,
    transfers: tuple[Mapping[str, float], Mapping[str, float]],
) -> RunRecord:
    config, bars = account.config, history.bars.rows(first)
    value = np.array([b["value"] for b in balances])
    sizes = np.array([np.frombuffer(b["sizes"], dtype="<f8") for b in balances])
    close = pd.DataFrame(history.bars.close).ffill().to_numpy()[first:]
    weights = np.where(sizes != 0.0, sizes * close, 0.0) / value[:, None]
    row = {s: t for t, s in enumerate(bars.sessions)}
    traded, paid = np.zeros(len(value)), np.zeros(len(value))
    # The simulated broker's slippage is known, and is a cost as in a backtest; what a real one's prices hide is in no figure.
    slippage = 1e-4 * config.costs.slippage_bps if config.broker == "simulated" else 0.0
    for fill in fills:
        terms = Terms.parse(fill["due"])
        slip = slippage if terms is None or terms.kind.slips else 0.0
        worth, side = abs(fill["size"]) * fill["price"], float(np.sign(fill["size"]))
        traded[row[fill["session"]]] += worth
        paid[row[fill["session"]]] += fill["fee"] + worth * slip / (1.0 + side * slip)
    before = np.append(value[:1], value[:-1])
    orders = pd.DataFrame(
        {
            "date": pd.DatetimeIndex([f["session"] for f in fills]),
            "symbol": [f["symbol"] for f in fills],
            "size": np.array([f["size"] for f in fills], dtype=float),
            "price": np.array([f["price"] for f in fills], dtype=float),
            "value": np.array([abs(f["size"]) * f["price"] for f in fills], dtype=float),
            "commission": np.array([f["fee"] for f in fills], dtype=float),
        }
    )
    levels, seen = pd.DataFrame(history.bars.levels).ffill().to_numpy()[first:], np.isfinite(history.bars.levels[first:])
    strategy = config.strategy.rpartition(":")[2]
    flow, carried = (np.array([moved.get(session, 0.0) for session in bars.sessions]) for moved in transfers)
    return RunRecord(
        strategy=f"{strategy}, paper account",
        dates=np.array(bars.sessions, dtype="datetime64[ns]"),
        value=value,
        index=levels,
        targets=config.targets,
        symbols=config.symbols,
        weights=weights,
        turnover=traded / before,
        cost=paid,
        orders=orders,
        params={**config.params, "broker": config.broker, "source": config.source},
        data={"source": config.source, "opens": "open" in config.prices},
        seen=None if seen.all() else seen,
        flow=flow,
        carried=carried,
    )


def write_report(report: PaperReport, folder: Path) -> tuple[list[Path], str]:
    """Write ``report.json`` and, with QuantStats, ``tearsheet.html``; return what was written, and why one is missing."""
    with named_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        write_json(
            folder / "report.json",
            {"paper": report.paper.metrics(), "backtest": report.backtest.metrics(), "gap": report.gap},
        )
    written = [folder / "report.json"]
    try:
        written.append(
            tearsheet(
                report.paper,
                folder / "tearsheet.html",
                title=report.paper.strategy,
                baselines=(report.backtest,),
                beside="Against its own backtest",
                remarks=[minus(words) for words in gap_words(report.gap)],
            )
        )
    except (MissingExtraError, DataError) as problem:
        return written, f"no tear sheet: {problem}"
    return written, ""
