"""The page of a sweep: one HTML file without scripts."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from tracker_strategies.analysis.pages.charts import chart_style
from tracker_strategies.analysis.pages.page import fill_page
from tracker_strategies.research.sweeps.asking.objectives import Objective, units
from tracker_strategies.research.sweeps.asking.values import in_words, setting_words
from tracker_strategies.research.sweeps.judging.charts import charts
from tracker_strategies.research.sweeps.judging.results import Results

#: Settings with charts of their own; further ones have their tables.
CHARTED = 6
MINUS = "\u2212"


def page(results: Results, found: Mapping[str, Any], axes: tuple[str, str] | None = None) -> str:
    """The page of what :func:`~tracker_strategies.research.sweeps.judging.report.findings` found, as text."""
    objective = results.objective
    sections = []
    with chart_style():
        for number, (setting, told) in enumerate(zip(results.settings, found["settings"], strict=True)):
            base = {name: e for name in told["baselines"] if (e := setting.find(name)) is not None}
            drawn = "".join(c.html() for c in charts(setting, base, axes)) if number < CHARTED and setting.full else ""
            sections.append(_section(told, objective, drawn))
    return fill_template(
        eyebrow="Sweep",
        title=f"{len(results.settings)} setting{'s' * (len(results.settings) > 1)}, {found['rows']:,} cells",
        lead=_lead(results, found),
        body="\n".join(sections),
        method=_METHOD.format(draws=found["draws"], settings=len(results.settings)),
    )


def fill_template(**parts: str) -> str:
    """The frame that sweeps and tunings share."""
    return fill_page("sweep.html", __package__, **parts)


def _lead(results: Results, found: Mapping[str, Any]) -> str:
    said = f"Best by {results.objective.words}."
    if found["failed"]:
        said += f" {found['failed']:,} cells failed."
    if found["rows_of_other_code"]:
        said += f" {found['rows_of_other_code']:,} rows of another version of the code are left out."
    link = ' <a href="comparison.html">Compare the best bar by bar</a>' if any(s.full for s in results.settings) else ""
    return html.escape(said) + link


def _section(told: Mapping[str, Any], objective: Objective, drawn: str) -> str:
    where = f"{told['days'][0]} to {told['days'][1]}, {told['n_bars']:,} scored bars"
    if told["n_segments"] > 1:
        where += f" in {told['n_segments']} pieces"
    where += f"; {told['trials']:,} candidates, run by the {told['engine']} engine."
    if told["train_test_rank_correlation"] is not None:
        where += f" Rank correlation of training and test: {told['train_test_rank_correlation']:.2f}."
    return (
        f"<section><h2>{html.escape(setting_words(told))}</h2>{tiles(told, objective)}{notices(told['warnings'])}"
        f'<p class="small">{html.escape(where)}</p>{card("Best candidates, and the baselines", best_table(told, objective))}'
        f'<div class="grid">{drawn}</div></section>'
    )


def tiles(told: Mapping[str, Any], objective: Objective) -> str:
    """The verdict in large letters."""
    scale, unit = units(objective)
    if not told["best"]:
        return ""
    best = told["best"][0]
    low, high = best["interval"]
    name = f"{best['strategy']} {in_words(best['params'])}".strip()
    boxes = [
        (
            html.escape(objective.words),
            f"{scale * best[objective.name]:.3g}",
            f"{unit}; 95 % interval {scale * low:.3g} to {scale * high:.3g}: {html.escape(name)}",
        )
    ]
    for other, v in best["versus"].items():
        word = (
            f'<span class="good">distinguishable</span> from {html.escape(other)}'
            if v["p"] < told["level"]
            else f'<span class="bad">not distinguishable</span> from {html.escape(other)}'
        )
        boxes.append((f"Ahead of {html.escape(other)}", f"{scale * v['delta']:+.3g}", f"{word}; p = {v['p']:.3f}"))
    inner = "".join(
        f'<div class="tile"><h3>{a}</h3><data value="{b}">{b.replace("-", MINUS)}</data><p>{c}</p></div>' for a, b, c in boxes
    )
    return f'<div class="tiles">{inner}</div>'


def notices(words: Sequence[str]) -> str:
    """Warnings, each in a box."""
    return "".join(f'<p class="notice">{html.escape(w)}</p>' for w in words)


def best_table(told: Mapping[str, Any], objective: Objective) -> str:
    """Baselines, then the best candidates."""
    scale, unit = units(objective)
    others = list(told["baselines"])
    head = [
        "Candidate",
        f"{objective.words}, {unit}<small>95 % interval</small>",
        *(f"Ahead of {html.escape(n)}<small>interval for all at once; adjusted p</small>" for n in others),
        *(words for name, words, _ in _FIGURES if name != objective.name),
    ]
    rows = [(entry, True) for entry in told["baselines"].values()] + [(entry, False) for entry in told["best"]]
    lines = []
    for entry, base in rows:
        low, high = entry["interval"]
        cells = [f"{scale * entry[objective.name]:.3f}<small>{scale * low:.3f} to {scale * high:.3f}</small>"]
        for name in others:
            v = entry["versus"].get(name)
            cells.append(
                ""
                if v is None
                else f"{scale * v['delta']:+.3f}<small>{scale * v['low']:+.3f} to {scale * v['high']:+.3f}; {v['p']:.3f}</small>"
            )
        cells += [show.format(entry[name] * times) for name, _, (show, times) in _FIGURES if name != objective.name]
        words = html.escape(in_words(entry["params"]) or entry.get("words", "defaults"))
        title = f"{html.escape(entry['strategy'])}<small>{words}{', baseline' if base else ''}</small>"
        line = "".join(f"<td>{cell.replace('-', MINUS)}</td>" for cell in cells)
        lines.append(f"<tr{' class=own' if base else ''}><td>{title}</td>{line}</tr>")
    top = "".join(f"<th>{h}</th>" for h in head)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


_FIGURES = (
    ("te_rms", "TE RMS, bp", ("{:.2f}", 1e4)),
    ("excess_log_return", "Excess log return", ("{:+.3f}", 1.0)),
    ("turnover", "Turnover, %", ("{:.2f}", 100.0)),
    ("cost_bps", "Cost, bp", ("{:.3f}", 1.0)),
    ("n_holdings", "Names", ("{:.1f}", 1.0)),
)


def card(title: str, table: str) -> str:
    """A table in a box."""
    return f'<section class="card table"><h3>{html.escape(title)}</h3><div class="scroll">{table}</div></section>'


_METHOD = """
<p>Intervals and p-values come from {draws:,} resamples of the scored bars in blocks (stationary bootstrap, mean length twice
the cube root of the number of bars), the same bars for every candidate. The p-value of a candidate is that of being no better
than the baseline, adjusted for everything that was tried in its setting: the share of resamples in which the best of all
candidates looks at least as good by luck (Hansen's test for superior predictive ability, cell by cell). A difference is called
distinguishable when its p-value is below 5&thinsp;% divided by the number of settings, here {settings}. Candidates that a
successive halving dropped count as trials. The interval of a single figure is not adjusted.</p>
<p>What this cannot know: how many sweeps came before this one, and whether the names were chosen with hindsight.</p>
<dl>
<dt>Tracking error</dt><dd>&radic;(mean e&sup2;) of the active return e of a bar; centred: without its mean.</dd>
<dt>Excess log return</dt><dd>&sum; ln(1 + r) &minus; &sum; ln(1 + y) over the scored bars; the mean over markets where several
seeds were drawn.</dd>
<dt>Turnover</dt><dd>bought plus sold a bar, over the account's value.</dd>
</dl>
"""
