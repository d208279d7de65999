"""Rows on disk: small Parquet files that appear whole or not at all, packed into larger ones as they grow many.

    DIR/sweep.json             what was asked for
    DIR/rows/part-*.parquet    rows as they came in, a second or 256 of them at a time
    DIR/rows/pack-*.parquet    64 parts in one file

A row is found by its key. Should a crash leave a row in a part and in a pack, readers see it once.
"""

from __future__ import annotations

import io
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from datafeeds.files import UNFINISHED, remove_unfinished, replace_file, staged_file
from datafeeds.locks import holder_of, is_locked, locked
from tracker_strategies.analysis.metrics import COUNTS, METRIC_KEYS
from tracker_strategies.analysis.places import check_outside
from tracker_strategies.errors import OutputError

_PATH = pa.list_(pa.float32())
_INTEGERS = ("seed", "start", "score_from", "stop", "fold", "rung")
_TEXTS = (
    "key",
    "strategy",
    "params",
    "data",
    "targets",
    "sha",
    "fill",
    "costs",
    "engine",
    "mandate",
    "part",
    "code",
    "status",
    "error",
    "first_day",
    "last_day",
    "worker",
)
SCHEMA = pa.schema(
    [(name, pa.string()) for name in _TEXTS]
    + [(name, pa.int64()) for name in (*_INTEGERS, *COUNTS)]
    + [(name, pa.float64()) for name in ("cash", *(k for k in METRIC_KEYS if k not in COUNTS), "seconds", "finished")]
    + [("active", _PATH), ("excess", _PATH)]
)
#: Columns that differ from run to run of the same cell.
VOLATILE = ("seconds", "finished", "worker")
#: Everything but the paths.
PLAIN = tuple(name for name in SCHEMA.names if name not in ("active", "excess"))
ROWS_PER_PART, SECONDS_PER_PART, PARTS_PER_PACK, ROWS_PER_GROUP = 256, 1.0, 64, 1024


class Store:
    """The rows of one sweep, open for writing. Only one process at a time can have it.

    Parameters
    ----------
    folder : path
        Made if absent. Anything in it but a sweep is refused.
    told : mapping
        What was asked for, for ``sweep.json``. Where a sweep with rows is there already, as ``before``, its own description stays
        until :meth:`describe` is called.
    extend : bool, default False
        Add to a sweep that was asked for in other words; its rows stay and count as trials.

    Raises
    ------
    OutputError
        The folder holds something else, another sweep, or cannot be written.
    LockedError
        Another process has it.
    """

    def __init__(self, folder: str | Path, told: Mapping[str, Any], *, extend: bool = False) -> None:
        self.folder = Path(folder).expanduser()
        self._buffer: list[Mapping[str, Any]] = []
        self._since = time.monotonic()
        self.before = self._check(told, extend)
        with self._named_errors("the sweep's description"):
            (self.folder / "rows").mkdir(parents=True, exist_ok=True)
            self._lock = ExitStack()
            advice = "wait for it, or choose another folder with --out"
            self._lock.enter_context(locked(_lock_of(self.folder), self.folder, advice=advice))
            for part in (self.folder, self.folder / "rows"):
                remove_unfinished(part / "*")
        if self.before is None:
            self.describe(told)

    def describe(self, told: Mapping[str, Any]) -> None:
        """Write ``sweep.json``."""
        with self._named_errors("the sweep's description"):
            replace_file(self.folder / "sweep.json", f"{json.dumps(told, indent=2)}\n".encode())  # exactly: inf stays inf

    def _check(self, told: Mapping[str, Any], extend: bool) -> dict[str, Any] | None:
        """The description of a sweep with rows that is there already."""
        folder = self.folder
        check_outside(folder)
        if folder.exists() and not folder.is_dir():
            raise OutputError(f"cannot write to {folder}: it is a file; choose a folder")
        if not folder.is_dir() or not any(folder.iterdir()):
            return None
        if not (folder / "sweep.json").exists():
            there = {p.name for p in folder.iterdir() if not p.name.endswith(UNFINISHED)}
            if there <= {"rows", _lock_of(folder).name, holder_of(_lock_of(folder)).name}:
                return None
            raise OutputError(f"{folder} holds other things than a sweep; choose an empty or new folder with --out")
        before = read_description(folder)
        if not any((folder / "rows").glob("p*-*.parquet")):
            return None
        if before.get("asked") != json.loads(json.dumps(told["asked"])) and not extend:
            raise OutputError(f"{folder} holds another sweep; choose another folder with --out, or add to it with --extend")
        old, new = (told.get("data", {}) for told in (before, told))
        changed = [name for name in new if old.get(name, new[name]) != new[name]]
        if changed and not extend:
            raise OutputError(
                f"{folder} has the same sweep with other prices: {changed[0]} has changed; choose another folder with --out, or "
                "add to it with --extend"
            )
        return before

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        """Keep what came in, whatever happened; close."""
        try:
            self.flush()
            if kind is None:
                self.pack(least=2)
        except OutputError:
            if kind is None:
                raise
        finally:
            self._lock.close()

    def done(self, *, retry: bool = False) -> dict[str, bool]:
        """Keys that need not be run again, and whether their cells went well; with ``retry``, those of failed cells do."""
        seen: dict[str, bool] = {}
        for batch in read_batches(self.folder, ("key", "status")):
            for key, status in zip(batch["key"].to_pylist(), batch["status"].to_pylist(), strict=True):
                if status == "ok" or not retry:
                    seen[key] = seen.get(key, False) or status == "ok"
        return seen

    def done_by(self, code: str) -> set[str]:
        """Keys of the rows of one version of the code."""
        batches = read_batches(self.folder, ("key", "code"))
        pairs = (pair for batch in batches for pair in zip(batch["key"].to_pylist(), batch["code"].to_pylist(), strict=True))
        return {key for key, version in pairs if version == code}

    def add(self, row: Mapping[str, Any]) -> None:
        """Take in a row; it is on disk a second or 256 rows later, or when the store is closed."""
        if not self._buffer:
            self._since = time.monotonic()
        self._buffer.append(row)
        if len(self._buffer) >= ROWS_PER_PART or time.monotonic() - self._since >= SECONDS_PER_PART:
            self.flush()

    def flush(self) -> None:
        """Write what came in, and pack the parts if they have grown many."""
        rows = self._buffer
        if not rows:
            return
        table = pa.table({f.name: pa.array([row[f.name] for row in rows], f.type) for f in SCHEMA}, SCHEMA)
        content = io.BytesIO()
        pq.write_table(table, content, compression="zstd")
        with self._named_errors(f"{len(rows)} rows"):
            replace_file(self.folder / "rows" / _name("part"), content.getvalue())
        self._buffer = []  # only now: an interrupt before it finds them here
        self.pack(least=PARTS_PER_PACK)

    def pack(self, least: int) -> None:
        """Put all parts into one file if there are at least this many."""
        parts = sorted((self.folder / "rows").glob("part-*.parquet"))
        if len(parts) < least:
            return

        with self._named_errors("a pack of rows"):
            with (
                staged_file(self.folder / "rows" / _name("pack")) as file,
                pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer,
            ):
                waiting: list[pa.Table] = []
                for part in parts:
                    waiting.append(_in_schema(pq.read_table(part), SCHEMA.names))
                    if sum(map(len, waiting)) >= ROWS_PER_GROUP:
                        writer.write_table(pa.concat_tables(waiting).combine_chunks())
                        waiting = []
                if waiting:
                    writer.write_table(pa.concat_tables(waiting).combine_chunks())
            for part in parts:
                part.unlink()

    def _named_errors(self, what: str) -> _NamedErrors:
        return _NamedErrors(self.folder, what)


