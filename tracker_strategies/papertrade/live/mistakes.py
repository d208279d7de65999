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
    "coc": (False, "cheat-on-close fills at a close that is already past"),
    "coo": (False, "cheat-on-open uses the opening price before it is known"),
    "filler": (None, "the market, not a filler, decides how much fills"),
    "slip_fixed": (0.0, "slippage is part of the account's costs"),
    "int2pnl": (True, "a paper account pays no interest"),
    "shortcash": (True, "a paper account is long only"),
    "fundmode": (False, "a paper account is kept in money, not in fund units"),
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
        raise PaperError("optstrategy runs a strategy many times, but a paper account can run only once: use addstrategy")
    for option in ("cheat_on_open", "oldsync"):
        if getattr(cerebro.p, option):
            raise PaperError(f"Cerebro({option}=True) does not work with a paper account; remove it")
    _check_settings(store)
    _check_strategy(store, cerebro)


def _check_feeds(store: PaperStore, cerebro: Any) -> None:
    own = [data for data in cerebro.datas if isinstance(data, PaperData) and data.p.store is store]
    ours = {id(data) for data in own}  # feeds have an == of their own
    strange = [data for data in cerebro.datas if id(data) not in ours]
    if strange:
        raise PaperError(
            f"the feed {strange[0]._name or type(strange[0]).__name__!r} does not belong to the account: in live "
            "trading it would run ahead of the account's data. Use only the feeds that store.add_to(cerebro) "
            "adds; put other series into the account's data source"
        )
    names = [data._name for data in own]
    wrong = [data._name for data in own if data._name != data.p.dataname]
    if wrong or len(set(names)) < len(names):
        raise PaperError(
            f"feeds must be the account's names, each exactly once, got {', '.join(names)}: use store.add_to(cerebro)"
        )


def _check_settings(store: PaperStore) -> None:
    broker, config = store.getbroker(), store.account.config
    for name, (value, why) in _SETTINGS.items():
        if getattr(broker.p, name) != value:
            raise PaperError(
                f"the broker's setting {name}={getattr(broker.p, name)!r} is not supported: {why}; leave it at its default"
            )
    if broker.p.cash != config.cash or broker._cash_addition:
        raise PaperError(f"the account has its own starting cash, {config.cash:,.2f}; remove setcash and add_cash")
    slip = broker.p.slip_perc
    names = {None, *(config.symbols if config.mandate.fees else ())}
    if charged(broker) != config.costs or set(broker.comminfo) != names or slip != config.costs.slippage_bps * 1e-4:
        raise PaperError("costs are fixed when an account is opened; remove setcommission and set_slippage")
    if broker._userhist or broker._fundhist:
        raise PaperError("a paper account keeps its own history; remove add_order_history and set_fund_history")


def _check_strategy(store: PaperStore, cerebro: Any) -> None:
    added = [one for group in cerebro.strats for one in group]
    if len(added) != 1 or added[0][0] is bt.Strategy:
        found = ", ".join(cls.__name__ for cls, _, _ in added if cls is not bt.Strategy) or "none"
        raise PaperError(f"a paper account runs exactly one strategy, but cerebro has {found}")
    config = store.account.config
    cls, _, params = added[0]
    own = load_strategy(config.strategy)
    if not issubclass(cls, TrackerStrategy):
        store.foreign = (
            f"the account was opened for {config.strategy}; {cls.__name__} trades it now: do not run 'tracker paper step' on it"
        )
        store.put_notification(store.foreign)
        return
    # A class of one's own derived from the account's strategy is that strategy; another of this project's is not.
    if next((kind for kind in cls.__mro__ if kind is own or kind in STRATEGIES), None) is not own:
        raise PaperError(
            f"the account was opened for {config.strategy} ({own.__name__}), cerebro runs {cls.__name__}: add that "
            "strategy, or open another account"
        )
    _check_params(config, own, cls, params)
    if Liquidity.of(config.params) is not None:
        raise PaperError(
            "max_participation and impact work in backtests and with 'tracker paper step' only; remove them when "
            "you run your own cerebro with PaperStore"
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
            f"the account was opened with parameters that differ from cerebro's {cls.__name__}: {', '.join(wrong)}. Add it as "
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
