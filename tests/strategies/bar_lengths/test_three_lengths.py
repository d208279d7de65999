"""One market at one minute, one hour and one day: what does not depend on the length of a bar does not."""

import numpy as np
import pytest

from datafeeds import resample, session_hours
from tests.intraday import minute_market
from tracker_strategies import backtest
from tracker_strategies.algorithms import PA
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.strategies import TrackerStrategy

COSTS = CostModel(bps=5.0)
FIXED = {
    "weights": {"A0": 0.4, "A1": 0.3, "A2": 0.2, "A3": 0.1},
    "rebalance": "session-close",
    "calendar": "XNYS",
    "fill": "close",
}


@pytest.fixture(scope="module")
def markets():
    """Six weeks with the end of summer time, Thanksgiving and its half day among them."""
    minutes = minute_market("2024-10-28", "2024-12-06")
    return {"1 minute": minutes, "1 hour": resample(minutes, "hourly"), "1 day": resample(minutes, "daily")}


def session_closes(record):
    """Rows of a run that end a session."""
    days = record.dates.astype("datetime64[D]")
    return np.flatnonzero(np.r_[days[1:] != days[:-1], True])


@pytest.mark.parametrize("run", [backtest, replay])
def test_a_fixed_portfolio_that_trades_at_the_close_is_the_same_account(markets, run):
    found = {}
    for length, panel in markets.items():
        assert str(panel.bar_length) == length
        record = run(panel, "constant-weight", FIXED, costs=COSTS)
        closes = session_closes(record)
        traded = [part.sum() for part in np.split(record.turnover, closes[:-1] + 1)]
        paid = [part.sum() / record.value[0] for part in np.split(record.cost, closes[:-1] + 1)]
        found[length] = np.array([record.value[closes], traded, paid])
        assert record.metrics()["n_bars"] == panel.n_bars - closes[0] - 1  # scored from the first close on
    day = found["1 day"]
    assert day[1].sum() > 1.0
    assert day[2].sum() > 0.0
    for length in ("1 minute", "1 hour"):
        np.testing.assert_allclose(found[length], day, rtol=1e-9, atol=1e-9)


def test_figures_per_year_agree_within_sampling_error(markets):
    te, volatility, sessions = {}, {}, markets["1 day"].n_bars
    for length, panel in markets.items():
        record = replay(panel, "constant-weight", FIXED)
        year = record.periods_per_year
        te[length] = record.metrics()["te_rms"] * np.sqrt(year)
        moves = np.diff(np.log(record.value[record.entry.row :]))
        volatility[length] = moves.std() * np.sqrt(year)
    error = 4.0 / np.sqrt(2.0 * sessions)  # four standard errors of a volatility from that many days
    for figures in (te, volatility):
        for length in ("1 minute", "1 hour"):
            assert abs(figures[length] / figures["1 day"] - 1.0) < error


class Listening(PA):
    """Remembers what it was asked to return."""

    heard: list = []

    def update(self, x, y, **options):
        self.heard.append(y)
        return super().update(x, y, **options)


class ListeningTracker(TrackerStrategy):
    learner = Listening


def test_two_percent_a_year_are_two_percent_a_year(markets):
    for length, panel in markets.items():
        Listening.heard.clear()
        with pytest.warns(FutureWarning, match="enhance is now called margin"):
            record = backtest(panel, ListeningTracker, {"enhance": "2%", "rebalance": "once"})
        level = panel.target_close[:, 0]
        more = np.log1p(Listening.heard) - np.log(level[1:] / level[:-1])
        assert np.expm1(more.mean() * record.periods_per_year) == pytest.approx(0.02, abs=1e-9), length


def test_trades_are_at_the_closes_that_the_exchange_has(markets):
    record = backtest(markets["1 minute"], "constant-weight", FIXED)
    traded = np.unique(record.orders["date"].to_numpy().astype("datetime64[s]"))
    _, closes = session_hours("XNYS", "2024-10-28", "2024-12-06")
    np.testing.assert_array_equal(traded, closes[:-1])  # what is sent on the last bar fills no more
    assert np.datetime64("2024-11-29T13:00:00") in traded


def test_defaults_that_mean_time_are_the_same_time(markets):
    for length, factor in (("1 minute", 390), ("1 hour", 7), ("1 day", 1)):
        record = replay(markets[length].rows(0, 40 * factor), "least-squares", {"rebalance": "once"})
        told = [record.params[name] for name in ("listing_warmup", "delist_after", "review")]
        assert told == [20 * factor, 10 * factor, 20 * factor]
    weekly = resample(markets["1 day"], "weekly")
    assert replay(weekly, "least-squares").params["review"] == 20  # observations
