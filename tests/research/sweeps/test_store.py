"""Rows on disk: whole or not at all, each once, whoever is killed and however full the disk is."""

import json
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds.files import UNFINISHED
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.errors import LockedError, OutputError
from tracker_strategies.research.sweeps.asking.cells import Cell, Data, Window
from tracker_strategies.research.sweeps.running import store as module
from tracker_strategies.research.sweeps.running.store import SCHEMA, Store, in_use, read_batches, read_description, read_rows
from tracker_strategies.research.sweeps.running.worker import describe, failed

TOLD = {"asked": {"strategies": ["pa"]}, "cells": 3, "code": "c"}


def row(number, *, ok=True, bars=5):
    made = describe(Cell("pa", Data("synthetic"), Window(0, 0, 10), {"eps": float(number)}), "c")
    if not ok:
        return failed(made, ValueError("no"))
    path = np.full(bars, number, dtype=np.float32)
    made |= dict.fromkeys(METRIC_KEYS, float(number)) | {
        "n_bars": bars,
        "status": "ok",
        "error": "",
        "active": path,
        "excess": path,
    }
    return made | {"first_day": "a", "last_day": "b", "seconds": 0.0, "finished": float(number), "worker": ""}


def numbers(folder):
    return sorted(r["te_rms"] for r in read_rows(folder, ("te_rms", "status")).to_pylist() if r["status"] == "ok")


def files(folder, kind):
    return sorted((Path(folder) / "rows").glob(f"{kind}-*.parquet"))


def test_what_was_added_comes_back_with_its_types(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1))
        store.add(row(2, ok=False))
    table = read_rows(tmp_path, SCHEMA.names)
    assert table.schema.equals(SCHEMA)
    good, bad = sorted(table.to_pylist(), key=lambda r: r["status"], reverse=True)
    assert good["active"] == [1.0] * 5
    assert json.loads(good["params"]) == {"eps": 1}
    assert bad["te_rms"] is None
    assert bad["error"] == "ValueError: no"
    assert read_description(tmp_path) == TOLD


@settings(max_examples=25, deadline=None)
@given(
    batches=st.lists(st.integers(1, 5), min_size=1, max_size=12), least=st.integers(2, 4), group=st.integers(1, 7), data=st.data()
)
def test_packing_neither_loses_nor_repeats_a_row(tmp_path_factory, batches, least, group, data):
    folder = tmp_path_factory.mktemp("store")
    old = module.ROWS_PER_GROUP
    module.ROWS_PER_GROUP = group
    try:
        n = 0
        with Store(folder, TOLD) as store:
            for size in batches:
                for _ in range(size):
                    store.add(row(n))
                    n += 1
                store.flush()
                if data.draw(st.booleans()):
                    store.pack(least)
            assert numbers(folder) == list(range(n))
        assert numbers(folder) == list(range(n))
        assert len(files(folder, "part")) <= 1
    finally:
        module.ROWS_PER_GROUP = old


def test_a_crash_between_packing_and_tidying_shows_no_row_twice(tmp_path):
    with Store(tmp_path, TOLD) as store:
        for n in range(3):
            store.add(row(n))
            store.flush()
        kept = {p: p.read_bytes() for p in files(tmp_path, "part")}
    for path, content in kept.items():
        path.write_bytes(content)
    assert len(files(tmp_path, "part")) == 3
    assert len(files(tmp_path, "pack")) == 1
    assert sum(map(len, read_batches(tmp_path, ["key"]))) == 6
    assert numbers(tmp_path) == [0, 1, 2]


def test_a_finished_row_goes_before_a_failed_one_of_the_same_cell(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1, ok=False))
        store.flush()
        assert store.done() == {row(1)["key"]: False}
        assert store.done(retry=True) == {}
        store.add(row(1))
    assert [r["status"] for r in read_rows(tmp_path, ("status",)).to_pylist()] == ["ok"]


def test_leavings_of_a_killed_writer_are_not_read_and_are_swept_away(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1))
    torn = tmp_path / "rows" / f"part-0.parquet.12{UNFINISHED}"
    torn.write_bytes(b"PAR1 half of a file")
    assert numbers(tmp_path) == [1]
    with Store(tmp_path, TOLD):
        assert not torn.exists()


