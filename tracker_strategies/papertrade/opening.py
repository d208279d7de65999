"""What is looked at before an account is opened: its names, its first session, its paths, and whether its strategy can decide."""

from __future__ import annotations

import json
import secrets
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from datafeeds import DataWarning, MarketPanel, MarketSource
from datafeeds.files import UNFINISHED
from tracker_strategies.errors import DataError, OutputError, ParameterError, UniverseError
from tracker_strategies.execution.holdings.account import Account
from tracker_strategies.execution.holdings.flows import flows_of
from tracker_strategies.execution.holdings.opening import check_priced
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.execution.volume.depth import require_volume
from tracker_strategies.execution.volume.liquidity import KEYS as LIQUIDITY
from tracker_strategies.papertrade.brokers.faults import Faults
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.deciding.by_cerebro import wish_by_cerebro
from tracker_strategies.papertrade.deciding.checkpoint import Balance
from tracker_strategies.papertrade.journal import journal as journals
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.ledger import opening_entries
from tracker_strategies.papertrade.journal.payments import SCHEDULE
from tracker_strategies.papertrade.market.new_sessions import read_source, session_names
from tracker_strategies.papertrade.risk_limits import RiskLimits
from tracker_strategies.runner import check_mandate
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.bar_lengths import windows_written_out
from tracker_strategies.strategies.compose import settle_mandate
from tracker_strategies.strategies.index_weights.published import plain_weights, settled_weights
from tracker_strategies.strategies.registry import check_params, default_params, load_strategy

#: Params that mean something else with another year.
_BY_YEAR = ("margin", "enhance", "max_tracking_error", "te_budget", "max_participation", "impact")
#: Files whose paths may be followed by a sheet, a member or a column.
TABLES = (".xlsx", ".xlsm", ".zip", ".csv", ".gz", ".tsv", ".txt", ".parquet", ".pq")
#: Options that describe the source.
SOURCE_OPTIONS = ("gaps", "adjust", "seed", "members", "renames", "clean")


