"""Steps that are killed (SIGKILL) at any transition and run again end exactly where steps that were left alone end."""

import contextlib
import dataclasses
import random
import shutil
from datetime import datetime

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import books_balance, contents, in_a_process, open_account, orders, state, step_through
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import RiskError, StrategyError
from tracker_strategies.papertrade.live.watching import practise

PARAMS = {"listing_warmup": 3, "delist_after": 4}


def market():
    """A name lists late, one is delisted and booked out, one pauses."""
    return random_panel(n_bars=24, n_assets=5, seed=11, ohlc=True, gaps=True)


def one_step(account, panel, k):
    return lambda: PaperAccount(account.folder, pause=lambda seconds: None).step(panel.rows(0, k))


def copy_of(account, place):
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(account.folder, place)
    return PaperAccount(place)


@pytest.mark.parametrize(
    "faults", [{}, {"partial": 0.3, "delay": 0.3, "duplicate": 0.3, "disconnect": 0.3, "reject": 0.2}], ids=["plain", "faulty"]
)
def test_a_kill_at_every_single_transition_changes_nothing(folder, faults):
    panel = market()
    account = open_account(folder / "a", panel, "pa", PARAMS, faults=faults)
    kills, told = 0, []
    for k in range(1, panel.n_bars + 1):
        chosen = k in ((1, 2, 17, 18) if not faults else (2, 17))  # first buys and fills, a delisting and its fills; a halt
        if not chosen:
            one_step(account, panel, k)()
            continue
        before = copy_of(account, folder / "before")
        one_step(account, panel, k)()
        wanted = state(account)
        point = 1
        while True:
            tried = copy_of(before, folder / "tried")
            if in_a_process(one_step(tried, panel, k), kill_at=point, told=told):
                break
            kills += 1
            one_step(tried, panel, k)()
            assert state(tried) == wanted, f"killed at point {point} of session {k}"
            point += 1
        assert point > 10
    assert kills > (70 if not faults else 35)
    for moment in (
        "before commit of decision",
        "after commit of decision",
        "before sending",
        "after sending",  # the broker has it, the journal does not know
        "before the market",  # between order and fill
        "after the market",
        "before commit of fills",  # in the middle of settlement
        "after commit of fills",
        "after commit of bars",
        "before commit of balance",
    ):
        assert any(name.startswith(moment) for name in told), moment


def test_a_kill_around_a_split_and_a_dividend_books_them_once(folder):
    panel = random_panel(n_bars=8, n_assets=4, seed=12, ohlc=True)
    day = str(panel.dates[5])[:10]
    (folder / "actions.csv").write_text(f"date,symbol,kind,value\n{day},S1,split,4\n{day},S2,dividend,0.5\n{day},S3,rename,NEW\n")
    bars = {k: getattr(panel, k).copy() for k in ("close", "open", "high", "low")}
    for values in bars.values():
        values[5:, 1] /= 4.0
    panel = MarketPanel(panel.dates, panel.symbols, bars.pop("close"), panel.targets, panel.target_close, **bars)
    account = open_account(folder / "a", panel, actions=str(folder / "actions.csv"))
    step_through(account, panel, stop=5)
    before = copy_of(account, folder / "before")
    one_step(account, panel, 6)()
    wanted, point = state(account), 1
    while True:
        tried = copy_of(before, folder / "tried")
        if in_a_process(one_step(tried, panel, 6), kill_at=point):
            break
        one_step(tried, panel, 6)()
        assert state(tried) == wanted, f"killed at point {point}"
        point += 1
    assert point > 10


@pytest.mark.parametrize("event", ["", "halt", "limit"], ids=["step", "halt and resume", "change the limit"])
def test_recorded_history_loses_no_session_to_a_kill(folder, event):
    """Killed at every transition, or halted, or refused and let through: its clock waits until a session is decided and sent."""
    panel = random_panel(n_bars=5, n_assets=3, seed=13, ohlc=True)

    def step(account):
        with contextlib.suppress(RiskError):
            PaperAccount(account.folder).step(panel)

    def interfere(account):
        """What a person does in the middle of the history."""
        if event == "halt":
            account.halt("looking into it")
        elif event == "limit":
            account.change_limits({"max_orders": 1})
        if event:
            step(account)
            step(account)
            account.resume()
            account.change_limits({"max_orders": None})

    def finished(account):
        """The history to its end."""
        practise(account, lambda result: None, panel=panel)
        return state(account)

    account = open_account(folder / "a", panel, replay=str(panel.dates[0])[:10], start=None)
    step(account)
    before = copy_of(account, folder / "before")
    interfere(account)
    wanted, point = finished(account), 1
    assert len(wanted["journal"]["decisions"]) == 5
    while True:
        tried = copy_of(before, folder / "tried")
        interfere(tried)
        through = in_a_process(lambda tried=tried: step(tried), kill_at=point)
        assert finished(tried) == wanted, f"killed at point {point}"
        if through:
            break
        point += 1
    assert point > 10


