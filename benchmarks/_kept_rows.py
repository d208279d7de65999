"""Finished rows of a long benchmark, kept on disk: one that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracker_strategies._fingerprint import code_version

Row = dict[str, Any]

#: Beside the sources, in a folder that is not part of them.
FOLDER = Path(__file__).resolve().parents[1] / "runs" / "benchmarks"


class KeptRows:
    """Rows by their keys, for as long as the sources that decide them are the same.

    Parameters
    ----------
    name : str
        Of the benchmark: the file is ``runs/benchmarks/NAME.jsonl``.
    """

    def __init__(self, name: str) -> None:
        self.path, self._code = FOLDER / f"{name}.jsonl", code_version()
        self._rows: dict[str, Row] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    kept = json.loads(line)
                except json.JSONDecodeError:
                    continue  # cut off while it was written: to be found again
                if kept.get("code") == self._code:
                    self._rows[kept["key"]] = kept["row"]

    def row(self, key: str, find: Callable[[], Row]) -> Row:
        """The row of that key: the one kept, or what is found now, which is kept from here on."""
        if key not in self._rows:
            self._rows[key] = find()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"code": self._code, "key": key, "row": self._rows[key]}) + "\n")
        return self._rows[key]
