"""Accounts that version 0.1.0 left behind after six sessions, before the project's files moved, go on as they would have there.

``accounts_0_1_0.tar.gz`` holds three of them, their prices, a strategy of a user's own, and what that version did in 14 sessions.
"""

import json
import sqlite3
import tarfile
from pathlib import Path

import pytest

from tests.papertrade.harness import books_balance, orders, values
from tracker_strategies._fingerprint import strategy_fingerprint
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.deciding.checkpoint import Checkpoint
from tracker_strategies.strategies.registry import load_strategy

ACCOUNTS = Path(__file__).parents[1] / "fixtures" / "accounts_0_1_0.tar.gz"
BEFORE, AFTER = 6, 8


@pytest.fixture(params=["ensemble", "apas", "own"])
def left_behind(request, tmp_path):
    """An account as it was, where its files are now; and what the version before made of it."""
    with tarfile.open(ACCOUNTS) as archive:
        archive.extractall(tmp_path, filter="data")
    with sqlite3.connect(tmp_path / request.param / "journal.db") as db:
        config = json.loads(db.execute("select value from meta where key = 'config'").fetchone()[0])
        config["source"] = str(tmp_path / config["source"])
        if config["strategy"] == "ensemble":  # it learns otherwise now; what it was can still be run
            config["strategy"] = "tracker_strategies.research.leaderboard.rivals:VoteTracker"
        elif ":" in config["strategy"]:
            config["strategy"] = str(tmp_path / config["strategy"])
        db.execute("update meta set value = ? where key = 'config'", (json.dumps(config),))
    return PaperAccount(tmp_path / request.param), json.loads((tmp_path / "expected.json").read_text())[request.param]


def decisions(account):
    with account.journal(readonly=True) as journal:
        return [tuple(row) for row in journal.rows("select session, kind, way from decisions order by session")]


def test_an_account_goes_on_as_the_version_before_would_have(left_behind):
    account, expected = left_behind
    assert len(decisions(account)) == BEFORE
    said = [PaperAccount(account.folder).step() for _ in range(AFTER)]
    assert [(session, kind) for session, kind, _ in decisions(account)] == [(d[0], d[1]) for d in expected["decisions"]]
    assert values(account) == pytest.approx([value for _, value in expected["value"]], rel=1e-9)
    placed = orders(account)
    assert [(o["session"], o["symbol"]) for o in placed] == [(session, symbol) for session, symbol, *_ in expected["orders"]]
    for column, name in ((2, "size"), (3, "price")):
        assert [o[name] for o in placed] == pytest.approx([order[column] for order in expected["orders"]], rel=1e-9)
    books_balance(account)
    assert {r.refused for r in said} == {0}
    assert not [message for r in said for message in r.messages if "divergence" in message]
    # The old checkpoint is of no use; after one replay there is a new one.
    assert [way for _, _, way in decisions(account)][BEFORE:] == ["replay"] + ["checkpoint"] * (AFTER - 1)


def test_a_checkpoint_in_the_old_form_is_no_checkpoint_whatever_vouches_for_it(left_behind):
    account, expected = left_behind
    code = strategy_fingerprint(load_strategy(account.config.strategy))
    with sqlite3.connect(account.folder / "journal.db") as db:
        session, text = db.execute("select session, state from checkpoints").fetchone()
        with pytest.raises(ValueError, match="too many values"):
            Checkpoint.from_text(text)
        db.execute("update checkpoints set code = ?", (code,))
    result = account.step()
    assert result.way == "replay"
    assert any(f"the checkpoint of {session} cannot be used" in message for message in result.messages)
    assert values(account)[-1] == pytest.approx(expected["value"][BEFORE][1], rel=1e-9)
