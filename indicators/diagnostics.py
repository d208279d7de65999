"""What an algorithm says of itself, as lines: thresholds, step sizes, discount factors, weights of experts."""

from __future__ import annotations

import math
from typing import Any

from indicators.observers import TrackerObserver
from tracker_strategies.errors import ParameterError


def diagnostics_observer(*names: str, title: str = "Diagnostics") -> type[TrackerObserver]:
    """An Observer class that draws some of ``algorithm.diagnostics()``, one line each, for ``cerebro.addobserver``.

    backtrader fixes the lines of a class when it is made, and each algorithm has different figures: hence a function.

    Parameters
    ----------
    *names : str
        Keys of ``algorithm.diagnostics()``; NaN on bars without the key. ``strategy.diagnostic_lines`` lists those that show best
        how a tracker works.
    title : str
        Shown in the plot.

    Examples
    --------
    >>> from indicators import diagnostics_observer
    >>> from tracker_strategies import APASTracker
    >>> observer = diagnostics_observer(*APASTracker.diagnostic_lines)
    >>> observer.lines._getlines()[:1]
    ('eps',)
    """
    if not names:
        raise ParameterError("name at least one figure of algorithm.diagnostics()")
    bad = [name for name in names if not name.isidentifier()]
    if bad:
        raise ParameterError(f"{bad[0]!r} cannot be the name of a line; a name is letters, digits and underscores")

    def one_bar(self: Any) -> None:
        said = self._owner.algorithm.diagnostics()
        for line, name in zip(self.lines, names, strict=True):
            line[0] = said.get(name, math.nan)

    body = {"lines": names, "plotinfo": {"plotname": title}, "_bar": one_bar, "_needs": ("algorithm",)}
    return type("AlgorithmDiagnostics", (TrackerObserver,), {**body, "__module__": __name__, "__doc__": title})
