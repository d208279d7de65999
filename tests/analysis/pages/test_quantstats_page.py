"""QuantStats behind its wrapper: right numbers, named refusals, and no trace left in the process. The real package runs here."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import warnings
from dataclasses import dataclass, field
from importlib.util import find_spec

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from tracker_strategies.analysis.pages.charts import chart_style
from tracker_strategies.analysis.pages.quantstats_charts import calendar_years
from tracker_strategies.analysis.pages.quantstats_page import quantstats_body, require_quantstats
from tracker_strategies.errors import DataError, MissingExtraError

# Not importorskip: a bare import of QuantStats restyles matplotlib for every test of the session.
pytestmark = pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")


def levels(returns, dates):
    return pd.Series(100.0 * np.cumprod(np.r_[1.0, 1.0 + np.asarray(returns)]), dates)


def market(bars=330, start="2019-12-31"):
    rng = np.random.default_rng(7)
    y = 0.0004 + 0.011 * rng.standard_t(5, bars)
    r = y + 0.002 * rng.standard_normal(bars)
    dates = pd.bdate_range(start, periods=bars + 2).delete(1)  # New Year's Day
    return levels(r, dates), levels(y, dates)


def table_rows(body):
    """First cell -> the other cells, over all tables of the page; a true minus sign becomes a plain one again."""
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.S)
    cells = [[c.replace("\u2212", "-") for c in re.findall(r"<td>(.*?)</td>", row)] for row in rows]
    return {first: rest for first, *rest in filter(None, cells)}


@dataclass
class Rendered:
    value: pd.Series
    index: pd.Series
    body: str
    warned: list = field(default_factory=list)
    logged: list = field(default_factory=list)
    before: tuple = ()
    after: tuple = ()

    def number(self, name, column):
        return float(table_rows(self.body)[name][column].rstrip("%"))


def drawing_state():
    letters = {c: matplotlib.colors.to_hex(c) for c in "bgrcmyk"}
    settings = {key: repr(value) for key, value in matplotlib.rcParams.items()}
    return settings, plt.get_backend(), plt.get_fignums(), letters, logging.getLogger("matplotlib.font_manager").level


@pytest.fixture(scope="module")
def rendered():
    """One report, made in a process whose user has a backend, a style, a figure and a log of his own."""

    class Listener(logging.Handler):
        def emit(self, record):
            logged.append(record.getMessage())

    logged, listener, logger = [], Listener(), logging.getLogger("matplotlib")
    value, index = market()
    backend = plt.get_backend()
    with matplotlib.rc_context(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        plt.switch_backend("svg")
        matplotlib.rcParams.update({"lines.linewidth": 7.0, "axes.facecolor": "pink"})
        own = plt.figure()
        logger.addHandler(listener)
        before = drawing_state()
        body = quantstats_body(value, index)
        after = drawing_state()
        logger.removeHandler(listener)
        assert plt.gcf() is own
        plt.close(own)
    plt.switch_backend(backend)
    return Rendered(value, index, body, [str(w.message) for w in warned], logged, before, after)


def test_figures_agree_with_an_independent_computation(rendered):
    for column, series in enumerate((rendered.index, rendered.value)):
        r = series.to_numpy()[1:] / series.to_numpy()[:-1] - 1.0
        drawdown = (series / series.cummax() - 1.0).min()
        assert rendered.number("Cumulative Return", column) == pytest.approx(
            100 * (series.iloc[-1] / series.iloc[0] - 1), abs=0.006
        )
        assert rendered.number("CAGR", column) == pytest.approx(100 * (np.prod(1 + r) ** (252 / len(r)) - 1), abs=0.006)
        assert rendered.number("Volatility (ann.)", column) == pytest.approx(100 * r.std(ddof=1) * 252**0.5, abs=0.006)
        assert rendered.number("Sharpe", column) == pytest.approx(r.mean() / r.std(ddof=1) * 252**0.5, abs=0.006)
        assert rendered.number("Max Drawdown", column) == pytest.approx(100 * drawdown, abs=0.006)
    r, y = (s.to_numpy()[1:] / s.to_numpy()[:-1] - 1.0 for s in (rendered.value, rendered.index))
    assert rendered.number("Beta", 1) == pytest.approx(np.cov(r, y)[0, 1] / y.var(ddof=1), abs=0.006)
    assert rendered.number("R^2", 1) == pytest.approx(np.corrcoef(r, y)[0, 1] ** 2, abs=0.006)
    assert rendered.number("Correlation", 1) == pytest.approx(100 * np.corrcoef(r, y)[0, 1], abs=0.006)


def test_quantstats_itself_agrees_with_us_to_the_last_digits(rendered):
    require_quantstats()
    stats = sys.modules["quantstats.stats"]
    value, index = (s.pct_change(fill_method=None).iloc[1:] for s in (rendered.value, rendered.index))
    r, y = value.to_numpy(), index.to_numpy()
    own = {
        "cagr": np.prod(1 + r) ** (252 / len(r)) - 1,
        "volatility": r.std(ddof=1) * 252**0.5,
        "sharpe": r.mean() / r.std(ddof=1) * 252**0.5,
        "max_drawdown": (rendered.value / rendered.value.cummax() - 1).min(),
    }
    for name, expected in own.items():
        assert float(getattr(stats, name)(value)) == pytest.approx(expected, rel=1e-9), name
    assert float(stats.r_squared(value, index)) == pytest.approx(np.corrcoef(r, y)[0, 1] ** 2, rel=1e-9)
    assert float(stats.greeks(value, index)["beta"]) == pytest.approx(np.cov(r, y)[0, 1] / y.var(ddof=1), rel=1e-9)


def test_a_base_at_the_end_of_a_year_makes_no_year_of_its_own(rendered):
    rows = table_rows(rendered.body)
    assert rendered.value.index[0].year == 2019
    assert "2019" not in rows
    for year in ("2020", "2021"):
        for column, series in enumerate((rendered.index, rendered.value)):
            last = series[: year if year == "2020" else "2021-12-31"].iloc[-1]
            base = series.iloc[0] if year == "2020" else series[:"2020"].iloc[-1]
            assert float(rows[year][column]) == pytest.approx(100 * (last / base - 1), abs=0.006)


def test_the_ratio_of_yearly_returns_is_left_out(rendered):
    assert "Multiplier" not in rendered.body
    assert len(table_rows(rendered.body)["2020"]) == 3


def test_the_body_brings_no_styles_scripts_links_or_placeholders(rendered):
    assert not re.search(
        r"<(html|head|body|style|script|link|a|img)\b|https?://|\{\{|on\w+=|qs-chart|own-chart|\ufe6a", rendered.body
    )
    assert rendered.body.count("<figure") == rendered.body.count('role="img"') == 10


def test_settings_backend_colours_figures_and_log_levels_are_put_back(rendered):
    for before, after in zip(rendered.before, rendered.after, strict=True):
        assert before == after


def test_neither_warnings_nor_missing_fonts_reach_the_user(rendered):
    assert rendered.warned == []
    assert [line for line in rendered.logged if "findfont" in line] == []


def test_a_backend_that_nobody_has_chosen_yet_stays_unchosen():
    backend, module = dict.__getitem__(matplotlib.rcParams, "backend"), plt._backend_mod
    try:
        open_choice = matplotlib.rcsetup._auto_backend_sentinel
        dict.__setitem__(matplotlib.rcParams, "backend", open_choice)
        plt._backend_mod = None
        require_quantstats()
        assert dict.__getitem__(matplotlib.rcParams, "backend") is open_choice
        assert plt._backend_mod is None
    finally:
        dict.__setitem__(matplotlib.rcParams, "backend", backend)
        plt._backend_mod = module


def test_a_loss_on_the_first_bar_is_a_drawdown_and_weeks_are_annualised_by_52():
    rng = np.random.default_rng(3)
    r = np.r_[-0.5, 0.002 * rng.standard_normal(60)]
    dates = pd.date_range("2020-01-03", periods=62, freq="W-FRI")
    value, index = levels(r, dates), levels(0.01 * rng.standard_normal(61), dates)
    page = Rendered(value, index, quantstats_body(value, index))
    deepest = 100 * (value / value.cummax() - 1.0).min()
    assert deepest < -49
    assert page.number("Max Drawdown", 1) == pytest.approx(deepest, abs=0.006)
    assert f"{deepest:.2f}" in [cell for row in table_rows(page.body).values() for cell in row]
    assert page.number("Volatility (ann.)", 1) == pytest.approx(100 * r.std(ddof=1) * 52**0.5, abs=0.006)


@pytest.mark.parametrize("error", [ValueError("<b>bins</b>"), KeyboardInterrupt()])
def test_a_stop_inside_quantstats_leaves_no_figure_and_no_setting(error, monkeypatch):
    def stopped(*_, **__):
        plt.figure()
        matplotlib.rcParams["lines.linewidth"] = 99.0
        raise error

    require_quantstats()
    monkeypatch.setattr("quantstats.plots.returns", stopped)
    before = drawing_state()
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            quantstats_body(*market())
    else:
        with pytest.warns(RuntimeWarning, match="QuantStats failed: ValueError: <b>bins</b>"):
            assert quantstats_body(*market()) == '<p class="notice">No QuantStats report: it failed with ValueError.</p>'
    assert drawing_state() == before


CALENDAR = pd.bdate_range("2020-01-01", periods=50)
WAVE = 0.01 * np.sin(np.arange(49.0))


@pytest.mark.parametrize(
    ("value", "index", "words"),
    [
        (levels(WAVE[:1], CALENDAR[:2]), levels(WAVE[:1], CALENDAR[:2]), "at least three returns, this run has 1"),
        (levels(WAVE[:2], CALENDAR[:3]), levels(WAVE[:2], CALENDAR[:3]), "at least three returns, this run has 2"),
        (levels(0 * WAVE, CALENDAR), levels(WAVE, CALENDAR), "portfolio's returns are all the same"),
        (levels(0 * WAVE + 0.001, CALENDAR), levels(WAVE, CALENDAR), "portfolio's returns are all the same"),
        (levels(WAVE, CALENDAR), levels(0 * WAVE + 0.001, CALENDAR), "index's returns are all the same"),
        (levels(np.abs(WAVE) * 200, CALENDAR), levels(WAVE, CALENDAR), "takes for prices"),
    ],
)
def test_what_quantstats_cannot_describe_gets_a_sentence(value, index, words):
    body = quantstats_body(value, index)
    assert body.startswith('<p class="notice">No QuantStats report: ')
    assert words in body.unescape()


def changed(position, level):
    series = levels(WAVE, CALENDAR)
    series.iloc[position] = level
    return series


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (levels(WAVE, CALENDAR.tz_localize("America/New_York")), "time zone America/New_York"),
        (levels(WAVE[1:], CALENDAR[1:]), "same dates, but 1 are in one only, the first 2020-01-01"),
        (levels(WAVE, CALENDAR.shift(1)), "same dates, but 2 are in one only"),
        (levels(WAVE, CALENDAR[::-1]), "ascend"),
        (levels(WAVE, CALENDAR[[0, *range(49)]]), "ascend without repetition"),
        (levels(WAVE, range(50)), "needs a DatetimeIndex, got RangeIndex"),
        (changed(3, np.nan), "nan on 2020-01-06"),
        (changed(3, np.inf), "inf on 2020-01-06"),
        (changed(3, 0.0), "0.0 on 2020-01-06"),
    ],
)
def test_dates_and_levels_that_would_be_misread_are_refused(value, words):
    with pytest.raises(DataError, match=re.escape(words)):
        quantstats_body(value, levels(WAVE, CALENDAR))


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "quantstats.reports", None)
    with pytest.raises(MissingExtraError, match=re.escape('pip install "backtrader-index-tracker[report]"')):
        quantstats_body(levels(WAVE, CALENDAR), levels(WAVE[::-1], CALENDAR))


def test_quantstats_is_loaded_only_when_a_page_is_made():
    heavy = "{'quantstats', 'seaborn', 'yfinance', 'matplotlib.pyplot'}"
    code = f"import sys, tracker_strategies.analysis.pages.tear_sheet; sys.exit(len({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_years_are_drawn_for_any_number_of_them():
    for years in (1, 2, 40):
        dates = pd.date_range("1980-01-01", periods=12 * years + 1, freq="ME")
        moves = 0.01 * np.sin(np.arange(12.0 * years))
        with chart_style():
            svg = calendar_years(levels(moves, dates), levels(-moves, dates)).svg
        assert 1 <= len(re.findall(r">(?:19|20)\d\d</text>", svg)) <= 8
