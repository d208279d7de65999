"""The journal under a full disk, without permission, damaged, of another version, and fed with nonsense."""

import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.markets import random_panel
from tests.papertrade.harness import contents, in_a_process, open_account, state, step_through
from tracker_strategies import algorithms
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade import AccountConfig, PaperAccount, RiskLimits
from tracker_strategies.papertrade.deciding.checkpoint import Checkpoint, freeze, thaw
from tracker_strategies.papertrade.errors import JournalError, PaperError
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.views.exporting import tables_of
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import check_files, status_of


def market(n_bars=10):
    return random_panel(n_bars=n_bars, n_assets=4, seed=41, ohlc=True)


@pytest.fixture
def account(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=6)
    return account


# -- a disk that is full, a file that may not be written to ----------


def test_it_is_written_through_to_the_disk(account):
    with account.journal() as journal:
        assert journal.one("pragma journal_mode") == "wal"
        assert journal.one("pragma synchronous") == 2  # FULL
        assert journal.check() == "ok"


def test_a_full_disk_at_any_moment_loses_nothing(account, folder):
    """The files may not grow beyond a limit, which rises until the step gets through. The journal stays sound, and in the end
    the account is where it would have been."""
    panel = market()
    shutil.copytree(account.folder, folder / "quiet")
    step_through(PaperAccount(folder / "quiet"), panel, start=7, stop=7)
    told = []

    def work(size):
        def attempt():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
            try:
                PaperAccount(account.folder).step(panel.rows(0, 7))
            except PaperError as problem:
                os.write(pipe[1], str(problem).encode() + b"\n")
                os.kill(os.getpid(), 9)

        return attempt

    pipe = os.pipe()
    failures, size = 0, 2048
    while not in_a_process(work(size)):
        failures += 1
        size += 4096
        with sqlite3.connect(account.folder / "journal.db") as db:
            assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    os.close(pipe[1])
    with os.fdopen(pipe[0]) as messages:
        told = messages.read().splitlines()
    assert failures > 3
    assert told
    assert all("free disk space" in line or "writable" in line for line in told)
    assert state(account) == state(PaperAccount(folder / "quiet"))


def test_a_journal_that_has_reached_its_quota_says_so(account):
    with account.journal() as journal:
        pages = journal.one("pragma page_count")
        journal.db.execute(f"pragma max_page_count = {pages}")
        with (
            pytest.raises(JournalError, match=r"database or disk is full; .*nothing was changed; free disk space and step again"),
            journal.transaction("test") as db,
        ):
            db.executemany("insert into events (at, kind, text) values ('', '', ?)", [("x" * 4000,)] * 50)
        assert journal.check() == "ok"
        assert journal.one("select count(*) from events where kind = ''") == 0


def test_a_read_only_journal_is_named(account, monkeypatch):
    if os.geteuid() == 0:  # root may write to anything: the question is answered for it
        monkeypatch.setattr(os, "access", lambda *_: False)
    panel = market()
    before = state(account)
    (account.folder / "journal.db").chmod(0o444)
    with pytest.raises(JournalError, match=r"is not writable; make it and its folder writable \(chmod u\+w\)"):
        step_through(account, panel, start=7, stop=7)
    (account.folder / "journal.db").chmod(0o644)
    assert state(account) == before
    assert status_of(account).sessions == 6


def test_who_only_looks_cannot_change_anything(account):
    with (
        account.journal(readonly=True) as journal,
        pytest.raises(JournalError, match=r"readonly database.*chmod"),
        journal.transaction("x") as db,
    ):
        db.execute("delete from bars")
    assert len(contents(account.folder / "journal.db")["bars"]) == 6


# -- damage: see test_damage; versions: see test_conversion ----------


def test_another_database_is_no_journal(folder):
    with sqlite3.connect(folder / "journal.db") as db:
        db.execute("create table x (y)")
    with pytest.raises(JournalError, match="is not a journal of a paper account"):
        PaperAccount(folder)
    with pytest.raises(JournalError, match=r"no paper account at .*tracker paper init"):
        PaperAccount(folder / "nothing")


def use_everything(account):
    """All that reads the journal."""
    account = PaperAccount(account.folder)
    status_of(account, check=True)
    tables_of(account)
    report_of(account)
    account.step(market().rows(0, 8), verify=True)


def test_a_truncated_or_overwritten_journal_is_an_error_with_a_name(account, folder):
    """Random bytes at random places: either nothing that matters was hit, or the error is one of ours. Never a crash, and never a
    silent change of a price or a balance that is replayed."""
    rng = random.Random(7)
    with sqlite3.connect(account.folder / "journal.db") as db:
        db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    original = (account.folder / "journal.db").read_bytes()
    failed = 0
    for trial in range(60):
        place = folder / "damaged"
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(account.folder, place)
        for name in ("journal.db-wal", "journal.db-shm"):
            (place / name).unlink(missing_ok=True)
        data = bytearray(original)
        if trial % 6 == 0:
            data = data[: rng.randrange(len(data))]
        else:
            for _ in range(rng.choice((1, 20, 300))):
                at = rng.randrange(len(data))
                data[at : at + 8] = rng.randbytes(8)
        (place / "journal.db").write_bytes(data)
        try:
            use_everything(PaperAccount(place))
        except TrackerError:
            failed += 1
    assert failed > 30


