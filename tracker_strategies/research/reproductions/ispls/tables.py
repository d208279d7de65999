"""Tables and curves of the iS-PLS reproduction, as :func:`..page.write_paper` takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracker_strategies.research.reproductions.ispls import data

Table = dict[str, Any]
Lines = dict[str, list[tuple[float, float]]]

PAPER_SENSITIVITY = {"self-tuned": "0.85 to 0.91", "lambda 1": "slow after changes", "lambda 0.9": "adapts, noisy"}


def tables(result: Mapping[str, Any]) -> dict[str, Table]:
    """Titles with head and rows of text."""
    s = result["simulations"]
    found = {
        f"Section 4.3: one response, two changes; {result['runs']} runs": _table(
            ("Forgetting", "Sensitivity", "Second component", "By segment", "MSE", "Paper"),
            [
                (
                    name,
                    _pm(v["sensitivity"]),
                    _pm(v["second component"]),
                    ", ".join(f"{x:.2f}" for x in v["by segment"]),
                    f"{v['mse'][0]:.3g}",
                    PAPER_SENSITIVITY.get(name, ""),
                )
                for name, v in s["changes"].items()
            ],
        ),
        "Section 4.5: fifty responses": _table(
            ("Method", "Sensitivity", "Of the two active groups", "MSE", "Seconds", "Paper, seconds"), _responses(s)
        ),
        "Section 4.4: sensitivity of S-PLS by noise over signal and number selected": _table(
            ("Noise over signal, variances", *(str(size) for size in s["parameters"]["sizes"])),
            [(ratio, *(f"{v:.2f}" for v in values)) for ratio, values in s["parameters"]["noise"].items()],
        ),
    }
    if s["restless"] is not None:
        found["Figure 6: random changes, by number of variables that matter"] = _table(
            ("Variables", "Method", "Sensitivity", "Median squared error"),
            [
                (size, name, _pm(v["sensitivity"]), f"{v['mse'][0]:.3g}")
                for size, methods in s["restless"].items()
                for name, v in methods.items()
            ],
        )
    if result["bivariate"] is not None:
        found["Figures 11 and 12: two indices, ten names, +15 % per year"] = _bivariate(result["bivariate"])
    if result["small"] is not None:
        found[f"At most {result['small']['limit']} of {result['small']['assets']} names"] = _small(result["small"])
    return found


def charts(result: Mapping[str, Any]) -> dict[str, Lines]:
    """Titles with curves: label to points."""
    s = result["simulations"]
    shown = ("lambda 1", "lambda 0.9", "self-tuned", "self-tuned, residual deflation")
    found: dict[str, Lines] = {
        "Figure 1: share of right against share of wrong variables": {
            name: [(wrong, right) for right, wrong in sorted(points, key=lambda p: (p[1], p[0]))]
            for name, points in s["selection"]["roc"].items()
        },
        "Figure 2: sensitivity on a stationary stream": {"iS-PLS": _line(s["convergence_curve"])},
        "Figures 4 and 5b: sensitivity of the first component": {name: _line(s["changes"][name]["curve"]) for name in shown},
        "Figure 5a: forgetting factor": {"self-tuned": _line(s["changes"]["self-tuned"]["lambda"])},
        "Figure 8a: sensitivity with fifty responses": {
            **{name: _line(v["curve"]) for name, v in s["responses"].items()},
            **({} if s["rivals"] is None else {name: _line(v["curve"]) for name, v in s["rivals"].items()}),
        },
        "Figure 9a: number of factors": {
            "iS-PLS": _line(s["factors"]["curve"]),
            "true": _line([float(data.ACTIVE[k]) for k in data.segment_of(data.ROUNDS, data.STEPS)]),
        },
    }
    if result["bivariate"] is not None:
        found["Figure 11: cumulated log return"] = {name: _line(v) for name, v in result["bivariate"]["growth"].items()}
    return found


def axes(found: Mapping[str, Lines]) -> dict[str, tuple[str, str]]:
    """Titles of the axes of each chart, across and up."""
    own = {
        "Figure 1": ("Share of wrong variables chosen", "Share of right variables chosen"),
        "Figure 5a": ("Round", "Forgetting factor"),
        "Figure 9a": ("Round", "Number of factors"),
        "Figure 11": ("Bar", "Cumulated log return"),
    }
    return {title: own.get(title.partition(":")[0], ("Round", "Sensitivity")) for title in found}


def _responses(s: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    own = [
        (f"iS-PLS, {name}", _pm(v["sensitivity"]), "", f"{v['mse'][0]:.3g}", f"{v['seconds'][0]:.2f}", "8.31")
        for name, v in s["responses"].items()
    ]
    printed = {"R-LARS": "556.9", "aLasso": "2391"}
    rivals = [
        (
            f"{name}, one response at a time",
            _pm(v["sensitivity"]),
            _pm(v["active"]),
            f"{v['mse'][0]:.3g}",
            f"{data.RESPONSES * v['seconds'][0]:.0f}",
            printed[name],
        )
        for name, v in (s["rivals"] or {}).items()
    ]
    return own + rivals


def _bivariate(found: Mapping[str, Any]) -> Table:
    rows = [
        (
            r["method"],
            r["index"],
            f"{100 * r['excess_return_a_year']:+.1f} %",
            f"{1e4 * r['tracking_error']:.0f}",
            f"{r['names']:.1f}",
            f"{100 * r['turnover']:.1f} %",
        )
        for r in found["rows"]
    ]
    years = found["scored"] / 52.0
    for index, v in found["random"]["indices"].items():
        quantiles = ", ".join(f"{100 * q / years:+.1f} %" for q in v["quantiles"])
        rows.append(
            (
                f"{found['random']['members']} random portfolios, 5, 50 and 95 %",
                index,
                quantiles,
                f"{1e4 * v['tracking_error']:.0f}",
                "10",
                "",
            )
        )
    head = (
        "Method",
        "Index",
        "Over the index a year",
        "Tracking error of the enhanced target, bp per week",
        "Names",
        "Turnover a week",
    )
    return _table(head, rows)


def _small(found: Mapping[str, Any]) -> Table:
    rows = [(r["method"], f"{1e4 * r['rmse']:.1f}", f"{r['names']:.0f}", f"{100 * r['turnover']:.1f} %") for r in found["rows"]]
    least, low, median, high, most = (f"{1e4 * q:.1f}" for q in found["random"]["quantiles"])
    rows.append((f"{found['random']['members']} random portfolios, median", median, str(found["limit"]), ""))
    rows.append(("their range, and 5 to 95 %", f"{least} to {most}; {low} to {high}", "", ""))
    return _table(("Method", "Tracking error, bp a round", "Names", "Turnover a round"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    return {"head": list(head), "rows": [list(row) for row in rows]}


def _line(values: Sequence[float]) -> list[tuple[float, float]]:
    return [(float(t), float(v)) for t, v in enumerate(values, 1)]


def _pm(value: Sequence[float | None]) -> str:
    return f"{value[0]:.2f}" + (f" \u00b1 {value[1]:.2f}" if value[1] is not None else "")
