"""What can happen to a file."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

PAGE = 4096


def flip(data: bytearray, rng: Random) -> None:
    """One bit."""
    at = rng.randrange(len(data))
    data[at] ^= 1 << rng.randrange(8)


def flips(data: bytearray, rng: Random) -> None:
    """Many bits, anywhere."""
    for _ in range(rng.choice((5, 50))):
        flip(data, rng)


def overwrite(data: bytearray, rng: Random) -> None:
    """Some bytes in a row."""
    at = rng.randrange(len(data))
    some = rng.randbytes(rng.choice((1, 8, 64, 512)))
    data[at : at + len(some)] = some


def zero_page(data: bytearray, rng: Random) -> None:
    """A page, or half of one, of zeros."""
    at = _page(data, rng)
    size = rng.choice((PAGE, PAGE // 2, 512))
    data[at : at + size] = bytes(len(data[at : at + size]))


def swap_pages(data: bytearray, rng: Random) -> None:
    """Two pages, each in the other's place."""
    a, b = _page(data, rng), _page(data, rng)
    data[a : a + PAGE], data[b : b + PAGE] = data[b : b + PAGE], data[a : a + PAGE]


def double_page(data: bytearray, rng: Random) -> None:
    """A page that was written to another's place."""
    a, b = _page(data, rng), _page(data, rng)
    data[a : a + PAGE] = data[b : b + PAGE]


def cut(data: bytearray, rng: Random) -> None:
    """The end is missing."""
    end = rng.randrange(len(data))
    del data[end if rng.random() < 0.5 else end // PAGE * PAGE :]


def grow(data: bytearray, rng: Random) -> None:
    """Something behind the end."""
    data += rng.randbytes(rng.choice((1, 512, PAGE)))


def empty(data: bytearray, rng: Random) -> None:
    """Nothing is left in it."""
    data.clear()


def _page(data: bytearray, rng: Random) -> int:
    return rng.randrange(max(1, len(data) // PAGE)) * PAGE


#: Damages of the bytes of one file.
BYTES: dict[str, Callable[[bytearray, Random], None]] = {
    f.__name__: f for f in (flip, flips, overwrite, zero_page, swap_pages, double_page, cut, grow, empty)
}


def lost(path: Path, older: list[Path], rng: Random) -> str:
    """The file is gone."""
    path.unlink(missing_ok=True)
    return "gone"


def stale(path: Path, older: list[Path], rng: Random) -> str:
    """The file as it was a few sessions before."""
    before = rng.choice(older)
    if (before / path.name).exists():
        shutil.copyfile(before / path.name, path)
    else:
        path.unlink(missing_ok=True)
    return f"as in {before.name}"


def stale_page(path: Path, older: list[Path], rng: Random) -> str:
    """Some pages as they were a few sessions before: a write that did not reach the disk."""
    before = rng.choice(older)
    if not (before / path.name).exists() or not path.exists():
        return lost(path, older, rng)
    data, old = bytearray(path.read_bytes()), (before / path.name).read_bytes()
    different = [at for at in range(0, min(len(data), len(old)), PAGE) if data[at : at + PAGE] != old[at : at + PAGE]]
    for at in rng.sample(different, min(len(different), rng.choice((1, 2, 4)))):
        data[at : at + PAGE] = old[at : at + PAGE]
    path.write_bytes(data)
    return f"pages as in {before.name}"


def mixed(path: Path, older: list[Path], rng: Random) -> str:
    """The database with the log of another moment."""
    before = rng.choice(older)
    for name in (f"{path.name}-wal", f"{path.name}-shm"):
        if (before / name).exists() and rng.random() < 0.8:
            shutil.copyfile(before / name, path.with_name(name))
        else:
            path.with_name(name).unlink(missing_ok=True)
    return f"log as in {before.name}"


#: Damages by files of another moment.
FILES = {f.__name__: f for f in (lost, stale, stale_page, mixed)}


def changed_row(path: Path, rng: Random) -> str:
    """A value that somebody changed, or a row that somebody removed or doubled, with another program."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        tables = [r[0] for r in db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite%'")]
        table = rng.choice([t for t in tables if db.execute(f"select 1 from {t} limit 1").fetchone()])
        columns = [(r[1], r[2].lower()) for r in db.execute(f"pragma table_info({table})")]
        column, kind = rng.choice(columns)
        values = [r[0] for r in db.execute(f"select {column} from {table}")]
        value = rng.choice(values)
        if rng.random() < 0.25:
            db.execute(f"delete from {table} where {column} is ?", (value,))
            return f"deleted from {table} where {column} is {value!r:.40}"
        other: object = f"{value}x"
        if kind in ("real", "integer"):
            other = (value or 0) + rng.choice((1, -1, 100))
        elif kind == "blob":
            other = bytes(reversed(value or b"12345678"))
        db.execute(f"update or ignore {table} set {column} = ? where {column} is ?", (other, value))
        return f"{table}.{column} {value!r:.40} -> {other!r:.40}"


def with_old_times(path: Path, work: Callable[[], str]) -> str:
    """Do something to a file without leaving another time of change on it."""
    seen = path.stat() if path.exists() else None
    told = work()
    if seen is not None and path.exists():
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    return told
