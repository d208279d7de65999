"""The page of exits: each state is brought about, what the page says is seen, and what it tells to type is typed."""

import re
import shlex
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pytest

from tests.cli.commands import tracker
from tests.markets import random_panel
from tests.papertrade.alpaca.market import alpaca, keys
from tests.papertrade.alpaca.market import market as alpaca_market
from tests.papertrade.harness import at_the_broker
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.journal.lock_and_halt import account_lock
from tracker_strategies.papertrade.live.watching import watch

__all__ = ["alpaca", "keys"]

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "work" / "exits.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.M | re.S))
STRATEGY = """
from pathlib import Path
from tracker_strategies import EqualWeight
class Mine(EqualWeight):
    def next(self):
        assert not Path({flag!r}).exists(), "not today"
        super().next()
"""


class World:
    """A file of prices that grows, and an account on it that has lived through some sessions."""

    def __init__(self, folder, strategy="pa", days=None, opened=True, **options):
        self.folder = folder
        self.frame = random_panel(n_bars=8, n_assets=4, seed=31).to_frame()
        if days is not None:
            self.frame.index = pd.DatetimeIndex(days, name="date")
        self.options = options
        self.show(3)
        if opened:
            self.account = PaperAccount.create(folder / "account", strategy, str(folder / "prices.csv"), **options)
            self.ok("step")
            self.show(4)
            self.ok("step")

    def show(self, n):
        """The file has n sessions."""
        self.frame.iloc[:n].to_csv(self.folder / "prices.csv")

    def run(self, *words):
        return tracker("paper", *words, cwd=self.folder)

    def ok(self, command, *words):
        done = self.run(command, "account", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def fails(self, command="step", *words):
        done = self.run(command, "account", *words)
        assert done.returncode == 2, done.stdout
        return done.stderr

    def broker(self, *statements):
        """Something happens in the books of the broker."""
        for statement in statements:
            at_the_broker(self.account, statement)

    def held(self):
        with self.account.broker() as broker:
            return broker.holdings().sizes

    def decided(self):
        with self.account.journal(readonly=True) as journal:
            return journal.one("select kind from decisions order by session desc limit 1")


def typed(title):
    """The commands of a section."""
    blocks = re.findall(r"```bash\n(.*?)```", SECTIONS[title], re.S)
    return [shlex.split(line) for block in blocks for line in block.splitlines()]


def follow(world, title):
    """Type what the section says; each command succeeds. Return what they print."""
    out = ""
    for words in typed(title):
        assert words[:2] == ["tracker", "paper"]
        done = world.run(*words[2:])
        assert done.returncode == 0, f"{words}: {done.stderr}"
        out += done.stdout + done.stderr
    return out


def seen(title, text):
    """What the section says that one sees is there, in order."""
    (line,) = re.findall(r"^You see: (.*)$", SECTIONS[title], re.M)
    place = 0
    flat = " ".join(text.split())
    for part in re.findall(r"`([^`]+)`", line):
        assert part in flat[place:], f"{part!r} is not in {flat!r}"
        place = flat.index(part, place) + len(part)


def test_stop_and_go_on(tmp_path):
    world = World(tmp_path)
    seen("Stop all sending", follow(world, "Stop all sending"))
    seen("Stop, and take back what waits at the broker", follow(world, "Stop, and take back what waits at the broker"))
    world.show(5)
    assert "nothing is decided" in world.ok("step")
    seen("Continue", follow(world, "Continue"))
    assert world.decided() == "act"


def test_sell_everything(tmp_path):
    world = World(tmp_path)
    seen("Sell everything", follow(world, "Sell everything"))
    world.show(5)
    world.ok("step")
    assert world.held() == {}


def test_sell_everything_with_strangers(tmp_path):
    title = "Sell everything, and the broker holds more than this account's names"
    world = World(tmp_path)
    world.broker("insert into positions values ('XYZ', 5)")
    seen(title, world.fails("flatten", "--yes"))
    assert "5 orders sent" in follow(world, title)


def test_they_disagree(tmp_path):
    world = World(tmp_path)
    world.broker("delete from positions where ticker = 'S1'", "update account set cash = cash + 100")
    seen("They disagree", world.fails())
    follow(world, "They disagree")
    world.show(5)
    world.ok("step")
    assert world.decided() == "act"


def test_a_fill_that_nobody_can_explain(tmp_path):
    title = "A fill that cannot be explained"
    world = World(tmp_path)
    world.show(5)
    # the broker takes the session in by itself and reports a fill that is too large
    world.broker("update orders set status = 'filled', filled = size * 2, average = price where status = 'open'")
    world.run("step", "account")
    seen(title, follow(world, title))
    assert world.decided() == "act"


def split(world):
    world.broker("update positions set size = size * 4 where ticker = 'S1'")


@pytest.mark.parametrize("title", ["It looks like a split", "It looks like a split, and is none"])
def test_it_looks_like_a_split(tmp_path, title):
    world = World(tmp_path)
    split(world)
    seen("It looks like a split", world.fails())
    follow(world, title)
    if title == "It looks like a split":
        assert "Nothing is traded until this is clear" in world.fails()  # until the source shows it


def test_it_looks_like_a_new_ticker(tmp_path):
    world = World(tmp_path)
    world.broker(
        "update positions set ticker = 'NEW' where ticker = 'S1'", "update orders set ticker = 'NEW' where ticker = 'S1'"
    )
    seen("It looks like a new ticker", world.fails())
    follow(world, "It looks like a new ticker")


def test_the_broker_is_short(tmp_path):
    world = World(tmp_path)
    world.ok("halt", "--cancel-open")
    world.broker("update positions set size = -5 where ticker = 'S1'")
    world.ok("adopt")
    world.ok("resume")
    world.show(5)
    seen("The broker is short", world.fails())
    follow(world, "The broker is short")


def test_a_large_loss(tmp_path):
    world = World(tmp_path)
    world.frame.iloc[4:] *= 0.7
    world.show(5)
    seen("A large loss", world.fails())
    assert "max_daily_loss=0.25" in follow(world, "A large loss")
    assert world.decided() == "act"


def test_a_limit_refused_it(tmp_path):
    world = World(tmp_path)
    world.ok("limits", "max_orders=1")
    world.show(5)
    seen("A limit refused it", world.fails())
    follow(world, "A limit refused it")
    assert world.decided() == "act"


def test_a_withdrawal_cannot_be_paid(tmp_path):
    world = World(tmp_path, params={"cash_flows": {"2020-01-07": -9e6}})
    world.show(5)
    seen("A withdrawal cannot be paid", world.fails())
    follow(world, "A withdrawal cannot be paid")
    assert world.decided() == "act"


def test_a_session_was_missed(tmp_path, monkeypatch):
    pytest.importorskip("exchange_calendars")
    days = pd.bdate_range("2024-05-06", periods=8)
    world = World(tmp_path, days=days, opened=False)
    account = PaperAccount.create(tmp_path / "account", "pa", str(tmp_path / "prices.csv"), clock="wall")
    at = lambda moment: PaperAccount(account.folder, clock=lambda: datetime.fromisoformat(moment))  # noqa: E731
    result = at("2024-05-09T15:00:00+00:00").step()  # the session after the newest of the file has opened
    seen("A session was missed", "\n".join(result.messages))
    world.show(4)
    assert at("2024-05-09T20:30:00+00:00").step().decision == "act"
    assert not typed("A session was missed")


def test_the_data_end_too_early(tmp_path):
    pytest.importorskip("exchange_calendars")
    world = World(tmp_path, days=pd.bdate_range("2024-05-06", periods=8), opened=False)
    world.account = PaperAccount.create(tmp_path / "account", "pa", str(tmp_path / "prices.csv"), clock="wall")
    seen("The data end too early", world.fails())
    assert typed("The data end too early") == [["tracker", "paper", "step", "account"]]


def test_the_strategy_raised(tmp_path):
    (tmp_path / "mine.py").write_text(STRATEGY.format(flag=str(tmp_path / "flag")))
    world = World(tmp_path, strategy=f"{tmp_path / 'mine.py'}:Mine")
    world.show(5)
    (tmp_path / "flag").touch()
    seen("The strategy raised", world.fails())
    (tmp_path / "flag").unlink()
    follow(world, "The strategy raised")
    assert world.decided() == "act"


def test_a_price_that_cannot_be(tmp_path):
    world = World(tmp_path)
    world.frame.iloc[4:, 1] *= 1.6
    world.show(5)
    seen("A price that cannot be", world.fails())
    follow(world, "A price that cannot be")
    assert world.decided() == "act"


def test_another_process_holds_the_account(tmp_path):
    title = "Another process holds the account"
    world = World(tmp_path)
    with account_lock(tmp_path / "account"):
        seen(title, world.fails())
        follow(world, title)


@pytest.mark.parametrize("damage", ["cut", "newer"])
def test_the_journal_is_damaged_or_newer(tmp_path, damage):
    title = "The journal is damaged, or newer than the program"
    world = World(tmp_path)
    shutil.copytree(tmp_path / "account", tmp_path / "copy")
    path = tmp_path / "account" / "journal.db"
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:2000])
    else:
        with sqlite3.connect(path) as db:
            db.execute("pragma user_version = 99")
        db.close()
    seen(title, world.fails())
    assert "4 orders sent" in follow(world, title)
    for name in ("journal.db", "journal.db-wal", "journal.db-shm"):
        (tmp_path / "account" / name).unlink(missing_ok=True)
        if (tmp_path / "copy" / name).exists():
            shutil.copy(tmp_path / "copy" / name, tmp_path / "account" / name)


