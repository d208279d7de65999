"""Damage, loss and copies of the account's files: harmless, or named before anything is sent."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from typer.testing import CliRunner

from tests.markets import random_panel
from tests.papertrade.harness import books_balance, in_a_process, open_account, orders, state, step_through
from tests.storm.damage.accounts import accounts
from tests.storm.damage.trying import KINDS, try_case
from tracker_strategies.cli.accounts.asking import app
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import BrokerError, JournalError, ReconcileError
from tracker_strategies.papertrade.journal.head import HeadFile, stamp_of
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.journal.schema import FORM
from tracker_strategies.papertrade.views.status import check_files, status_of

PANEL = random_panel(n_bars=10, n_assets=4, seed=41, ohlc=True)


@pytest.fixture
def account(folder):
    account = open_account(folder / "a", PANEL)
    step_through(account, PANEL, stop=6)
    return account


def next_step(account, **options):
    return PaperAccount(account.folder).step(PANEL.rows(0, 7), **options)


def edit(path, statement):
    """As another program does it."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(statement)


# -- a storm of each kind ----------


def test_a_small_storm_of_damages():
    """The whole one: python -m tests.storm journals."""
    with accounts() as all_of_them:
        results = [try_case(all_of_them, 0, index, kind) for index, kind in enumerate(KINDS * 3)]
    assert not [(r.case, r.kind, r.told, r.findings) for r in results if r.findings]
    assert sum(bool(r.named) for r in results) > len(results) // 3


# -- every row ----------


@pytest.mark.parametrize("table", FORM.parts)
def test_a_changed_removed_or_added_row_of_any_table_stops_every_command(account, table):
    with account.journal() as journal, journal.transaction("test"):
        if not journal.rows(f"select 1 from {table}"):
            journal.note("test", "so that there is one")
            journal.db.execute(
                "insert into actions (session, symbol, kind, origin) values ('2020-01-01', 'S0', 'rename', 'file')"
            )
    before = (account.folder / "journal.db").read_bytes()
    column = FORM.shape.columns[table][-1]
    first = f"rowid = (select min(rowid) from {table})"
    for statement in (
        f"update {table} set {column} = case typeof({column}) when 'blob' then zeroblob(length({column})) "
        f"when 'text' then {column} || 'x' else coalesce({column}, 0) + 1 end where {first}",
        f"delete from {table} where {first}",
    ):
        edit(account.folder / "journal.db", statement)
        for command in (
            lambda: next_step(account),
            lambda: next_step(account, verify=True),
            lambda: status_of(PaperAccount(account.folder)),
            lambda: PaperAccount(account.folder).change_limits({"max_orders": 9}),
        ):
            with pytest.raises(
                JournalError, match=rf"{table}.*: content differs from what was written; .*restore it from a copy"
            ):
                command()
        for name in ("journal.db-wal", "journal.db-shm"):
            (account.folder / name).unlink(missing_ok=True)
        (account.folder / "journal.db").write_bytes(before)
    assert next_step(account).sent > 0


def test_rot_that_no_clock_tells_is_found_in_what_a_step_reads(account):
    """Bits that change by themselves leave the file's times as they were; then the seals of what is read tell."""
    path = account.folder / "journal.db"
    edit(path, "update positions set size = size + 1 where symbol = 'S1'")
    head = HeadFile(path)
    with Journal(path, readonly=True, quick=True) as journal:
        head.write(journal.seals.last_link(), stamp_of(path))
    with pytest.raises(JournalError, match="positions: content differs from what was written"):
        next_step(account)


def test_damage_to_the_brokers_file_is_named_too(account):
    edit(account.folder / "broker.db", "update account set cash = cash + 1000")
    for command in (lambda: next_step(account), lambda: status_of(PaperAccount(account.folder), check=True)):
        with pytest.raises(BrokerError, match=r"broker\.db: account: content differs from what was written"):
            command()
    assert len(orders(account, "status = 'intent'")) == 0


# -- the head ----------


def test_a_journal_that_is_behind_its_head_is_named_and_a_copy_on_purpose_goes_on(account, folder):
    shutil.copytree(account.folder, folder / "copy")
    next_step(account)
    quiet = state(account)
    for name in ("journal.db", "broker.db"):
        shutil.copyfile(folder / "copy" / name, account.folder / name)
    with pytest.raises(JournalError, match=r"ends with commit \d+, but \S+ records commit \d+.*--from-copy"):
        next_step(account)
    with pytest.raises(JournalError, match="an older copy"):
        status_of(PaperAccount(account.folder))
    assert next_step(account, from_copy=True).sent > 0
    with PaperAccount(account.folder).journal() as journal:
        assert journal.one("select count(*) from events where kind = 'copy'") == 1
    check_files(account)
    after = state(account)
    after["journal"].pop("events")
    quiet["journal"].pop("events")
    assert after == quiet
    PaperAccount(account.folder).step(PANEL.rows(0, 8))


def test_a_copy_with_its_head_needs_no_word(account, folder):
    shutil.copytree(account.folder, folder / "copy")
    next_step(account)
    moved = PaperAccount(folder / "copy")
    next_step(moved)
    assert state(moved) == state(account)


def test_a_damaged_copy_is_not_taken_even_on_purpose(account):
    edit(account.folder / "journal.db", "update balances set cash = cash + 1")
    with pytest.raises(JournalError, match="balances of"):
        next_step(account, from_copy=True)


@pytest.mark.parametrize("name", ["journal.db", "broker.db"])
def test_a_lost_log_is_named(account, name):
    """A step was killed, and the -wal that it left is deleted."""
    assert not in_a_process(lambda: next_step(account), kill_at=16)
    (account.folder / f"{name}-wal").unlink()
    behind = rf"{name} ends with commit \d+, but \S+ records commit \d+.*a lost -wal"
    with pytest.raises((JournalError, BrokerError), match=behind):
        next_step(account)


