"""The page of the APAS reproduction: one HTML file without scripts, our figures beside the paper's."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracker_strategies.analysis.pages.charts import chart_style
from tracker_strategies.analysis.pages.page import fill_page
from tracker_strategies.analysis.pages.words import percent
from tracker_strategies.research.reproductions.apas import charts as apas_charts
from tracker_strategies.research.reproductions.apas import runs as apas_runs
from tracker_strategies.research.reproductions.apas.claims import COMBINATIONS
from tracker_strategies.research.reproductions.verdicts import CONFIRMED, NOT_CONFIRMED, tally

HEADS = {"N": "normal", "t": "Student t"}
SIDES = {
    "log_return": "log return",
    "switching_cost": "switching cost",
    "weighted_l1": "weighted l1",
    "group_lasso": "group lasso",
}
FIGURE_2A = ("APAS D=0.01", "APAS D=1e-3", "PAS ε=1e-4", "PA", "SLAIT-ETE", "SLAIT-DR")
FIGURE_2B = ("APAS D=0.01", "APAS D=1e-3", "PAS ε=1e-4", "PAS ε=5e-4", "PAS ε=1e-3", "PAS ε=5e-3")


def page(result: Mapping[str, Any]) -> str:
    """The page of a result of :func:`~tracker_strategies.research.reproductions.apas.paper.reproduce_apas`, as text."""
    normal = [r for r in result["table_2"] if (r["noise"], r["data"]) == COMBINATIONS[0]]
    pa, paper = normal[0], [r for r in normal if r["paper_mdte"]]
    worst = max(abs(r["mdte"] / r["paper_mdte"] - 1.0) for r in paper)
    with chart_style():
        parts = {"frontier": _frontier(result), "market": _market(result["nasdaq"]), "speed": _speed(result["timing"])}
    return fill_page(
        "apas.html",
        __package__,
        **parts,
        citation=html.escape(result["paper"]),
        lead=f"{result['n_sets']} synthetic data sets, seed {result['seed']}.",
        tiles=_tiles(paper, result["accepted"], [*result["claims"], *((result["nasdaq"] or {}).get("claims", ()))]),
        claims=claims_table(result["claims"]),
        worst=percent(worst),
        theorem_rounds=result["theorem_2"]["rounds"],
        regret=f"{result['theorem_2']['regret']:.0f}",
        bound=f"{result['theorem_2']['bound']:.0f}",
        slait_words=f"&lambda; is 1e-7 and 1e-6, on the first {result['slait_sets']} data sets"
        if result["slait_sets"]
        else "it was left out",
        pa_return=_return(pa["excess_return"]),
        pa_mdte=_mdte(pa["mdte"]),
        table2=_tails(result["table_2"], "mdte"),
        table3=_tails(result["table_2"], "excess_return"),
        informed=_informed(result["frontier"]),
        plain=_plain(result["frontier"]),
        threshold_wide=f"{1e4 * result['thresholds']['APAS D=0.01, λ=0.05']:.0f} bp",
        threshold_tight=f"{1e4 * result['thresholds']['APAS D=1e-3, λ=0.05']:.0f} bp",
        n_sets=result["n_sets"],
        seed=result["seed"],
        slait_iterations=apas_runs.SLAIT_ITERATIONS,
    )


def _mdte(value: float) -> str:
    return f"{1e4 * value:.2f}"


def _return(value: float) -> str:
    return f"{value:.3f}".replace("-", "\u2212")


def _with_error(show: Callable[[float], str], row: Mapping[str, Any], key: str) -> str:
    error = row.get(f"{key}_se")
    return show(row[key]) + ("" if error is None else f"\u2009\u00b1\u2009{show(error)}")


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "", own: Sequence[int] = ()) -> str:
    """A table; cells are HTML already, the first of each row is its heading. Rows in `own` stand out."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = ""
    for number, (first, *cells) in enumerate(rows):
        line = f'<th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in cells)
        body += f'<tr class="own">{line}</tr>' if number in own else f"<tr>{line}</tr>"
    return f'<table class="{kind}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _card(title: str, table: str) -> str:
    return f'<section class="card table"><h3>{title}</h3><div class="scroll">{table}</div></section>'


