"""Files and folders that appear whole or not at all, and in the place of nothing else."""

import json
import os
import threading

import numpy as np
import pytest

from datafeeds.errors import OutputError
from datafeeds.files import UNFINISHED, json_text, remove_unfinished, replace_file, staged_file, staged_folder, write_json

FILES = {"study.json", "table.csv"}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "x"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    with pytest.raises(OSError, match="No such file"):
        replace_file(tmp_path / "nowhere" / "x", b"three")
    assert os.listdir(tmp_path) == ["x"]


def half_a_file(path):
    with staged_file(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt


def test_what_is_interrupted_leaves_the_older_file(tmp_path):
    path = tmp_path / "x"
    replace_file(path, b"old")
    with pytest.raises(KeyboardInterrupt):
        half_a_file(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]


def test_threads_that_write_one_file_leave_the_whole_of_one_of_them(tmp_path):
    texts = [bytes([65 + k]) * 100_000 for k in range(4)]
    threads = [threading.Thread(target=lambda t=t: [replace_file(tmp_path / "x", t) for _ in range(5)]) for t in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "x").read_bytes() in texts
    assert os.listdir(tmp_path) == ["x"]


def test_what_the_killed_left_is_swept_away_and_nothing_else(tmp_path):
    for name in (f"x.1{UNFINISHED}", f"x.1{UNFINISHED}-wal", f"y.1{UNFINISHED}", "x", "x.1"):
        (tmp_path / name).touch()
    remove_unfinished(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == ["x", "x.1", f"y.1{UNFINISHED}"]
    remove_unfinished(tmp_path / "*")
    assert sorted(os.listdir(tmp_path)) == ["x", "x.1"]


def test_json_is_valid_whatever_the_numbers_are(tmp_path):
    write_json(tmp_path / "a.json", {"b": np.array([1.0, np.nan]), "a": (np.inf, np.int64(3), True, None), 1: np.float64(0.1)})
    text = (tmp_path / "a.json").read_text()
    assert text.endswith("}\n")
    assert json.loads(text) == {"b": [1.0, None], "a": [None, 3, True, None], "1": 0.1}
    assert list(json.loads(text)) == ["b", "a", "1"]
    assert json_text([1, {}]) == "[\n  1,\n  {}\n]"


def put(target, text, *, fail=False):
    with staged_folder(target, "study", FILES) as stage:
        write_json(stage / "study.json", text)
        if fail:
            raise OSError(28, "No space left on device")


def test_a_folder_takes_the_place_of_an_older_one_of_its_kind(tmp_path):
    put(tmp_path / "deep" / "a", "one")
    (tmp_path / "deep" / "a" / "table.csv").touch()
    put(tmp_path / "deep" / "a", "two")
    assert os.listdir(tmp_path / "deep") == ["a"]
    assert os.listdir(tmp_path / "deep" / "a") == ["study.json"]
    assert json.loads((tmp_path / "deep" / "a" / "study.json").read_text()) == "two"


def test_a_full_disk_is_a_named_error_and_the_older_folder_stays(tmp_path):
    put(tmp_path / "a", "one")
    with pytest.raises(OutputError, match=r"cannot write to .*a: No space left on device; choose another folder with --out"):
        put(tmp_path / "a", "two", fail=True)
    assert os.listdir(tmp_path) == ["a"]
    assert json.loads((tmp_path / "a" / "study.json").read_text()) == "one"


@pytest.mark.parametrize(
    ("found", "said"), [("thesis.tex", "contains files that do not belong to a study"), ("table.csv", "no study.json")], ids=str
)
def test_anything_else_is_left_alone(tmp_path, found, said):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / found).write_text("mine")
    with pytest.raises(OutputError, match=said):
        put(tmp_path / "a", "new")
    assert (tmp_path / "a" / found).read_text() == "mine"


def test_a_file_and_the_folder_one_is_in_are_refused(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="it is a file"):
        put(tmp_path / "file", "new")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(OutputError, match="the current folder"):
        put(tmp_path / "here", "new")
