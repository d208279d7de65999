"""Files of every version so far become those of today: whole or not at all, with a copy kept, and the account goes on."""

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path

import pytest

from datafeeds import MarketSource
from tests.papertrade.harness import books_balance, in_a_process, orders, state, values
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import BrokerError, JournalError
from tracker_strategies.papertrade.journal.schema import VERSION
from tracker_strategies.papertrade.views.exporting import tables_of
from tracker_strategies.papertrade.views.status import check_files, status_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
#: Sessions of the account when its last step was killed.
BEFORE = 12


@pytest.fixture(params=range(1, VERSION))
def old(request, folder):
    """An account of a version, with a split, a dividend, a new name, a missed and a refused session, partial fills and an
    unfinished step whose ``-wal`` is still there; and what that version made of it later."""
    with tarfile.open(FIXTURES / f"journal_version_{request.param}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "account", json.loads((folder / "expected.json").read_text())


def prices(place):
    return MarketSource(str(place.parent / "prices.csv")).open()


def finish(place):
    panel = prices(place)
    for k in range(BEFORE + 1, panel.n_bars + 1):
        PaperAccount(place).step(panel.rows(0, k))
    return PaperAccount(place)


def version(path):
    with sqlite3.connect(path) as db:
        return db.execute("pragma user_version").fetchone()[0]


def test_a_step_converts_an_account_and_goes_on(old):
    place, expected = old
    account = finish(place)
    assert version(place / "journal.db") == VERSION
    assert values(account) == pytest.approx([value for _, value in expected["value"]], rel=1e-9)
    with account.journal(readonly=True) as journal:
        decided = [list(row) for row in journal.rows("select session, kind from decisions order by session")]
        paid = [list(row) for row in journal.rows("select session, kind, amount from cash order by id")]
    assert (decided, paid) == (expected["decisions"], expected["cash"])
    placed = [[o[k] for k in ("session", "symbol", "size", "price", "status", "filled")] for o in orders(account)]
    assert [row[:2] + row[4:5] for row in placed] == [row[:2] + row[4:5] for row in expected["orders"]]
    for column in (2, 3, 5):
        assert [row[column] for row in placed] == pytest.approx([row[column] for row in expected["orders"]], rel=1e-9)
    check_files(account)
    books_balance(account)


def test_a_copy_of_the_older_files_is_kept(old):
    place, _ = old
    before = version(place / "journal.db")
    shutil.copytree(place, place.parent / "untouched")
    finish(place)
    for name, kept in (("journal.db", f"journal.db.version{before}"), ("broker.db", "broker.db.version0")):
        assert version(place / kept) == (before if name == "journal.db" else 0)
        with sqlite3.connect(place / kept) as copy, sqlite3.connect(place.parent / "untouched" / name) as untouched:
            for (table,) in copy.execute("select name from sqlite_master where type = 'table'").fetchall():
                rows = [db.execute(f"select * from {table}").fetchall() for db in (copy, untouched)]
                assert rows[0] == rows[1]


def test_who_only_looks_sees_the_account_and_converts_nothing(old):
    place, expected = old
    before = {p.name: p.read_bytes() for p in place.iterdir() if not p.name.endswith("-shm")}
    status = status_of(PaperAccount(place), check=True)
    assert status.value == pytest.approx(dict(expected["value"])[status.session], rel=1e-9)
    assert len(tables_of(PaperAccount(place))["orders"]) > 20
    assert {p.name: p.read_bytes() for p in place.iterdir() if not p.name.endswith("-shm")} == before


def test_a_conversion_that_is_killed_at_any_moment_leaves_the_old_account_or_the_new(old, folder):
    place, _ = old
    quiet = shutil.copytree(place, folder / "quiet" / "account")
    shutil.copyfile(folder / "prices.csv", folder / "quiet" / "prices.csv")
    wanted = state(finish(quiet))
    names, point = [], 1
    while not any("sending" in name for name in names):
        tried = shutil.copytree(place, folder / f"tried{point}" / "account")
        shutil.copyfile(folder / "prices.csv", tried.parent / "prices.csv")
        panel = prices(place).rows(0, BEFORE + 1)
        assert not in_a_process(lambda tried=tried, panel=panel: PaperAccount(tried).step(panel), kill_at=point, told=names)
        assert state(finish(tried)) == wanted, f"killed at point {point}: {names[-1]}"
        point += 1
    for name in ("journal.db", "broker.db"):
        assert f"before the converted {name} is in its place" in names


def test_a_damaged_journal_is_not_converted(old):
    place, _ = old
    with sqlite3.connect(place / "journal.db") as db:
        (session,) = db.execute("select session from balances limit 1").fetchone()
        db.execute("update balances set cash = cash + 1 where session = ?", (session,))
    db.close()
    before = version(place / "journal.db")
    with pytest.raises(JournalError, match=f"balances of {session}: content differs from what was written"):
        PaperAccount(place).step(prices(place).rows(0, BEFORE + 1))
    assert version(place / "journal.db") == before


def test_a_file_of_a_newer_version_is_refused(old):
    place, _ = old
    account = finish(place)
    for name, error in (("broker.db", BrokerError), ("journal.db", JournalError)):
        with sqlite3.connect(place / name) as db:
            db.execute("pragma user_version = 99")
        db.close()
        with pytest.raises(error, match=r"has version 99, this program reads up to \d; update the program"):
            account.step(prices(place))
