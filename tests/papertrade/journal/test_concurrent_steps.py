"""Steps that run together, twice, or not at all: each session is acted on once, or made up for."""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.papertrade.harness import books_balance, day, market, open_account, orders, state, step_through, values
from tracker_strategies.errors import LockedError
from tracker_strategies.papertrade import PaperAccount, RiskLimits
from tracker_strategies.papertrade.errors import RiskError
from tracker_strategies.papertrade.journal.lock_and_halt import account_lock

# -- 1: kills: see test_kill_storm ----------


# -- 2: two steps together, a lock left behind ----------


def test_two_steps_started_together_one_runs_and_one_says_who_holds_the_lock(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    ready, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with account_lock(account.folder):
            os.write(ready[1], b"x")
            os.read(go_on[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    with pytest.raises(LockedError, match=f"process {child} on {socket.gethostname()}.*wait until it is done"):
        step_through(account, panel, stop=1)
    os.write(go_on[1], b"x")
    os.waitpid(child, 0)
    assert step_through(account, panel, stop=1)[0].sent == 4


def test_the_lock_of_a_killed_step_is_no_obstacle(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    ready = os.pipe()
    child = os.fork()
    if child == 0:
        with account_lock(account.folder):
            os.write(ready[1], b"x")
            time.sleep(60)
    os.read(ready[0], 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert step_through(account, panel, stop=1)[0].sent == 4


def test_many_steps_at_once_are_one_step(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    children = []
    for _ in range(6):
        child = os.fork()
        if child == 0:
            try:
                PaperAccount(account.folder).step(panel.rows(0, 1))
            except LockedError:
                os._exit(7)
            os._exit(0)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert set(codes) <= {0, 7}
    assert 0 in codes
    assert len(orders(account)) == 4


def test_the_command_line_says_who_holds_the_lock_and_exits_with_2(folder):
    panel = market()
    path = folder / "prices.csv"
    panel.to_frame().to_csv(path)
    account = PaperAccount.create(folder / "a", "pa", str(path))
    with account_lock(account.folder):
        done = subprocess.run(
            [sys.executable, "-m", "tracker_strategies", "paper", "step", str(account.folder)], capture_output=True, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"LockedError: {account.folder} is in use by process {os.getpid()}")


# -- 3: twice, or not at all ----------


def test_a_second_step_for_the_same_session_does_nothing(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=3)
    before = state(account)
    for _ in range(3):
        (result,) = step_through(account, panel, start=3, stop=3)
        assert (result.taken, result.decision, result.sent) == ([], "", 0)
    assert state(account) == before


def test_after_missed_sessions_only_the_newest_acts(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=3)
    (result,) = step_through(account, panel, start=7, stop=7)
    assert result.taken == [day(panel, t) for t in (3, 4, 5, 6)]
    assert result.decision == "act"
    with account.journal(readonly=True) as journal:
        kinds = dict(journal.rows("select session, kind from decisions"))
    assert [kinds[day(panel, t)] for t in range(7)] == ["act"] * 3 + ["missed"] * 3 + ["act"]
    assert {o["session"] for o in orders(account)} == {day(panel, t) for t in (0, 1, 2, 6)}
    assert len(values(account)) == 7
    books_balance(account)


def test_a_missed_rebalance_is_made_up_for(folder):
    """Buy-and-hold trades once. Refused by a limit at first, it trades on the next session."""
    panel = market()
    account = open_account(folder / "a", panel, "buy-and-hold", limits=RiskLimits(max_turnover=0.5))
    with pytest.raises(RiskError):
        step_through(account, panel, stop=1)
    account.change_limits({"max_turnover": 2.0})
    assert [r.decision for r in step_through(account, panel, start=2, stop=3)] == ["act", "idle"]