def test_a_changed_price_or_balance_is_noticed(account):
    for table, column in (("bars", "prices"), ("balances", "sizes")):
        with sqlite3.connect(account.folder / "journal.db") as db:
            session, blob = db.execute(f"select session, {column} from {table} limit 1").fetchone()
            wrong = np.frombuffer(blob).copy()
            wrong[0] += 1e-9
            db.execute(f"update {table} set {column} = ? where session = ?", (wrong.tobytes(), session))
        db.close()
        with pytest.raises(
            JournalError, match=f"{table} of {session}: content differs from what was written; .* restore it from a copy"
        ):
            use_everything(account)
        with sqlite3.connect(account.folder / "journal.db") as db:
            db.execute(f"update {table} set {column} = ? where session = ?", (blob, session))
        db.close()
    use_everything(account)


def test_a_damaged_checkpoint_is_damage_like_any_other(account):
    with sqlite3.connect(account.folder / "journal.db") as db:
        db.execute("update checkpoints set state = replace(state, '1', '2')")
    db.close()
    with pytest.raises(JournalError, match=r"checkpoints of .*: content differs from what was written"):
        step_through(account, market(), start=7, stop=7)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.text() | JSON.map(json.dumps))
def test_nonsense_in_place_of_the_configuration_is_an_error_with_a_name(account, content):
    for key in ("config", "limits"):
        with sqlite3.connect(account.folder / "journal.db") as db:
            (old,) = db.execute("select value from meta where key = ?", (key,)).fetchone()
            db.execute("update meta set value = ? where key = ?", (content, key))
        db.close()
        try:
            read = PaperAccount(account.folder)
            assert isinstance(read.config, AccountConfig)
            assert isinstance(read.limits(), RiskLimits)
        except TrackerError:
            pass
        finally:
            with sqlite3.connect(account.folder / "journal.db") as db:
                db.execute("update meta set value = ? where key = ?", (old, key))
            db.close()


@settings(max_examples=300, deadline=None)
@given(text=st.text() | JSON.map(json.dumps) | st.binary().map(lambda b: b.decode("latin-1")))
def test_nonsense_in_place_of_a_snapshot_is_a_value_error(text):
    try:
        thaw(text)
    except ValueError:
        return


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_mangled_snapshot_is_a_value_error_or_a_snapshot(data):
    good = freeze((1.5, float("nan"), [np.arange(3.0), np.datetime64("2020-01-01")], {"a": (True, None)}))
    at = data.draw(st.integers(0, len(good) - 1))
    mangled = good[:at] + data.draw(st.characters()) + good[at + data.draw(st.integers(0, 3)) :]
    try:
        thaw(mangled)
    except ValueError:
        return


def test_a_snapshot_makes_only_objects_of_this_project():
    for text in (
        '{"o":["os.system",[]]}',
        '{"o":["backtest",[]]}',
        '{"e":["system","ls"]}',
        '{"s":{"d":[["algorithm","RiskLimits"]]}}',
        '{"s":{"d":[["algorithm","__loader__"]]}}',
        '{"s":{"d":[["algorithm","project_simplex"]]}}',
        '{"o":["tracker_strategies.strategies.tracker","Tracker",[]]}',  # as versions before the names wrote it
        '{"a":["|O",[1],"AAAAAAAAAAA=",true]}',
    ):
        with pytest.raises(ValueError, match=r"not a known learner|not a snapshot|too many values|OBJECT array"):
            thaw(text)


def test_a_learner_of_a_users_own_is_never_taken_for_one_of_ours():
    class PA(algorithms.PA):
        pass

    assert freeze(PA(3)) is None
    mine, ours = PA(3), algorithms.PA(3)
    assert type(thaw(freeze(ours))) is algorithms.PA
    assert freeze(algorithms.Holdings(3, learner=ours)) is not None
    assert freeze((ours, mine)) is None


def test_a_checkpoint_holds_no_module_paths(account):
    """A file that moves must not make it unreadable."""
    with account.journal(readonly=True) as journal:
        text = journal.one("select state from checkpoints")
    assert "tracker_strategies" not in text
    assert "numpy" not in text


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_is_frozen_thaws_exactly(thing):
    again = thaw(freeze(thing))
    assert again == thing
    assert repr(again) == repr(thing)


def test_a_checkpoint_survives_the_journal(account):
    with account.journal(readonly=True) as journal:
        text = journal.one("select state from checkpoints")
    point = Checkpoint.from_text(text)
    assert point.to_text() == text
    assert freeze(lambda: 0) is None  # a function cannot be written down


# -- looking while a step runs ----------


def test_status_does_not_wait_for_a_step(account):
    with account.journal() as writer, writer.transaction("test"):
        writer.note("x", "y")
        assert status_of(account).sessions == 6


def test_a_change_outside_a_transaction_is_refused(account):
    with account.journal() as journal, pytest.raises(sqlite3.OperationalError, match="user-defined function raised"):
        journal.db.execute("delete from positions")
    check_files(account)


def test_a_new_journal_is_there_whole_or_not_at_all(folder):
    place = folder / "nowhere" / "journal.db"
    with pytest.raises(JournalError, match="cannot write"):
        Journal.create(place, {})
    assert not place.parent.exists()
    code = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096));"
        + (
            "from tracker_strategies.papertrade.journal.journal import Journal; import sys;"
            "Journal.create(sys.argv[1],{'a':'b'*9999})"
        )
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder / "journal.db")], capture_output=True, text=True)
    assert "JournalError" in done.stderr
    assert not list(folder.glob("*journal*"))