def write_account(
    place: Path,
    strategy: str,
    source: str | MarketSource,
    params: Mapping[str, Any] | None,
    *,
    panel: MarketPanel | None,
    targets: tuple[str, ...],
    start: str | None,
    replay: str | None,
    symbols: tuple[str, ...] | None,
    limits: RiskLimits | None,
    name: str | None,
    **options: Any,
) -> Path:
    """Look at everything, then write a new journal into a folder: see :meth:`PaperAccount.create`."""
    if place.exists() and (not place.is_dir() or any(UNFINISHED not in p.name for p in place.iterdir())):
        raise OutputError(f"{place} already exists and is not empty; choose a new folder, or step the account that is in it")
    cls_, chosen = load_strategy(strategy), dict(params or {})
    check_params(cls_, chosen)
    how = {key: options.pop(key) for key in SOURCE_OPTIONS if key in options}
    market = source if isinstance(source, MarketSource) else MarketSource(source, targets, **how)
    for key in ("members", "clean"):
        if (told := getattr(market, key)) is not None:
            raise ParameterError(f"{key}={told!r}: a paper account takes bars as they are; prepare them in the source")
    held = options.pop("holdings", None)
    if held is not None and options.get("broker") == "alpaca":
        raise ParameterError(
            "an account at Alpaca has its own holdings: omit them; tracker paper adopt takes over the positions "
            "that the account has"
        )
    if held is not None and options.get("cash") is not None:
        raise ParameterError(
            f"cash={options['cash']!r}: the holdings already state the cash; give it there, or omit the holdings"
        )
    flows = flows_of(chosen.pop("cash_flows", None))
    if flows is not None and options.get("broker") == "alpaca":
        raise ParameterError(
            "flows: at Alpaca a person pays money in and out, and the account books it when it is there; omit them, and run "
            "tracker paper adopt after a deposit or withdrawal"
        )
    if options.get("broker") == "alpaca":
        options = {"clock": "wall", **options, **cash_at_alpaca(options)}
    if options.get("actions"):
        options["actions"] = absolute(options["actions"])
    if panel is None:
        panel = market.open()
    if panel.bar_length.intraday:
        raise ParameterError(
            f"{panel.source} has {panel.bar_length.kind}, but a paper account decides once per session; make "
            "them daily with datafeeds.resample(panel, 'daily'), and append daily bars to the source"
        )
    # Told from the whole source once: the first sessions of an account are too few to tell weeks from months.
    chosen = windows_written_out(cls_, chosen, panel.bar_length)
    year = chosen.get("bars_per_year", chosen.get("bars_a_year"))
    if year is None and any(chosen.get(key) is not None for key in _BY_YEAR):
        chosen["bars_per_year"] = panel.periods_per_year
    names = names_of(panel, symbols, chosen.pop("assets", None))
    first = first_session(panel, start or replay)
    if held is not None:
        options |= holdings_at(panel, names, Account.of(held), session_names(panel.dates).index(first))
    usual, own = default_params(TrackerStrategy), default_params(cls_)
    # The broker has to know them, and it does not know the strategy.
    chosen = {key: own[key] for key in LIQUIDITY if own[key] != usual[key]} | chosen
    config = AccountConfig(
        name=name or secrets.token_hex(4),
        strategy=absolute(strategy),
        source=absolute(market.source),
        targets=panel.targets,
        gaps="freeze",  # for sessions to come; holes of the past were judged when the source was opened
        adjust=market.adjust,
        seed=market.seed,
        renames=market.renames and absolute(market.renames),
        reading=reading_of(market),
        symbols=names,
        params=limits_written_out(cls_, chosen, names, first),
        prices=("close", *(k for k in ("open", "high", "low", "volume") if getattr(panel, k) is not None)),
        start=first,
        **{**({"clock": "replay"} if replay else {}), **options},
    )
    Faults.build(config.faults)
    if config.faults and config.broker != "simulated":
        raise ParameterError("faults can only be injected into the simulated broker; omit them")
    meta = {"config": config.to_json(), "limits": (limits or RiskLimits()).to_json(), "opened": journals.now()}
    if flows is not None:
        flows.check(first, "9999-12-31", limited=config.liquidity is not None)
        meta[SCHEDULE] = json.dumps(flows.plain())
    if config.liquidity is not None:
        require_volume(panel, [panel.symbols.index(symbol) for symbol in names])
    refuse_limits(config, cls_, panel)
    try_out(config, cls_, panel)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"cannot create {place}: {problem.strerror}; choose another folder") from None
    Journal.create(place / journals.FILE, meta, lambda journal: opening_entries(journal, config))
    return place


def reading_of(market: MarketSource) -> dict[str, Any]:
    """How the source is read, with a path that holds wherever the account is stepped; its exchange is the account's own."""
    how = {key: value for key, value in market.reading.items() if key != "calendar"}
    if "index_file" in how:
        how["index_file"] = absolute(how["index_file"])
    return how


def limits_written_out(
    strategy: type[TrackerStrategy], params: Mapping[str, Any], symbols: Sequence[str], start: str
) -> dict[str, Any]:
    """The params with the whole mandate, and weights of the index, as plain values: an account must not depend on a file that may
    change. Weights without a date are known from the first session on.
    """
    p = SimpleNamespace(**{**default_params(strategy), **params})
    mandate = settle_mandate(strategy, p, tuple(symbols))
    # None lifts a limit that the strategy has by default.
    others = {key: value for key, value in params.items() if key != "mandate" and (key not in KEYS or value is None)}
    if others.get("prior_weights") is not None:
        others["prior_weights"] = plain_weights(others["prior_weights"], tuple(symbols))
    if others.get("index_weights") is not None:
        others["index_weights"], notes = settled_weights(others["index_weights"], tuple(symbols), today=start)
        for note in notes:
            warnings.warn(note, DataWarning, stacklevel=2)
    return others | mandate.told()


def refuse_limits(config: AccountConfig, strategy: type[TrackerStrategy], panel: MarketPanel) -> None:
    """Raise for limits that cannot hold together in the first session that may trade."""
    row = session_names(panel.dates).index(config.start)
    check_mandate(panel, strategy, {**config.params, "assets": config.symbols}, config.opening_value, row=row)


