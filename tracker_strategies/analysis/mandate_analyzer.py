"""A backtrader Analyzer that tells whether the limits of a tracker were kept."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from tracker_strategies.analysis.analyzers import HoldingsAnalyzer
from tracker_strategies.analysis.breaches import bars_outside, limits_told
from tracker_strategies.analysis.metrics import LIMIT_KEYS


class MandateAnalyzer(HoldingsAnalyzer):
    """Where a tracker was outside its limits, and why.

    ``get_analysis()`` has breaches_active, breaches_passive, breaches_forced, idle_cash and unfilled as
    :mod:`~tracker_strategies.analysis.metrics` defines them, on the scored bars; and of the whole run decisions (bars with a
    decision in force), breaches_inherited (bars) and a sentence. ``breaches`` is the table of the whole run, one row per bar and
    limit: date, limit, item, value, bound, kind, reason; see :mod:`~tracker_strategies.analysis.breaches`. For a strategy without
    limits all figures are 0.

    Examples
    --------
    >>> import backtrader as bt
    >>> from datafeeds import IndexData, load_sample
    >>> from tracker_strategies import EnsembleTracker, MandateAnalyzer
    >>> cerebro = bt.Cerebro(stdstats=False)
    >>> feeds = IndexData(load_sample().rows(0, 100)).add_to(cerebro)
    >>> position = cerebro.addstrategy(EnsembleTracker, max_weight=0.1)
    >>> cerebro.addanalyzer(MandateAnalyzer, _name="limits")
    >>> int(cerebro.run()[0].analyzers.limits.get_analysis()["breaches_active"])
    0
    """

    def get_analysis(self) -> OrderedDict[str, Any]:
        """How the limits were kept."""
        table, decided, figures = self.breaches, self.decisions, super().get_analysis()
        found: OrderedDict[str, Any] = OrderedDict(decisions=0 if decided is None else int(decided.any(axis=1).sum()))
        found |= {key: figures.get(key, 0) for key in LIMIT_KEYS}
        found["breaches_inherited"] = bars_outside(table, "inherited")
        if table is not None:
            found["sentence"] = limits_told(table, found["decisions"])
        return found
