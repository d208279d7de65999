"""What a manager looks for stands on the tear sheet: years, months, intervals, conventions; the tracking part comes first."""

import re
from importlib.util import find_spec

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies import CostModel, backtest
from tracker_strategies.analysis.inference import interval
from tracker_strategies.analysis.manager import beta, calendar_years, monthly_active, r_squared, trading, trailing_years
from tracker_strategies.analysis.pages.managed import manager_tables
from tracker_strategies.analysis.pages.tear_sheet import tearsheet
from tracker_strategies.analysis.pages.words import bp, fixed, number

PANEL = random_panel(420, 8, seed=5, ohlc=True)
pytestmark = pytest.mark.skipif(find_spec("quantstats") is None, reason="needs the extra [report]")


@pytest.fixture(scope="module")
def record():
    return backtest(PANEL, "pa", {"rebalance": 5, "eps": 1e-4}, costs=CostModel(bps=5)).part


@pytest.fixture(scope="module")
def page(record, tmp_path_factory):
    return tearsheet(record, tmp_path_factory.mktemp("sheet") / "page.html").read_text(encoding="utf-8")


def tile(page, title):
    """The words of a tile."""
    inside = page.split(f'<div class="tile"><h3>{title}</h3>')[1].split("</div>")[0]
    return re.sub("<[^>]*>", "", inside)


def test_years_and_periods_are_those_of_the_functions(record):
    tables = dict(manager_tables(record))
    for heading, made in (("Calendar years", calendar_years(record)), ("Years up to the last bar", trailing_years(record))):
        rows = tables[heading].rows
        assert [row[0].text for row in rows] == [str(name) for name in made.index]
        for row, (_, own) in zip(rows, made.iterrows(), strict=True):
            if own["n_bars"]:
                columns = ("portfolio", "index", "tracking_difference", "tracking_error")
                assert [cell.value for cell in row[1:5]] == [own[name] for name in columns]
            else:
                assert row[0].note == "longer than the run"
                assert set(row[1:]) == {"\u2013"}
    assert tables["Calendar years"].rows[-1][0].note.endswith("only")
    assert tables["Years up to the last bar"].rows[1][0].note == "longer than the run"


def test_months_are_coloured_by_sign_and_size(record, page):
    made = monthly_active(record)
    shown = dict(manager_tables(record))["Active return by month"]
    values = np.array([[getattr(cell, "value", np.nan) for cell in row[1:]] for row in shown.rows])
    assert np.array_equal(values, made.to_numpy(), equal_nan=True)
    shades = np.array([[getattr(cell, "shade", np.nan) for cell in row[1:-1]] for row in shown.rows], dtype=float)
    months = made.drop(columns="year").to_numpy()
    assert np.allclose(shades, months / np.nanmax(np.abs(months)), equal_nan=True)
    assert page.count('<td class="above"') == (months > 0).sum()
    assert page.count('<td class="below"') == (months < 0).sum()


def test_the_tile_of_the_tracking_error_has_its_interval(record, page):
    low, high = interval(record.active)
    assert low < record.metrics()["te_rms"] < high
    assert f"95\u202f% interval {bp(low)} to {bp(high)}" in tile(page, "TE, RMS")


def test_beta_and_r_squared_have_tiles_with_intervals(record, page):
    for title, found, digits in (("Beta to the index", beta(record), 3), ("R\u00b2 to the index", r_squared(record), 4)):
        words = tile(page, title)
        assert words.startswith(fixed(found.value, digits))
        assert f"interval {fixed(found.low, digits)} to {fixed(found.high, digits)}" in words


def test_turnover_says_which_convention_it_has(record, page):
    traded, words = trading(record), tile(page, "Turnover")
    assert f"(two-way); {number(100 * traded.two_way)}\u202f% per year, one-way {number(50 * traded.two_way)}\u202f%" in words
    assert tile(page, "Holding period").startswith(f"{number(2 / traded.two_way)} years")
    assert f"{len(record.orders):,} trades" in tile(page, "Holding period")


def test_the_tracking_part_comes_first_and_jump_links_lead_to_every_part(page):
    order = [page.index(f'<h2 id="{name}"') for name in ("tracking", "years", "time", "reading", "quantstats")]
    assert order == sorted(order)
    links = re.findall(r'href="#([^"]+)"', page.split('<nav class="jump">')[1].split("</nav>")[0])
    assert {"tracking", "years", "time", "weights"} <= set(links)
    assert all(f'id="{name}"' in page for name in links)
    first = page[: page.index('<h2 id="time"')]
    assert all(title in first for title in ("TE, RMS", "Growth of 100", "Excess return", "Calendar years"))


def test_the_final_value_of_a_scored_part_is_said_to_be_that_of_the_whole_run(record, page, tmp_path):
    whole = record.whole
    half = whole.since("0.5")
    assert half.metrics()["final_value"] == whole.value[-1]
    words = tile(tearsheet(half, tmp_path / "half.html").read_text(encoding="utf-8"), "Final value")
    assert f"of the whole run, from {whole.value[0]:,.0f}; {half.value[0]:,.0f} when scoring began" in words
    assert "whole run" not in tile(page, "Final value")
