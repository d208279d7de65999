"""A strategy that changed, raises, or makes no sense: reported, and nothing is decided that was not meant."""

import pytest

from tests.papertrade.harness import books_balance, day, events, market, open_account, orders, step_through
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import StrategyError

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
    assert result.messages == [f"verified: a replay of {panel.n_bars} sessions reproduces the recorded decisions"]


def test_parameters_that_make_no_sense_are_refused_before_anything_is_written(folder):
    panel = market()
    for options, problem in (
        ({"params": {"epsilon": 1}}, "no parameter 'epsilon'"),
        ({"params": {"fill": "open"}}, "fill='open'"),
        ({"params": {"broker": "ordinary"}}, "broker='ordinary'"),
        ({"cash": -1.0}, "cash"),
        ({"faults": {"fire": 0.1}}, "unknown fault 'fire'"),
        ({"faults": {"reject": 2.0}}, "probability"),
        ({"params": {"eps": object()}}, "plain values"),
        ({"name": "a b"}, "letters and digits"),
        ({"clock": "sun"}, "clock='sun'"),
        ({"start": "soon"}, "not a date"),
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
