"""Observers draw what the analyzer measures: the blend that is tracked, holidays spanned, deposits no return."""

import math

import backtrader as bt
import numpy as np
import pandas as pd
import pytest

from datafeeds import IndexData, MarketPanel
from indicators import EffectiveHoldings, PortfolioExcessReturn, PortfolioTrackingError, Turnover, diagnostics_observer
from tests.indicators.test_by_date import ordinary
from tests.markets import random_panel
from tracker_strategies import BuyAndHold, PATracker, TrackingAnalyzer
from tracker_strategies.errors import ParameterError, TrackerError, UniverseError

MODES = [{}, {"runonce": False}, {"preload": False}, {"exactbars": -1}]
PERIOD = 8
BLEND = (0.7, 0.3)


def two_markets(holidays=True):
    """Prices of six names and of two indices of three each, which have holidays of their own."""
    base = random_panel(n_bars=60, n_assets=6, seed=3)
    frame = base.to_frame().drop(columns="INDEX")
    frame.insert(0, "EAST", frame[["S0", "S1", "S2"]].mean(axis=1))
    frame.insert(1, "WEST", frame[["S3", "S4", "S5"]].mean(axis=1))
    if holidays:
        frame.iloc[[10, 33, 34], 0] = np.nan
        frame.iloc[[20, 34, 59], 1] = np.nan
    return frame


def panel_of(frame):
    seen = frame[["EAST", "WEST"]].notna().to_numpy()
    names = tuple(frame.columns[2:])
    levels = frame[["EAST", "WEST"]].ffill().to_numpy()
    return MarketPanel(frame.index.to_numpy(), names, frame.iloc[:, 2:].to_numpy(), ("EAST", "WEST"), levels, target_seen=seen)


def run(add, *observers, strategy=PATracker, deposit=None, mode=None, **params):
    cerebro = bt.Cerebro(stdstats=False, **(mode or {}))
    add(cerebro)
    if strategy is not bt.Strategy:
        params = {"target": ("EAST", "WEST"), "blend": BLEND, **params}

    class Watched(strategy):
        def next(self):
            super().next()
            if deposit and len(self) in deposit:
                self.broker.add_cash(deposit[len(self)])

    cerebro.addstrategy(Watched, **params)
    for observer, options in observers:
        cerebro.addobserver(observer, **options)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    return cerebro.run()[0]


def drawn(result, number, alias):
    return np.array(getattr(result.observers[number].lines, alias).array)[: len(result)]


def by_hand(value, levels, omega, start):
    """Rolling error and cumulated excess of values against levels (NaN: none of its own), bar by bar, from a base row on."""
    rows = np.flatnonzero(np.isfinite(levels).all(axis=1))
    rows = rows[rows >= start]
    te, excess = np.full(len(value), math.nan), np.zeros(len(value))
    for t in range(len(value)):
        past = rows[rows <= t]
        r = value[past[1:]] / value[past[:-1]] - 1.0
        y = (levels[past[1:]] / levels[past[:-1]] - 1.0) @ omega
        excess[t] = (np.log1p(r) - np.log1p(y)).sum()
        if len(r) >= PERIOD:
            te[t] = (r - y)[-PERIOD:].std(ddof=1)
    return te, excess


