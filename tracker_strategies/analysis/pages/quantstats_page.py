"""The only door to QuantStats: two level series in, the body of its report out, in the look of our own page.

QuantStats 0.0.86 back-fills a benchmark with other dates, fails on time zones and on constant returns, cuts off bars in cash at
the start, loses a drawdown that begins on the first bar, restyles matplotlib for the whole process, floods the log with missing
fonts and links to a server. All of that ends here. It renders into our own template, so none of its styles reach the page. Left
out because they mislead: bars by year (misplaced on pandas 3) and rolling beta (zero until its window is full), both drawn anew,
and the ratio of yearly returns. Wrong statements in its tables are put right by :mod:`.quantstats_corrections`. Growth is drawn
by the tracking part of the page already.
"""

from __future__ import annotations

import importlib
import logging
import re
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from markupsafe import Markup

from datafeeds.bar_length import BarLength
from tracker_strategies.analysis.pages import charts
from tracker_strategies.analysis.pages.charts import Chart
from tracker_strategies.analysis.pages.page import part
from tracker_strategies.analysis.pages.quantstats_bars import daily_levels, made_from, rows_in_bars
from tracker_strategies.analysis.pages.quantstats_charts import AXES, HALF_YEAR, calendar_years, half_year, rolling_beta
from tracker_strategies.analysis.pages.quantstats_corrections import corrected
from tracker_strategies.errors import DataError, MissingExtraError, PageWarning

#: QuantStats' colours, translated like our own. #262626 and white text stay: they are the figures in the heat map's cells.
_COLOURS = charts.VARIABLES | {
    "#348dc1": "portfolio",
    "#fedd78": "index",
    "#ba516b": "loss",
    "#ff0000": "loss",
    "#4fa487": "other0",
    "#9b59b6": "other1",
    "#ffffff": "card",
    **dict.fromkeys(("#cccccc", "#dddddd"), "rule"),
    **dict.fromkeys(("#000000", "#333333", "#494949", "#666666", "#808080"), "soft"),
}
# Points: cut off above, where the title was; added at the left, for the larger labels of a phone; below, for titles of axes.
_TITLE_ROOM, _LABEL_ROOM, _BELOW = 6, 20, 20


def quantstats_body(
    value: pd.Series[float], index: pd.Series[float], *, periods_per_year: float | None = None, number: int = 0
) -> Markup:
    """QuantStats' report on an account against an index, as HTML without ``<html>``, styles or scripts.

    Parameters
    ----------
    value, index : Series of T levels
        Finite, positive, on the same dates: naive, ascending, no repetition. The first row is the base on which nothing has been
        earned yet; QuantStats gets the T - 1 returns after it. It takes each for that of a day: from bars shorter than a day the
        returns of days are compounded, and rows about days are named by the bars where those are longer.
    periods_per_year : float, optional
        Bars in a year; by default told from the dates. Rounded to a whole number, because QuantStats also uses it as a window.
    number : int, default 0
        Of this report on its page: keeps the ids of its charts apart from those of others.

    Returns
    -------
    Markup
        A few hundred kilobytes after some seconds; or one sentence that says why there is no report: fewer than three returns,
        an account or index whose returns are all the same, or an error inside QuantStats (also issued as a PageWarning).

    Raises
    ------
    DataError
        When the series are not as above.
    MissingExtraError
        When QuantStats is not installed.
    """
    check_levels(value, "value")
    check_levels(index, "index")
    if not value.index.equals(index.index):
        odd = value.index.symmetric_difference(index.index)
        raise DataError(f"value and index must have the same dates, but {len(odd)} are in one only, the first {odd[0]}")
    length = BarLength.usual(value.index.to_numpy().astype("datetime64[ns]"))
    year = length.per_year if periods_per_year is None else periods_per_year
    if length.intraday:
        value, index, year = daily_levels(value), daily_levels(index), year / length.per_session
    returns, benchmark = (levels.pct_change(fill_method=None).iloc[1:] for levels in (value, index))
    reason = why_not(returns, benchmark)
    if reason:
        require_quantstats()
        return part("notice", f"No QuantStats report: {reason}.")
    try:
        with _base_row(value.index[0]):
            page = corrected(_render(returns, benchmark, max(1, round(year))), value, index)
    except MissingExtraError:
        raise
    except Exception as error:
        warnings.warn(f"QuantStats failed: {type(error).__name__}: {error}", PageWarning, stacklevel=2)
        return part("notice", f"No QuantStats report: it failed with {type(error).__name__}.")
    page = rows_in_bars(page, length).replace("Computed by QuantStats", f"Computed{made_from(length)} by QuantStats")
    return _dress(page, value, index, year, number)


