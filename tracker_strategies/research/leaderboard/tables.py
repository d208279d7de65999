"""The rows of a leaderboard in words: columns, the ablation factor by factor, and a page of Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.research.leaderboard.run import COORDINATES, COST_TERMS, COSTS, MEMBERS, Row, setting_label

HEAD = (
    "strategy",
    "TE bp",
    "95 % interval",
    "verdict",
    "tracking difference %",
    "turnover %",
    *(f"net excess at {cost} bp, % per year" for cost in COSTS),
    "names",
    "ms per bar",
)
#: Figures in which rows that are one portfolio agree.
COMPARED = ("te_rms", "tracking_difference", "turnover", "n_holdings", "n_bars", *(f"net_excess_{cost}" for cost in COSTS))
#: Why strategies may be one portfolio.
REASONS = (
    (
        {"sparse-pls", "recursive-lars", "random-portfolio"},
        "They differ in the names that they choose; none was left out here, and the weights of all names are the same fit.",
    ),
    (
        {"discounted-vaw", "rls"},
        "With the same forgetting both hold the weights of recursive least squares; they differ in their forecasts.",
    ),
    ({"multi-index", "pa"}, "With one index multi-index is PA."),
)
#: Ratios within this of one are no difference.
SAME = 0.02
SURVIVORS = (
    "Survivorship bias: where names were chosen because of what they are today, or prices include dividends that the index does "
    "not, any long-only portfolio of them tends to beat the index. Judge returns against `equal-weight`, `buy-and-hold` and the "
    "other trackers on the same market, never against zero."
)
#: What the columns mean: errors, verdicts as a star marks them, and the others.
ERRORS = "TE: root mean square of the return of the account minus that of the index, bp per bar, with its 95 % interval."
STARRED = (
    "Verdict: against the reference on the same bars, adjusted for all pairs; a star: cannot be distinguished from the best."
)
OTHERS = (
    "Tracking difference: final value of the account minus that of the index, per unit invested, over the scored bars. "
    "Turnover: bought plus sold, of the account, per bar. Net excess: log return over the index, per year. It comes from one run "
    "for all costs: the turnover times the cost is taken off. Names: held on average. Time: wall clock of the whole run on one "
    "thread, "
    "with whatever else the machine did meanwhile; python -m benchmarks ensemble compares side by side."
)
EXPLAINED = f"{ERRORS} {STARRED} {OTHERS}"


def cells(row: Row, *, judged: bool = True) -> list[str]:
    """A row as text, in the order of :data:`HEAD`, interval and verdict if wanted; one that failed says why."""
    if row["error"]:
        return [row["strategy"], row["error"], *[""] * (len(HEAD) - 2 - 2 * (not judged))]
    return [
        row["strategy"],
        f"{1e4 * row['te_rms']:.2f}",
        *(_judged_cells(row) if judged else ()),
        f"{100 * row['tracking_difference']:+.2f}",
        f"{100 * row['turnover']:.2f}",
        *(f"{100 * row[f'net_excess_{cost}']:+.2f}" for cost in COSTS),
        f"{row['n_holdings']:.0f}",
        f"{row['ms_per_bar']:.3f}",
    ]


def identical(rows: Sequence[Row]) -> list[str]:
    """A sentence for each set of rows that are the same in every figure but the time, with the reason where it is known."""
    sets: list[list[Row]] = []
    for row in (row for row in rows if not row["error"]):
        for same in sets:
            if all(math.isclose(row[key], same[0][key], rel_tol=1e-9, abs_tol=1e-15) for key in COMPARED):
                same.append(row)
                break
        else:
            sets.append([row])
    found = []
    for names in (sorted(row["strategy"] for row in same) for same in sets if len(same) > 1):
        why = " ".join(words for those, words in REASONS if len(those.intersection(names)) > 1)
        found.append(f"Identical in every figure: {', '.join(names)}. They are one portfolio, not {len(names)}. {why}".strip())
    return found


def judged_of(rows: Sequence[Row]) -> dict[str, Judged]:
    """The verdicts of the rows of one table that have any, by name."""
    return {row["strategy"]: Judged.from_told(row["strategy"], row["te_rms"], row["judged"]) for row in rows if row.get("judged")}


def _judged_cells(row: Row) -> list[str]:
    """Interval of the tracking error and verdict, with a star where the row cannot be distinguished from the best."""
    if "judged" not in row:
        return ["", "fewer scored bars"]
    told = row["judged"]
    low, high = (math.nan if end is None else 1e4 * end for end in told["interval"])
    return [f"{low:.2f} to {high:.2f}", told["verdict"] + (" *" if told["among_best"] else "")]


def tables(result: Mapping[str, Any]) -> Iterator[tuple[str, str, list[Row]]]:
    """Market, group and rows, in the order of the markets."""
    for market in result["markets"]:
        own = [row for row in result["rows"] if row["market"] == market]
        for group in dict.fromkeys(row["group"] for row in sorted(own, key=lambda r: r["group"] != "strategies")):
            yield market, group, [row for row in own if row["group"] == group]


def factors(result: Mapping[str, Any]) -> list[list[str]]:
    """The ablation factor by factor: median over markets and all other choices of the ratio with to without, and a verdict."""
    figures = {
        (row["market"], row["strategy"]): (row["te_rms"], row["turnover"])
        for row in result["rows"]
        if row["group"] == "ablation" and not row["error"]
    }

    label, cost = setting_label, COST_TERMS[1]
    steps: dict[str, list[tuple[str, str]]] = {
        f"shares instead of weights ({name})": [(label(name, "weights", c), label(name, "shares", c)) for c in COST_TERMS]
        for name in MEMBERS
    }
    steps |= {
        f"the ensemble instead of {name} ({w})": [(label(name, w, c), label("ensemble", w, c)) for c in COST_TERMS]
        for name in MEMBERS[:2]
        for w in COORDINATES
    }
    steps |= {
        f"the cost term ({name}, {w})": [(label(name, w, None), label(name, w, cost))] for name in MEMBERS for w in COORDINATES
    }
    found = []
    for words, pairs in steps.items():
        ratios = [
            [after / before for before, after in zip(figures[m, a], figures[m, b], strict=True) if before > 0.0]
            for m in result["markets"]
            for a, b in pairs
            if (m, a) in figures and (m, b) in figures
        ]
        ratios = [pair for pair in ratios if len(pair) == 2]
        if ratios:
            te, turnover = (statistics.median(pair[k] for pair in ratios) for k in (0, 1))
            worst = max(pair[0] for pair in ratios)
            found.append([words, f"{te:.2f}", f"{worst:.2f}", f"{turnover:.2f}", _verdict(te, turnover)])
    return found


RECOMMENDED = "ensemble"
VERSUS_HEAD = (
    "market",
    "TE over PA's",
    "turnover over PA's",
    "distance of tracking difference from 0, over PA's",
    "TE over SLAIT's",
    "TE over skfolio's",
    "strategies with lower TE",
)


def versus(result: Mapping[str, Any]) -> list[list[str]]:
    """The recommended tracker against the others, market by market, where it and PA took part: what it loses is there too."""
    found = []
    for market, group, rows in tables(result):
        fine = {row["strategy"]: row for row in rows if not row["error"]}
        if group != "strategies" or RECOMMENDED not in fine or "pa" not in fine:
            continue
        ours, pa = fine[RECOMMENDED], fine["pa"]
        ratios = [
            ours["te_rms"] / pa["te_rms"],
            ours["turnover"] / pa["turnover"],
            abs(ours["tracking_difference"] / pa["tracking_difference"]),
            *(ours["te_rms"] / fine[name]["te_rms"] if name in fine else None for name in ("slait", "skfolio")),
        ]
        better = [name for name, row in fine.items() if row["te_rms"] < ours["te_rms"]]
        found.append([market, *("" if r is None else f"{r:.2f}" for r in ratios), ", ".join(better) or "none"])
    return found


FACTOR_HEAD = ("change", "TE, median ratio", "TE, worst ratio", "turnover, median ratio", "verdict")


def _verdict(te: float, turnover: float) -> str:
    better = [name for name, ratio in (("TE", te), ("turnover", turnover)) if ratio < 1.0 - SAME]
    worse = [name for name, ratio in (("TE", te), ("turnover", turnover)) if ratio > 1.0 + SAME]
    if better and worse:
        return f"helps {better[0]}, costs {worse[0]}"
    return (
        f"helps {' and '.join(better)}" if better else f"did not help: {' and '.join(worse)} worse" if worse else "did not help"
    )


def markdown(result: Mapping[str, Any], command: str, *, heading: bool = True) -> str:
    """A page of Markdown, or a further part of it."""
    s = result["settings"]
    parts = []
    if heading:
        parts += ["# Results", "Generated by `tracker leaderboard`; do not edit.", f"**{SURVIVORS}**", EXPLAINED]
    parts += [f"## Fills: {s['fill']}; costs paid: {s['cost_bps']:g} bp; scored from {s['eval_from']} on", f"```\n{command}\n```"]
    if result.get("left_out"):
        parts.append("Left out: " + "; ".join(f"{name} ({why})" for name, why in result["left_out"].items()) + ".")
    parts += list(result.get("notes", ()))
    if against := versus(result):
        parts.append(f"### The {RECOMMENDED} against the others\n\nRatios below one are better, for all columns.")
        parts.append(_table(VERSUS_HEAD, against))
    last = None
    ablation = []
    for market, group, rows in tables(result):
        if group == "ablation":
            ablation.append((market, rows))
            continue
        if market != last:
            m = result["markets"][market]
            parts.append(f"### {market}\n\n{m['bars']} bars of {m['assets']} assets, {m['first']} to {m['last']}")
            last = market
        if group != "strategies":
            parts.append(f"#### {market}: {group}")
        parts.append(_table(HEAD, [cells(row) for row in rows]))
        parts += identical(rows)
    if ablation:
        parts.append("### What each part is worth\n\nEvery combination of members, coordinates and cost term, on the same bars.")
        parts.append(_table(("setting", *(f"{m}: TE bp / turnover %" for m, _ in ablation)), _pivot(ablation)))
        parts.append(
            "Each change by itself: the figure with it over the figure without, median over the markets and the other choices."
        )
        parts.append(_table(FACTOR_HEAD, factors(result)))
    return "\n\n".join(parts) + "\n"


def _pivot(ablation: Sequence[tuple[str, Sequence[Row]]]) -> list[list[str]]:
    settings = sorted(
        {row["strategy"] for _, rows in ablation for row in rows}, key=lambda s: (MEMBERS.index(s.split(",")[0]), s)
    )
    found = []
    for setting in settings:
        line = [setting]
        for _, rows in ablation:
            row = next((r for r in rows if r["strategy"] == setting and not r["error"]), None)
            line.append("failed" if row is None else f"{1e4 * row['te_rms']:.2f} / {100 * row['turnover']:.2f}")
        found.append(line)
    return found


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(values: Sequence[str]) -> str:
        return "| " + " | ".join(v.replace("|", "/") for v in values) + " |"

    ruler = "| --- |" + " ---: |" * (len(head) - 1)
    return "\n".join([line(head), ruler, *(line(row) for row in rows)])
