"""The tables of where the error comes from say what the attribution says."""

import re
from dataclasses import replace

import pytest

from tests.intraday import minute_market
from tests.markets import random_panel
from tracker_strategies import CostModel, backtest
from tracker_strategies.analysis.attribution import CAUSES, attribute
from tracker_strategies.analysis.pages.attributed import attribution_tables
from tracker_strategies.analysis.pages.page import Table, part

PANEL = random_panel(120, 14, seed=3, ohlc=True)


@pytest.fixture(scope="module")
def record():
    sectors = {symbol: "ab"[i % 2] for i, symbol in enumerate(PANEL.symbols)}
    return replace(backtest(PANEL, "pa", {"rebalance": 5}, costs=CostModel(bps=5), stages=True), sectors=sectors)


def words_of(cell):
    return cell if isinstance(cell, str) else cell.text


def test_shares_and_effects_are_those_of_the_attribution_and_sum_to_the_whole(record):
    found = attribute(record)
    tables = dict(attribution_tables(found))
    causes = tables["By cause"]
    assert [row[0].text for row in causes.rows[:-1]] == list(CAUSES)
    assert sum(row[2].value for row in causes.rows[:-1]) == pytest.approx(1.0, abs=1e-10)
    for title in list(tables)[:3]:
        last = tables[title].rows[-1]
        assert last[2].text.startswith("100.0")
        assert last[3].value == pytest.approx(record.metrics()["tracking_difference"], abs=1e-10)


def test_the_ten_names_that_cost_most_come_first_and_the_worst_bars_name_those_responsible(record):
    found = attribute(record)
    tables = dict(attribution_tables(found))
    names = tables["By name: those that cost most"].rows
    assert len(names) == 12
    shares = [row[2].value for row in names[:10]]
    assert shares == sorted(shares, reverse=True)
    worst = tables["The worst bars"].rows
    assert len(worst) == 10
    assert abs(worst[0][1].value) == abs(found.active).max()
    largest = found.names[list(PANEL.symbols)].iloc[int(abs(found.active).argmax())]
    sign = 1.0 if worst[0][1].value > 0 else -1.0
    assert worst[0][3].startswith(str((sign * largest).idxmax()))


def test_bars_are_as_long_as_the_shares_that_stand_beside_them(record):
    causes = dict(attribution_tables(attribute(record)))["By cause"].rows[:-1]
    shares = [row[2].value for row in causes]
    assert min(shares) < 0 < max(shares)
    assert [row[1].length for row in causes] == pytest.approx([share / max(map(abs, shares)) for share in shares])
    page = str(part("table", Table(["Cause", "", "", ""], causes)))
    assert page.count('class="negative"') == sum(share < 0 for share in shares)


def test_lines_that_are_no_names_are_said_in_words_and_sectors_come_by_their_share(record):
    some = {symbol: sector for symbol, sector in record.sectors.items() if symbol != PANEL.symbols[0]}
    rows = dict(attribution_tables(attribute(replace(record, sectors=some))))["By sector"].rows
    assert [row[0].text for row in rows[2:-1]] == ["No sector known", "Cash", "Costs"]
    assert {row[0].text for row in rows[:2]} == {"a", "b"}
    assert rows[0][2].value >= rows[1][2].value


def test_bars_within_a_day_are_told_by_day_and_time():
    panel = minute_market("2024-11-20", "2024-11-20", n_assets=3)
    worst = dict(attribution_tables(attribute(backtest(panel, "pa", stages=True))))["The worst bars"].rows
    assert all(re.fullmatch(r"2024-11-20 \d\d:\d\d", words_of(row[0])) for row in worst)
