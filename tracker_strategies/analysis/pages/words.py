"""The figures of a run in words and units that people read, with the exact value beside them for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from datafeeds.bar_length import BarLength, moment
from datafeeds.choices import SYNTHETIC
from tracker_strategies.analysis.metrics import annualised, not_taken
from tracker_strategies.analysis.pages.page import Cell
from tracker_strategies.analysis.record import RunRecord

#: Most places behind the point, and the smallest figure that they show.
PLACES = 8
TINY = 10.0**-PLACES


def minus(text: str) -> str:
    """Figures with a true minus sign."""
    return text.replace("-", "\u2212")


def percent(value: float, digits: int = 0, sign: bool = False) -> str:
    """0.0123 as 1.23 %, with a true minus sign; what rounds to zero has none."""
    return minus(f"{100 * value:{'+' if sign else ''}z.{digits}f}\u202f%")


def count(n: float, thing: str) -> str:
    """1 bar, 2 bars."""
    return f"{n:,.0f} {thing}{'' if n == 1 else 's'}"


def number(value: float, digits: int = 3, sign: bool = False) -> str:
    """At least three significant digits, thousands apart, a true minus sign; a dash for what is not a number, and a zero for what
    is too small to be written.
    """
    if not math.isfinite(value):
        return "\u2013"
    if abs(value) < 0.5 * TINY:
        value = 0.0
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    zeros = -int(np.floor(np.log10(abs(value)))) - 1 if 0 < abs(value) < 1 else 0
    text = f"{value:{'+' if sign else ''}z,.{min(max(digits - whole + zeros, 0), PLACES)}f}"
    return minus(text)


def fixed(value: float, places: int) -> str:
    """So many places behind the point, so that a figure and its interval agree in them; a dash for what is not a number."""
    return minus(f"{value:z,.{places}f}") if math.isfinite(value) else "\u2013"


def bp(fraction: float) -> str:
    """0.0012 as 12.0 bp."""
    return f"{number(1e4 * fraction)}\u202fbp"


def signed_percent(fraction: float) -> str:
    """0.012 as +1.20 %."""
    return f"{number(100 * fraction, sign=True)}\u202f%"


#: Heading and wording of each figure of ``metrics.json``, in the order of the pages.
FIGURES: dict[str, tuple[str, Callable[[float], str]]] = {
    "te_rms": ("TE, RMS", bp),
    "te_centred": ("TE, centred", bp),
    "tracking_difference": ("Tracking difference", signed_percent),
    "excess_log_return": ("Excess log return", signed_percent),
    "final_value": ("Final value", lambda v: f"{v:,.0f}"),
    "turnover": ("Turnover", lambda v: f"{number(100 * v)}\u202f%"),
    "cost_bps": ("Cost", lambda v: f"{number(v)}\u202fbp"),
    "n_holdings": ("Holdings", lambda v: f"{v:,.1f}"),
    "mdte": ("MDTE", bp),
    "n_bars": ("Bars", lambda v: f"{v:,.0f}"),
    "entry_active_return": ("Entry, active return", bp),
    "entry_bars": ("Entry, bars", lambda v: f"{v:,.0f}"),
    "entry_turnover": ("Entry, turnover", lambda v: f"{number(100 * v)}\u202f%"),
    "entry_cost_bps": ("Entry, cost", lambda v: f"{number(v)}\u202fbp"),
    "breaches_passive": ("Over limits, passive", lambda v: f"{v:,.0f}"),
    "breaches_forced": ("Over limits, forced", lambda v: f"{v:,.0f}"),
    "breaches_active": ("Over limits, active", lambda v: f"{v:,.0f}"),
    "idle_cash": ("Idle cash", lambda v: f"{number(100 * v)}\u202f%"),
    "unfilled": ("Unfilled", lambda v: f"{number(100 * v)}\u202f%"),
}
#: Figures of the tear sheet that are not in ``metrics.json``.
EXTRA: dict[str, tuple[str, Callable[[float], str]]] = {
    "active_drawdown": ("Active drawdown", signed_percent),
    "beta": ("Beta to the index", lambda v: fixed(v, 3)),
    "r_squared": ("R\u00b2 to the index", lambda v: fixed(v, 4)),
    "holding_years": ("Holding period", lambda v: f"{number(v)} years" if math.isfinite(v) else "\u2013"),
    "up_capture": ("Up and down capture", lambda v: f"{number(100 * v)}\u202f%"),
    "down_capture": ("Down capture", lambda v: f"{number(100 * v)}\u202f%"),
}


def figure(key: str, value: float, periods_per_year: float | None = None) -> Cell:
    """A figure for people and for programs; a tracking error also annualised where it is told how many bars a year has."""
    yearly = ""
    if key.startswith("te_") and periods_per_year is not None:
        yearly = f"{percent(annualised(value, periods_per_year), 2)} per year"
    return Cell((FIGURES | EXTRA)[key][1](value), yearly, value, key)


def why_unscored(record: RunRecord) -> str:
    """Why no bar of a run is scored, and what to do, as a part of a sentence."""
    run = record.whole or record
    if run.entry.row is not None:
        there = moment(run.dates[run.entry.row])
        return f"because the account got to its target only at the close of {there} and nothing is left after it: give more bars"
    left = not_taken(run.unfilled, run.turnover)
    if left:
        return (
            f"because the market did not take {100.0 * left:.3g} % of the value of its orders, and the account never got to its "
            "target: give it less cash, raise max_participation, or give more bars"
        )
    if run.turnover.any():
        return "because the account never got to its target: raise entry_turnover, or give more bars"
    if run.params.get("impact") is not None:
        return "because there are too few sessions to estimate the impact of an order: give more bars, or omit impact"
    return "because the account never bought anything: look at its cash, and whether its orders were rejected"


def simulated(source: str) -> bool:
    """Whether prices with this source were drawn, so that nothing is known of their future."""
    return source.partition(":")[0] == SYNTHETIC


def begins_later(record: RunRecord) -> bool:
    """Whether this is a part that somebody chose to score (``--eval-from``): the final value is then the whole run's."""
    return record.whole is not None and not record.begins_at_entry


def bars_in_words(dates: NDArray[np.datetime64]) -> str:
    """The number of bars after the first date and how long they are: 1,560 bars of 1 minute."""
    return f"{len(dates) - 1:,} {BarLength.usual(dates).kind}"


def keys_of(metrics: Sequence[Mapping[str, float]]) -> list[str]:
    """The figures that all runs have, in the order of the pages."""
    return [key for key in FIGURES if all(key in m for m in metrics)]


def year_words(periods_per_year: float | None, dates: NDArray[np.datetime64] | None = None) -> str:
    """How long a bar is and how many a year has, as the end of a sentence; nothing where it is not known."""
    if periods_per_year is None:
        return ""
    long = "" if dates is None else f"; bars are {'' if (n := str(BarLength.usual(dates))) == 'irregular' else 'of '}{n}"
    return f"{long}; a year has {periods_per_year:,g} bars"


def unscored(records: Sequence[RunRecord]) -> list[str]:
    """What to say about runs that are not scored, or on fewer bars than others, because they got to their targets late."""
    bars = {r.strategy: r.metrics()["n_bars"] for r in records}
    most = max(bars.values())
    words = []
    for record in records:
        n, took = bars[record.strategy], record.metrics()["entry_bars"]
        if not n:
            words.append(f"{record.strategy}: no bar is scored, {why_unscored(record)}.")
        elif n < most:
            words.append(
                f"{record.strategy}: took {count(took, 'bar')} to get to its target and is scored on {count(n, 'bar')}, "
                f"others on {most:,.0f}."
            )
    return words
