"""``cerebro.optstrategy``, backtrader's own way to run many parameters, works with our strategies and feeds too."""

import backtrader as bt
import pytest

from datafeeds import IndexData, synthetic_market
from tracker_strategies import PATracker, TrackingAnalyzer, backtest

EPS = (1e-4, 1e-3, 1e-2)


@pytest.mark.parametrize(("maxcpus", "optdatas"), [(1, True), (2, True), (2, False)])
def test_optstrategy_gives_the_figures_of_single_runs(maxcpus, optdatas):
    panel = synthetic_market(6, 80)
    cerebro = bt.Cerebro(stdstats=False, maxcpus=maxcpus, optdatas=optdatas)
    IndexData(panel).add_to(cerebro)
    cerebro.broker.setcash(1_000_000.0)
    cerebro.optstrategy(PATracker, eps=EPS)
    cerebro.addanalyzer(TrackingAnalyzer, _name="tracking")
    found = {run.params.eps: run.analyzers.tracking.get_analysis()["te_rms"] for (run,) in cerebro.run()}
    assert found == {eps: backtest(panel, "pa", {"eps": eps}).metrics()["te_rms"] for eps in EPS}
