"""What cleaning has found in a panel and what it did about it, as a table for people and as data for the record of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Rows that a table shows before it says how many more there are.
SHOWN = 20


class Finding(NamedTuple):
    """One suspicious bar, or run of bars, of one series.

    Attributes
    ----------
    symbol : str
    date : str
        ISO date of the (first) bar; with the time where bars are finer than a day.
    kind : str
        One of :data:`datafeeds.cleaning.bad_prices.KINDS`.
    value : float
        For `spike` and `jump` the price over the one before it; for `stale` and `no volume` the number of bars.
    action : str
        What was done.

    Examples
    --------
    >>> from datafeeds import MarketPanel, clean, load_sample
    >>> frame = load_sample().to_frame().iloc[:300].copy()
    >>> frame.iloc[100, 3] *= 10.0
    >>> panel, report = clean(MarketPanel.from_frame(frame))
    >>> [(finding.symbol, finding.date, finding.kind) for finding in report.findings]
    [('BAC', '2011-05-26', 'spike')]
    """

    symbol: str
    date: str
    kind: str
    value: float
    action: str


@dataclass(frozen=True)
class CleaningReport:
    """Everything that :func:`datafeeds.cleaning.cleaner.clean` found, in the order of symbols and dates.

    Attributes
    ----------
    policy : str
    settings : mapping
        The thresholds that were applied.
    findings : tuple of Finding
    dropped : mapping of symbol to reason
        Symbols that were removed, and why.

    Examples
    --------
    >>> from datafeeds import MarketPanel, clean, load_sample
    >>> frame = load_sample().to_frame().iloc[:300].copy()
    >>> frame.iloc[100, 3] *= 10.0
    >>> panel, report = clean(MarketPanel.from_frame(frame), policy="drop")
    >>> print(report.summary())
    cleaning (drop): 1 spike in 1 series
    """

    policy: str
    settings: Mapping[str, float]
    findings: tuple[Finding, ...] = ()
    dropped: Mapping[str, str] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Number of findings of each kind."""
        return dict(sorted(Counter(f.kind for f in self.findings).items()))

    def summary(self) -> str:
        """One line."""
        kinds = ", ".join(f"{n} {kind}" for kind, n in self.counts().items()) or "nothing found"
        names = len({f.symbol for f in self.findings})
        where = f" in {names} series" if names else ""
        gone = f"; {len(self.dropped)} symbols dropped" if self.dropped else ""
        return f"cleaning ({self.policy}): {kinds}{where}{gone}"

    def table(self, rows: int | None = None) -> str:
        """All findings, or the first `rows` of them, below the summary."""
        shown = self.findings[:rows]
        if not shown:
            return self.summary()
        cells = [("symbol", "date", "kind", "value", "action"), *((*f[:3], f"{f.value:.4g}", f.action) for f in shown)]
        widths = [max(len(row[k]) for row in cells) for k in range(4)]
        lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]) for row in cells]
        more = len(self.findings) - len(shown)
        return "\n".join([self.summary(), *lines, *([f"... and {more} more"] if more else [])])

    def __str__(self) -> str:
        return self.table()

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "policy": self.policy,
            "settings": dict(self.settings),
            "counts": self.counts(),
            "dropped": dict(self.dropped),
            "findings": [f._asdict() for f in self.findings],
        }
