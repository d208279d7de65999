"""What QuantStats gets wrong or leaves out, and what a tear sheet of ours says instead.

Traps that end in a refusal, or would change the user's process, are in test_quantstats_page.py.
"""

import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from tests.analysis.pages.test_quantstats_page import table_rows
from tests.analysis.pages.test_tear_sheet import run
from tracker_strategies import tearsheet

pytestmark = pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")


def sheet(record, tmp_path):
    return tearsheet(record, tmp_path / "sheet.html").read_text(encoding="utf-8")


def number(page, row, column):
    return float(table_rows(page.split('id="quantstats"')[1])[row][column].rstrip("%").replace(",", ""))


@pytest.fixture(scope="module")
def holidays():
    """Two years of an account against an index that has no level on 10 of 750 days."""
    record = run(bars=750, names=3, noise=0.0005, targets=("INDEX",))
    gone = np.random.default_rng(8).choice(np.arange(20, 740), 10, replace=False)
    seen = np.ones((751, 1), dtype=bool)
    seen[gone] = False
    shown = pd.DataFrame(np.where(seen, record.index, np.nan)).ffill().to_numpy()
    return replace(record, seen=seen, index=shown), np.flatnonzero(seen[:, 0])


def test_days_that_the_index_does_not_have_invent_no_tracking_error(holidays, tmp_path):
    record, rows = holidays
    value, index = record.value[rows], record.index[rows, 0]
    r, y = value[1:] / value[:-1] - 1, index[1:] / index[:-1] - 1
    e = r - y
    filled = pd.Series(np.where(record.seen[:, 0], record.index[:, 0], np.nan)).bfill().pct_change().to_numpy()[1:]
    invented = np.std(record.value[1:] / record.value[:-1] - 1 - filled, ddof=1)
    assert invented > 2.0 * e.std(ddof=1)  # what filling with the next level makes of it
    page = sheet(record, tmp_path)
    shown = {key: float(v) for key, v in reversed(re.findall(r'data-metric="(\w+)" value="([^"]+)"', page))}
    assert shown["te_centred"] == pytest.approx(e.std(ddof=1), rel=1e-12)
    assert shown["n_bars"] == 740
    # The QuantStats part looks at the same days: neither back-filled nor with returns of zero.
    assert number(page, "R^2", 1) == pytest.approx(np.corrcoef(r, y)[0, 1] ** 2, abs=0.0051)
    for column, levels in enumerate((index, value)):
        moves = levels[1:] / levels[:-1] - 1
        assert number(page, "Volatility (ann.)", column) == pytest.approx(100 * moves.std(ddof=1) * 252**0.5, abs=0.0051)


def test_bars_in_cash_at_the_start_are_bars(tmp_path):
    record = run(bars=200, names=3, targets=("INDEX",))
    flat = np.r_[np.full(40, record.value[0]), record.value[40:] / record.value[39] * record.value[0]]
    page = sheet(replace(record, value=flat), tmp_path)
    growth = (flat[-1] / flat[0]) ** (252 / 200) - 1
    assert number(page, "CAGR", 1) == pytest.approx(100 * growth, abs=0.0051)


@pytest.fixture(scope="module")
def loser(tmp_path_factory):
    """An account that loses half of its value in a year and a half, less than three years of it."""
    record = run(bars=380, names=3, targets=("INDEX",))
    falling = replace(record, value=record.value * np.exp(-0.003 * np.arange(381)))
    return falling, sheet(falling, tmp_path_factory.mktemp("loser"))


def test_rows_that_mislead_about_a_tracker_are_left_out(loser):
    """An information ratio per bar, a recovery factor without a sign, a "risk-adjusted" return that is the yearly one, ratios
    that divide the return of the whole run.
    """
    _, page = loser
    rows = table_rows(page.split('id="quantstats"')[1])
    assert "Sharpe" in rows
    assert not {"Information Ratio", "Recovery Factor", "Risk-Adjusted Return", "Time in Market"} & set(rows)
    assert not {"Treynor Ratio", "Ulcer Performance Index", "Serenity Index"} & set(rows)
    assert "Ulcer Index" in rows


def test_years_stand_once_on_the_page(tmp_path):
    """QuantStats' "3Y" and "5Y" are 35 and 59 months: another figure than that of the page's own table."""
    page = sheet(run(bars=4 * 252, names=3, targets=("INDEX",)), tmp_path)
    rows = table_rows(page.split('id="quantstats"')[1])
    assert not {"1Y", "3Y (ann.)", "5Y (ann.)", "10Y (ann.)", "All-time (ann.)"} & set(rows)
    assert "6M" in rows
    assert {"1 year", "3 years", "5 years"} <= set(re.findall(r"[135] years?", page.split("Years up to the last bar")[1]))


def test_rolling_charts_are_left_out_where_the_run_has_no_window_for_them(tmp_path):
    short = sheet(run(bars=60, names=3, targets=("INDEX",)), tmp_path)
    assert "Under water" in short
    assert "half a year" not in short
    longer = sheet(run(bars=200, names=3, targets=("INDEX",)), tmp_path)
    assert longer.count(", half a year</h3>") == 4


def test_a_drawdown_that_lasts_to_the_end_has_not_recovered(loser):
    record, page = loser
    part = page.split('id="quantstats"')[1]
    last = str(record.dates[-1].astype("datetime64[D]"))
    drawdowns = part[part.index("Ten deepest drawdowns") :].split("</table>")[0]
    assert f"<td>{last}</td>" not in drawdowns
    assert "<td>not yet</td>" in drawdowns
    assert table_rows(part)["Max DD Period End"][1] == "not yet"


def test_a_drawdown_that_has_recovered_on_the_last_bar_has(tmp_path):
    record = run(bars=120, names=3, targets=("INDEX",))
    rising = np.r_[np.linspace(100.0, 110.0, 60), np.linspace(109.0, 105.0, 30), np.linspace(106.0, 120.0, 31)]
    page = sheet(replace(record, value=rising * np.exp(1e-3 * np.sin(np.arange(121)))), tmp_path)
    assert "not yet" not in page.split("Ten deepest drawdowns")[1].split("</table>")[0]


def test_the_index_is_not_compared_with_itself(loser):
    _, page = loser
    assert table_rows(page.split('id="quantstats"')[1])["R^2"][0] == "\u2013"


def test_the_tracking_error_that_it_lacks_is_above_it(loser):
    record, page = loser
    assert "racking error" not in " ".join(table_rows(page.split('id="quantstats"')[1]))
    own = page.split('id="quantstats"')[0]
    for key in ("te_rms", "te_centred", "tracking_difference"):
        assert f'data-metric="{key}" value="{record.metrics()[key]!r}"' in own


def test_figures_in_its_charts_have_true_minus_signs(loser):
    _, page = loser
    part = page.split('id="quantstats"')[1]
    assert re.search(r">\u2212\d[^<]*</text>", part)
    assert not re.search(r">-\d[^<]*</text>", part)
