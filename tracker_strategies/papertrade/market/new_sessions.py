"""New bars: read the source, find the sessions that the journal does not have, and refuse what does not look like prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel
from tracker_strategies.errors import DataError
from tracker_strategies.papertrade.config import AccountConfig
from tracker_strategies.papertrade.journal.history import Bars, History
from tracker_strategies.papertrade.market import corporate_actions as actions
from tracker_strategies.papertrade.market.closed_markets import check_complete, latest_levels
from tracker_strategies.papertrade.market.corporate_actions import Action
from tracker_strategies.papertrade.market.moves import Before, check_moves
from tracker_strategies.papertrade.risk_limits import RiskLimits

FloatArray = NDArray[np.float64]

#: Sessions of the journal with which a source is compared, to notice that its past was changed.
OVERLAP = 10
#: Prices that differ by less than this are the same price, written down anew.
_SAME = 1e-6
#: A factor between two histories that varies by less than this is one factor: adjusted prices are often rounded to cents.
_ONE_FACTOR = 2e-3


def read_source(
    config: AccountConfig,
    tickers: Sequence[str],
    listed: Sequence[Action] = (),
    panel: MarketPanel | None = None,
    *,
    after: str = "",
) -> tuple[Bars, list[str]]:
    """Sessions of the account's source, for its names, and what there is to say about them.

    Parameters
    ----------
    tickers : sequence of N str
        What the names are called now. A column may have that name, the first one, or one that a listed rename gives.
    listed : sequence of Action
        From the file of corporate actions.
    panel : MarketPanel, optional
        Use this instead of opening the source.
    after : str
        Leave out this session and all before it; by default none.
    """
    if panel is None:
        panel = config.open()
    part = slice(int(np.searchsorted(panel.dates, np.datetime64(after, "ns"), side="right")) if after else 0, None)
    dates = panel.dates[part]
    have = {name: i for i, name in enumerate(panel.symbols)}
    new = {a.symbol: a.text for a in listed if a.kind == "rename"}
    # Where a column has no price, that of an earlier name may have one: vendors drop the old name at a day of their own.
    names = [[new.get(t, new.get(s, t)), t, s] for t, s in zip(tickers, config.symbols, strict=True)]
    columns = [list(dict.fromkeys(have[name] for name in own if name in have)) for own in names]
    prices = np.full((len(dates), len(config.prices), len(tickers)), np.nan)
    for j, kind in enumerate(config.prices):
        values = getattr(panel, kind)
        if values is None:
            raise DataError(
                f"{panel.source} has no {kind} prices any more; this account was opened with {', '.join(config.prices)}"
            )
        values = values[part]
        first = [own[0] if own else 0 for own in columns]
        prices[:, j] = values[:, first]
        for i, own in enumerate(columns):
            if not own:
                prices[:, j, i] = np.nan
            for other in own[1:]:
                prices[:, j, i] = np.where(np.isfinite(prices[:, j, i]), prices[:, j, i], values[:, other])
    targets = [panel.targets.index(name) for name in config.targets]
    levels = panel.target_close[part][:, targets]
    if panel.target_seen is not None:
        levels = np.where(panel.target_seen[part][:, targets], levels, np.nan)
    return Bars(session_names(dates), prices, levels), _notes(tickers, columns, panel)


def _notes(tickers: Sequence[str], columns: Sequence[Sequence[int]], panel: MarketPanel) -> list[str]:
    """Names without a column, and columns without a name."""
    notes = []
    lost = [t for t, own in zip(tickers, columns, strict=True) if not own]
    if lost:
        shown = ", ".join(lost[:5]) + (", ..." if len(lost) > 5 else "")
        notes.append(
            f"no column for {shown} ({len(lost)} of {len(tickers)} names): no bars until the column is back; if "
            "the ticker was renamed, add the rename to the file of actions"
        )
    strange = set(panel.symbols) - {panel.symbols[c] for own in columns for c in own}
    if strange:
        notes.append(f"{len(strange)} columns do not belong to this account ({', '.join(sorted(strange)[:3])}); they are ignored")
    return notes


def session_names(dates: NDArray[np.datetime64]) -> list[str]:
    """ISO dates; with the time of day where there is one."""
    days = dates.astype("datetime64[D]")
    return [str(d) if d == t else str(t.astype("datetime64[m]")) for d, t in zip(days, dates, strict=True)]


@dataclass
class Session:
    """One new session: its bar, the corporate actions that take effect, and notes about the data."""

    bars: Bars
    actions: list[Action] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its date."""
        return self.bars.sessions[-1]


