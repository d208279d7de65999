"""What a tracker has learned, kept from one day to the next: the paper account's checkpoint in a file, bound to all it came from.

The state is that before a decision: what was ordered yesterday, and whether it was filled, is in today's holdings. A state that
does not fit, or cannot be read, is said and learned anew; the orders are the same either way.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from datafeeds.files import replace_file
from tracker_strategies.errors import OutputError
from tracker_strategies.execution.gate import Bar
from tracker_strategies.papertrade.deciding.checkpoint import Balance, Checkpoint
from tracker_strategies.research.learning import learn
from tracker_strategies.strategies.tracker import Tracker

FILE = "state.json"
FORMAT = 2


@dataclass(frozen=True)
class StateFolder:
    """A folder that keeps one state.

    Parameters
    ----------
    folder : Path
        Made when absent.
    bound_to : mapping
        What the state depends on beside the data, as plain values: strategy, parameters, costs, names, code.
    """

    folder: Path
    bound_to: Mapping[str, Any]

    def learned(self, panel: MarketPanel, tracker: Tracker) -> tuple[Tracker, Bar, list[str]]:
        """The tracker after all bars of a panel, from the kept state if it fits, and what a user should know."""
        found, why = self._read(panel)
        notes = [] if not why else [f"{self.folder / FILE} was not used: {why}; learned from the first bar"]
        point, kept = found if found is not None else (None, -1)
        if point is None:
            bar = learn(panel, tracker)
        else:
            tracker = point.tracker
            bar = learn(panel, tracker, after=kept) if kept < panel.n_bars - 1 else point.bar
        if why != LATER:
            notes += self._write(panel, tracker, bar)
        return tracker, bar, notes

    def _read(self, panel: MarketPanel) -> tuple[tuple[Checkpoint, int] | None, str]:
        """The state and the row that it stands at; or why there is none, empty where nothing was kept yet."""
        file = self.folder / FILE
        if not file.exists():
            return None, ""
        try:
            head, _, checkpoint = file.read_text(encoding="utf-8").partition("\n")
            told = json.loads(head)
            if told["format"] != FORMAT:
                return None, f"it has another format ({told['format']})"
            bound, rows, data = told["bound_to"], int(told["rows"]), str(told["data"])
            digests = [np.frombuffer(base64.b64decode(told[k], validate=True), dtype="<u8") for k in ("by_row", "by_name")]
            if not isinstance(bound, dict) or rows < 1 or len(digests[0]) != rows:
                raise ValueError("parts of it are missing")
            for key, value in self.bound_to.items():
                if bound.get(key) != value:
                    return None, f"it was kept with {_WORDS.get(key, key)}"
            if rows > panel.n_bars:
                return None, LATER
            if panel.rows(0, rows).fingerprint() != data:
                return None, _changed(panel, rows, *digests)
            return (Checkpoint.from_text(checkpoint), rows - 1), ""
        except (OSError, ValueError, KeyError, TypeError, AttributeError, binascii.Error) as problem:
            return None, f"it cannot be read ({' '.join(str(problem).split()) or type(problem).__name__})"

    def _write(self, panel: MarketPanel, tracker: Tracker, bar: Bar) -> list[str]:
        """Keep the state, whole or not at all."""
        text = Checkpoint(tracker, bar, Balance(0.0, np.zeros(panel.n_assets)), False).to_text()
        if text is None:
            return ["no state was kept: a learner or function defined by you cannot be stored"]
        by_row, by_name = _digests(panel, panel.n_bars)
        told = {
            "format": FORMAT,
            "session": panel.day(-1),
            "bound_to": dict(self.bound_to),
            "rows": panel.n_bars,
            "data": panel.fingerprint(),
            "by_row": base64.b64encode(by_row.astype("<u8").tobytes()).decode(),
            "by_name": base64.b64encode(by_name.astype("<u8").tobytes()).decode(),
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            replace_file(
                self.folder / FILE, f"{json.dumps(told)}\n{text}".encode()
            )  # two lines: in one, the longer would be escaped
        except OSError as problem:
            why = problem.strerror or problem
            raise OutputError(f"cannot keep the state in {self.folder}: {why}; choose another folder") from None
        return []


#: A state that is ahead of the data is left alone.
LATER = "it is of a later session than the last bar; the file is unchanged"
_WORDS = {
    "strategy": "another strategy",
    "params": "other parameters or limits",
    "index_weights": "other index weights (those without dates are new on every day: add a column date)",
    "costs": "other costs",
    "symbols": "other names",
    "targets": "another index",
    "code": "another version of the code",
}


def _digests(panel: MarketPanel, rows: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Short numbers that tell which dates, and which names, of two panels differ. The names are the targets first."""
    values = np.ascontiguousarray(np.hstack([panel.target_close[:rows], panel.close[:rows]]))
    values[np.isnan(values)] = np.nan  # one kind of them
    bits = values.view(np.uint64) + panel.dates[:rows].astype("datetime64[s]").astype(np.int64).astype(np.uint64)[:, None]

    def factors(n: int) -> NDArray[np.uint64]:
        return (np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) | np.uint64(1)

    return bits @ factors(bits.shape[1]), factors(len(bits)) @ bits


def _changed(panel: MarketPanel, rows: int, by_row: NDArray[np.uint64], by_name: NDArray[np.uint64]) -> str:
    """How the past differs from that of the state, in words."""
    here, there = _digests(panel, rows)
    days, names = np.flatnonzero(here != by_row), (*panel.targets, *panel.symbols)
    if not len(days):
        return "the past has changed: other opens, volumes or members than before"
    which = [name for name, differs in zip(names, there != by_name, strict=False) if differs]
    told = ", ".join(which[:3]) + (f" and {len(which) - 3} others" if len(which) > 3 else "")
    more = f" and on {len(days) - 1} other date{'s' if len(days) > 2 else ''}" if len(days) > 1 else ""
    return f"the past has changed: {told or 'prices'} on {panel.day(int(days[0]))}{more}"
