"""How often intervals and verdicts of the comparison are right on 1,000 simulated pairs, and what they cost beside the page."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks._measure import Report, side_by_side
from datafeeds import synthetic_market
from tests.analysis.inference.laws import LAWS, coverage
from tracker_strategies.analysis.inference import judge_runs
from tracker_strategies.analysis.pages.comparison_page import comparison
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.research import replay

PAIRS, LENGTHS = 1000, (250, 1000)
N_BARS, N_ASSETS, N_RUNS = 2520, 30, 10


def run() -> Report:
    report = Report("inference")
    low, high, te_low, te_high, different = 1.0, 0.0, 1.0, 0.0, 0.0
    for law in LAWS:
        for n_bars in LENGTHS:
            found = coverage(law, n_bars, PAIRS)
            report.rows.append({"law": law, "bars": n_bars, **found})
            if law.startswith("GARCH"):
                continue  # reported as what it is
            low, high = min(low, found["difference"]), max(high, found["difference"])
            te_low, te_high = min(te_low, found["te"]), max(te_high, found["te"])
            different = max(different, found["called different"])
    report.claim("interval of the difference, least coverage", low, at_least=0.92)
    report.claim("interval of the difference, most coverage", high, at_most=0.97)
    report.claim("interval of one tracking error, least coverage", te_low, at_least=0.91)
    report.claim("interval of one tracking error, most coverage", te_high, at_most=0.97)
    report.claim("equally good runs called different", different, at_most=0.07)
    _cost(report)
    return report


def _cost(report: Report) -> None:
    panel = synthetic_market(N_ASSETS, N_BARS + 1, seed=1)
    runs = {f"eps {k}": replay(panel, "pa", {"eps": 1e-5 * 2**k}) for k in range(N_RUNS)}
    with tempfile.TemporaryDirectory() as folder:
        contenders = {
            "judge": lambda: judge_runs(runs),
            "comparison page, judged": lambda: comparison(runs, Path(folder) / "page.html"),
            "tear sheet of one run": lambda: tearsheet(runs["eps 0"], Path(folder) / "sheet.html"),
        }
        timings, _ = side_by_side(contenders, {"judge": 15, "comparison page, judged": 15, "tear sheet of one run": 2})
    report.timings(timings, "judge")
    judging, page = timings["judge"].least, timings["comparison page, judged"].least
    report.claim(
        f"judging {N_RUNS} runs of {N_BARS} bars, of the time of drawing their page", judging / (page - judging), at_most=1.5
    )
