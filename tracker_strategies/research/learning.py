"""A tracker that learns from a panel and decides nothing: what stands before the first decision of an account."""

from __future__ import annotations

from datafeeds import MarketPanel
from datafeeds.feeds.clock import PanelClock
from tracker_strategies.execution.gate import Bar, PanelGate
from tracker_strategies.research._fast_replay import is_plain
from tracker_strategies.strategies.tracker import Tracker


def learn(panel: MarketPanel, tracker: Tracker, *, after: int = -1) -> Bar:
    """Let a tracker learn from the rows after one to the last of a panel; return the last bar.

    The usual case, a complete panel and no limits, is learned in one go as in the replay; the outcome is the same to rounding.
    """
    clock = PanelClock(panel)
    gate = PanelGate(clock, panel.symbols, panel.targets)
    if after < 0 and panel.n_bars > 2 and is_plain(panel, tracker):
        levels, x = panel.target_close[:-1], panel.returns[:-1]
        y = tracker.target.returns(levels[:-1], levels[1:])
        tracker.run(x, y if tracker.target.each else y.tolist())
        for day in panel.dates[:-2] if tracker.schedule.every != 1 else ():
            tracker.schedule.due(day)
        after = panel.n_bars - 3  # the bar before the last is the first that it sees itself: the next return is measured from it
    for row in range(after + 1, panel.n_bars):
        clock.go_to(row)
        tracker.study(gate.read())
    return gate.read()