def test_an_older_copy_was_put_back(tmp_path):
    title = "An older copy was put back"
    world = World(tmp_path)
    shutil.copytree(tmp_path / "account", tmp_path / "copy")
    world.show(5)
    world.ok("step")
    for name in ("journal.db", "broker.db"):
        shutil.copy(tmp_path / "copy" / name, tmp_path / "account" / name)
    seen(title, world.fails())
    follow(world, title)


def test_the_broker_does_not_answer(tmp_path, alpaca):
    pytest.importorskip("alpaca")
    world = World(tmp_path, opened=False)
    alpaca_market(4).to_frame().to_csv(tmp_path / "prices.csv")
    world.account = PaperAccount.create(
        tmp_path / "account", "pa", str(tmp_path / "prices.csv"), broker="alpaca", url=alpaca.url, start="2024-05-06"
    )
    with pytest.MonkeyPatch.context() as patch:
        for module in ("sending", "alpaca_endpoint"):
            patch.setattr(f"tracker_strategies.papertrade.brokers.{module}.PAUSES", ())
        alpaca.steer("set", faults=["503"] * 3)
        seen("The broker does not answer", world.fails())
        alpaca.steer("set", faults=[])
    assert "6 orders sent" in follow(world, "The broker does not answer")


def test_the_clock_of_the_computer_is_wrong(tmp_path, alpaca):
    pytest.importorskip("alpaca")
    alpaca_market(4).to_frame().to_csv(tmp_path / "prices.csv")
    account = PaperAccount.create(tmp_path / "account", "pa", str(tmp_path / "prices.csv"), broker="alpaca", url=alpaca.url)
    wrong, said = datetime(2024, 5, 6, 20, 30, tzinfo=UTC) + timedelta(hours=1), []
    watch(account, said.append, said.append, time_of_day=lambda: wrong, rounds=1)
    seen("The clock of the computer is wrong", said[0])
    assert not typed("The clock of the computer is wrong")


def test_every_state_of_the_page_is_brought_about():
    """Each title is in this file."""
    own = Path(__file__).read_text(encoding="utf-8")
    assert len(SECTIONS) == 23
    assert [title for title in SECTIONS if f'"{title}"' not in own] == []