@pytest.mark.parametrize("clock", ["data", "wall", "replay"])
def test_a_session_in_which_the_strategy_raises_is_not_used_up(folder, clock):
    panel, flag = random_panel(n_bars=4, n_assets=3, seed=14, ohlc=True), folder / "flag"
    panel = dataclasses.replace(panel, dates=np.array(["2024-05-06", "2024-05-07", "2024-05-08", "2024-05-09"], "datetime64[ns]"))
    (folder / "mine.py").write_text(
        "from pathlib import Path\nfrom tracker_strategies import EqualWeight\n"
        "class Mine(EqualWeight):\n    def next(self):\n"
        f"        assert not Path({str(flag)!r}).exists(), 'not today'\n        super().next()\n"
    )
    how = {"replay": {"replay": "2024-05-06", "start": None}, "wall": {"clock": "wall"}}.get(clock, {})
    account = open_account(folder / "a", panel, f"{folder / 'mine.py'}:Mine", **how)
    for k in range(1, 5):
        moment = datetime.fromisoformat(f"2024-05-{5 + k:02}T20:30:00+00:00")
        seen = panel if clock == "replay" else panel.rows(0, k)
        if k % 2 == 0:
            flag.touch()
            for _ in range(2):
                with pytest.raises(StrategyError, match="not today"):
                    PaperAccount(account.folder, clock=lambda now=moment: now).step(seen)
            flag.unlink()
        result = PaperAccount(account.folder, clock=lambda now=moment: now).step(seen)
        assert (result.session, result.decision) == (f"2024-05-{5 + k:02}", "act")


def test_a_storm_of_kills_ends_like_a_quiet_run(folder):
    """Each step is killed at its first point, run again and killed a little later, until it gets through."""
    panel = market()
    quiet = open_account(folder / "quiet", panel, "pa", PARAMS)
    step_through(quiet, panel)
    stormy = open_account(folder / "stormy", panel, "pa", PARAMS)
    kills = 0
    for k in range(1, panel.n_bars + 1):
        point = 1
        while not in_a_process(one_step(stormy, panel, k), kill_at=point):
            kills += 1
            point += 1
    assert kills > 150
    assert state(stormy) == state(quiet)
    placed = contents(stormy.folder / "broker.db")["orders"]
    assert len(placed) == len({row[0] for row in placed}) == len(orders(stormy))


def test_kills_at_random_points_while_sessions_are_missed(folder):
    """A killed step is not always run again before the next session comes. Orders are never sent late, and nothing twice."""
    panel, rng = market(), random.Random(5)
    account = open_account(folder / "a", panel, "pa", PARAMS)
    kills = 0
    for k in range(1, panel.n_bars + 1):
        kills += not in_a_process(one_step(account, panel, k), kill_at=rng.randrange(1, 30))
    one_step(account, panel, panel.n_bars)()
    assert kills > 5
    placed = {row[0] for row in contents(account.folder / "broker.db")["orders"]}
    ours = orders(account)
    assert placed == {row["cid"] for row in ours if row["status"] != "unsent"}
    with account.journal(readonly=True) as journal:
        late = journal.rows("select o.cid from orders o join decisions d using (session) where d.kind = 'missed'")
        assert not late
        assert journal.check() == "ok"


def test_an_account_whose_opening_is_killed_can_be_opened_again(folder):
    panel = market()
    point = 1
    while not in_a_process(lambda: open_account(folder / "a", panel), kill_at=point):
        open_account(folder / "a", panel)
        assert step_through(PaperAccount(folder / "a"), panel, stop=1)[0].sent > 0
        shutil.rmtree(folder / "a")
        point += 1
    assert point > 2


def test_an_account_that_is_flattened_under_kills_ends_flat_and_halted(folder):
    panel = market()
    account = open_account(folder / "a", panel, "pa", PARAMS)
    step_through(account, panel, stop=6)
    point = 1
    while True:
        tried = copy_of(account, folder / "tried")
        through = in_a_process(lambda tried=tried: PaperAccount(tried.folder).flatten(), kill_at=point)
        assert tried.halt_switch.reason() is not None  # from the first moment the strategy cannot go on
        if not through:
            tried.flatten()
        step_through(tried, panel, start=7, stop=7)
        with tried.broker() as broker:
            assert broker.holdings().sizes == {}
        books_balance(tried)
        if through:
            break
        point += 1
    assert point > 10
