"""What a portfolio manager looks for, as tables and words of a page."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from tracker_strategies.analysis.manager.exposure import active_share, largest_active
from tracker_strategies.analysis.manager.periods import calendar_years, monthly_active, trailing_years
from tracker_strategies.analysis.manager.turnover import Trading
from tracker_strategies.analysis.pages.page import Cell, Table, Word
from tracker_strategies.analysis.pages.words import count, percent
from tracker_strategies.analysis.record import RunRecord

#: How to read the tables.
PERIODS_EXPLAINED = (
    "Returns are compounded over the scored bars of a period. Tracking difference: portfolio minus index. Tracking error: "
    "standard deviation of the active returns, annualised. Periods of more than a year are per year. A period that is longer "
    "than what is scored has no figures."
)


#: What the active share is.
ACTIVE_SHARE = "half the sum of the absolute differences between the weights held and those of the index"


def manager_tables(record: RunRecord) -> list[tuple[str, Table]]:
    """Calendar years, years back from the last bar, and active returns by month; none where no bar is scored."""
    if not len(record.scored()[0]):
        return []
    index = "Index" if len(record.targets) == 1 else "Blend"
    return [
        ("Calendar years", _periods("Year", index, calendar_years(record))),
        ("Years up to the last bar", _periods("Period", index, trailing_years(record))),
        ("Active return by month", _months(monthly_active(record))),
    ]


def active_tables(record: RunRecord, index_weights: pd.DataFrame | None) -> tuple[str, list[tuple[str, Table]]]:
    """The active share in words, and the names whose weights differ most from those in the index; nothing where these are not
    known.
    """
    if index_weights is None:
        return "", []
    days = pd.DatetimeIndex(record.dates)
    held = record.weights[days.get_indexer(pd.DatetimeIndex(index_weights.index))]
    shares = active_share(held, index_weights.to_numpy())
    rows: list[list[Word]] = []
    for name, own in largest_active(record, index_weights.to_numpy()[-1]).iterrows():
        both = (Cell(percent(own[key], 2), value=own[key]) for key in ("weight", "index"))
        rows.append([str(name), *both, _signed(own["active"])])
    words = f"Active share {percent(shares[-1], 1)} at the end, {percent(float(shares.mean()), 1)} on average: {ACTIVE_SHARE}."
    return words, [("Largest active weights at the end", Table(["Name", "Portfolio", "Index", "Active weight"], rows))]


def in_interval(low: float, high: float, written: Callable[[float], str]) -> str:
    """The 95 % interval of a figure in words."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "too few bars, or none that moves, for an interval"
    return f"95\u202f% interval {written(low)} to {written(high)}"


def holding_words(traded: Trading) -> str:
    """What the holding period is, and how long names that were sold were held."""
    words = ["1 / one-way turnover per year"]
    if math.isfinite(traded.median_spell):
        words.append(f"names that were sold: {traded.median_spell:,g} bar{'' if traded.median_spell == 1 else 's'} (median)")
    if math.isfinite(traded.trades):
        words.append(count(traded.trades, "trade"))
    return "; ".join(words)


def _periods(first: str, index: str, table: pd.DataFrame) -> Table:
    rows: list[list[Word]] = []
    for period, row in zip(map(str, table.index), table.to_dict("records"), strict=True):
        if not row["n_bars"]:
            rows.append([Cell(period, "longer than the run"), *["\u2013"] * 5])
            continue
        note = "" if row["whole"] else f"from {row['first']:%Y-%m-%d} to {row['last']:%Y-%m-%d} only"
        figures: list[Word] = [_signed(row[key]) for key in ("portfolio", "index", "tracking_difference")]
        error = row["tracking_error"]
        figures.append(Cell(percent(error, 2), value=error) if math.isfinite(error) else "\u2013")
        rows.append([Cell(period, note), *figures, f"{row['n_bars']:,}"])
    return Table([first, "Portfolio", index, "Tracking difference", "Tracking error", "Bars"], rows)


def _months(table: pd.DataFrame) -> Table:
    """Colours go by the largest month; a year has none, since it is a longer time."""
    largest = float(table.drop(columns="year").abs().max().max())
    rows: list[list[Word]] = []
    for year, own in table.iterrows():
        cells: list[Word] = []
        for name, active in own.items():
            if not math.isfinite(active):
                cells.append("")
            else:
                shade = active / largest if name != "year" and largest > 0.0 else None
                cells.append(_signed(active)._replace(shade=shade))
        rows.append([str(year), *cells])
    return Table(["Year", *table.columns[:-1], "Whole year"], rows, kind="months")


def _signed(fraction: float) -> Cell:
    """Two decimals, so that the figures of a column can be compared at a glance."""
    return Cell(percent(fraction, 2, sign=True), value=fraction)
