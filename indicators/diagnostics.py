"""What an algorithm says of itself, as lines: thresholds, step sizes, discount factors, weights of experts."""

from __future__ import annotations

import math
from typing import Any

from indicators.observers import TrackerObserver


def diagnostics_observer(*names: str, title: str = "Diagnostics") -> type[TrackerObserver]:
    """An Observer class that draws some of ``algorithm.diagnostics()``, one line each, for ``cerebro.addobserver``.

    backtrader fixes the lines of a class when it is made, and each algorithm has figures of its own: hence a function.

    Parameters
    ----------
    *names : str
        Keys of ``algorithm.diagnostics()``; a bar that does not have one of them shows NaN. ``strategy.diagnostic_lines`` lists
        those that a tracker is best judged by.
    title : str
        Shown in the plot.

    Examples
    --------
    >>> from tracker_strategies import APASTracker
    >>> observer = diagnostics_observer(*APASTracker.diagnostic_lines)
    >>> observer.lines._getlines()[:1]
    ('eps',)
    """
    if not names:
        raise ValueError("name at least one figure of algorithm.diagnostics()")
    bad = [name for name in names if not name.isidentifier()]
    if bad:
        raise ValueError(f"{bad[0]!r} cannot be the name of a line; a name is letters, digits and underscores")

    def next_bar(self: Any) -> None:
        algorithm = getattr(self._owner, "algorithm", None)
        if algorithm is None:
            raise TypeError(f"{type(self).__name__} watches trackers; {type(self._owner).__name__} has no algorithm")
        said = algorithm.diagnostics()
        for line, name in zip(self.lines, names, strict=True):
            line[0] = said.get(name, math.nan)

    body = {"lines": names, "plotinfo": {"plotname": title}, "next": next_bar, "__module__": __name__, "__doc__": title}
    return type("AlgorithmDiagnostics", (TrackerObserver,), body)
