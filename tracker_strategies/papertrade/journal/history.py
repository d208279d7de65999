"""Bars as they were seen, as arrays; and the same in the units in which the strategy thinks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.execution.volume.depth import Depth, PanelDepth
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.journal.journal import Journal
from tracker_strategies.papertrade.market import corporate_actions as actions
from tracker_strategies.papertrade.market.corporate_actions import Action
from tracker_strategies.papertrade.market.tomorrow import with_tomorrow

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bars:
    """T sessions of a source, for the names of an account.

    Parameters
    ----------
    sessions : list of T str
        ISO dates (or times), ascending.
    prices : (T, K, N) float
        Per session, one row for each kind of price (close first); NaN where a name has no bar.
    levels : (T, q) float
        Of the targets; NaN where a target has none of its own.
    """

    sessions: list[str]
    prices: FloatArray
    levels: FloatArray

    @property
    def close(self) -> FloatArray:
        """(T, N) closes."""
        return self.prices[:, 0, :]

    def rows(self, start: int | None, stop: int | None = None) -> Bars:
        """Some of the sessions."""
        cut = slice(start, stop)
        return Bars(self.sessions[cut], self.prices[cut], self.levels[cut])


class History:
    """The bars of a journal.

    Parameters
    ----------
    bars : Bars
        As they were seen.
    taken : sequence of Action
        Corporate actions that took effect.
    config : AccountConfig
    """

    def __init__(self, bars: Bars, taken: list[Action], config: AccountConfig) -> None:
        self.bars, self.actions, self.config = bars, taken, config

    @classmethod
    def load(cls, journal: Journal, config: AccountConfig, *, after: str = "") -> History:
        """Read all sessions, or those after one."""
        rows = [row for row in journal.table("bars", after) if row["session"] > after]
        n, k, q = len(config.symbols), len(config.prices), len(config.targets)
        with journal.errors():
            prices = np.frombuffer(b"".join(r["prices"] for r in rows), dtype="<f8").reshape(len(rows), k, n)
            levels = np.frombuffer(b"".join(r["levels"] for r in rows), dtype="<f8").reshape(len(rows), q)
            found = [Action(*row) for row in journal.rows(_ACTIONS)]
        return cls(Bars([r["session"] for r in rows], prices, levels), found, config)

    @cached_property
    def factors(self) -> FloatArray | None:
        """(T, N) units that a share stands for; None when that is one for all."""
        return actions.factors(self.actions, self.bars.sessions, self.config.symbols)

    @property
    def opens(self) -> FloatArray:
        """(T, N) opening prices; the closes, where bars have no others."""
        kinds = self.config.prices
        return self.bars.prices[:, kinds.index("open") if "open" in kinds else 0, :]

    def factor(self, row: int = -1) -> FloatArray:
        """(N,) units that a share stands for on one session."""
        return np.ones(len(self.config.symbols)) if self.factors is None else self.factors[row]

    def depths(self) -> Callable[[int], Depth]:
        """What was traded on a session, in units, by its row: of a history with all its sessions."""
        return PanelDepth(self.panel_until_tomorrow(), self.config.params.get("bars_per_year")).at

    def quoted(self, row: int) -> dict[str, Any]:
        """What a simulated broker is told of a session beside its open: high, low and close, where bars have them, and what was
        traded on it and on the one before, in shares, where fills depend on that.
        """
        kinds = self.config.prices
        parts: dict[str, Any] = {kind: self.bars.prices[row, k] for k, kind in enumerate(kinds) if kind not in ("open", "volume")}
        if self.config.liquidity is not None:
            depth = self.depths()
            rows = {"depth": row, "depth_before": max(row - 1, 0)}
            parts |= {name: depth(t).scaled(self.factor(t)) for name, t in rows.items()}
        return parts

    def panel_until_tomorrow(self) -> MarketPanel:
        """All sessions in units, and one more that has not happened: see :func:`.with_tomorrow`."""
        prices, levels = self.bars.prices, self.bars.levels
        kinds = self.config.prices
        if self.factors is not None:
            scale = np.stack([1.0 / self.factors if kind == "volume" else self.factors for kind in kinds], axis=1)
            prices = prices * scale
        table: dict[str, Any] = {kind: prices[:, j] for j, kind in enumerate(kinds)}
        seen = np.isfinite(levels)
        rows = np.maximum.accumulate(np.where(seen, np.arange(len(levels))[:, None], 0), axis=0)
        carried = np.take_along_axis(levels, rows, axis=0)
        return with_tomorrow(
            dates=np.array(self.bars.sessions, dtype="datetime64[ns]"),
            symbols=self.config.symbols,
            targets=self.config.targets,
            target_close=carried,
            target_seen=seen,
            source=self.config.source,
            **table,
        )


_ACTIONS = "select session, symbol, kind, coalesce(value, 'nan'), text, factor, origin from actions order by id"
