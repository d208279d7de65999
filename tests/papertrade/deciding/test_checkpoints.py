"""Going on from a checkpoint decides what a replay of all history decides, whatever happens in between."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datafeeds import MarketPanel, synthetic_market
from tests.markets import random_panel
from tests.papertrade.harness import COSTS, contents, decided_weights, open_account, orders, step_through, values
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import RiskError
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.strategies.registry import load_strategy

EVENTS = ("step", "step", "step", "step", "miss", "halt", "refuse")
LIVING = {"listing_warmup": 3, "delist_after": 4}


def live_through(account, panel, events):
    """One event per session: a step, a step that is missed, one that finds the account halted, one that a limit forbids."""
    for row, event in enumerate(events, 1):
        if event == "miss":
            continue
        if event == "halt":
            account.halt()
        if event == "refuse":
            account.change_limits({"max_turnover": 1e-9})
        try:
            PaperAccount(account.folder).step(panel.rows(0, row))
        except RiskError:
            assert event == "refuse"
        account.resume()
        if event == "refuse":
            account.change_limits({"max_turnover": 2.0})


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10_000),
    events=st.lists(st.sampled_from(EVENTS), min_size=10, max_size=16),
    strategy=st.sampled_from(STRATEGIES),
    params=st.sampled_from([{}, {"rebalance": 3}, {"rebalance": "once"}, {"rebalance": "weekly", "lot": 1.0}, {"fill": "close"}]),
    faults=st.sampled_from([{}, {"reject": 0.3}, {"partial": 0.3}, {"reject": 0.2, "partial": 0.2, "disconnect": 0.2}]),
)
def test_checkpoints_and_replays_decide_the_same(folder, seed, events, strategy, params, faults):
    panel = random_panel(n_bars=len(events), n_assets=4, seed=seed, ohlc=True, gaps=True)
    ends = []
    for name, every in (("replays", 1), ("checkpoints", 1000)):
        place = folder / f"{name}-{seed}-{len(list(folder.iterdir()))}"
        account = open_account(place, panel, strategy.alias_name, {**LIVING, **params}, faults=faults, verify_every=every)
        live_through(account, panel, events)
        with account.journal(readonly=True) as journal:
            ways = {row[0] for row in journal.rows("select way from decisions")}
        assert "checkpoint" not in ways if name == "replays" else True
        journal_rows = contents(place / "journal.db")
        journal_rows.pop("meta")  # they differ in verify_every
        ends.append((journal_rows, contents(place / "broker.db")))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("every", [1, 1000], ids=["replays", "checkpoints"])
def test_a_missed_session_on_which_nothing_was_due_is_not_made_up_for(folder, every):
    panel = random_panel(n_bars=6, n_assets=4, seed=76, ohlc=True)
    account = open_account(folder / "a", panel, "buy-and-hold", verify_every=every)
    live_through(account, panel, ["step", "step", "miss", "step", "step"])
    with account.journal(readonly=True) as journal:
        kinds = [row[0] for row in journal.rows("select kind from decisions order by session")]
    assert kinds == ["act", "idle", "missed", "idle", "idle"]


@pytest.mark.parametrize("every", [1, 1000], ids=["replays", "checkpoints"])
def test_a_rebalance_that_was_due_on_a_missed_session_is_made_up_for(folder, every):
    panel = random_panel(n_bars=8, n_assets=4, seed=77, ohlc=True)
    account = open_account(folder / "a", panel, "equal-weight", {"rebalance": 3}, verify_every=every)
    live_through(account, panel, ["step", "step", "step", "miss", "step", "step", "step"])
    with account.journal(readonly=True) as journal:
        kinds = [row[0] for row in journal.rows("select kind from decisions order by session")]
    assert kinds == ["act", "idle", "idle", "missed", "act", "idle", "act"]


def test_a_checkpoint_is_used_until_it_has_to_be_verified(folder):
    panel = random_panel(n_bars=12, n_assets=4, seed=71, ohlc=True)
    account = open_account(folder / "a", panel, verify_every=4)
    assert [r.way for r in step_through(account, panel)] == (["replay"] + ["checkpoint"] * 3) * 3


def test_what_only_cerebro_can_run_is_always_replayed(folder):
    panel = random_panel(n_bars=9, n_assets=4, seed=72, ohlc=True)
    path = folder / "trend.py"
    path.write_text(
        "import backtrader as bt\nfrom tracker_strategies import PASTracker\n"
        "class Trend(PASTracker):\n    params = (('side', 'signal'), ('lam', 0.05))\n"
        "    def __init__(self):\n        super().__init__()\n"
        "        self.signal_lines = [bt.indicators.ROC(d, period=3) for d in self.assets]\n"
    )
    account = open_account(folder / "a", panel, f"{path}:Trend")
    assert {r.way for r in step_through(account, panel)} == {"replay"}
    record = backtest(panel, load_strategy(f"{path}:Trend"), costs=COSTS, runonce=False)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)


def test_a_budget_goes_on_from_a_checkpoint(folder):
    panel = random_panel(n_bars=48, n_assets=4, seed=73, ohlc=True)
    params = {"max_tracking_error": "30%", "bars_per_year": 100}
    account = open_account(folder / "a", panel, "pas", params, verify_every=1000)
    assert {r.way for r in step_through(account, panel)[1:]} == {"checkpoint"}
    np.testing.assert_allclose(decided_weights(account), backtest(panel, "pas", params, costs=COSTS).decisions, atol=1e-12)
    plain = backtest(panel, "pas", {"side": "none"}, costs=COSTS).decisions
    assert np.abs(decided_weights(account) - plain).max() > 0.01


def test_two_targets_are_tracked_in_the_account_as_in_the_backtest(folder):
    market = synthetic_market(6, 14, seed=5, n_indices=2)
    params = {"blend": [0.7, 0.3]}
    account = open_account(folder / "a", market, "pa", params, targets=market.targets, verify_every=5)
    step_through(account, market)
    record = backtest(market, "pa", params, costs=COSTS)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12)


def test_some_of_the_names_of_a_source(folder):
    panel = random_panel(n_bars=8, n_assets=5, seed=74, ohlc=True)
    account = open_account(folder / "a", panel, "pa", {"assets": "S1,S3"})
    assert account.config.symbols == ("S1", "S3")
    step_through(account, panel)
    assert {o["symbol"] for o in orders(account)} == {"S1", "S3"}
    bars = {k: getattr(panel, k)[:, [1, 3]] for k in ("open", "high", "low")}
    few = MarketPanel(panel.dates, ("S1", "S3"), panel.close[:, [1, 3]], panel.targets, panel.target_close, **bars)
    np.testing.assert_allclose(values(account), backtest(few, "pa", costs=COSTS).value, rtol=1e-9)


@pytest.mark.parametrize(
    "params", [{"eps": -1.0}, {"max_weight": 0.01}, {"assets": "S1,NONE"}, {"lot": "many"}, {"rebalance": "never"}]
)
def test_a_parameter_that_cannot_work_is_refused_before_there_is_an_account(folder, params):
    panel = random_panel(n_bars=8, n_assets=5, seed=75)
    with pytest.raises(TrackerError):
        open_account(folder / "a", panel, "pa", params)
    assert not (folder / "a").exists()
