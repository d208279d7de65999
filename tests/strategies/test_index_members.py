"""Only members of the index are held: what a strategy does when names join and leave it."""

from dataclasses import replace

import backtrader as bt
import numpy as np
import pytest

from datafeeds import IndexData, with_members
from tests.markets import random_panel
from tracker_strategies.errors import UniverseError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.testing.lookahead import check_no_lookahead

PARAMS = {"listing_warmup": 4, "delist_after": 5}
OUT, BACK = 20, 35


def point_in_time(panel=None):
    """S1 leaves the index after row 19 and is back from row 35 on; S3 joins at row 12. Both trade all the time."""
    panel = random_panel(n_bars=60, n_assets=5, seed=5, ohlc=True) if panel is None else panel
    day = [str(d)[:10] for d in panel.dates]
    always = {name: [(None, None)] for name in panel.symbols}
    return with_members(panel, {**always, "S1": [(None, day[OUT - 1]), (day[BACK], None)], "S3": [(day[12], None)]})


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
def test_a_name_that_leaves_the_index_is_sold_and_one_that_joins_may_be_held_at_once(strategy, fill):
    panel = point_in_time()
    run = backtest(panel, strategy, {**PARAMS, "fill": fill}, costs=CostModel(bps=5))
    assert (run.decisions[~panel.members] == 0.0).all()
    first = OUT if fill == "close" else OUT + 1  # the close of its first day outside, or the open after
    orders = run.orders[run.orders["symbol"] == "S1"].set_index("date")["size"]
    held = orders[orders.index < panel.dates[first]].sum()
    sold = orders[orders.index == panel.dates[first]]
    assert sold.sum() == pytest.approx(-held)  # in the market, with an order and its fee: it still trades
    assert held > 0.0 or strategy.alias_name != "equal-weight"
    assert (run.weights[OUT + 1 : BACK + 1, 1] == 0.0).all()
    assert run.decisions[BACK, 1] == 0.0  # as a listing, it enters at zero
    joined = run.orders[(run.orders["symbol"] == "S3")]
    assert (joined["date"] >= panel.dates[12]).all()
    assert np.isfinite(run.value).all()
    if fill == "close":
        np.testing.assert_allclose(run.weights[2:].sum(axis=1), 1.0, atol=1e-3)  # all cash is at work, but for the fees


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_nobody_knows_who_will_leave_or_join(strategy):
    panel = point_in_time(random_panel(n_bars=60, n_assets=6, seed=2, ohlc=True, gaps=True))
    check_no_lookahead(strategy, panel, PARAMS, cuts=(0.2, 0.31, 0.6), costs=CostModel(bps=5))
    a, b = (
        backtest(panel, strategy, PARAMS),
        backtest(replace(panel, members=panel.members | (panel.dates >= panel.dates[OUT])[:, None]), strategy, PARAMS),
    )
    np.testing.assert_array_equal(a.decisions[:OUT], b.decisions[:OUT])
    np.testing.assert_array_equal(a.value[:OUT], b.value[:OUT])


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_the_replay_and_ordinary_orders_obey_the_members_too(strategy):
    panel = point_in_time()
    truth = backtest(panel, strategy, PARAMS, costs=CostModel(bps=5))
    again = replay(panel, strategy, PARAMS, costs=CostModel(bps=5))
    np.testing.assert_array_equal(again.decisions, truth.decisions)
    np.testing.assert_allclose(again.value, truth.value, rtol=1e-9)
    slow = backtest(panel, strategy, {**PARAMS, "broker": "ordinary"}, costs=CostModel(bps=5))
    np.testing.assert_array_equal(slow.decisions, truth.decisions)
    np.testing.assert_allclose(slow.value, truth.value, rtol=1e-9)


def test_members_count_for_feeds_that_have_left_the_common_clock():
    """A date limit takes a feed off the panel's clock; the strategy then reads line by line, and knows the members still."""
    panel = point_in_time()
    cerebro = bt.Cerebro(stdstats=False)
    feeds = IndexData(panel).add_to(cerebro)
    feeds[-1].p.todate = panel.dates[-2].astype("datetime64[us]").item()
    seen = []

    class Spy(STRATEGIES[0]):
        def next(self):
            super().next()
            seen.append(self.weights)

    cerebro.addstrategy(Spy, **PARAMS)
    cerebro.run()
    assert (np.array(seen)[~panel.members] == 0.0).all()
    assert np.array(seen)[panel.members].max() > 0.0


def test_an_index_without_members_holds_what_it_can_or_says_so():
    panel = random_panel(n_bars=30, n_assets=2, seed=1)
    day = [str(d)[:10] for d in panel.dates]
    late = backtest(with_members(panel, {"S0": [(day[10], None)]}), "pa", PARAMS)
    assert (late.weights[:10] == 0.0).all()
    assert late.weights[-1, 0] > 0.99
    with pytest.raises(UniverseError, match=f"no asset can be held on {day[20]}: .*not in the index"):
        backtest(with_members(panel, {"S0": [(None, day[19])]}), "pa", PARAMS)


def test_a_name_that_leaves_while_it_is_halted_is_sold_when_it_trades_again():
    panel = point_in_time(random_panel(n_bars=60, n_assets=5, seed=5))
    cells = np.zeros(panel.close.shape, dtype=bool)
    cells[OUT - 1 : OUT + 2, 1] = True
    halted = replace(panel, close=np.where(cells, np.nan, panel.close))
    run = backtest(halted, "equal-weight", {**PARAMS, "fill": "close"})
    assert (run.decisions[OUT:BACK, 1] == 0.0).all()
    assert (run.weights[OUT : OUT + 3, 1] > 0.1).all()  # nobody could sell it
    assert (run.weights[OUT + 3 : BACK, 1] == 0.0).all()


def test_a_name_that_leaves_and_never_trades_again_is_settled():
    panel = point_in_time(random_panel(n_bars=60, n_assets=5, seed=5))
    cells = np.zeros(panel.close.shape, dtype=bool)
    cells[OUT:, 1] = True
    taken_over = replace(panel, close=np.where(cells, np.nan, panel.close))
    run = backtest(taken_over, "equal-weight", PARAMS)
    gone = OUT + PARAMS["delist_after"]
    assert run.weights[gone - 1, 1] > 0.1
    assert (run.weights[gone:, 1] == 0.0).all()
    assert not ((run.orders["symbol"] == "S1") & (run.orders["date"] >= panel.dates[OUT])).any()
