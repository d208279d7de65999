"""The recommended tracker on real markets: against its members alone, the vote that it was, PA, skfolio and SLAIT; on all names
and on a few; and without each of its ingredients.

The markets are those of ../shared/data that have an index. Accounts are filled at the close without costs; both halves are told.
One setting serves all. Finished rows are kept in runs/benchmarks/ensemble.jsonl, so that a run that was stopped goes on.
"""

from __future__ import annotations

import sys
from typing import Any

from benchmarks._kept_rows import KeptRows
from benchmarks._measure import Report
from benchmarks.runs._results_page import few, geometric, markets_of, results_page, te
from benchmarks.runs._tracking_markets import ALONE, DATA, MARKETS, Contender, market, ours, rivals
from datafeeds import MarketPanel
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard.rivals import has_skfolio
from tracker_strategies.research.sweeps.running.worker import one_thread

Row = dict[str, Any]

#: Tracking error in bp and turnover in % per bar of the second half that are promised.
PROMISED = {
    "nasdaq100_2019_2020_daily": (4.12, 0.33),
    "sp500_2015_2020_daily": (2.80, 0.46),
    "orlib_sp100_98_weekly": (11.5, 0.82),
    "orlib_nikkei225_weekly": (5.3, 0.70),
    "orlib_hangseng31_weekly": (8.8, 0.45),
    "nasdaq100_2023_2024_daily": (3.3, 0.52),
    "sp500_2010_daily_RETURNS": (4.35, 1.06),
    "orlib_sp500_457_weekly": (26.5, 1.25),
}
#: Thirty names: tracking error of the vote's, and most turnover.
THIRTY = {
    "nasdaq100_2019_2020_daily": (12.26, 0.50),
    "orlib_sp100_98_weekly": (26.93, 0.90),
    "orlib_nikkei225_weekly": (46.03, 1.00),
}


def run() -> Report:
    report, kept = Report("ensemble"), KeptRows("ensemble")
    panels = {name: market(name) for name in MARKETS if (DATA / f"{name}.csv.gz").exists()}
    if len(panels) < len(MARKETS):
        report.notes.append(
            "not measured, because ../shared/data does not have them: " + ", ".join(m for m in MARKETS if m not in panels)
        )
    with one_thread():
        for others in (False, True):
            for name, panel in panels.items():
                contenders = rivals(panel.n_assets) if others else ours(panel.n_assets)
                report.rows += [scored(kept, name, panel, each) for each in contenders if takes_part(each)]
    if not has_skfolio():
        report.notes.append("skfolio is not installed (extra 'rivals') and was not measured")
    claims(report)
    return report


def takes_part(contender: Contender) -> bool:
    return contender.name != "skfolio" or has_skfolio()


def scored(kept: KeptRows, name: str, panel: MarketPanel, contender: Contender) -> Row:
    """The row of a contender on a market, found now if it is not kept."""

    def find() -> Row:
        print(f"{name}: {contender.group}, {contender.name}", file=sys.stderr, flush=True)
        record = replay(panel, contender.strategy, {"fill": "close", **contender.params})
        first, second = record.metrics(), record.since(0.5).metrics()
        both, late = (m["te_rms"] ** 2 * m["n_bars"] for m in (first, second))
        early = ((both - late) / max(first["n_bars"] - second["n_bars"], 1)) ** 0.5
        return {
            "market": name,
            "assets": panel.n_assets,
            "group": contender.group,
            "contender": contender.name,
            "TE bp": 1e4 * second["te_rms"],
            "turnover %": 100.0 * second["turnover"],
            "TE bp, first half": 1e4 * early,
            "names": second["n_holdings"],
        }

    return kept.row(f"{name}/{contender.group}/{contender.name}", find)


# -- what is made of the rows ----------


def claims(report: Report) -> None:
    rows = report.rows
    for row in rows:
        if row["contender"] == "ensemble" and row["market"] in PROMISED:
            error, turnover = PROMISED[row["market"]]
            report.claim(f"{row['market']}: TE in bp", row["TE bp"], at_most=error)
            report.claim(f"{row['market']}: turnover in % per bar", row["turnover %"], at_most=turnover)
    for name in markets_of(rows):
        mine, alone = te(rows, name, "ensemble"), [te(rows, name, member, "alone") for member in ALONE]
        best = min((error for error in alone if error is not None), default=None)
        if mine is not None and best is not None:
            report.claim(f"{name}: TE / TE of the best member alone", mine / best, at_most=1.02)
    ratios = {}
    for name, (before, most) in THIRTY.items():
        found = few(rows, name, 30)
        if found is not None:
            ratios[name] = found[0] / before
            report.claim(f"{name}: TE with 30 names / TE of the vote", ratios[name], at_most=1.03)
            report.claim(f"{name}: turnover with 30 names in % per bar", found[2], at_most=most)
    if len(ratios) == len(THIRTY):
        report.claim("TE with 30 names / TE of the vote, geometric mean", geometric(ratios.values()), at_most=0.92)


def page(report: Report) -> str:
    """docs/evidence/results.md."""
    return results_page(report.rows)