def _tiles(paper: Sequence[Mapping[str, Any]], accepted: Mapping[str, bool], claims: Sequence[Mapping[str, str]]) -> str:
    tiles = [
        f'<div class="tile"><h3>APAS, &lambda; = {r["parameters"]["lam"]:g}</h3>'
        f'<data value="{r["mdte"]!r}">{_mdte(r["mdte"])}</data>'
        f"<p>MDTE \u00d7 1e-4; paper {_mdte(r['paper_mdte'])}</p></div>"
        for r in paper
    ]
    passed, all_ = sum(ok for name, ok in accepted.items() if name != "all"), len(accepted) - 1
    word = '<span class="good">accepted</span>' if accepted["all"] else '<span class="bad">not accepted</span>'
    missed = ", ".join(html.escape(name.replace("_", " ")) for name, ok in accepted.items() if not ok and name != "all")
    tiles.append(
        f'<div class="tile"><h3>Is it the experiment?</h3><data value="{passed}">{passed} of {all_}</data><p>criteria met, {word}'
        f"{': misses ' + missed if missed else ''}</p></div>"
    )
    return "\n".join([claims_tile(claims), *tiles])


def claims_tile(claims: Sequence[Mapping[str, str]]) -> str:
    """How many of a paper's sentences were confirmed, and what became of the others."""
    count = tally(claims)
    held = count.pop(CONFIRMED, 0)
    rest = ", ".join(f"{n} {word}" for word, n in count.items()) or "all of them"
    return (
        f'<div class="tile"><h3>Claims of the paper</h3><data value="{held}">{held} of {len(claims)}</data>'
        f"<p>confirmed; {rest}</p></div>"
    )


def claims_table(claims: Sequence[Mapping[str, str]]) -> str:
    """What a paper says, what was found, and the verdict."""
    kinds = {CONFIRMED: "good", NOT_CONFIRMED: "bad"}
    rows = [
        (
            html.escape(c["claim"]),
            html.escape(c["found"]),
            f'<span class="{kinds.get(c["verdict"], "open")}">{c["verdict"]}</span><br><small>{html.escape(c["tested"])}</small>',
        )
        for c in claims
    ]
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    head = "<th>The paper</th><th>Here</th><th>Verdict</th>"
    return f'<table class="words"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _tails(table: Sequence[Mapping[str, Any]], key: str) -> str:
    """A row per method, a column per combination of tails."""
    head = ["", *(f"{HEADS[noise]} noise,<br>{HEADS[data]} data" for noise, data in COMBINATIONS)]
    rows = []
    for name in dict.fromkeys(r["method"] for r in table):
        cells = []
        for r in (r for r in table if r["method"] == name):
            if key == "mdte":
                paper = f"paper {_mdte(r['paper_mdte'])}, " if r["paper_mdte"] else ""
                cells.append(f"{_with_error(_mdte, r, key)}<small>{paper}our median {_mdte(r['mdte_median'])}</small>")
            else:
                cells.append(_with_error(_return, r, key))
        rows.append((html.escape(name), *cells))
    return html_table(head, rows)


def _frontier(result: Mapping[str, Any]) -> str:
    rows, lines, colours = result["frontier"], result["over_time"], apas_charts.FIGURE_3
    words = "Across: MDTE \u00d7 1e-4. Up: excess cumulative return over 100 rounds. Bars: one standard error."
    fewer = f" SLAIT: the first {result['slait_sets']} data sets only." if result["slait_sets"] else ""
    errors, returns = "MDTE \u00d7 1e-4 up to each scored round, log scale.", "Cumulated up to each scored round."
    drawn = [
        apas_charts.frontier(rows, FIGURE_2A, "Figure 2a: APAS and its rivals", words + fewer, labels=True),
        apas_charts.frontier(rows, FIGURE_2B, "Figure 2b: fixed and adaptive threshold", words),
        apas_charts.over_time(lines, colours, "mdte", "Figure 3: tracking error", errors + fewer),
        apas_charts.over_time(lines, colours, "excess_return", "Figure 3: excess return", returns + fewer),
    ]
    return "\n".join(chart.html() for chart in drawn)


