"""Where results may be written: not inside the folder of another result, and over another one only when a user says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from datafeeds.files import json_text
from tracker_strategies.errors import OutputError

#: What a folder is, by a file in it.
KINDS = {
    "run.json": "a run",
    "sweep.json": "a sweep",
    "leaderboard.json": "a leaderboard",
    "journal.db": "a paper account",
}
#: The folder in a leaderboard that is a part of it.
PART_OF_A_LEADERBOARD = "sweep"


def check_outside(target: Path) -> None:
    """Raise :class:`OutputError` for a place inside the folder of a result: it would be replaced, or get lost, with it."""
    place = target.expanduser().absolute()
    for folder in place.resolve().parents:
        for file, kind in KINDS.items():
            own = kind == "a leaderboard" and place.name == PART_OF_A_LEADERBOARD and folder == place.resolve().parent
            if (folder / file).is_file() and not own:
                raise OutputError(f"{target} is inside {folder}, which is {kind}; choose a folder outside of it with --out")


def refuse_other(file: Path, now: Mapping[str, Any], *, key: str = "asked") -> None:
    """Raise :class:`OutputError` if a result is there that was asked for in another way.

    Parameters
    ----------
    file : Path
        JSON of the result that is there, if one is; what was asked for is under ``key``. One that does not tell, or that cannot
        be read, is nobody's: it may be replaced.
    now : mapping
        What is asked for now.
    """
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
        before = told[key] if key else told
    except (OSError, ValueError, KeyError, TypeError):
        return
    if not isinstance(before, dict):
        return
    wanted = json.loads(json_text(now))
    differences = [f"{name} was {_short(before.get(name))}, is {_short(wanted[name])} now" for name in _changed(before, wanted)]
    if differences:
        more = f", and {len(differences) - 3} more" if len(differences) > 3 else ""
        raise OutputError(
            f"{file.parent} holds another result: {', '.join(differences[:3])}{more}; choose another folder with --out, or "
            "replace it with --force"
        )


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names of what differs; what the result that is there does not tell, because it is older, is as it is now."""
    return [name for name in now if name in before and before[name] != now[name]]


def _short(value: Any) -> str:
    words = json.dumps(value)
    return words if len(words) <= 60 else words[:57] + "..."
