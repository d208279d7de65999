r"""Where the tracking error comes from: two attributions, each of which adds up to the active return of every bar.

With V the account at the close before, n- and n+ the shares before and after the fills of the bar, p the closes, p^f the
reference price of the fills (the open; with fills at the close, the close before, from which on n+ counts as held) and x simple
returns:

**By cause**: the return of a ladder of portfolios on the same bar, and what each step changes.

========== ================================================================================ ==========
rung       portfolio                                                                        effect
========== ================================================================================ ==========
y          the index, or the blend of several
R1 = u.x   what the algorithm chose at the close before                                     learning
R2 = m.x   what the limits allow of it                                                      limits
R3 = s.x   what schedule, band, turnover, pace and price of trading let be held             waiting
R4 = q.x   the same in whole lots                                                           lots
R5         [sum n-(p^f - p_{t-1}) + sum n+(p_t - p^f) + interest] / V: what was held        fills
R6 = r     the account                                                                      costs
========== ================================================================================ ==========

**By name**: :math:`a_i = [n^-(p^f - p_{t-1}) + n^+(p_t - p^f)]_i / V - w_i y` with :math:`w_i = n^-_i p_{t-1,i} / V`, cash
:math:`= interest / V - w_{cash} y`, and costs. With the published weights b of the index, :math:`b_i (x_i - y)` is taken off each
name, and :math:`\sum_i b_i (x_i - y)` is a separate line: the index not explained by its published weights.

The two are never added to each other. Money paid in or out is taken out first: returns are time-weighted. Where the index has no
level on a bar, the bar counts with the next one that has: rungs are compounded, contributions of names are money over the account
at the beginning of the span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracker_strategies.analysis.attribution.linking import linked, squared_shares
from tracker_strategies.analysis.metrics import time_weighted
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]

BY_NAME, IN_INDEX = "by name: ", "weight in the index: "
CAUSES = ("learning", "limits", "waiting", "lots", "fills", "costs")
#: Lines of the attribution by name that are no names.
CASH, COSTS, UNEXPLAINED, NO_SECTOR = "(cash)", "(costs)", "(index not explained by its weights)", "(no sector)"


@dataclass(frozen=True, eq=False)
class Attribution:
    """Of T scored bars.

    Attributes
    ----------
    dates : (T,) datetime64[ns]
    returns, index : (T,) float
        Of the account, time-weighted, and of what is tracked.
    causes : DataFrame (T, 6)
        Effects by cause.
    names : DataFrame (T, ...)
        Effects by name, with cash, costs and, where the weights of the index are known, what they do not explain.
    sectors : mapping of symbol to sector
    index_weights : DataFrame (T, N), optional
        Weights of the index at each close, where they are known.
    """

    dates: NDArray[np.datetime64]
    returns: FloatArray
    index: FloatArray
    causes: pd.DataFrame
    names: pd.DataFrame
    sectors: Mapping[str, str]
    index_weights: pd.DataFrame | None = None

    @property
    def active(self) -> FloatArray:
        """(T,) what both attributions add up to."""
        return np.asarray(self.returns - self.index)

    @property
    def by_sector(self) -> pd.DataFrame:
        """The attribution by name, with the names of a sector together."""
        apart = (CASH, COSTS, UNEXPLAINED)
        group = [name if name in apart else self.sectors.get(name, NO_SECTOR) for name in self.names.columns]
        return self.names.T.groupby(group, sort=False).sum().T

    def shares(self, effects: pd.DataFrame) -> pd.Series:
        """Share of each effect in the sum of squared active returns. They sum to 1 and may be negative."""
        return pd.Series(squared_shares(effects.to_numpy(), self.active), effects.columns)

    def linked(self, effects: pd.DataFrame) -> pd.Series:
        """Each effect over all bars (Carino): they sum to the tracking difference."""
        return pd.Series(linked(effects.to_numpy(), self.returns, self.index), effects.columns)

    def frame(self) -> pd.DataFrame:
        """What ``attribution.parquet`` holds: returns, effects by cause, effects by name under "by name: ...", and weights of the
        index, where they are known, under "weight in the index: ...".
        """
        both = pd.DataFrame({"portfolio": self.returns, "index": self.index, "active": self.active}, index=self.causes.index)
        names = self.names.set_axis([f"{BY_NAME}{name}" for name in self.names.columns], axis=1)
        known = [] if self.index_weights is None else [self.index_weights.add_prefix(IN_INDEX)]
        return pd.concat([both, self.causes, names, *known], axis=1).rename_axis("date")

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, sectors: Mapping[str, str]) -> Attribution:
        """Back from :meth:`frame`."""
        own = [column for column in frame.columns if column.startswith(BY_NAME)]
        # Laid out in memory as a run lays it out: the last digit of a sum depends on it.
        effects = np.ascontiguousarray(frame[own].to_numpy())
        names = pd.DataFrame(effects, frame.index, [column.removeprefix(BY_NAME) for column in own])
        dates = frame.index.to_numpy().astype("datetime64[ns]")
        returns, index = (frame[name].to_numpy() for name in ("portfolio", "index"))
        known = [column for column in frame.columns if column.startswith(IN_INDEX)]
        b = frame[known].set_axis([column.removeprefix(IN_INDEX) for column in known], axis=1) if known else None
        return cls(dates, returns, index, frame[list(CAUSES)], names, sectors, b)


def attribute(record: RunRecord, index_weights: FloatArray | None = None) -> Attribution:
    """Attribute the active return of the scored bars of a run.

    Parameters
    ----------
    record : RunRecord
        Of a run whose stages were kept: ``backtest(..., stages=True)``, or ``tracker run --out``.
    index_weights : (T, N) float, optional
        Published weights of the index at each close of the record, in the order of its symbols. What they lack to 1 counts as
        earning what the index earns.

    Raises
    ------
    DataError
        The stages were not kept, or the weights do not fit.
    """
    weights = index_weights
    if weights is not None:
        if weights.shape != record.weights.shape or not np.isfinite(weights).all():
            raise DataError(
                f"index weights have shape {weights.shape}; they must be finite, one row per bar: {record.weights.shape}"
            )
        weights = weights[len(record.dates) - len(record.part.dates) :]
    return Bars(record).attribution(weights)


class Bars:
    """The bars of a run as both attributions need them."""

    def __init__(self, record: RunRecord) -> None:
        part = record.part
        if part.stages is None:
            raise DataError(
                "the stages of its decisions were not recorded: run it with backtest(..., stages=True), or with --out"
            )
        self.part, self.stages = part, part.stages
        rows = np.arange(len(part.dates))[part._seen_rows(None)[1]]
        if len(rows) < 2:
            raise DataError("no bar is scored: there is nothing to attribute")
        self.rows, self.first, self.inside = rows, rows[:-1], slice(rows[0], rows[-1])
        self.r, self.y = record.scored()
        s, V = self.stages, part.value[:-1, None]
        close = np.where(np.isfinite(s.close), s.close, 0.0)
        fill = np.where(np.isfinite(s.fill), s.fill, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            x = s.close[1:] / s.close[:-1] - 1.0
        self.x = np.where(np.isfinite(x), x, 0.0)
        after = s.shares[1:]
        before = after if s.at_close else s.shares[:-1]
        self.earned = (after * close[1:] - before * close[:-1] - (after - before) * fill[1:]) / V
        self.held = before * close[:-1] / V
        self.growth = time_weighted(part.value, part.flow)
        self.paid = part.cost[1:] / part.value[:-1]

    def spans(self, per_bar: FloatArray) -> FloatArray:
        """Sums over the bars of each span, in money over the account at its beginning."""
        path = np.r_[1.0, np.cumprod(self.growth)]
        begins = np.repeat(self.first, np.diff(self.rows))
        scale = path[self.inside] / path[begins]
        scaled = (per_bar[self.inside].T * scale).T
        return np.asarray(np.add.reduceat(scaled, self.first - self.first[0], axis=0))

    def compounded(self, per_bar: FloatArray) -> FloatArray:
        """Returns over the spans, of portfolios or names."""
        if len(self.rows) == len(self.growth) + 1:
            return per_bar  # every bar is one
        return np.asarray(np.multiply.reduceat(1.0 + per_bar[self.inside], self.first - self.first[0], axis=0) - 1.0)

    def rungs(self) -> FloatArray:
        """(6, T) the returns R1 to R6."""
        s = self.stages
        decided = [np.einsum("ti,ti->t", stage[:-1], self.x) for stage in (s.wish, s.allowed, s.traded, s.rounded)]
        return np.array([*map(self.compounded, decided), self.r + self.spans(self.paid), self.r])

    def attribution(self, b: FloatArray | None) -> Attribution:
        """Both."""
        part, y, rungs = self.part, self.y[:, None], self.rungs()
        effects = np.diff(np.vstack([self.y, rungs]), axis=0)
        earned, held = self.spans(self.earned), self.held[self.first]
        own = earned - held * y
        more = {CASH: rungs[4] - earned.sum(axis=1) - (1.0 - held.sum(axis=1)) * self.y, COSTS: -self.spans(self.paid)}
        if b is not None:
            off = b[self.first] * (self.compounded(self.x) - y)
            own, more[UNEXPLAINED] = own - off, off.sum(axis=1)
        dates = part.dates[self.rows[1:]]
        causes = pd.DataFrame(effects.T, index=dates, columns=list(CAUSES))
        names = pd.DataFrame(np.column_stack([own, *more.values()]), index=dates, columns=[*part.symbols, *more])
        known = None if b is None else pd.DataFrame(b[self.rows[1:]], index=dates, columns=list(part.symbols))
        return Attribution(dates, self.r, self.y, causes, names, part.sectors, known)