def try_out(config: AccountConfig, strategy: type[TrackerStrategy], panel: MarketPanel) -> None:
    """Let the strategy decide once, on the bars up to the first session: what cannot work shows before there is an account."""
    _refuse_panel(config, panel)
    bars, _ = read_source(config, config.symbols, panel=panel)
    known = max(sum(session <= config.start for session in bars.sessions), min(2, len(bars.sessions)))
    whole = np.flatnonzero(np.isfinite(bars.levels[: max(known - 1, 1)]).all(axis=1))  # begin where every target has a level
    history = History(bars.rows(int(whole[-1]) if len(whole) else 0, known), [], config)
    account = [Balance(config.cash, config.held)] * len(history.bars.sessions)
    wish_by_cerebro(history.panel_until_tomorrow(), strategy, dict(config.params), config.costs, account, 0, books_out=True)


def holdings_at(panel: MarketPanel, names: tuple[str, ...], account: Account, row: int) -> dict[str, Any]:
    """What an account begins with, from what is held: cash, shares, and their worth at the close of its first session.

    Raises :class:`AccountError` for a name that is not the account's, or has no price there.
    """
    sizes = account.sizes(names)
    closes = panel.close[row, [panel.symbols.index(name) for name in names]]
    check_priced(names, sizes, closes, panel.day(row))
    own = sizes > 0.0
    shares = {name: size for name, size in zip(names, sizes.tolist(), strict=True) if size}
    return {"cash": account.cash, "holdings": shares, "worth": float(sizes[own] @ closes[own])}


def cash_at_alpaca(options: Mapping[str, Any]) -> dict[str, Any]:
    """What an account at Alpaca begins with: the cash that is there, if it can be reached and is nobody else's."""
    from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

    if options.get("cash") is not None:
        raise ParameterError("the cash is read from the account at Alpaca; omit it")
    there = AlpacaBroker.from_environment(options.get("url", "")).holdings()
    return {"cash": there.cash}


def absolute(name: str) -> str:
    """A path must be found again from any folder; names of sources and strategies stay as they are."""
    where, found, attribute = name.rpartition(":")
    if found and Path(where).suffix.lower() in (".py", *TABLES):  # a class, a sheet or a column
        return f"{Path(where).expanduser().absolute()}:{attribute}"
    if attribute.isidentifier() and where.replace(".", "_").isidentifier():  # module:Class
        return name
    path = Path(name).expanduser()
    named = name.partition(":")[0] in ("yahoo", "synthetic")
    return str(path.absolute()) if not named and (path.suffix or len(path.parts) > 1) else name


def _refuse_panel(config: AccountConfig, panel: MarketPanel) -> None:
    """Raise for what a panel says and a journal does not keep."""
    if panel.members is not None:
        raise ParameterError("the panel has index membership, which a paper account cannot use; omit the members")
    old = [s for s in config.symbols if panel.at_decision is not None and not panel.at_decision[panel.symbols.index(s)]]
    if old and config.fill is FillMode.CLOSE:
        raise ParameterError(
            f"fill='close' is not possible for {old[0]} (names concerned: {len(old)}): its market closes before the "
            "decision is made; use fill=next_open"
        )


def names_of(panel: MarketPanel, symbols: Sequence[str] | None, assets: Any) -> tuple[str, ...]:
    """The names of the account: those asked for, or all."""
    asked = symbols or ([part.strip() for part in assets.split(",")] if isinstance(assets, str) else assets)
    for name in asked or ():
        if name not in panel.symbols:
            raise UniverseError(
                f"the source has no column {name!r}; it has {', '.join(panel.symbols[:5])}, ... ({panel.n_assets})"
            )
    return tuple(asked or panel.symbols)


def first_session(panel: MarketPanel, start: str | None) -> str:
    """The first session on or after a date; without one, the newest."""
    names = session_names(panel.dates)
    if start is None:
        return names[-1]
    try:
        datetime.fromisoformat(start)
    except ValueError:
        raise ParameterError(f"{start!r} is not a date; write YYYY-MM-DD") from None
    later = [name for name in names if name >= start]
    if not later:
        raise DataError(f"the source ends on {names[-1]}, before {start}; choose an earlier date")
    return later[0]
