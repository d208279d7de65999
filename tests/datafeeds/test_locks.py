"""One holder at a time, whoever dies in between; and a message that names the holder."""

import json
import os
import threading
import time

import pytest

from datafeeds.errors import LockedError
from datafeeds.locks import holder_of, is_locked, locked
from tests.datafeeds.yahoo.test_cache import child

HOLDS = """
import sys, time
from pathlib import Path
from datafeeds.locks import locked
with locked(Path(sys.argv[1]), "AAA", timeout=5.0):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_a_lock_keeps_another_process_out_until_its_holder_dies(tmp_path):
    path = tmp_path / "AAA.lock"
    holder = child(HOLDS, path)
    holder.stdout.readline()
    with (
        pytest.raises(LockedError, match=rf"AAA is in use by process {holder.pid} on .* since .*; wait until it is done"),
        locked(path, "AAA", timeout=0.1),
    ):
        pass
    holder.kill()
    holder.wait()
    holder.stdout.close()
    assert not is_locked(path)  # whatever the dead has left
    with locked(path, "AAA"):
        assert json.loads(holder_of(path).read_text())["pid"] == os.getpid()
        assert is_locked(path)
    assert not holder_of(path).exists()


def test_a_lock_that_was_given_back_can_be_taken_again(tmp_path):
    path = tmp_path / "AAA.lock"
    for _ in range(3):
        with locked(path, "AAA"), pytest.raises(LockedError), locked(path, "AAA"):
            pass


def test_threads_of_one_process_keep_each_other_out(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(20):
            with locked(tmp_path / "AAA.lock", "AAA", timeout=60.0):
                inside.append(1)
                most.append(len(inside))
                time.sleep(1e-4)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 60


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_who_may_only_look_sees_that_a_lock_is_held(tmp_path):
    path = tmp_path / "AAA.lock"
    with locked(path, "AAA"):
        path.chmod(0o444)
        assert is_locked(path)
    assert not is_locked(path)


COUNTS = """
import sys
from pathlib import Path
from datafeeds.locks import locked
place = Path(sys.argv[1])
for _ in range(200):
    with locked(place / "n.lock", "n", timeout=30.0):
        n = int((place / "n").read_text())
        (place / "n").write_text(str(n + 1))
"""


def test_processes_that_take_turns_lose_nothing(tmp_path):
    (tmp_path / "n").write_text("0")
    for process in [child(COUNTS, tmp_path) for _ in range(3)]:
        assert process.wait(timeout=60) == 0
        process.stdout.close()
    assert (tmp_path / "n").read_text() == "600"
