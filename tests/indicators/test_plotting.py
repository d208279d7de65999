"""Plots without a screen: every figure is saved, the path returned is the file, and what is missing is said."""

import backtrader as bt
import matplotlib.pyplot as plt
import pytest

from datafeeds import IndexData
from indicators import PortfolioTrackingError, plot_to_file
from tests.markets import random_panel
from tracker_strategies import BuyAndHold, PATracker
from tracker_strategies.errors import DataError, OutputError, ParameterError

PANEL = random_panel(n_bars=30, n_assets=3, seed=2)


def cerebro_of(*strategies, **options):
    cerebro = bt.Cerebro(**options)
    IndexData(PANEL).add_to(cerebro)
    for strategy in strategies:
        cerebro.addstrategy(strategy)
    cerebro.addobserver(PortfolioTrackingError, period=5)
    return cerebro


class Idle(bt.Strategy):
    """A neighbour."""


def is_picture(path):
    return path.read_bytes()[:4] == b"\x89PNG" and plt.imread(path).std() > 0.02


def test_every_strategy_and_every_figure_has_a_file_and_the_first_is_returned(tmp_path):
    cerebro = cerebro_of(PATracker, Idle)
    cerebro.run()
    path = plot_to_file(cerebro, tmp_path / "new" / "both.png", numfigs=2, dpi=40)
    assert path == tmp_path / "new" / "both.png"
    files = sorted(p.name for p in path.parent.iterdir())
    assert files == ["both-2.png", "both-3.png", "both-4.png", "both.png"]
    assert all(is_picture(path.parent / name) for name in files)
    assert len({(path.parent / name).read_bytes() for name in files}) == 4
    assert plt.get_fignums() == []


def test_the_path_returned_is_the_file_that_was_written(tmp_path, monkeypatch):
    cerebro = cerebro_of(BuyAndHold)
    cerebro.run()
    monkeypatch.setenv("HOME", str(tmp_path))
    for asked, written in ((tmp_path / "bare", "bare.png"), ("~/home.png", "home.png"), (tmp_path / "a.b", None)):
        if written is None:
            with pytest.raises(ParameterError, match=r"'\.b'; choose one of .*\.png"):
                plot_to_file(cerebro, asked)
        else:
            path = plot_to_file(cerebro, asked, dpi=30)
            assert path == tmp_path / written
            assert path.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bare.png", "home.png"]


def test_the_callers_own_figures_stay_open(tmp_path):
    cerebro = cerebro_of(BuyAndHold)
    cerebro.run()
    mine = plt.figure(77)
    plot_to_file(cerebro, tmp_path / "plot.svg")
    assert plt.get_fignums() == [77]
    plt.close(mine)


def test_what_is_missing_is_said(tmp_path):
    cerebro = cerebro_of(BuyAndHold)
    with pytest.raises(DataError, match=r"call cerebro\.run\(\) before plot_to_file"):
        plot_to_file(cerebro, tmp_path / "plot.png")
    short = cerebro_of(BuyAndHold, exactbars=1)
    short.run()
    with pytest.raises(DataError, match="exactbars=1 keeps no lines"):
        plot_to_file(short, tmp_path / "plot.png")
    many = bt.Cerebro(maxcpus=1)
    IndexData(PANEL).add_to(many)
    many.optstrategy(BuyAndHold, lot=[0.0, 1.0])
    many.run()
    with pytest.raises(DataError, match="optstrategy keeps no lines"):
        plot_to_file(many, tmp_path / "plot.png")
    cerebro.run()
    with pytest.raises(OutputError, match="it is a folder"):
        plot_to_file(cerebro, tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="cannot write"):
        plot_to_file(cerebro, tmp_path / "file" / "plot.png")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert plt.get_fignums() == []
