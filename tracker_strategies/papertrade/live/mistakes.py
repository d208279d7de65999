"""What can be wrong with a cerebro around a paper account, found before the first session is delivered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import backtrader as bt

from tracker_strategies.execution.commission import charged
from tracker_strategies.execution.volume.liquidity import Liquidity
from tracker_strategies.papertrade.errors import PaperError
from tracker_strategies.papertrade.live.feed import PaperData
from tracker_strategies.papertrade.opening import limits_written_out
from tracker_strategies.strategies import STRATEGIES, TrackerStrategy
from tracker_strategies.strategies.registry import load_strategy

if TYPE_CHECKING:
    from tracker_strategies.papertrade.live.store import PaperStore

#: Settings of backtrader's broker that a paper account cannot obey, with the values that they must have, and why.
_SETTINGS = {
    "coc": (False, "cheat-on-close fills at a close that has passed"),
    "coo": (False, "cheat-on-open knows the open before it trades"),
    "filler": (None, "volumes are the market's business"),
    "slip_fixed": (0.0, "slippage is part of the account's costs"),
    "int2pnl": (True, "an account pays no interest"),
    "shortcash": (True, "an account is long only"),
    "fundmode": (False, "an account counts money"),
}


def check_cerebro(store: PaperStore, cerebro: Any) -> None:
    """Raise :class:`PaperError` for the first mistake.

    Raises
    ------
    PaperError
        With what was found and what to do.
    """
    if store not in cerebro.stores:
        raise PaperError("the account's feeds are missing: call store.add_to(cerebro)")
    if cerebro.broker is not store.getbroker():
        raise PaperError(
            f"cerebro trades on {type(cerebro.broker).__name__}, not on the paper account: call "
            "cerebro.setbroker(store.getbroker())"
        )
    _check_feeds(store, cerebro)
    if cerebro._dooptimize:
        raise PaperError("optstrategy runs a strategy many times; a paper account lives once: use addstrategy")
    for option in ("cheat_on_open", "oldsync"):
        if getattr(cerebro.p, option):
            raise PaperError(f"Cerebro({option}=True) does not work with a paper account; leave it out")
    _check_settings(store)
    _check_strategy(store, cerebro)


def _check_feeds(store: PaperStore, cerebro: Any) -> None:
    own = [data for data in cerebro.datas if isinstance(data, PaperData) and data.p.store is store]
    ours = {id(data) for data in own}  # feeds have an == of their own
    strange = [data for data in cerebro.datas if id(data) not in ours]
    if strange:
        raise PaperError(
            f"the feed {strange[0]._name or type(strange[0]).__name__!r} is not the account's: in live trading it would run "
            "ahead of it. A PaperStore runs on the feeds that store.add_to(cerebro) adds; bring other series in its source"
        )
    names = [data._name for data in own]
    wrong = [data._name for data in own if data._name != data.p.dataname]
    if wrong or len(set(names)) < len(names):
        raise PaperError(
            f"feeds must have the names of the account, each once, got {', '.join(names)}: use store.add_to(cerebro)"
        )


def _check_settings(store: PaperStore) -> None:
    broker, config = store.getbroker(), store.account.config
    for name, (value, why) in _SETTINGS.items():
        if getattr(broker.p, name) != value:
            raise PaperError(f"the broker's setting {name}={getattr(broker.p, name)!r} cannot be kept: {why}; leave it alone")
    if broker.p.cash != config.cash or broker._cash_addition:
        raise PaperError(f"the account has its own cash, {config.cash:,.2f} at the start; leave setcash and add_cash out")
    slip = broker.p.slip_perc
    if charged(broker) != config.costs or set(broker.comminfo) != {None} or slip != config.costs.slippage_bps * 1e-4:
        raise PaperError("costs are fixed when an account is opened; leave setcommission and set_slippage out")
    if broker._userhist or broker._fundhist:
        raise PaperError("an account has a past of its own; leave add_order_history and set_fund_history out")


def _check_strategy(store: PaperStore, cerebro: Any) -> None:
    added = [one for group in cerebro.strats for one in group]
    if len(added) != 1 or added[0][0] is bt.Strategy:
        found = ", ".join(cls.__name__ for cls, _, _ in added if cls is not bt.Strategy) or "none"
        raise PaperError(f"a paper account runs one strategy, cerebro has {found}: add one")
    config = store.account.config
    cls, _, params = added[0]
    own = load_strategy(config.strategy)
    if not issubclass(cls, TrackerStrategy):
        store.foreign = f"the account was opened for {config.strategy}; {cls.__name__} trades it now: do not step it by command"
        store.put_notification(store.foreign)
        return
    # A class of one's own derived from the account's strategy is that strategy; another of this project's is not.
    if next((kind for kind in cls.__mro__ if kind is own or kind in STRATEGIES), None) is not own:
        raise PaperError(
            f"the account was opened for {config.strategy} ({own.__name__}), cerebro runs {cls.__name__}: add that one, or open "
            "another account"
        )
    _check_params(config, own, cls, params)
    if Liquidity.of(config.params) is not None:
        raise PaperError(
            "max_participation and impact are for backtests and for accounts that are stepped by command (tracker paper step); "
            "in a cerebro of your own with PaperStore leave them out"
        )


def _check_params(config: Any, own: type[TrackerStrategy], cls: Any, params: Mapping[str, Any]) -> None:
    """The same strategy with other parameters is another one."""
    given = {key: value for key, value in params.items() if key != "assets"}
    known = {key: value for key, value in given.items() if hasattr(own.params, key)}
    opened = {key: value for key, value in config.params.items() if hasattr(own.params, key)}
    mine, theirs = (_plain(limits_written_out(own, each, config.symbols, config.start)) for each in (opened, known))
    defaults = {key: getattr(own.params, key, None) for key in {*mine, *theirs}}
    wrong = [
        key
        for key in sorted({*mine, *theirs} - {"bars_per_year", "bars_a_year"})
        if mine.get(key, _text(defaults[key])) != theirs.get(key, _text(defaults[key]))
    ]
    if wrong:
        raise PaperError(
            f"the account was opened with other parameters than cerebro's {cls.__name__}: {', '.join(wrong)}. Add it as "
            "cerebro.addstrategy(cls, **account.config.params)"
        )


def _plain(params: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in params.items()}


def _text(value: Any) -> str:
    """A value as it is compared: JSON makes lists of tuples, 1 is 1.0, and a mapping has no order."""
    if isinstance(value, Mapping):
        return ",".join(sorted(f"{key}:{_text(one)}" for key, one in value.items()))
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value))
    return str(value)
