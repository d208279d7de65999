"""What the iS-PLS paper says of two indices at once, and what the files answer.

There is one path: what chance had in it is judged from its weeks, which stand in for runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracker_strategies.research.reproductions.verdicts import Part, above, answer, below, exact, positive, within

Claim = dict[str, str]
FloatArray = NDArray[np.float64]

PRINTED = "iS-PLS, projected coefficients"
"""The method as the paper has it; the others are ours."""
RANDOM_EXCESS = (-0.3207, -0.0842)
"""What random portfolios earn over the S&P 100 and the Nikkei in the paper, on average."""
ABOUT = 0.1
"""How far from a printed return ours may be."""
SLIGHTLY = 0.05
"""Return a year by which "slightly better" is at most better."""
BETTER_THAN_CHANCE, CHANCE = 0.95, 0.5
FEW_MEMBERS = 20


def market_claims(found: Mapping[str, Any], rate: float) -> list[Claim]:
    """Two indices at once: the paper's statements and what the files say."""
    rows = {(r["method"], r["index"]): r for r in found["rows"]}
    indices, periods = found["indices"], found["periods"]

    def a_year(row: Mapping[str, Any]) -> FloatArray:
        """Excess log returns of the rounds, in units of a year: their mean is the return a year."""
        return np.asarray(periods * np.array(row["excess_by_round"]))

    own = [m for m, i in rows if m.startswith("iS-PLS") and i == indices[0]]
    spread = "; ".join(f"{m}: {_each([rows[m, i]['excess_return_a_year'] for i in indices])}" for m in own)
    random, beaten = found["random"]["indices"], found["random"]["beaten"]
    rivals = {m: [rows[m, i]["excess_return_a_year"] for i in indices] for m in ("R-LARS", "aLasso")}
    lead = [a_year(rows["aLasso", i]) - a_year(rows["R-LARS", i]) for i in indices]
    return [
        answer(
            f"iS-PLS outperforms both indices and earns {100 * rate:.0f} % per year more than each (Figure 11).",
            f"Excess return per year over {' and '.join(indices)}: {spread}. The indices themselves drift apart; one portfolio "
            f"cannot beat both by the same margin. Judged is {PRINTED}, and four fifths of the margin will do.",
            [above(a_year(rows[PRINTED, i]), 0.8 * rate) for i in indices],
        ),
        answer(
            "Random portfolios fall behind the S&P 100 by 32.07 % and the Nikkei by 8.42 % on average (section 5).",
            "Mean cumulated excess return of "
            + f"{found['random']['members']} random portfolios: "
            + ", ".join(f"{100 * v['mean_excess_return']:+.0f} % over {i}" for i, v in random.items())
            + f". About is within {100 * ABOUT:.0f} %.",
            [
                part
                for v, printed in zip(random.values(), RANDOM_EXCESS, strict=False)
                for part in (below(v["excess_return"], 0.0), within(v["excess_return"], ABOUT, around=printed))
            ],
        ),
        answer(
            f"iS-PLS selects better than chance, closer than {BETTER_THAN_CHANCE:.0%} of random portfolios (Figure 11).",
            "Share of random portfolios with a larger tracking error, both targets together: "
            + ", ".join(f"{100 * v['in tracking error']:.0f} % for {m}" for m, v in beaten.items() if m in own)
            + ". One factor of ten names is all in one market; a residual factor, which is ours, finds the other.",
            [_than_chance(beaten[m]["in tracking error"]) for m in (PRINTED, "iS-PLS, refit")],
        ),
        answer(
            "R-LARS and aLasso, each on its own index, fall behind both; aLasso is slightly better (Figure 12).",
            "; ".join(f"{m}: {_each(v)} per year" for m, v in rivals.items()) + f". Slightly is at most {100 * SLIGHTLY:.0f} %.",
            [
                *(below(a_year(rows[m, i]), 0.0) for m in rivals for i in indices),
                *(part for gap in lead for part in (positive(gap), below(gap, SLIGHTLY))),
            ],
        ),
        answer(
            "A static portfolio, even with hindsight, falls behind the enhanced S&P 100 (Figure 10).",
            "; ".join(f"{r['method']}: {100 * r['excess_return_a_year']:+.1f} % per year over the index" for r in found["static"])
            + f", for a target of +{100 * rate:.0f} %.",
            [below(a_year(r), rate) for r in found["static"]],
        ),
    ]


def _than_chance(share: float) -> Part:
    """A share of random portfolios that are beaten: one half is chance, and a little more may be."""
    return Part.HOLDS if share >= BETTER_THAN_CHANCE else Part.FAILS if share <= CHANCE else Part.OPEN


def small_claims(found: Mapping[str, Any]) -> list[Claim]:
    """At most fifty names: ours against chance and SLAIT."""
    rows = {r["method"]: r for r in found["rows"]}
    own, printed = rows["iS-PLS"], rows["iS-PLS, printed selection"]
    least, _, median, *_ = found["random"]["quantiles"]
    slait = [r for name, r in rows.items() if name.startswith("SLAIT")]
    beside = "; ".join(f"{r['method']}: {_bp(r['rmse'])} with {r['names']:.0f} names" for r in slait)
    enough = found["random"]["members"] >= FEW_MEMBERS
    return [
        answer(
            f"Not in the paper: on this file at most {found['limit']} names track no worse than the median random portfolio.",
            f"{_bp(own['rmse'])} per round with residual deflation and loyalty, {_bp(printed['rmse'])} with the printed "
            f"selection, {_bp(median)} the median of {found['random']['members']} random portfolios, {_bp(least)} the best of "
            "them. "
            f"Turnover {100 * own['turnover']:.0f} % and {100 * printed['turnover']:.0f} % per round. {beside}.",
            [exact(own["rmse"] <= median) if enough else Part.OPEN, exact(own["most_names"] <= found["limit"])],
        )
    ]


def _each(values: list[float]) -> str:
    return " and ".join(f"{100 * v:+.1f} %" for v in values)


def _bp(value: float) -> str:
    return f"{1e4 * value:.1f} bp"
