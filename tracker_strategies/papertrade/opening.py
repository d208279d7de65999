"""What is looked at before an account is opened: its names, its first session, its paths, and whether its strategy can decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError, ParameterError, UniverseError
from tracker_strategies.execution.mandate.mandate import KEYS
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.deciding.by_cerebro import wish_by_cerebro
from tracker_strategies.papertrade.deciding.checkpoint import Balance
from tracker_strategies.papertrade.journal.history import History
from tracker_strategies.papertrade.market.new_sessions import read_source, session_names
from tracker_strategies.runner import check_mandate
from tracker_strategies.strategies import TrackerStrategy
from tracker_strategies.strategies.compose import settle_mandate
from tracker_strategies.strategies.registry import default_params


def limits_written_out(strategy: type[TrackerStrategy], params: Mapping[str, Any], symbols: Sequence[str]) -> dict[str, Any]:
    """The params with the whole mandate as plain values: an account must not depend on a file that may change."""
    p = SimpleNamespace(**{**default_params(strategy), **params})
    mandate = settle_mandate(strategy, p, tuple(symbols))
    # None lifts a limit that the strategy has by default.
    others = {key: value for key, value in params.items() if key != "mandate" and (key not in KEYS or value is None)}
    return others | mandate.told()


def refuse_limits(config: AccountConfig, strategy: type[TrackerStrategy], panel: MarketPanel) -> None:
    """Raise for limits that cannot hold together in the first session that may trade."""
    row = session_names(panel.dates).index(config.start)
    check_mandate(panel, strategy, {**config.params, "assets": config.symbols}, config.cash, row=row)


def try_out(config: AccountConfig, strategy: type[TrackerStrategy], panel: MarketPanel) -> None:
    """Let the strategy decide once, on the bars up to the first session: what cannot work shows before there is an account."""
    _refuse_panel(config, panel)
    bars, _ = read_source(config, config.symbols, panel=panel)
    known = max(sum(session <= config.start for session in bars.sessions), min(2, len(bars.sessions)))
    whole = np.flatnonzero(np.isfinite(bars.levels[: max(known - 1, 1)]).all(axis=1))  # begin where every target has a level
    history = History(bars.rows(int(whole[-1]) if len(whole) else 0, known), [], config)
    account = [Balance(config.cash, np.zeros(len(config.symbols)))] * len(history.bars.sessions)
    wish_by_cerebro(history.panel_until_tomorrow(), strategy, dict(config.params), config.costs, account, 0, books_out=True)


def cash_at_alpaca(options: Mapping[str, Any]) -> dict[str, Any]:
    """What an account at Alpaca begins with: the cash that is there, if it can be reached and is nobody else's."""
    from tracker_strategies.papertrade.brokers.alpaca import AlpacaBroker

    if options.get("cash") is not None:
        raise ParameterError("cash is what the account at Alpaca has; leave it out")
    there = AlpacaBroker.from_environment(options.get("url", "")).holdings()
    return {"cash": there.cash}


def absolute(name: str) -> str:
    """A path must be found again from any folder; names of sources and strategies stay as they are."""
    where, found, attribute = name.rpartition(":")
    if found and where.endswith(".py"):
        return f"{Path(where).expanduser().absolute()}:{attribute}"
    if attribute.isidentifier() and where.replace(".", "_").isidentifier():  # module:Class
        return name
    path = Path(name).expanduser()
    named = name.partition(":")[0] in ("yahoo", "synthetic")
    return str(path.absolute()) if not named and (path.suffix or len(path.parts) > 1) else name


def _refuse_panel(config: AccountConfig, panel: MarketPanel) -> None:
    """Raise for what a panel says and a journal does not keep."""
    if panel.members is not None:
        raise ParameterError("the panel lists the members of its index; a paper account keeps bars as they come: leave them out")
    old = [s for s in config.symbols if panel.at_decision is not None and not panel.at_decision[panel.symbols.index(s)]]
    if old and config.fill is FillMode.CLOSE:
        raise ParameterError(
            f"fill='close' cannot be had for {old[0]} ({len(old)} such names): its market has closed before the decision; "
            "use fill=next_open"
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
        raise ParameterError(f"{start!r} is no date; write YYYY-MM-DD") from None
    later = [name for name in names if name >= start]
    if not later:
        raise DataError(f"the source ends on {names[-1]}, before {start}; choose an earlier date")
    return later[0]
