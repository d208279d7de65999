"""A source that loses rows: sessions that the journal has and the source no longer shows. The journal keeps what it saw."""

from __future__ import annotations

import json

import numpy as np

from datafeeds import MarketPanel
from tracker_strategies.papertrade.journal.journal import Journal

#: Lost sessions that are named; more are counted.
_NAMED = 5


def note_lost_rows(journal: Journal, panel: MarketPanel) -> list[str]:
    """Say which sessions a source has lost since they were taken in, and write it down when that is new.

    A source that shows only the last years is told once; one with holes whenever there are more of them.
    """
    first, newest = journal.one("select min(session) from bars"), journal.one("select max(session) from bars")
    if first is None:
        return []
    later = panel.n_bars == 0 or panel.dates[0] > np.datetime64(first, "ns")
    begin = np.datetime64(first, "ns") if not later or panel.n_bars == 0 else panel.dates[0]
    end = np.datetime64(newest, "ns")
    shown = panel.dates[(panel.dates >= begin) & (panel.dates <= end)]
    holes = int(journal.one("select count(*) from bars where session >= ?", (str(begin)[:10],))) - len(shown)
    if holes <= 0 and not later:
        return []
    words = (
        [f"the source begins on {str(panel.dates[0])[:10]} now, but used to begin on {first}"] if later and panel.n_bars else []
    )
    if holes > 0:
        words.append(f"the source has lost {_named(journal, str(begin)[:10], shown, holes)}")
    text = "; ".join(words) + ". The journal keeps the bars it has recorded. Check that this is the right file"
    known, told = journal.one("select value from meta where key = 'lost_rows'"), [holes, bool(later)]
    before = json.loads(known) if known else [0, False]
    if holes > before[0] or (later and not before[1]):
        with journal.transaction("lost rows"):
            journal.note("data", text, newest)
            journal.set_meta("lost_rows", json.dumps(told))
    return [text]


def _named(journal: Journal, since: str, shown: np.ndarray, holes: int) -> str:
    have = {str(date.astype("datetime64[m]")) for date in shown}
    sessions = [row[0] for row in journal.rows("select session from bars where session >= ? order by session", (since,))]
    lost = [s for s in sessions if str(np.datetime64(s, "m")) not in have]
    rest = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    return f"{', '.join(lost[:_NAMED])}{rest} ({holes} sessions)"