def _informed(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row per curve, a column per trade-off."""
    rows = [r for r in rows if r["family"] in ("PAS", "APAS")]
    lams, curves = sorted({r["parameters"]["lam"] for r in rows}), list(dict.fromkeys(r["curve"] for r in rows))
    lines = []
    for name in curves:
        cells = {r["parameters"]["lam"]: r for r in rows if r["curve"] == name}
        shown = [
            f"{_with_error(_mdte, cells[lam], 'mdte')}<small>{_with_error(_return, cells[lam], 'excess_return')}</small>"
            if lam in cells
            else ""
            for lam in lams
        ]
        lines.append((html.escape(name), *shown))
    return html_table(("", *(f"&lambda; = {lam:g}" for lam in lams)), lines, own=[curves.index("APAS D=0.01")])


def _plain(rows: Sequence[Mapping[str, Any]]) -> str:
    head = ("Method", "MDTE \u00d7 1e-4", "Excess return", "Data sets")
    shown = [
        (
            html.escape(r["method"]),
            _with_error(_mdte, r, "mdte"),
            _with_error(_return, r, "excess_return"),
            str(r["sets"]),
        )
        for r in rows
        if r["family"] not in ("PAS", "APAS")
    ]
    return html_table(head, shown)


def _market(market: Mapping[str, Any] | None) -> str:
    if market is None:
        return (
            '<p class="small">Not run. Give a wide file of daily NASDAQ-100 prices from 2019-01-01 to 2021-01-01, with the index '
            "in the column INDEX: <code>tracker reproduce apas --data FILE</code>.</p>"
        )
    left = f"; left out for missing prices: {', '.join(market['left_out'])}" if market["left_out"] else ""
    lead = (
        f"{market['source']}: {market['n_assets']} names, {market['first']} to {market['last']}{left}. The first "
        f"{market['learnt']} returns to learn from, the other {market['scored']} scored; SLAIT is fitted to the last "
        f"{market['learnt']} days every 10. The paper has 101 names and 503 days of the NASDAQ-100 in 2019 and 2020. Its figure "
        "has no numbers; the ticks of its returns reach from \u22120.25 to 0.50. Names with a price on every day are survivors, "
        "which tend to do better than their index: compare with equal weight, not with zero."
    )
    rows = market["rows"]
    table = html_table(
        ("Method", "MDTE \u00d7 1e-4", "Excess return"),
        [(html.escape(r["method"]), _mdte(r["mdte"]), _return(r["excess_return"])) for r in rows],
        own=[i for i, r in enumerate(rows) if r["curve"] == "APAS D=0.01"],
    )
    lines, colours = market["over_time"], apas_charts.FIGURE_5
    words = "MDTE \u00d7 1e-4 up to each day, log scale."
    drawn = [
        apas_charts.over_time(lines, colours, "mdte", "Figure 5: tracking error", words),
        apas_charts.over_time(lines, colours, "excess_return", "Figure 5: excess return", "Cumulated up to each day."),
    ]
    return (
        f'<p class="small">{html.escape(lead)}</p><div class="grid">{"".join(c.html() for c in drawn)}</div>'
        f"{_card('The paper on Figure 5, and this file', claims_table(market['claims']))}{_card('All methods', table)}"
    )


def _speed(timing: Mapping[str, Any] | None) -> str:
    if timing is None:
        return '<p class="small">Not measured in this run.</p>'
    steps, paper = timing["steps"], timing["paper_seconds"]
    rivals = [
        (
            f"{r['n_assets']:,}",
            f"{r['microseconds']['log_return']:.0f}",
            *(f"{r['microseconds'][f'sca_{rho}']:.0f}<small>{r['iterations'][rho]:.1f} steps</small>" for rho in r["ratios"]),
            *(f"{ratio:.1f}" for ratio in r["ratios"].values()),
            f"{r['largest_difference']:.0e}",
        )
        for r in steps
    ]
    head = (
        "N",
        "Exact, µs",
        "Algorithm 2, decay 0.01",
        "decay 0.1",
        "Times faster than decay 0.01",
        "than 0.1",
        "Largest difference",
    )
    sides = [
        (
            f"{r['n_assets']:,}",
            *(
                f"{r['microseconds'][side]:,.0f}"
                + (f"<small>paper {1e6 * paper[str(r['n_assets'])][side]:,.0f}</small>" if str(r["n_assets"]) in paper else "")
                for side in SIDES
            ),
        )
        for r in steps
    ]
    lead = (
        "The paper solves the step by successive convex approximation (Algorithm 2). For the log return there is an exact "
        "solution, the root of one equation in one unknown. Both were timed in turns in this run, on steps that APAS has to "
        "solve with \u03bb = 0.2, Algorithm 2 to 1e-8; the decay of its steps is not given in the paper. The paper's own times "
        "are from another machine and language: what can be compared is how they grow with N. "
        "<code>python -m benchmarks prox</code> adds projected gradient, ADMM and cvxpy."
    )
    return (
        f'<p class="small">{lead}</p><div class="grid">{apas_charts.step_times(steps, paper).html()}'
        f"{_card('Exact step and Algorithm 2, log return', html_table(head, rivals))}</div>"
        f"{_card('Table 1: exact steps by side information, microseconds', html_table(('N', *SIDES.values()), sides))}"
    )
