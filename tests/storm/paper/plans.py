"""Plans of the storm on accounts: which clock, which market, what happens on each session. Drawn from seed and index alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from datafeeds import MarketPanel
from tests.markets import random_panel

#: Sessions of New York in which nothing is special: no holiday, summer time.
SESSIONS = pd.bdate_range("2024-04-29", "2024-05-24")
#: What a case tries. Kills, on every clock; and brokers that cannot be relied upon.
KILLS = ("data", "replay", "wall", "broker")
HOSTILE = ("lies", "split", "rename", "hours", "trouble", "by hand")
KINDS = (*(f"kills, {clock} clock" for clock in KILLS), *(f"hostile, {kind}" for kind in HOSTILE))
#: How a fill is misreported; see tests/papertrade/alpaca/books.py.
LIES = ("more", "far more", "rounded", "rounded up", "back", "half", "negative", "free", "late")
#: What happens on a session, and how often: most are left alone.
EVENTS = {"step": 0.6, "halt": 0.12, "limit": 0.12, "raise": 0.08, "skip": 0.08}
STRATEGIES = ("pa", "equal-weight", "buy-and-hold", "apas")


@dataclass(frozen=True)
class Plan:
    """One case."""

    seed: int
    index: int
    kind: str
    strategy: str
    bars: int
    events: tuple[str, ...]
    kills: tuple[tuple[int, ...], ...]
    faults: dict[str, float]
    crash: int
    lie: str
    flows: dict[str, float]

    def __str__(self) -> str:
        about = f"{len(self.flows)} flows, {' '.join(self.events)}"
        return f"{self.seed}:{self.index} {self.kind}, {self.strategy}, {self.bars} sessions, {about}"

    @property
    def rng(self) -> np.random.Generator:
        """Chance that belongs to this case."""
        return np.random.default_rng([self.seed, self.index, 1])

    @property
    def panel(self) -> MarketPanel:
        """Its market: sessions of New York; perhaps all prices fall by a third on one of them."""
        base = random_panel(n_bars=self.bars, n_assets=4, seed=1000 * self.seed + self.index, ohlc=True)
        fall = np.where(np.arange(self.bars) >= self.crash, 0.66, 1.0)[:, None] if self.crash else np.ones((self.bars, 1))
        prices = {kind: getattr(base, kind) * fall for kind in ("open", "high", "low")}
        return MarketPanel(
            SESSIONS[: self.bars], base.symbols, base.close * fall, base.targets, base.target_close * fall, **prices
        )


def draw(seed: int, index: int) -> Plan:
    """The plan of a case."""
    rng, kind = np.random.default_rng([seed, index]), KINDS[index % len(KINDS)]
    bars = int(rng.integers(4, 8))
    names, odds = list(EVENTS), list(EVENTS.values())
    events = tuple(rng.choice(names, size=bars, p=odds).tolist())
    events = ("step", *events[1:])
    kills = tuple(tuple(int(k) for k in rng.integers(1, 26, size=int(rng.integers(1, 6)))) for _ in range(bars))
    troubled = "kills" in kind and "broker" not in kind and rng.random() < 0.4
    faults = dict.fromkeys(("partial", "delay", "duplicate", "disconnect", "reject"), 0.25) if troubled else {}
    crash = int(rng.integers(2, bars)) if "kills" in kind and rng.random() < 0.25 else 0
    strategy = str(rng.choice(STRATEGIES))
    lie = str(rng.choice(LIES))
    days = rng.choice(np.arange(1, bars), size=2, replace=False) if "kills" in kind and "broker" not in kind else ()
    flows = {str(SESSIONS[k].date()): float(np.round(rng.normal(0.0, 30_000.0), 2)) for k in days if rng.random() < 0.6}
    return Plan(seed, index, kind, strategy, bars, events, kills, faults, crash, lie, flows)