class Intake:
    """Compares a source with the last sessions of a journal.

    Parameters
    ----------
    config : AccountConfig
    limits : RiskLimits
    tail : Bars
        The last sessions of the journal, at most :data:`OVERLAP` of them; perhaps none.
    last : (N,) float
        Latest close of each name as seen, however old.
    tickers : sequence of N str
    listed : sequence of Action
        From the file of corporate actions.
    past : callable
        The whole history of the journal, for the rare case that it is asked for.
    """

    def __init__(
        self,
        config: AccountConfig,
        limits: RiskLimits,
        tail: Bars,
        last: FloatArray,
        tickers: Sequence[str],
        listed: Sequence[Action],
        past: Callable[[], History],
    ) -> None:
        self._past = past
        self._config, self._limits, self._tail = config, limits, tail
        self._last, self._tickers, self._listed = last, list(tickers), list(listed)

    def warm_up(self, source: Bars) -> Session | None:
        """The bars before the account's first session, all at once: they are learned from, never traded on."""
        rows = sum(s < self._config.start for s in source.sessions)
        # Nothing can be learned before every target has had a level.
        begun = np.asarray(np.isfinite(source.levels[:rows]).cumsum(axis=0).all(axis=1))
        if self._tail.sessions or not begun.any():
            return None
        past = source.rows(int(np.argmax(begun)), rows)
        return Session(past, self._old_splits(past))

    def _old_splits(self, past: Bars) -> list[Action]:
        """Splits before the account began, where the prices show that they were not adjusted for them."""
        found = []
        for action in self._listed:
            row = int(np.searchsorted(np.array(past.sessions), action.session))
            if action.kind == "split" and action.symbol in self._config.symbols and 0 < row < len(past.sessions):
                i = self._config.symbols.index(action.symbol)
                move = past.close[row, i] / past.close[row - 1, i]
                if np.isfinite(move) and abs(np.log(move * action.value)) < abs(np.log(move)):
                    found.append(Action(past.sessions[row], action.symbol, "split", action.value, factor=action.value))
        return found

    def sessions(self, source: Bars, *, goes_on: bool = False) -> list[Session]:
        """The sessions that the journal lacks, checked, oldest first. Call it after the warm-up is in the journal.

        ``goes_on``: the source has sessions after these, which have not happened yet by the account's clock.
        """
        known = self._tail.sessions
        newest = known[-1] if known else ""
        rows = [t for t, s in enumerate(source.sessions) if s > newest and s >= self._config.start]
        if not rows:
            return []
        adjusted, notes = self._compare(source)
        found = []
        before, last = newest, self._last
        had = np.isfinite(self._tail.close[-1]) if known else np.zeros(len(last), dtype=bool)
        recent = np.asarray(np.isfinite(self._tail.close).any(axis=0))  # a price from before a holiday is one to compare with
        listed = self._newly_listed()
        level = latest_levels(self._tail.levels) if known else np.full(source.levels.shape[1], np.nan)
        for t in rows:
            session = Session(source.rows(t, t + 1), notes=notes)
            reach = max(source.sessions[rows[-1]], session.name) if adjusted else session.name
            own = [a for a in self._listed if a.session <= session.name or (self._place(a) in adjusted and a.session <= reach)]
            session.actions = actions.due(
                [_dated(a, session.name) for a in own], before, session.name, self._config.symbols, self._tickers, last, adjusted
            )
            self._listed = [a for a in self._listed if a not in own]
            for action in session.actions:
                if action.kind == "rename":
                    self._tickers[self._config.symbols.index(action.symbol)] = action.text
            over, since = goes_on or t < len(source.sessions) - 1, source.rows(rows[0], t)
            session.notes = [
                *session.notes,
                *check_moves(
                    self._config, self._limits, session.bars, session.actions, Before(before, last, recent, level, listed)
                ),
                *check_complete(self._config, self._limits, session.bars, had, self._past, since, over=over),
            ]
            found.append(session)
            close = source.close[t]
            before, had = session.name, np.isfinite(close)
            listed |= ~np.isfinite(last) & had
            last, recent, level = np.where(had, close, last), recent | had, latest_levels(np.stack([level, source.levels[t]]))
            adjusted, notes = {}, []
        return found

    def _newly_listed(self) -> NDArray[np.bool_]:
        """(N,) names that began to trade, or began again after a long halt, among the sessions that are compared."""
        seen = np.isfinite(self._tail.close)
        return seen[-1] & ~seen[0] if len(seen) else np.zeros(len(self._last), dtype=bool)

    def _place(self, action: Action) -> int:
        for names in (self._config.symbols, self._tickers):
            if action.symbol in names:
                return list(names).index(action.symbol)
        return -1

    def _compare(self, source: Bars) -> tuple[dict[int, float], list[str]]:
        """Names whose whole past was multiplied by one number; and a note about other changes, which are not taken over."""
        rows = {s: t for t, s in enumerate(source.sessions)}
        shared = [(j, rows[s]) for j, s in enumerate(self._tail.sessions) if s in rows]
        if not shared:
            return {}, ["the source no longer holds the sessions before the new one"] if self._tail.sessions else []
        ours, theirs = self._tail.close[[j for j, _ in shared]], source.close[[t for _, t in shared]]
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = theirs / ours
        adjusted, changed = {}, []
        for i in np.flatnonzero((np.abs(ratio - 1.0) > _SAME).any(axis=0)):
            own = ratio[np.isfinite(ratio[:, i]), i]
            if len(own) > 1 and own.max() / own.min() - 1.0 < _ONE_FACTOR and abs(own[-1] - 1.0) > _SAME:
                adjusted[int(i)] = float(np.median(own))
            else:
                changed.append(self._config.symbols[i])
        if not changed:
            return adjusted, []
        names = ", ".join(changed[:5]) + (", ..." if len(changed) > 5 else "")
        return adjusted, [
            f"the source has changed past prices of {names} ({len(changed)} names); the journal keeps the prices it has recorded"
        ]


def _dated(action: Action, session: str) -> Action:
    return action if action.session <= session else Action(**{**vars(action), "session": session})
