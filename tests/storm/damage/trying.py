"""One case of damage: drawn, done, and judged."""

from __future__ import annotations

import shutil
import sqlite3
import traceback
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.papertrade.harness import state
from tests.storm.damage.accounts import Accounts, Before, look_at
from tests.storm.damage.kinds import BYTES, FILES, changed_row, with_old_times
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade import PaperAccount

DATABASES = ("journal.db", "broker.db")
#: Kinds of damage; those of a file's bytes are drawn more often for the databases than for what is beside them.
KINDS = (*BYTES, *FILES, "changed_row")


@dataclass
class Result:
    """What came of one case: ``named`` tells the steps that named the damage, ``findings`` what went wrong."""

    case: str
    kind: str
    told: str
    named: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def try_case(accounts: Accounts, seed: int, index: int, kind: str | None = None) -> Result:
    """Damage a copy of an account, look at it, and step it."""
    rng = Random(f"{seed}:{index}")
    before = rng.choice(accounts.all)
    place = accounts.place / f"case{index}"
    shutil.copytree(before.folder, place)
    try:
        result = Result(f"{seed}:{index}", kind or rng.choice(KINDS), "")
        result.told = f"{before.name}, {_damage(place, before, result.kind, rng)}"
        _judge(place, accounts, before, result)
    finally:
        shutil.rmtree(place)
    return result


def _damage(place: Path, before: Before, kind: str, rng: Random) -> str:
    database = place / rng.choice(DATABASES)
    if kind == "changed_row":
        return f"{database.name}: {changed_row(database, rng)}"
    if kind in FILES:
        path = database if kind == "mixed" else place / (database.name + rng.choice(("", "", "-wal", "-shm", ".head")))
        return f"{path.name} {kind}: " + with_old_times(path, lambda: FILES[kind](path, before.older, rng))
    beside = [p for p in (place / f"{database.name}{end}" for end in ("-wal", "-shm", ".head")) if p.exists()]
    path = rng.choice(beside) if beside and rng.random() < 0.35 else database
    data = bytearray(path.read_bytes())
    if data:
        BYTES[kind](data, rng)
    hidden = rng.random() < 0.5
    told = with_old_times(path, lambda: str(path.write_bytes(data))) if hidden else str(path.write_bytes(data))
    return f"{path.name} {kind}, {told} bytes{', with its old time' if hidden else ''}"


def _judge(place: Path, accounts: Accounts, before: Before, result: Result) -> None:
    placed = _placed(place)
    try:
        if look_at(PaperAccount(place)) not in before.seen:
            result.findings.append("status and export show other values, and name nothing")
    except TrackerError as problem:
        result.named.append(f"look: {type(problem).__name__}: {problem}")
    except Exception as problem:
        result.findings.append(f"look: {_where(problem)}")
    try:
        PaperAccount(place).step(accounts.panel.rows(0, before.rows))
    except TrackerError as problem:
        result.named.append(f"step: {type(problem).__name__}: {problem}")
        now = _placed(place)
        if placed is not None and now is not None and now - placed:
            result.findings.append(f"{len(now - placed)} orders were sent before the damage was named: {problem}")
    except Exception as problem:
        result.findings.append(f"step: {_where(problem)}")
    else:
        try:
            same = state(PaperAccount(place)) == before.after
        except (TrackerError, sqlite3.Error, AssertionError) as problem:
            result.findings.append(f"the step went through, and left a damaged file: {problem!r:.200}")
        else:
            if not same:
                result.findings.append("the step went through, and ended elsewhere than one that was left alone")


def _placed(place: Path) -> set[str] | None:
    """Orders at the broker, where they can be read."""
    try:
        with closing(sqlite3.connect(f"{(place / 'broker.db').as_uri()}?mode=ro", uri=True)) as db:
            return {row[0] for row in db.execute("select cid from orders")}
    except (sqlite3.Error, ValueError):
        return None


def _where(problem: Exception) -> str:
    at = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem} ({Path(at.filename).name}:{at.lineno})"


def table(results: list[Result]) -> str:
    """Kinds of damage, and what came of them."""
    kinds = Counter(r.kind for r in results)
    lines = [f"{'damage':<14}{'cases':>7}{'named':>7}{'harmless':>10}{'failed':>8}"]
    for kind in sorted(kinds):
        own = [r for r in results if r.kind == kind]
        failed, named = sum(bool(r.findings) for r in own), sum(bool(r.named) for r in own)
        lines.append(f"{kind:<14}{len(own):>7}{named:>7}{sum(not r.named for r in own):>10}{failed:>8}")
    return "\n".join(lines)