def check_levels(levels: pd.Series[float], name: str) -> None:
    """Refuse what QuantStats would take and get wrong: dates must be naive and ascend, levels be finite and positive."""
    dates = levels.index
    if not isinstance(dates, pd.DatetimeIndex):
        raise DataError(f"{name}: needs a DatetimeIndex, got {type(dates).__name__}")
    if dates.tz is not None:
        raise DataError(f"{name}: dates carry the time zone {dates.tz}; pass naive dates (tz_localize(None))")
    if not dates.is_monotonic_increasing or dates.has_duplicates:
        raise DataError(f"{name}: dates must ascend without repetition")
    numbers = levels.to_numpy(dtype=np.float64)
    bad = ~(np.isfinite(numbers) & (numbers > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{name}: {numbers[row]} on {dates[row]}; every level must be finite and positive")


def why_not(returns: pd.Series[float], benchmark: pd.Series[float]) -> str | None:
    """Why QuantStats cannot describe these returns; None when it can."""
    if len(returns) < 3:
        return f"it needs at least three returns, this run has {len(returns)}"
    for name, series in (("portfolio", returns), ("index", benchmark)):
        moves = series.to_numpy()
        if np.ptp(moves) <= 1e-14:
            return f"the {name}'s returns are all the same"
        if moves.min() >= 0 and moves.max() > 1:
            return f"the {name} never falls and more than doubles in one bar, which QuantStats takes for prices"
    return None


def require_quantstats() -> ModuleType:
    """Import QuantStats (some seconds, the first time) without its side effects on matplotlib, or say how to install it."""
    try:
        with _undisturbed():
            return importlib.import_module("quantstats.reports")
    except ImportError as error:
        raise MissingExtraError(
            f'the tear sheet needs QuantStats ({error}): pip install "backtrader-index-tracker[report]"',
        ) from error


def _render(returns: pd.Series[float], benchmark: pd.Series[float], periods: int) -> str:
    reports = require_quantstats()
    template = resources.files(__package__) / "templates" / "quantstats.html"
    with _undisturbed(), charts.chart_style(), resources.as_file(template) as path, tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.html"
        # Neutral names: QuantStats neither escapes them in HTML nor protects them from mathtext.
        reports.html(
            returns,
            benchmark,
            output=str(output),
            template_path=str(path),
            periods_per_year=periods,
            match_dates=False,  # True would cut off bars on which nothing was earned
            strategy_title="Portfolio",
            benchmark_title="Index",
        )
        return output.read_text(encoding="utf-8")


@contextmanager
def _base_row(day: pd.Timestamp) -> Iterator[None]:
    """Let QuantStats' list of drawdowns begin at the base, before the first return: it loses one that begins on the first row."""
    require_quantstats()
    stats: Any = importlib.import_module("quantstats.stats")
    listed = stats.drawdown_details

    def from_base(drawdown: Any) -> Any:
        with_base = pd.concat([drawdown.iloc[:1] * 0.0, drawdown])
        with_base.index = drawdown.index.insert(0, day)
        return listed(with_base)

    stats.drawdown_details = from_base
    try:
        yield
    finally:
        stats.drawdown_details = listed


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Run third-party drawing headless and quietly; settings, backend, named colours, figures and log levels stay the user's."""
    import matplotlib.pyplot as plt  # here, because loading it takes a moment

    backend, module = dict.__getitem__(matplotlib.rcParams, "backend"), plt.__dict__.get("_backend_mod")
    letters = {letter: matplotlib.colors.get_named_colors_mapping()[letter] for letter in "bgrcmyk"}  # seaborn renames them
    figures, fonts = set(plt.get_fignums()), logging.getLogger("matplotlib.font_manager")
    level = fonts.level
    fonts.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), matplotlib.rc_context():
            warnings.simplefilter("ignore")
            plt.switch_backend("agg")
            yield
    finally:
        fonts.setLevel(level)
        for number in set(plt.get_fignums()) - figures:
            plt.close(number)
        for letter, colour in letters.items():
            matplotlib.colors.get_named_colors_mapping()[letter] = colour  # one by one: update() would leave the cache stale
        # Also when the user's backend has not been chosen yet: there is no public way back to "not chosen".
        dict.__setitem__(matplotlib.rcParams, "backend", backend)
        plt.__dict__["_backend_mod"] = module


def _dress(page: str, value: pd.Series[float], index: pd.Series[float], periods_per_year: float, number: int) -> Markup:
    """Give the rendered template our figures, tables and colours."""
    page = page.replace("CAGR\ufe6a", "CAGR")
    page = re.sub(
        r'(<div class="grid thirds">)(.*?)(?=</div>)', lambda m: f"{m[1]}{_three_cards(m[2])}", page, count=1, flags=re.S
    )
    page = re.sub(r"(<tr>(?:<t([hd])>[^<]*</t\2>){3})<t([hd])>[^<]*</t\3>(<t([hd])>(?:Won|[+-])</t\5></tr>)", r"\1\4", page)
    empty = len(value) - 1 <= half_year(periods_per_year)  # rolling figures have no window, or one: nothing to draw
    page = re.sub(
        r'<qs-chart title="([^"]*)">(.*?)</qs-chart>',
        lambda m: "" if empty and m[1].endswith(HALF_YEAR) else _figure(m[1], m[2], number),
        page,
        flags=re.S,
    )
    page = re.sub(r">-(?=\d[\d.,]*%?</td>)", ">\u2212", page).replace("<td>-</td>", "<td>\u2013</td>")
    with charts.chart_style():
        own = {"years": calendar_years(value, index, number), "beta": rolling_beta(value, index, periods_per_year, number)}
    page = re.sub(r'<own-chart name="(\w+)"></own-chart>', lambda m: part("chart", own[m[1]]) if own[m[1]] else "", page)
    return Markup(page)


def _three_cards(table: str) -> Markup:
    """One long table with rules in it, as three of about the same length that keep its groups together."""
    head, rows = re.findall(r"<thead>.*?</thead>", table, re.S), re.findall(r"<tr>(?!<th).*?</tr>", table, re.S)
    cards: list[list[list[str]]] = [[[]]]
    for row in rows:
        if "<hr>" not in row:
            cards[-1][-1].append(row)
        elif len(cards) < 3 and sum(map(len, cards[-1])) + len(cards[-1]) > len(rows) // 3 - 3:
            cards.append([[]])
        else:
            cards[-1].append([])
    return part("quantstats_cards", Markup("".join(head)), [[Markup("".join(rows)) for rows in card] for card in cards])


def _figure(title: str, svg: str, number: int) -> Markup:
    svg = re.sub(r"<text[^>]*font-weight: 700[^>]*?(?:/>|>.*?</text>)", "", svg, flags=re.S)
    svg = re.sub(r'(style="fill: none; stroke: #fedd78[^"]*)"', r'\1; stroke-dasharray: 9 3"', svg)  # the line of the index
    svg = re.sub(r"(<text[^>]*fill: )#ffffff", r"\1#fffffe", svg)  # a cell's figure, not the paper
    svg = re.sub(r">-(?=\d[^<]*</text>)", ">\u2212", svg)
    if title.startswith("Monthly returns"):
        svg = _colour_blind_safe(svg)
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    if view:
        width, height = float(view.group(1)) + _LABEL_ROOM, float(view.group(2)) - _TITLE_ROOM + _BELOW
        x, y = AXES[title]
        middle, lowest = float(view.group(1)) / 2 + _LABEL_ROOM, height + _TITLE_ROOM - 6
        texts = ((-_LABEL_ROOM + 5.0, _TITLE_ROOM + 16.0, "start", y), (middle, lowest, "middle", x))
        svg = svg.replace("</svg>", f"{''.join(str(part('axis_title', *text)) for text in texts)}</svg>")
        svg = svg.replace(view.group(0), f'viewBox="{-_LABEL_ROOM} {_TITLE_ROOM} {width:g} {height:g}"', 1)
    return part("chart", Chart(title, charts.tidy_svg(svg, f"{title} {number + 1}" if number else title, _COLOURS)))


def _colour_blind_safe(svg: str) -> str:
    """Red to blue instead of red to green."""
    scale, safe = matplotlib.colormaps["RdYlGn"], matplotlib.colormaps["RdBu"]
    to_hex = matplotlib.colors.to_hex
    swap = {to_hex(scale(i)): to_hex(safe(i)) for i in range(scale.N)}
    return re.sub(r"(fill: )(#[0-9a-f]{6})", lambda m: m[1] + swap.get(m[2], m[2]), svg)
