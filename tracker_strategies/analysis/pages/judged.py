"""Which run is better, as a table of a page and in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tracker_strategies.analysis.inference.verdicts import BETTER, WORSE, Judged
from tracker_strategies.analysis.metrics import annualised
from tracker_strategies.analysis.pages.page import Cell, Table, Word
from tracker_strategies.analysis.pages.words import number, percent

#: What the columns mean, for pages and for the terminal.
EXPLAINED = (
    "Ahead: tracking error of the reference minus that of the run, on the same bars; positive is better. Verdicts go by the "
    "p-value, which is adjusted for all pairs of runs. Intervals hold with 95 %; that of a difference is of its pair alone."
)
BEST = "cannot be distinguished from the best"
#: How a verdict looks.
KINDS = {BETTER: "good", WORSE: "bad"}


def reference_of(judged: Mapping[str, Judged]) -> str:
    """Name of the run that the others are judged against."""
    return next(run.name for run in judged.values() if run.versus is None)


def p_words(p: float, floor: float = 0.0) -> str:
    """A p-value with three decimals at most, and never 0; ``floor`` is the smallest that so many draws can show."""
    if p <= floor * (1.0 + 1e-9):
        return f"\u2264 {math.ceil(1e3 * floor - 1e-9) / 1e3:.3f}"
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def decimals(low: float, high: float) -> int:
    """Decimals of a figure that stands beside its interval, at most three: one beside an interval of 2 to either side."""
    half = 0.5 * (high - low)
    return min(max(1 - math.floor(math.log10(half)), 0), 3) if math.isfinite(half) and half > 0.0 else 3


def judged_table(judged: Mapping[str, Judged], periods_per_year: float | None = None) -> Table:
    """Tracking errors with their intervals, and each run against the reference."""
    reference = reference_of(judged)
    head: list[Word] = ["Run", Cell("TE, RMS, bp", "95 % interval"), Cell(f"Ahead of {reference}, bp", "95 % interval")]
    head += [Cell("p", "adjusted"), "Verdict", "Best"]
    rows: list[list[Word]] = []
    for run in judged.values():
        yearly = f"; {percent(annualised(run.figure, periods_per_year), 2)} per year" if periods_per_year is not None else ""
        best: Word = Cell(BEST, kind="good") if run.among_best else ""
        rows.append([run.name, *judged_cells(run, yearly), best])
    return Table(head, rows, own=[i for i, run in enumerate(judged.values()) if run.versus is None], kind="judged")


def judged_cells(run: Judged, more: str = "") -> list[Word]:
    """Tracking error, distance from the reference, both in bp with intervals, adjusted p-value and verdict of one run."""
    te = Cell(number(1e4 * run.figure), f"{_span(run.low, run.high)}{more}", run.figure)
    if (v := run.versus) is None:
        return [te, "", "", run.verdict]
    ahead = Cell(number(1e4 * v.delta, sign=True), _span(v.low, v.high, sign=True), v.delta)
    return [te, ahead, p_words(v.p_adjusted), Cell(v.verdict, kind=KINDS.get(v.verdict, ""))]


def _span(low: float, high: float, *, sign: bool = False) -> str:
    return f"{number(1e4 * low, sign=sign)} to {number(1e4 * high, sign=sign)}"