def test_a_lost_head_is_named_and_can_be_made_again(account):
    (account.folder / "journal.db.head").unlink()
    with pytest.raises(JournalError, match=r"journal\.db\.head, which records the last commit, is missing.*--from-copy"):
        next_step(account)
    assert next_step(account, from_copy=True).sent > 0


def test_a_head_that_is_half_written_costs_nothing(account):
    """Its two lines are written in turn: with one damaged the journal is ahead of the other by a single commit."""
    path = account.folder / "journal.db.head"
    data = path.read_bytes()
    with Journal(account.folder / "journal.db", readonly=True) as journal:
        at = 512 * (journal.seals.last_link().count % 2)
    path.write_bytes(data[:at] + b"\0" * 512 + data[at + 512 :])
    assert next_step(account).sent > 0


# -- the broker's file ----------


def test_a_lost_broker_file_is_named_and_not_made_anew(account):
    for names in (("broker.db",), ("broker.db", "broker.db.head")):
        for name in names:
            (account.folder / name).unlink(missing_ok=True)
        with pytest.raises(BrokerError, match=r"broker\.db is missing, .* restore it from a copy"):
            next_step(account)
        assert not (account.folder / "broker.db").exists()
    with pytest.raises(BrokerError, match="is missing"):
        status_of(PaperAccount(account.folder), check=True)


@pytest.mark.parametrize("name", ["journal.db", "broker.db"])
def test_an_emptied_file_is_named(account, name):
    (account.folder / name).write_bytes(b"")
    with pytest.raises((JournalError, BrokerError), match=f"{name}.*damaged"):
        next_step(account)


# -- where nothing can be written ----------

ON_READ_ONLY_SYSTEM = """
import sys
from pathlib import Path
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.views.exporting import export
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of
account = PaperAccount(sys.argv[1])
print("sessions", status_of(account, check=True).sessions)
print("report", len(report_of(account).paper.value))
print("export", len(export(account, Path(sys.argv[2]))))
for name, work in (("step", account.step), ("limits", lambda: account.change_limits({"max_orders": 5}))):
    try:
        work()
    except Exception as problem:
        print(name, type(problem).__name__, problem)
"""


def read_only(place, out):
    """What the commands say where the account's folder is mounted read-only, in a namespace of mounts of their own."""
    mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", mount, str(place), sys.executable, "-c", ON_READ_ONLY_SYSTEM, str(place), str(out)]
    try:
        return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    except FileNotFoundError:
        pytest.skip("no unshare here")


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_a_read_only_file_system_is_called_that_and_looking_works_there(account, folder, killed):
    if killed:
        assert not in_a_process(lambda: next_step(account), kill_at=16)
    before = {p.name: p.read_bytes() for p in account.folder.iterdir()}
    done = read_only(account.folder, folder / "out")
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no mounts of one's own here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    sessions = 7 if killed else 6
    assert f"sessions {sessions}\nreport {sessions}\nexport" in done.stdout
    for name in ("step", "limits"):
        (words,) = [line for line in done.stdout.splitlines() if line.startswith(name)]
        assert "ead-only file system" in words
        assert "damaged" not in words
    assert {p.name: p.read_bytes() for p in account.folder.iterdir()} == before


# -- the commands ----------


def test_the_commands_name_damage_and_go_on_from_a_copy(folder):
    path = folder / "prices.csv"
    path.write_text(PANEL.to_frame().to_csv())
    run = CliRunner().invoke
    start = str(PANEL.dates[0])[:10]
    assert run(app, ["init", str(folder / "b"), "pa", "--data", str(path), "--replay", start]).exit_code == 0
    assert run(app, ["watch", str(folder / "b"), "--sessions", "4", "--max-move", "3"]).exit_code == 0
    shutil.copytree(folder / "b", folder / "copy")
    edit(folder / "b" / "journal.db", "update orders set filled = filled + 1")
    for command in (["step"], ["status"], ["status", "--check"], ["export", "--out", str(folder / "out")]):
        problem = run(app, [command[0], str(folder / "b"), *command[1:]]).exception
        assert isinstance(problem, JournalError)
        assert "orders of" in str(problem)
    assert not (folder / "out").exists()
    shutil.copyfile(folder / "copy" / "journal.db", folder / "b" / "journal.db")
    for command in (["step"], ["status", "--check"]):  # the very file that was there: nothing is lost
        assert run(app, [command[0], str(folder / "b"), *command[1:]]).exit_code == 0
    for name in ("journal.db", "broker.db"):
        shutil.copyfile(folder / "copy" / name, folder / "b" / name)
    assert "commit" in str(run(app, ["step", str(folder / "b")]).exception)
    told = run(app, ["step", str(folder / "b"), "--from-copy"])
    assert told.exit_code == 0, told.exception


def test_an_older_journal_beside_a_newer_broker_is_adopted_once_and_nothing_is_booked_twice(account, folder):
    """With its own head the copy is sound; what the broker did since is not in it, and its orders have the same sessions."""
    shutil.copytree(account.folder, folder / "copy")
    for n in (7, 8, 9):
        PaperAccount(account.folder).step(PANEL.rows(0, n))
    for path in (folder / "copy").glob("journal.db*"):
        shutil.copyfile(path, account.folder / path.name)
    with pytest.raises(ReconcileError, match="tracker paper adopt"):
        next_step(account)
    account.adopt()
    for n in (7, 8, 9, 10):
        result = PaperAccount(account.folder).step(PANEL.rows(0, n))  # never a difference again
    assert result.sent > 0
    books_balance(account)
