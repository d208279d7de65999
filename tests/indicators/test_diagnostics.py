"""What an algorithm says of itself: drawn by an observer, kept by an analyzer, written to the run folder."""

import backtrader as bt
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from datafeeds import IndexData
from indicators import EffectiveHoldings, PortfolioTrackingError, Turnover, diagnostics_observer, plot_to_file
from tests.markets import random_panel
from tracker_strategies import APASTracker, BuyAndHold, DiagnosticsAnalyzer
from tracker_strategies.algorithms import APAS
from tracker_strategies.analysis.runfolder import write_run
from tracker_strategies.runner import backtest
from tracker_strategies.strategies import STRATEGIES

PANEL = random_panel(60, 4, seed=5)


def run(observer, strategy=APASTracker):
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(strategy)
    cerebro.addobserver(observer)
    cerebro.addanalyzer(DiagnosticsAnalyzer, _name="diagnostics")
    return cerebro, cerebro.run()[0]


def test_lines_table_and_the_algorithm_itself_agree(tmp_path):
    cerebro, strategy = run(diagnostics_observer("eps", "tau", title="APAS"))
    lines, table = strategy.observers[0].lines, strategy.analyzers.diagnostics.table
    learner, expected = APAS(4), []
    y = PANEL.target_close[1:, 0] / PANEL.target_close[:-1, 0] - 1.0
    for t in range(60):
        if t:
            learner.update(PANEL.returns[t - 1], float(y[t - 1]))
        expected.append([learner.diagnostics()[k] for k in ("eps", "tau")])
    np.testing.assert_allclose(table[["eps", "tau"]], expected, rtol=1e-12)
    np.testing.assert_array_equal(lines.eps.array[:60], table["eps"])
    np.testing.assert_array_equal(lines.tau.array[:60], table["tau"])
    assert strategy.analyzers.diagnostics.get_analysis()["eps"] == table["eps"].iloc[-1]
    plot_to_file(cerebro, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_error_turnover_holdings_and_diagnostics_are_drawn_together_without_a_screen(tmp_path, monkeypatch):
    drawn, save = {}, Figure.savefig

    def look(figure, *words, **options):
        for axes in figure.axes:
            for line in axes.get_lines() if (legend := axes.get_legend()) else ():
                drawn.setdefault(legend.get_texts()[0].get_text().split(" (")[0].splitlines()[0], []).append(line.get_ydata())
        save(figure, *words, **options)

    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(Figure, "savefig", look)
    cerebro = bt.Cerebro(stdstats=False)
    IndexData(PANEL).add_to(cerebro)
    cerebro.addstrategy(APASTracker)
    cerebro.addobserver(PortfolioTrackingError, period=10)
    for observer in (Turnover, EffectiveHoldings, diagnostics_observer("eps", "tau")):
        cerebro.addobserver(observer)
    (strategy,) = cerebro.run()
    picture = plt.imread(plot_to_file(cerebro, tmp_path / "watched.png", width=10, height=8, dpi=50))
    assert picture.std() > 0.05
    assert {"Tracking error", "Holdings", "Diagnostics"} <= set(drawn)  # turnover has bars, no lines
    for name, observer, line in (("Tracking error", 0, "te"), ("Holdings", 2, "effective"), ("Diagnostics", 3, "tau")):
        expected = np.array(getattr(strategy.observers[observer].lines, line).array)
        shown = [np.asarray(y, dtype=float) for y in drawn[name]]
        assert any(len(y) == 60 and np.array_equal(y, expected[:60], equal_nan=True) for y in shown), name


def test_a_figure_that_nobody_tells_is_a_gap_not_an_error():
    _, strategy = run(diagnostics_observer("eps", "unheard_of"))
    assert np.isnan(strategy.observers[0].lines.unheard_of.array).all()


def test_names_must_be_lines():
    for bad in ((), ("two words",)):
        with pytest.raises(ValueError, match="name"):
            diagnostics_observer(*bad)


def test_only_trackers_have_an_algorithm():
    with pytest.raises(TypeError, match="no algorithm"):
        run(diagnostics_observer("eps"), bt.Strategy)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_every_strategy_tells_the_figures_that_it_promises(strategy):
    said = backtest(PANEL, strategy, diagnostics=True).diagnostics
    assert len(said) == 60
    assert set(strategy.diagnostic_lines) <= set(said.columns)


def test_the_run_folder_keeps_them(tmp_path):
    record = backtest(PANEL, "apas", diagnostics=True)
    write_run(record, tmp_path / "run", PANEL)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "run" / "diagnostics.parquet"), record.diagnostics, check_freq=False)
    assert len(record.since(0.5).diagnostics) == 31
    write_run(backtest(PANEL, BuyAndHold, diagnostics=True), tmp_path / "other", PANEL)
    assert not (tmp_path / "other" / "diagnostics.parquet").exists()