class _NamedErrors:
    """Turns a full disk or a missing permission into one line that says what was kept."""

    def __init__(self, folder: Path, what: str) -> None:
        self._folder, self._what = folder, what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: Any, problem: BaseException | None, __: Any) -> None:
        if isinstance(problem, OSError) and not isinstance(problem, OutputError):
            raise OutputError(
                f"cannot write {self._what} to {self._folder}: {problem.strerror or problem}; the rows written before are kept. "
                "Free disk space and run the same command to continue"
            ) from None


def _name(kind: str) -> str:
    """Sorts by time; unique whatever the clock does."""
    return f"{kind}-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"


def read_description(folder: str | Path) -> dict[str, Any]:
    """``sweep.json`` of a sweep."""
    path = Path(folder).expanduser() / "sweep.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise OutputError(f"{Path(folder)} holds no sweep (no sweep.json); name the folder given to --out") from None
    except (OSError, ValueError) as problem:
        raise OutputError(f"{path} cannot be read: {problem}") from None


def in_use(folder: str | Path) -> bool:
    """Whether a process is writing to it now."""
    return is_locked(_lock_of(Path(folder).expanduser()))


def _lock_of(folder: Path) -> Path:
    return folder / "lock"


def read_batches(folder: str | Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """All rows as record batches of a file each, rows in parts and packs alike: a key may come twice after a crash."""
    rows = Path(folder).expanduser() / "rows"
    seen: set[Path] = set()
    while True:
        new = [path for path in sorted(rows.glob("p*-*.parquet")) if path not in seen]
        if not new:
            return
        for path in new:  # what a driver packs meanwhile turns up in the next round
            seen.add(path)
            try:
                with pq.ParquetFile(path) as file:
                    for batch in file.iter_batches(batch_size=ROWS_PER_GROUP, columns=list(columns)):
                        yield _in_schema(batch, columns)
            except FileNotFoundError:
                continue
            except (OSError, pa.ArrowInvalid) as problem:
                raise OutputError(f"{path} cannot be read ({problem}); move it away, and its cells will be run again") from None


def _in_schema(rows: Any, columns: Sequence[str]) -> Any:
    """The columns of a table or batch; those that an older version of the package did not write are empty."""
    missing = [name for name in columns if name not in rows.schema.names]
    for name in missing:
        rows = rows.append_column(SCHEMA.field(name), pa.nulls(rows.num_rows, SCHEMA.field(name).type))
    return rows.select(list(columns)) if missing else rows


def read_rows(folder: str | Path, columns: Sequence[str] = PLAIN) -> pa.Table:
    """All rows, each key once (a finished one rather than a failed one), sorted by key: the order of work does not matter.

    Examples
    --------
    >>> from tracker_strategies.research.sweeps import Space, Sweep, read_rows, run_sweep
    >>> sweep = Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=("synthetic:n_assets=5,n_bars=120",))
    >>> summary = run_sweep(sweep, "sweep", jobs=1)
    >>> read_rows("sweep").num_rows
    3
    """
    wanted = tuple(dict.fromkeys((*columns, "key", "status")))
    schema = pa.schema([SCHEMA.field(name) for name in wanted])
    table = pa.Table.from_batches([b.select(wanted) for b in read_batches(folder, wanted)], schema)
    table = table.sort_by([("key", "ascending"), ("status", "descending")])
    keys = table["key"].to_pylist()
    first = [i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
    return (table if len(first) == len(keys) else table.take(first)).select(list(columns))
