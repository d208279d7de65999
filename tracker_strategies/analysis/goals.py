"""What a run was asked for, and what it delivered: a margin over the index, a budget for the tracking error, limits, lots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tracker_strategies._checks import fraction
from tracker_strategies.strategies.target import margin_of

if TYPE_CHECKING:
    from tracker_strategies.analysis.record import RunRecord


def goals_of(record: RunRecord) -> dict[str, float]:
    """Figures per year of the data's own bars, only for what was asked for.

    ``margin``, ``excess_per_year``
        The margin that was asked for (of several targets the blended one), and by what the account grew more than the index.
    ``max_tracking_error``, ``te_year``, ``budget_used``
        The budget; the RMS tracking error of the scored bars times the root of the bars per year; the second over the first.
        Above 1 is what the tracker misses without any tilt, or what came faster than the tilt could be cut.
    ``leftover_cash``, ``rounding_te``
        With whole lots: the median share of the account that decisions left in cash, and the tracking error per bar that rounding
        was expected to cost.
    """
    params, metrics, year = record.params, record.metrics(), record.periods_per_year
    found: dict[str, float] = {}
    if record.rounding is not None:
        found |= {"leftover_cash": float(np.median(record.part.idle_cash)), "rounding_te": record.rounding}
    if "confirm_margin" not in params:  # not a strategy of ours: its margin may be another thing
        return found
    if params.get("margin") is not None:
        years = metrics["n_bars"] / year
        grown = math.expm1(metrics["excess_log_return"] / years) if years else math.nan
        found |= {"margin": margin_of(params, len(record.targets)), "excess_per_year": grown}
    if params.get("max_tracking_error") is not None:
        budget = fraction("max_tracking_error", params["max_tracking_error"])
        te = metrics["te_rms"] * math.sqrt(year)
        found |= {"max_tracking_error": budget, "te_year": te, "budget_used": te / budget}
    return found


def goals_told(strategy: str, goals: Mapping[str, float]) -> list[str]:
    """The same as sentences, for a table."""
    percent = {key: 100.0 * value for key, value in goals.items()}
    told = []
    if "rounding_te" in goals:
        cash, te = percent["leftover_cash"], 100.0 * percent["rounding_te"]
        told.append(f"{strategy}: whole lots leave {cash:.2f} % in cash (median) and are expected to cost {te:.1f} bp per bar.")
    if "margin" in goals:
        asked, delivered = percent["margin"], percent["excess_per_year"]
        told.append(f"{strategy}: target excess return {asked:+.2f} % per year, delivered {delivered:+.2f} %.")
    if "max_tracking_error" in goals:
        te, used, budget = percent["te_year"], percent["budget_used"], percent["max_tracking_error"]
        floor = " The tilt was reduced; the error without a tilt is a floor that no budget lowers." if used > 100.0 else ""
        told.append(f"{strategy}: tracking error {te:.2f} % per year, {used:.0f} % of the budget of {budget:g} %.{floor}")
    return told
