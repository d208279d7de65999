"""check_strategy: whether a strategy keeps the promises of the project, in cerebro, in the replay and in a paper account."""

from __future__ import annotations

import itertools
import json
import pickle
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.algorithms import OnlineAlgorithm
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.bar_lengths import settle_bars
from tracker_strategies.strategies.base import TrackerStrategy, strategy_of
from tracker_strategies.strategies.registry import NAMES, check_params, default_params
from tracker_strategies.testing.errors import promise, require
from tracker_strategies.testing.lookahead import check_no_lookahead
from tracker_strategies.testing.markets import random_panel

COSTS = CostModel(bps=5, slippage_bps=2)
#: Names come and go soon enough for a small market.
LIVING = {"listing_warmup": 3, "delist_after": 4}
MODES: tuple[dict[str, Any], ...] = ({}, {"runonce": False}, {"preload": False}, {"exactbars": 1}, {"exactbars": -2})
#: What a user may ask of any strategy, alone and together.
ASKED: dict[str, Any] = {"coordinates": ("weights", "shares"), "cost_aware": (None, 5.0), "max_names": (None, 3)}
Check = Callable[[Any, MarketPanel, dict[str, Any]], None]


def check_parity(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """Replay and cerebro, in all its modes, decide and earn the same."""
    for fill in ("close", "next_open"):
        chosen = params | {"fill": fill}
        truth = replay(panel, cls, chosen)
        for mode in MODES:
            _require_same(backtest(panel, cls, chosen, **mode), truth, f"cerebro with {mode or 'its defaults'}, fill={fill}")


def check_paper(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """A paper account that runs session by session decides and earns the same as the backtest."""
    truth = backtest(panel, cls, params, costs=COSTS)
    start = str(panel.dates[0].astype("datetime64[D]"))
    with tempfile.TemporaryDirectory() as place:
        made = PaperAccount.create(
            Path(place) / "account", name_of(cls), "memory", params, panel=panel, targets=panel.targets, start=start, costs=COSTS
        )
        ways = {PaperAccount(made.folder).step(panel.rows(0, k)).way for k in range(1, panel.n_bars + 1)}
        with made.journal(readonly=True) as journal:
            decided = [np.frombuffer(row[0]) for row in journal.rows("select weights from decisions order by session")]
            values = [row[0] for row in journal.rows("select value from balances order by session")]
    np.testing.assert_allclose(decided, _decided(truth), rtol=0, atol=1e-12, err_msg="weights of the paper account")
    np.testing.assert_allclose(values, truth.value, rtol=1e-9, err_msg="wealth of the paper account")
    if name_of(cls) in NAMES:  # an account never makes a user's class from a stored text: it replays
        require("checkpoint" in ways, "the state of the strategy could not be kept from one session to the next")


def check_lookahead(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """No decision, order or value depends on data after its bar."""
    for fill in ("next_open", "open", "close"):
        check_no_lookahead(cls, panel, params | {"fill": fill}, costs=COSTS)


def check_feed_order(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """The order of the feeds changes nothing."""
    order = np.random.default_rng(1).permutation(panel.n_assets)
    bars = {name: getattr(panel, name) for name in ("close", "open", "high", "low", "volume", "members")}
    turned = replace(
        panel,
        symbols=tuple(panel.symbols[i] for i in order),
        **{name: values[:, order] for name, values in bars.items() if values is not None},
    )
    one, other = replay(panel, cls, params), replay(turned, cls, params)
    # Within a mandate a decision depends on the account, whose value is a sum in the order of the feeds.
    rounding = 0.0 if one.breaches is None else 1e-9
    np.testing.assert_allclose(_decided(other), _decided(one)[:, order], rtol=0, atol=rounding)
    np.testing.assert_allclose(other.weights, one.weights[:, order], rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.value, one.value, rtol=1e-9)


def check_state(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """The state of the algorithm can be saved and restored in mid-run, and continues bit by bit."""
    seen = np.isfinite(panel.close)
    close = np.where(seen, panel.close, 1.0)
    X = np.where(seen[1:] & seen[:-1], close[1:] / close[:-1] - 1.0, 0.0)
    Y = panel.target_close[1:] / panel.target_close[:-1] - 1.0
    algorithm = cls.make_tracker(_params(cls, panel, params), panel.symbols, CostModel(), len(panel.targets)).algorithm
    half = len(X) // 2
    targets = Y if getattr(algorithm, "n_targets", 1) > 1 else Y[:, 0].tolist()
    for x, y in zip(X[:half], targets[:half], strict=True):
        algorithm.update(x, y)
    state = algorithm.state_dict()
    twins = [algorithm.clone(), type(algorithm).from_state(pickle.loads(pickle.dumps(state)))]
    if not any(isinstance(value, np.ndarray) for value in state["state"].values()):
        twins.append(type(algorithm).from_state(json.loads(json.dumps(state))))
    for x, y in zip(X[half:], targets[half:], strict=True):
        expected = algorithm.update(x, y)
        for twin in twins:
            np.testing.assert_array_equal(twin.update(x, y), expected)


def check_composition_of_params(cls: Any, panel: MarketPanel, params: dict[str, Any]) -> None:
    """Coordinates, costs and a limit on names hold together in every decision, or are refused by name."""
    for values in itertools.product(*ASKED.values()):
        asked = dict(zip(ASKED, values, strict=True))
        try:
            decisions: Any = replay(panel, cls, params | asked).decisions
        except ParameterError as refused:
            require(
                any(name in str(refused) for name in (*ASKED, "Holdings")),
                f"{asked} is refused, but the message names none of it: {refused}",
            )
            continue
        np.testing.assert_allclose(decisions.sum(axis=1), 1.0, rtol=0, atol=1e-9, err_msg=f"sum of weights, {asked}")
        require(decisions.min() >= 0.0, f"a negative weight, {asked}")
        if asked["max_names"] is not None:
            most = int(np.count_nonzero(decisions, axis=1).max(initial=0))
            require(most <= asked["max_names"], f"{most} names are held, {asked}")


#: All checks by name, in the order in which they run.
CHECKS: dict[str, Check] = {
    "parity": check_parity,
    "paper": check_paper,
    "lookahead": check_lookahead,
    "feed_order": check_feed_order,
    "state": check_state,
    "composition": check_composition_of_params,
}


def check_strategy(
    strategy: type[TrackerStrategy] | type[OnlineAlgorithm],
    panel: MarketPanel | None = None,
    params: Mapping[str, Any] | None = None,
    *,
    only: Iterable[str] | None = None,
) -> None:
    """Raise a :class:`CheckError` that names the first promise which a strategy breaks.

    Parameters
    ----------
    strategy : Strategy class, or class of a learner
    panel : MarketPanel, optional
        Market to check on; by default two small ones, one of them with names that list late, pause and are delisted.
    params : mapping, optional
        The strategy's parameters.
    only : iterable of str, optional
        Some of ``parity``, ``paper``, ``lookahead``, ``feed_order``, ``state`` and ``composition``; all by default.

    Examples
    --------
    >>> from tracker_strategies.testing import check_strategy
    >>> from tracker_strategies.strategies import PATracker
    >>> check_strategy(PATracker, only=["state", "feed_order"])
    """
    cls: Any = strategy if issubclass(strategy, TrackerStrategy) else strategy_of(strategy)
    chosen = {**LIVING, **(params or {})}
    check_params(cls, chosen)
    for name in CHECKS if only is None else only:
        if name not in CHECKS:
            raise ParameterError(f"there is no check {name!r}; choose one of {', '.join(CHECKS)}")
        check = CHECKS[name]
        bars = 22 if name == "paper" else 60
        markets = [random_panel(bars, 6, seed=3, ohlc=True, gaps=gaps) for gaps in (False, True)] if panel is None else [panel]
        for market in markets:
            with promise((check.__doc__ or name).strip().rstrip("."), cls.__name__):
                check(cls, market, chosen)


def name_of(cls: type[TrackerStrategy]) -> str:
    """The name by which a paper account finds the class again."""
    if cls.alias_name in NAMES and NAMES[cls.alias_name][1] == cls.__name__:
        return cls.alias_name
    return f"{cls.__module__}:{cls.__qualname__.removesuffix('.Strategy')}"


def _params(cls: Any, panel: MarketPanel, params: Mapping[str, Any]) -> Any:
    p = SimpleNamespace(**default_params(cls) | dict(params))
    settle_bars(cls, p, lambda: panel.bar_length)
    return p


def _decided(record: RunRecord) -> Any:
    return record.decisions


def _require_same(record: RunRecord, truth: RunRecord, who: str) -> None:
    np.testing.assert_allclose(_decided(record), _decided(truth), rtol=0, atol=1e-12, err_msg=f"weights of {who}")
    np.testing.assert_allclose(record.value, truth.value, rtol=1e-9, err_msg=f"wealth of {who}")