ADD = {
    "panel": lambda cerebro: IndexData(panel_of(two_markets())).add_to(cerebro),
    "PandasData": lambda cerebro: ordinary(cerebro, two_markets()),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("feeds", ADD)
@pytest.mark.parametrize(("target", "omega"), [(None, BLEND), ("EAST", (1.0, 0.0)), ("WEST", (0.0, 1.0))])
def test_they_draw_the_blend_that_is_tracked_or_the_index_that_is_named(feeds, mode, target, omega):
    options = {"target": target}
    watched = (PortfolioTrackingError, {"period": PERIOD, **options}), (PortfolioExcessReturn, options)
    result = run(ADD[feeds], *watched, mode=mode)
    levels = two_markets()[["EAST", "WEST"]].to_numpy()
    which = [j for j in (0, 1) if omega[j]]
    tracking = result.analyzers.tracking
    te, excess = by_hand(tracking.value, levels[:, which], np.array(omega)[which], tracking.entry.row)
    np.testing.assert_allclose(drawn(result, 0, "te"), te, rtol=1e-9)
    np.testing.assert_allclose(drawn(result, 1, "excess"), excess, atol=1e-12)


@pytest.mark.parametrize("fill", ["next_open", "open", "close"])
@pytest.mark.parametrize("feeds", ADD)
def test_the_last_value_is_the_figure_of_the_analyzer(feeds, fill):
    bars = int(run(ADD[feeds], fill=fill).analyzers.tracking.get_analysis()["n_bars"])
    assert bars == {"next_open": 53, "open": 53, "close": 54}[fill]
    watched = (PortfolioTrackingError, {"period": bars}), (PortfolioExcessReturn, {})
    result = run(ADD[feeds], *watched, fill=fill)
    figures = result.analyzers.tracking.get_analysis()
    assert drawn(result, 0, "te")[-1] == pytest.approx(figures["te_centred"], rel=1e-9)
    assert drawn(result, 1, "excess")[-1] == pytest.approx(figures["excess_log_return"], abs=1e-12)


def test_a_blend_is_not_the_first_index():
    watched = [(PortfolioTrackingError, {"period": PERIOD, "target": target}) for target in (None, "EAST")]
    result = run(ADD["panel"], *watched)
    blend, first = (np.nanmean(drawn(result, i, "te")) for i in (0, 1))
    assert first > 1.5 * blend


@pytest.mark.parametrize("amount", [3_000.0, -2_000.0])
def test_money_that_comes_in_or_goes_out_is_no_return(amount):
    watched = (PortfolioTrackingError, {"period": PERIOD}), (PortfolioExcessReturn, {})
    plain, moved = (
        run(ADD["panel"], *watched, fill="close", deposit=deposit) for deposit in (None, {12: amount, 33: 0.5 * amount})
    )
    assert moved.broker.getvalue() != pytest.approx(plain.broker.getvalue(), rel=0.01)
    for number, alias in ((0, "te"), (1, "excess")):
        np.testing.assert_allclose(drawn(moved, number, alias), drawn(plain, number, alias), rtol=1e-9, atol=1e-12)


def test_a_strategy_of_other_origin_is_watched_against_its_index():
    class Half(bt.Strategy):
        def next(self):
            if len(self) == 3:
                self.buy(self.getdatabyname("S0"), size=20)

    cerebro = bt.Cerebro(stdstats=False)
    panel = random_panel(n_bars=40, n_assets=2, seed=1)
    IndexData(panel).add_to(cerebro)
    cerebro.addstrategy(Half)
    cerebro.addobserver(PortfolioExcessReturn)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    result = cerebro.run()[0]
    tracking = result.analyzers.tracking
    assert tracking.entry.row == 3
    _, excess = by_hand(tracking.value, panel.target_close, np.ones(1), 3)
    np.testing.assert_allclose(drawn(result, 0, "excess"), excess, atol=1e-12)


@pytest.mark.parametrize("observer", [Turnover, EffectiveHoldings, diagnostics_observer("eps")])
def test_what_only_a_tracker_knows_is_refused_beside_another_strategy(observer):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(random_panel()).add_to(cerebro)
    cerebro.addstrategy(bt.Strategy)
    cerebro.addobserver(observer)
    with pytest.raises(TrackerError, match=r"works with trackers only; Strategy has no .* separate cerebro"):
        cerebro.run()


@pytest.mark.parametrize("period", [0, 1, -3, 2.5, "63", True])
def test_a_window_that_has_no_error_is_refused_by_name(period):
    with pytest.raises(ParameterError, match="period="):
        run(ADD["panel"], (PortfolioTrackingError, {"period": period}))


def test_an_index_that_is_not_there_is_refused_by_name():
    with pytest.raises(UniverseError, match="'NORTH'"):
        run(ADD["panel"], (PortfolioExcessReturn, {"target": "NORTH"}))


def test_a_turn_without_a_bar_repeats_what_was_drawn():
    """A resampled feed has turns of its own; nothing is counted twice on them, and fills there are not lost."""
    frame = random_panel(n_bars=60, n_assets=3, seed=8, ohlc=False).to_frame()

    def add(cerebro, weekly):
        for name in frame:
            bars = pd.DataFrame(dict.fromkeys(("open", "high", "low", "close"), frame[name])).assign(volume=0.0)
            feed = bt.feeds.PandasData(dataname=bars, name=name)
            cerebro.adddata(feed)
            if weekly and name == "INDEX":
                cerebro.resampledata(feed, timeframe=bt.TimeFrame.Weeks, name="weekly")

    ends = []
    for weekly in (False, True):
        watched = (PortfolioTrackingError, {"period": PERIOD}), (PortfolioExcessReturn, {}), (Turnover, {})
        result = run(lambda c, weekly=weekly: add(c, weekly), *watched, strategy=BuyAndHold, target="INDEX", blend=None)
        last = [drawn(result, number, alias)[-1] for number, alias in ((0, "te"), (1, "excess"))]
        ends.append((*last, drawn(result, 2, "turnover").sum()))
    assert ends[0] == pytest.approx(ends[1], rel=1e-9)
