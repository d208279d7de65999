"""A backtrader Analyzer that tells whether the limits of a tracker were kept."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pandas as pd

from tracker_strategies.analysis.analyzers import HoldingsAnalyzer
from tracker_strategies.analysis.breaches import KINDS, bars_outside, breach_table, limits_told
from tracker_strategies.analysis.order_log import bar_dates


class MandateAnalyzer(HoldingsAnalyzer):
    """Where a tracker was outside its limits, and why.

    ``get_analysis()`` has decisions (bars with a decision in force), breaches_active, breaches_passive, breaches_forced and
    breaches_inherited (bars), idle_cash (mean share that limits left in cash) and a sentence. ``breaches`` is the table, one row
    per bar and limit: date, limit, item, value, bound, kind, reason; see :mod:`~tracker_strategies.analysis.breaches`. For a
    strategy without limits all figures are 0.
    """

    def start(self) -> None:
        """Forget an earlier run."""
        super().start()
        self._when: list[Any] = []
        self._keeper: Any = getattr(getattr(self.strategy, "tracker", None), "keeper", None)

    def next(self) -> None:
        """Close of a bar."""
        before = len(self._held)
        super().next()
        if len(self._held) > before:
            self._when.append(self.strategy.tracker.bar.date if self._keeper is not None else self.strategy.datetime[0])

    @property
    def breaches(self) -> pd.DataFrame | None:
        """The table; None for a strategy without limits."""
        decided = self.decisions
        if self._keeper is None or decided is None:
            return None
        return breach_table(self._keeper, self.symbols, bar_dates(self._when), self.weights, decided)

    def get_analysis(self) -> OrderedDict[str, Any]:
        """How the limits were kept."""
        table, decided = self.breaches, self.decisions
        found: OrderedDict[str, Any] = OrderedDict(decisions=0 if decided is None else int(decided.any(axis=1).sum()))
        for kind in KINDS:
            found[f"breaches_{kind}"] = bars_outside(table, kind)
        found["idle_cash"] = 0.0
        if table is not None and decided is not None:
            made = decided.sum(axis=1)
            made = made[made > 0.0]
            found["idle_cash"] = float((self._keeper.promised.total - made).clip(min=0.0).mean()) if len(made) else 0.0
            found["sentence"] = limits_told(table, found["decisions"])
        return found