def test_a_damaged_file_is_named(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1))
    (only,) = files(tmp_path, "part")
    only.write_bytes(b"not parquet")
    with pytest.raises(OutputError, match=rf"{only.name}.*move it away"):
        read_rows(tmp_path)


def test_only_one_process_may_write(tmp_path):
    with Store(tmp_path, TOLD):
        assert in_use(tmp_path)
        with pytest.raises(LockedError, match=rf"in use by process {os.getpid()} on .*choose another folder with --out"):
            Store(tmp_path, TOLD)
    assert not in_use(tmp_path)
    with Store(tmp_path, TOLD):
        pass


def test_another_sweep_is_not_written_over(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1))
    other = {**TOLD, "asked": {"strategies": ["apas"]}}
    with pytest.raises(OutputError, match=r"holds another sweep.*--extend"):
        Store(tmp_path, other)
    with Store(tmp_path, other, extend=True) as store:
        store.add(row(2))
    assert numbers(tmp_path) == [1, 2]


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match="holds other things"):
        Store(tmp_path, TOLD)
    with pytest.raises(OutputError, match="it is a file"):
        Store(tmp_path / "thesis.tex", TOLD)
    with pytest.raises(OutputError, match="holds no sweep"):
        read_description(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@contextmanager
def small_files(limit):
    """No file may grow beyond `limit` bytes: what a full disk is to a writer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def fill(folder, limit):
    """Add long rows, each a file of its own, until there is no room."""
    store = Store(folder, TOLD)
    with small_files(limit), store:
        for n in range(200):
            store.add({**row(n), "active": np.random.default_rng(n).random(200).astype("float32")})
            store.flush()


@pytest.mark.parametrize("limit", [24_000, 40_000])
def test_a_full_disk_is_a_named_error_and_finished_rows_are_kept(tmp_path, limit):
    """A file may grow to `limit` bytes: single rows fit, a pack of 64 does not."""
    with pytest.raises(OutputError, match="File too large; the rows written before are kept"):
        fill(tmp_path, limit)
    assert numbers(tmp_path) == list(range(64))
    assert not list((tmp_path / "rows").glob(f"*{UNFINISHED}"))
    with Store(tmp_path, TOLD) as store:
        assert len(store.done()) == 64
        store.add(row(999))
    assert numbers(tmp_path) == [*range(64), 999]


def test_a_row_that_does_not_fit_leaves_nothing_half_written(tmp_path):
    with pytest.raises(OutputError, match="cannot write 1 rows"):
        fill(tmp_path, 1000)
    assert list((tmp_path / "rows").iterdir()) == []


def test_a_reader_sees_every_row_while_a_writer_packs(tmp_path, monkeypatch):
    """The parts vanish under the reader's hands after it has listed them."""
    with Store(tmp_path, TOLD) as store:
        for n in range(6):
            store.add(row(n))
            store.flush()
        real, opened = pq.ParquetFile, []

        def open_late(path):
            if not opened:
                store.pack(2)
            opened.append(path)
            return real(path)

        monkeypatch.setattr(module.pq, "ParquetFile", open_late)
        assert numbers(tmp_path) == list(range(6))
        assert len(opened) > 6


def test_rows_of_a_version_that_knew_fewer_figures_are_read_and_packed_with_the_others(tmp_path):
    with Store(tmp_path, TOLD) as store:
        store.add(row(1))
    (part,) = files(tmp_path, "part")
    pq.write_table(pq.read_table(part).drop_columns(["entry_bars", "entry_cost_bps"]), part)
    with Store(tmp_path, TOLD, extend=True) as store:
        store.add(row(2))
    assert not files(tmp_path, "part")  # both are in one pack now
    table = read_rows(tmp_path, SCHEMA.names)
    assert table.schema.equals(SCHEMA)
    assert sorted(r["entry_cost_bps"] or 0.0 for r in table.to_pylist()) == [0.0, 2.0]
    assert numbers(tmp_path) == [1.0, 2.0]
