"""Brokers that lie, split, rename, forget the time or fail; and what must hold all the same."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from datafeeds import MarketPanel
from tests.papertrade.harness import in_a_process
from tests.storm.paper.places import Place
from tests.storm.paper.plans import SESSIONS
from tracker_strategies.errors import TrackerError
from tracker_strategies.papertrade.errors import ExitError


def attack(here: Place, named: Counter[str]) -> list[str]:
    """Live through the sessions of a plan at a hostile broker; return what was found."""
    plan, rng, server = here.plan, here.plan.rng, here.server
    assert server is not None
    kind = plan.kind.partition(", ")[2]
    strikes, shown = int(rng.integers(2, plan.bars)), 0
    found: list[str] = []
    victim, ratio = here.panel.symbols[int(rng.integers(4))], float(rng.choice([2.0, 3.0, 4.0, 10.0, 0.5, 0.25, 0.1, 1.5]))
    night = bool(rng.random() < 0.5)  # after the orders were sent, or before they are decided

    def strike(k: int) -> None:
        nonlocal shown
        if kind == "split":
            server.steer("split", name=victim, ratio=ratio)
            here.splits = {victim: ratio}
            shown = k + int(rng.integers(1, 3))  # the source shows it one or two sessions later
        elif kind == "rename":
            server.steer("rename", old=victim, new="NEW")
        elif kind == "lies":
            server.steer("set", lies={"": plan.lie})
        elif kind == "by hand":
            _by_hand(here, rng)

    def step(k: int) -> None:
        before = len(_posts(server.state))
        ahead = kind == "split" and struck and k < shown and victim in server.state["positions"]
        said = here.step(k)
        named[said.partition(":")[0]] += 1
        if said.startswith("ReconcileError"):
            here.account.adopt()
            again = here.step(k)
            named[again.partition(":")[0]] += 1
            if again.startswith("ReconcileError") and not (ahead and "split" in again) and "short position" not in again:
                found.append(f"session {k}: adopted, and still {again}")
        if ahead and len(_posts(server.state)) > before:
            found.append(f"session {k}: traded while only the broker had split {victim}")

    struck = False
    for k in range(1, plan.bars + 1):
        here.evening(k)
        if kind == "trouble":
            server.steer("rate", rate=0.25, seed=int(rng.integers(1 << 30)))
        if k == strikes and not night:
            strike(k)
            struck = True
        if kind == "hours" and rng.random() < 0.6:
            _another_hour(here, k, rng)
        if kind == "split" and shown == k:
            here.panel, here.splits = _split(here.panel, victim, ratio, k), {}
            (here.folder / "actions.csv").write_text(f"date,symbol,kind,value\n{SESSIONS[k - 1].date()},{victim},split,{ratio}\n")
        if plan.events[k - 1] == "halt":
            here.account.halt("a person")
            before = len(_posts(server.state))
            step(k)
            if len(_posts(server.state)) > before:
                found.append(f"session {k}: sent while halted")
            here.account.resume()
        step(k)
        if k == strikes and night:
            strike(k)
            struck = True
        if k < plan.bars:
            here.morning(k)
            if kind == "rename" and struck:
                server.steer("rename", old=victim, new="NEW")
            step(k)
    server.steer("rate", rate=0.0, seed=0)
    found += _late_or_twice(server.state)
    return [*found, *_exits(here)]


def _posts(there: dict[str, Any]) -> list[list[Any]]:
    return [entry for entry in there["log"] if entry[:2] == ["POST", "/v2/orders"]]


def _by_hand(here: Place, rng: np.random.Generator) -> None:
    """Somebody sells a position, or buys something strange."""
    assert here.server is not None
    there = here.server.state
    held, cash = dict(there["positions"]), there["cash"]
    if held and rng.random() < 0.5:
        name = sorted(held)[0]
        cash += held.pop(name) * here.prices(1)[name]
    else:
        held["XYZ"], cash = 7.0, cash - 70.0
    here.server.steer("set", positions=held, cash=cash, prices={**here.prices(here.panel.n_bars), "XYZ": 10.0})


def _another_hour(here: Place, k: int, rng: np.random.Generator) -> None:
    """The step runs at some hour of the next day and a half; the market is open when it is."""
    assert here.server is not None
    moment = datetime.fromisoformat(here.moment) + timedelta(minutes=int(rng.integers(0, 36 * 60)))
    here.at(moment.isoformat())
    day = str(moment.date()) in {str(s.date()) for s in SESSIONS}
    if day and timedelta(hours=13, minutes=30) <= timedelta(hours=moment.hour, minutes=moment.minute) < timedelta(hours=20):
        here.server.steer("open")


def _split(panel: MarketPanel, name: str, ratio: float, k: int) -> MarketPanel:
    """Raw prices of a split that takes effect on session k."""
    i, kinds = panel.symbols.index(name), {}
    for kind in ("close", "open", "high", "low"):
        values = getattr(panel, kind).copy()
        values[k - 1 :, i] /= ratio
        kinds[kind] = values
    return MarketPanel(panel.dates, panel.symbols, kinds.pop("close"), panel.targets, panel.target_close, **kinds)


def _late_or_twice(there: dict[str, Any]) -> list[str]:
    """Orders that the broker has twice, or that were sent outside of their hours."""
    found, placed = [], [o["client_order_id"] for o in there["orders"]]
    if len(placed) != len(set(placed)):
        found.append("an order was placed twice")
    days = [str(s.date()) for s in SESSIONS]
    sells = {e[3]["client_order_id"][:13] for e in _posts(there) if e[3]["side"] == "sell"}
    for entry in _posts(there):
        body, moment, opened = entry[3], datetime.fromisoformat(entry[4]), entry[5]
        name = body["client_order_id"]
        digits = re.match(r"test-(\d{8})-", name)
        if digits is None or "flat" in name:
            continue
        day = f"{digits[1][:4]}-{digits[1][4:6]}-{digits[1][6:]}"
        closed = datetime.fromisoformat(f"{day}T20:00:00+00:00")
        due = datetime.fromisoformat(f"{days[days.index(day) + 1]}T13:30:00+00:00")
        second = body["side"] == "buy" and name[:13] in sells and moment < due + timedelta(hours=6.5)
        if not ((closed <= moment < due and not opened) or second):
            found.append(f"{name} was sent at {moment}, which is not its hour")
    return found


def _leave(here: Place) -> None:
    with suppress(TrackerError):
        here.account.flatten()


def _exits(here: Place) -> list[str]:
    """Halt, cancel, flatten, adopt: each works, and at the end nothing is held, there or here."""
    assert here.server is not None
    found: list[str] = []
    try:
        for point in here.plan.kills[0][:2]:  # killed on the way out
            in_a_process(lambda: _leave(here), kill_at=point)
        here.account.halt("the end", cancel_open_orders=True)
        if [o for o in here.server.state["orders"] if o["status"] in ("accepted", "partially_filled")]:
            found.append("halt --cancel-open left an order open")
        try:
            here.account.flatten()
        except ExitError as left:
            if "not one of this account's names" not in str(left):
                found.append(f"flatten: {left}")
            here.account.flatten(strangers=True)
        here.server.steer("set", lies={})
        here.server.steer("open")
        held = {name: size for name, size in here.server.state["positions"].items() if abs(size) > 1e-5}
        if held:
            found.append(f"after flatten the broker holds {held}")
        here.account.adopt()
        if changes := here.account.adopt():
            found.append(f"adopted twice, and still {changes}")
        with here.account.journal(readonly=True) as journal:
            sizes = {row[0]: row[1] for row in journal.rows("select symbol, size from positions where abs(size) > 1e-5")}
        if sizes:
            found.append(f"after flatten the journal holds {sizes}")
    except TrackerError as problem:
        found.append(f"an exit is locked: {type(problem).__name__}: {problem}")
    return found
