"""Cases of the storm on accounts: each is tried, and judged by what it must end like."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.papertrade.alpaca.server import KEY, SECRET
from tests.storm.paper.hostile import attack
from tests.storm.paper.places import Place, place
from tests.storm.paper.plans import Plan, draw
from tracker_strategies.papertrade.brokers import alpaca_endpoint as endpoint


@dataclass
class Result:
    """What came of a case: what was found, how many kills there were, and which errors were named on the way."""

    plan: Plan
    findings: list[str] = field(default_factory=list)
    kills: int = 0
    named: Counter[str] = field(default_factory=Counter)


def try_case(seed: int, index: int) -> Result:
    """Try one case."""
    os.environ[endpoint.KEY], os.environ[endpoint.SECRET] = KEY, SECRET
    endpoint.TIMEOUT = (1.0, 0.4)
    result = Result(draw(seed, index))
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="storm-", dir=memory if os.access(memory, os.W_OK) else None))
    try:
        (kill if result.plan.kind.startswith("kills") else hostile)(result, folder)
    except Exception as problem:  # whatever it is, it is a finding
        result.findings.append(f"{type(problem).__name__}: {problem}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def kill(result: Result, folder: Path) -> None:
    """The same sessions twice: left alone, and killed again and again. Both end alike, with each order once."""
    plan = result.plan
    broker = "broker" in plan.kind
    with place(plan, folder / "quiet", broker=broker) as quiet:
        live(quiet, result, killed=False)
        wanted = quiet.result()
    with place(plan, folder / "stormy", broker=broker) as stormy:
        live(stormy, result, killed=True)
        found = stormy.result()
    for part in wanted:
        if wanted[part] != found[part]:
            result.findings.append(f"{part} differs: {_difference(wanted[part], found[part])}")
    orders = found["broker"]["orders"] if not broker else found["orders"]
    if len(orders) != len({row[0] for row in orders}):
        result.findings.append("an order is there twice")


def live(here: Place, result: Result, *, killed: bool) -> None:
    """Let the sessions of a plan pass, with what happens on each."""
    plan = here.plan
    for k in range(1, plan.bars + 1):
        here.evening(k)
        kills = plan.kills[k - 1] if killed else ()
        event = plan.events[k - 1]
        if event == "skip" and here.clock != "replay":
            continue
        if event == "halt":
            here.account.halt("a person")
        elif event == "limit":
            here.account.change_limits({"max_orders": 1})
        elif event == "raise":
            here.flag.touch()
        result.kills += here.struggle(k, kills)
        if event == "halt":
            here.account.resume()
        elif event == "limit":
            here.account.change_limits({"max_orders": "none"})
        elif event == "raise":
            here.flag.unlink()
        if event in ("halt", "limit", "raise"):
            result.kills += here.struggle(k, kills)
        if plan.crash and k == plan.crash + 1:
            here.account.resume()
            result.kills += here.struggle(k, kills)
        if k < plan.bars:
            here.morning(k)
            if here.clock == "broker":
                result.kills += here.struggle(k, kills)
    here.step(plan.bars)  # what was sent is written down


def _difference(wanted: object, found: object) -> str:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in wanted:
            if wanted[key] != found.get(key):
                return f"{key}: {_difference(wanted[key], found.get(key))}"
    if isinstance(wanted, list) and isinstance(found, list):
        less = [row for row in wanted if row not in found]
        more = [row for row in found if row not in wanted]
        return f"missing {str(less[:2])[:300]}, too much {str(more[:2])[:300]}"
    return f"{str(wanted)[:200]} became {str(found)[:200]}"


def hostile(result: Result, folder: Path) -> None:
    """A broker that cannot be relied upon: nothing is sent late or twice, and the exits work at any moment."""
    with place(result.plan, folder / "a", broker=True) as here:
        result.findings += attack(here, result.named)
