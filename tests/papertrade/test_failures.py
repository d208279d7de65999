"""What goes wrong around an account: processes, brokers, people, code. Each case ends with the intended orders, or none."""

import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.papertrade.alpaca_server import KEY, SECRET
from tests.papertrade.harness import (
    books_balance,
    day,
    events,
    market,
    open_account,
    orders,
    state,
    step_through,
    values,
)
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.papertrade import Limits, PaperAccount, SimulatedBroker, endpoint
from tracker_strategies.papertrade.broker import Ticket
from tracker_strategies.papertrade.errors import (
    BrokerKeysError,
    BrokerUnavailableError,
    LiveEndpointError,
    LockedError,
    ReconcileError,
    RiskError,
    StrategyError,
)
from tracker_strategies.papertrade.safety import Lock

# -- 1: kills: see test_kill_storm ----------


# -- 2: two steps together, a lock left behind ----------


def test_two_steps_started_together_one_runs_and_one_says_who_holds_the_lock(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    ready, go_on = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        with Lock(account.folder):
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
        with Lock(account.folder):
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
    account = open_account(folder / "a", panel, "buy-and-hold", limits=Limits(max_turnover=0.5))
    with pytest.raises(RiskError):
        step_through(account, panel, stop=1)
    account.change_limits({"max_turnover": 2.0})
    assert [r.decision for r in step_through(account, panel, start=2, stop=3)] == ["act", "idle"]


# -- 5: partial fills ----------


def test_a_partial_fill_is_cancelled_at_the_close_and_the_rest_is_replanned(folder):
    panel = market()
    account = open_account(folder / "a", panel, faults={"partial": 1.0})
    step_through(account, panel)
    first = orders(account, f"session = '{day(panel, 0)}'")
    assert all(o["status"] == "cancelled" and o["filled"] == pytest.approx(o["size"] / 2) for o in first)
    weights = np.array([o["size"] * o["price"] for o in orders(account, f"session = '{day(panel, 1)}'")])
    assert 0.4e6 < weights.sum() < 0.6e6  # the half that is missing
    assert len(events(account, "cancelled")) == len(orders(account)) - 4
    books_balance(account)


# -- 6: rejections ----------


def test_rejected_orders_are_reported_and_made_up_for_at_the_next_session(folder):
    panel = market()
    account = open_account(folder / "a", panel, "buy-and-hold", faults={"reject": 0.4, "seed": 3})
    results = step_through(account, panel)
    assert results[0].refused
    assert results[0].sent
    assert len(events(account, "rejected")) == sum(r.refused for r in results)
    held = {o["symbol"] for o in orders(account, "filled > 0")}
    assert held == set(panel.symbols)  # sooner or later every name was bought
    assert "refused by the broker" in " ".join(results[0].messages)
    books_balance(account)


# -- 7: answers of the broker: see test_alpaca ----------


# -- 8: no network, no name, no keys ----------


def at_alpaca(monkeypatch, key=KEY, secret=SECRET):
    pytest.importorskip("alpaca")
    monkeypatch.setenv(endpoint.KEY, key)
    monkeypatch.setenv(endpoint.SECRET, secret)
    from tracker_strategies.papertrade.alpaca import AlpacaBroker

    return AlpacaBroker


def test_a_network_that_is_down_costs_nothing_but_time(monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    waited = []
    broker = at_alpaca(monkeypatch)(KEY, SECRET, f"http://127.0.0.1:{port}", pause=waited.append)
    with pytest.raises(BrokerUnavailableError, match="no usable answer from Alpaca"):
        broker.holdings()
    assert waited == list(endpoint.PAUSES)
    with pytest.raises(BrokerUnavailableError):
        broker.submit(Ticket("c", "AAA", 1.0, 1.0))


def test_a_name_that_cannot_be_resolved(monkeypatch):
    def nowhere(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    broker = at_alpaca(monkeypatch).from_environment(pause=lambda seconds: None)
    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    with pytest.raises(BrokerUnavailableError, match="no usable answer") as problem:
        broker.holdings()
    assert SECRET not in str(problem.value)


def test_missing_keys_are_asked_for_by_name(monkeypatch):
    broker = at_alpaca(monkeypatch, key="")
    with pytest.raises(BrokerKeysError, match="APCA_API_KEY_ID and APCA_API_SECRET_KEY"):
        broker.from_environment()


@pytest.mark.parametrize(
    "url",
    [
        "https://api.alpaca.markets",
        "http://paper-api.alpaca.markets",
        "https://paper-api.alpaca.markets.evil.com",
        "https://paper-api.evil.com",
        "https://evil.com#paper-api.alpaca.markets",
        "https://10.0.0.1",
        "ftp://127.0.0.1",
        "https://paper-api.alpaca.markets@api.alpaca.markets",
        "https://api.alpaca.markets/?x=paper-api.alpaca.markets",
        "not an address",
    ],
)
def test_anything_but_a_paper_account_is_refused(monkeypatch, url):
    with pytest.raises((LiveEndpointError, ParameterError), match="paper"):
        at_alpaca(monkeypatch).from_environment(url)


# -- 14: disk full, read-only, corrupt, older: see test_journal ----------


# -- 15: somebody else trades ----------


def manual(account):
    config = account.config
    return SimulatedBroker(account.folder / "broker.db", config.cash, config.costs)


def test_a_trade_by_hand_stops_the_account_until_it_is_adopted(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    there = manual(account)
    there.submit(Ticket("by-hand", "S1", -100.0, 1.0, due="settle"))
    there.close()
    with pytest.raises(ReconcileError, match=r"S1: the journal says .* the broker 0.*tracker paper adopt"):
        step_through(account, panel, start=5, stop=5)
    assert not orders(account, f"session = '{day(panel, 4)}'")
    changes = account.adopt()
    assert any(c.startswith("S1") for c in changes)
    assert any(c.startswith("cash") for c in changes)
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"
    step_through(account, panel, start=6)
    assert len(events(account, "adopt")) == 1
    with account.journal(readonly=True) as journal:
        assert journal.check() == "ok"


def test_an_order_by_hand_is_found_and_cancelled_when_adopted(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    there = manual(account)
    there.submit(Ticket("by-hand", "S1", 5.0, 1.0))
    with pytest.raises(ReconcileError, match=r"an open order that is not ours: \+5 S1 \(by-hand\)"):
        step_through(account, panel, start=4, stop=4)
    assert any("by-hand" in c for c in account.adopt())
    assert "by-hand" not in {r.cid for r in there.open_orders()}
    there.close()
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"
    books_balance(account)


def test_flatten_sells_everything_once_and_halts(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    result = account.flatten()
    assert (result.decision, result.sent) == ("flatten", 4)
    assert account.flatten().sent == 4  # asked twice: the first orders are cancelled, not doubled
    results = step_through(account, panel, start=5)
    assert all("halted (flattened by hand" in r.messages[-1] for r in results)
    with account.broker() as broker:
        assert broker.holdings().sizes == {}
    books_balance(account)
    account.resume()
    longer = market()
    assert PaperAccount(account.folder).step(longer).decision == "act"


# -- 16: another strategy than before ----------

STRATEGY = """
from tracker_strategies import EqualWeight
class Mine(EqualWeight):
    @classmethod
    def make_algorithm(cls, p, symbols, *more):
        from tracker_strategies.algorithms import ConstantWeights
        w = [{first}] + [1.0] * (len(symbols) - 1)
        return ConstantWeights(len(symbols), start=[x / sum(w) for x in w])
"""


def test_changed_code_is_reported_and_the_past_stays(folder):
    panel = market()
    path = folder / "mine.py"
    path.write_text(STRATEGY.format(first=1.0))
    account = open_account(folder / "a", panel, f"{path}:Mine")
    step_through(account, panel, stop=4)
    past = orders(account)
    path.write_text(STRATEGY.format(first=3.0))
    (result,) = step_through(account, panel, start=5, stop=5)
    assert result.way == "replay"
    assert any("divergence" in m and "on 4 sessions" in m and "code" in m for m in result.messages)
    assert [tuple(o) for o in orders(account, f"session < '{day(panel, 3)}'")] == [
        tuple(o) for o in past if o["session"] < day(panel, 3)
    ]
    assert len(events(account, "divergence")) == 1
    (again,) = step_through(account, panel, start=6, stop=6)
    assert again.way == "checkpoint"


def test_verify_says_whether_the_past_can_be_reproduced(folder):
    panel = market()
    account = open_account(folder / "a", panel, "apas")
    step_through(account, panel)
    (result,) = [PaperAccount(account.folder).step(panel, verify=True)]
    assert result.messages == [f"verified: a replay of {panel.n_bars} sessions gives the recorded decisions"]


def test_parameters_that_make_no_sense_are_refused_before_anything_is_written(folder):
    panel = market()
    for options, problem in (
        ({"params": {"epsilon": 1}}, "no parameter 'epsilon'"),
        ({"params": {"fill": "open"}}, "fill='open'"),
        ({"params": {"broker": "ordinary"}}, "broker='ordinary'"),
        ({"cash": -1.0}, "cash"),
        ({"faults": {"fire": 0.1}}, "no fault 'fire'"),
        ({"faults": {"reject": 2.0}}, "probability"),
        ({"params": {"eps": object()}}, "plain values"),
        ({"name": "a b"}, "letters and digits"),
        ({"clock": "sun"}, "clock='sun'"),
        ({"start": "soon"}, "no date"),
    ):
        with pytest.raises(ParameterError, match=problem):
            open_account(folder / "a", panel, **options)
        assert not (folder / "a").exists()
    with pytest.raises(DataError, match="before 2030-01-01"):
        open_account(folder / "a", panel, start="2030-01-01")


# -- 17: a strategy that raises ----------


def test_a_strategy_that_raises_decides_nothing(folder):
    panel = market()
    path = folder / "broken.py"
    good = "from tracker_strategies import PATracker\nclass Mine(PATracker):\n    def next(self):\n        super().next()\n"
    bad = good + "        if len(self) == 5: raise ZeroDivisionError('on purpose')\n"
    path.write_text(good)
    account = open_account(folder / "a", panel, f"{path}:Mine")
    step_through(account, panel, stop=4)
    path.write_text(bad)
    with pytest.raises(
        StrategyError, match=rf"Mine raised ZeroDivisionError: on purpose on {day(panel, 4)}; nothing was decided"
    ):
        step_through(account, panel, start=5, stop=5)
    assert not orders(account, f"session = '{day(panel, 4)}'")
    path.write_text("raise ImportError('gone')")
    with pytest.raises(StrategyError, match="cannot load the strategy"):
        step_through(account, panel, start=5, stop=5)
    path.write_text(good)
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"
    books_balance(account)


def test_a_strategy_with_orders_of_its_own_is_told_what_a_paper_account_can_do(folder):
    panel = market()
    path = folder / "own.py"
    path.write_text(
        "from tracker_strategies import PATracker\n"
        "class Mine(PATracker):\n    def next(self):\n        self.buy(self.assets[0], size=1)\n"
    )
    with pytest.raises(StrategyError, match=r"calls buy\(\) or sell\(\) itself"):
        open_account(folder / "a", panel, f"{path}:Mine")


# -- 18: the switch ----------


def test_a_halt_before_the_decision_decides_nothing_and_keeps_the_books(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=4)
    account.halt("looking into it")
    (result,) = step_through(account, panel, start=5, stop=5)
    assert result.taken
    assert not result.decision
    assert "looking into it" in result.messages[-1]
    assert "tracker paper resume" in result.messages[-1]
    assert len(values(account)) == 5  # fills of the day before are booked
    account.resume()
    assert step_through(account, panel, start=5, stop=5)[0].decision == "act"


def test_a_halt_between_two_orders_stops_the_rest_until_it_is_lifted(folder):
    panel = market()
    account = open_account(folder / "a", panel)

    class Watched:
        def __init__(self, broker):
            self.__dict__["inner"], self.__dict__["count"] = broker, 0

        def __getattr__(self, name):
            return getattr(self.inner, name)

        def submit(self, ticket):
            self.__dict__["count"] += 1
            if self.count == 2:
                account.halt("in the middle")
            return self.inner.submit(ticket)

    with account.broker() as broker:
        result = PaperAccount(account.folder, broker=Watched(broker)).step(panel.rows(0, 1))
    assert result.sent == 2
    assert any("halted: in the middle" in m for m in result.messages)
    assert [o["status"] for o in orders(account)] == ["open", "open", "intent", "intent"]
    assert step_through(account, panel, stop=1)[0].sent == 0
    account.resume()
    assert step_through(account, panel, stop=1)[0].sent == 2
    assert {o["status"] for o in orders(account)} == {"open"}


def test_orders_that_a_halt_kept_back_are_not_sent_late(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=3)
    assert account.halt("stop", cancel_open_orders=True) == len(orders(account, f"session = '{day(panel, 2)}'"))
    account.resume()
    step_through(account, panel, start=4, stop=4)
    assert {o["status"] for o in orders(account, f"session = '{day(panel, 2)}'")} == {"cancelled"}
    books_balance(account)


# -- 19: limits ----------


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ({"max_order_value": 1000.0}, "max_order_value=1000"),
        ({"max_turnover": 0.5}, "turns over 0.999 of the account"),
        ({"max_weight": 0.2}, "max_weight=0.2: S0, S1"),
        ({"max_orders": 3}, "max_orders=3: 4 orders"),
        ({"allow": ("S0", "S1")}, "allow: S2, S3 may not be bought"),
    ],
    ids=lambda x: next(iter(x)) if isinstance(x, dict) else "",
)
def test_a_broken_limit_rejects_the_whole_rebalance(folder, limits, problem):
    panel = market()
    account = open_account(folder / "a", panel, "equal-weight", limits=Limits(**limits))
    with pytest.raises(RiskError, match=problem):
        step_through(account, panel, stop=1)
    assert not orders(account)
    with account.journal(readonly=True) as journal:
        assert journal.one("select kind from decisions") == "refused"
    with pytest.raises(RiskError):  # again, while nothing has changed
        step_through(account, panel, stop=1)
    account.change_limits(dict.fromkeys(limits))
    assert step_through(account, panel, stop=1)[0].sent == 4


def test_a_large_loss_stops_trading(folder):
    panel = market()
    crash = MarketPanel(
        panel.dates,
        panel.symbols,
        np.vstack([panel.close[:5], panel.close[5:] * 0.7]),
        panel.targets,
        np.vstack([panel.target_close[:5], panel.target_close[5:] * 0.7]),
    )
    account = open_account(folder / "a", crash)
    step_through(account, crash, stop=5)
    with pytest.raises(RiskError, match=r"max_daily_loss=0.25: the account lost \d\d.\d%"):
        step_through(account, crash, start=6, stop=6)
    assert step_through(account, crash, start=7, stop=7)[0].decision == "act"


def test_limits_that_make_no_sense_are_refused():
    for given in ({"max_weight": 0.0}, {"max_turnover": float("nan")}, {"max_orders": True}, {"allow": (1,)}):
        with pytest.raises(ParameterError, match="limit"):
            Limits(**given)
    with pytest.raises(ParameterError, match="there is no limit 'max_size'"):
        Limits().changed({"max_size": 1})


# -- 20: parity: see test_parity ----------


def test_the_command_line_says_who_holds_the_lock_and_exits_with_2(folder):
    panel = market()
    path = folder / "prices.csv"
    panel.to_frame().to_csv(path)
    account = PaperAccount.create(folder / "a", "pa", str(path))
    with Lock(account.folder):
        done = subprocess.run(
            [sys.executable, "-m", "tracker_strategies.papertrade", "step", str(account.folder)], capture_output=True, text=True
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"LockedError: {account.folder} is in use by process {os.getpid()}")
