"""Accounts to be damaged: one that was closed, some whose step was killed, and how they were a few sessions before."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from datafeeds import MarketPanel
from tests.markets import random_panel
from tests.papertrade.harness import TIMES, in_a_process, open_account, state
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.views.exporting import tables_of
from tracker_strategies.papertrade.views.status import status_of

SESSIONS = 26
#: Transitions at which the last step was killed.
KILLS = (2, 4, 6, 8, 10, 12, 16, 20)
#: Sessions back from the last of which the files are kept.
BACK = (1, 2, 5)
#: Options of the account: a split, a dividend and a new name are in its journal.
PARAMS = {"listing_warmup": 3, "delist_after": 4}


@dataclass
class Before:
    """An account as it is before it is damaged, and what it is after the next step, left alone.

    ``seen``: what a look may show. A commit after which the process was killed before its head was written may be lost with the
    ``-wal``: then it was killed before the commit.
    """

    name: str
    folder: Path
    rows: int
    older: list[Path]
    seen: list[Any]
    after: Any


class Accounts:
    """All of them, in one folder."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.panel = _market()
        _actions(place, self.panel)
        first, stop = self.panel.rows(0, 1), SESSIONS - 1
        account = open_account(place / "account", first, "pa", PARAMS, actions=str(place / "actions.csv"))
        older = []
        for k in range(1, stop + 1):
            PaperAccount(account.folder).step(self.panel.rows(0, k))
            if stop - k in BACK:
                older.append(self._copy(account.folder, f"older{stop - k}"))
        self.all = [self._before("closed", account.folder, stop + 1, older)]
        for point in KILLS:
            sooner, folder = (self._killed(account.folder, at) for at in (point - 1, point))
            self.all.append(self._before(f"killed at {point}", folder, stop + 1, [*older, account.folder]))
            self.all[-1].seen.append(look_at(PaperAccount(sooner)))

    def _killed(self, folder: Path, point: int) -> Path:
        killed = self._copy(folder, f"killed{point}-{folder.name}")
        through = in_a_process(lambda: PaperAccount(killed).step(self.panel.rows(0, SESSIONS)), kill_at=point)
        assert not through
        return killed

    def _copy(self, folder: Path, name: str) -> Path:
        return Path(shutil.copytree(folder, self.place / name))

    def _before(self, name: str, folder: Path, rows: int, older: list[Path]) -> Before:
        quiet = self._copy(folder, f"quiet-{folder.name}")
        account = PaperAccount(quiet)
        seen = look_at(account)
        account.step(self.panel.rows(0, rows))
        return Before(name, folder, rows, older, [seen], state(PaperAccount(quiet)))


def look_at(account: PaperAccount) -> Any:
    """What ``status --check`` says and ``export`` writes, but for the place and the time of day."""
    tables = {name: table.drop(columns=TIMES, errors="ignore").to_csv() for name, table in tables_of(account).items()}
    return status_of(account, check=True).to_dict() | {"folder": ""}, tables


def _market() -> MarketPanel:
    panel = random_panel(n_bars=SESSIONS, n_assets=6, seed=19, ohlc=True, gaps=True)
    bars = {k: getattr(panel, k).copy() for k in ("close", "open", "high", "low")}
    for values in bars.values():
        values[12:, 1] /= 4.0
    return MarketPanel(panel.dates, panel.symbols, bars.pop("close"), panel.targets, panel.target_close, **bars)


def _actions(place: Path, panel: MarketPanel) -> None:
    day = str(panel.dates[12])[:10]
    (place / "actions.csv").write_text(f"date,symbol,kind,value\n{day},S1,split,4\n{day},S2,dividend,0.5\n{day},S3,rename,NEW\n")


@contextmanager
def accounts() -> Iterator[Accounts]:
    """Made in memory where that is possible, and removed afterwards."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(prefix="journals-", dir=shared if os.access(shared, os.W_OK) else None))
    try:
        yield Accounts(place)
    finally:
        shutil.rmtree(place)
