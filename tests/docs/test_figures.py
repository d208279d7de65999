"""Figures on real markets that pages give in their text are those that a run has."""

import re
from pathlib import Path

import pytest

from tests.markets import real_market
from tracker_strategies.research import replay
from tracker_strategies.research.sweeps.running.worker import one_thread

ROOT = Path(__file__).resolve().parents[2]
HOLDINGS = (ROOT / "docs/concepts/holdings.md").read_text(encoding="utf-8")
FILES = {
    "NASDAQ-100, 2019-2020, daily": "nasdaq100_2019_2020_daily",
    "S&P 500, 2015-2020, daily, 471 names": "sp500_2015_2020_daily",
    "S&P 100, 1992-1997, weekly": "orlib_sp100_98_weekly",
    "Nikkei 225, 1992-1997, weekly": "orlib_nikkei225_weekly",
}
RUNS = (("pa", {"eps": 0.0}), ("pa", {"eps": 0.0, "coordinates": "shares"}), ("ensemble", {}))
ROWS = {
    title: [tuple(map(float, pair)) for pair in re.findall(r"\| ([\d.]+) / ([\d.]+) %", rest)]
    for title, rest in re.findall(r"^\| ([^|]+\d{4}[^|]*) (\|.*/.*%.*)$", HOLDINGS, re.M)
}


def test_the_table_has_these_markets():
    assert set(ROWS) == set(FILES)


@pytest.mark.parametrize("title", FILES)
def test_the_gain_of_share_counts(title):
    panel = real_market(FILES[title], gaps="freeze")
    with one_thread():
        for (strategy, params), (error, turnover) in zip(RUNS, ROWS[title], strict=True):
            found = replay(panel, strategy, {"fill": "close", **params}).since(0.5).metrics()
            assert 1e4 * found["te_rms"] == pytest.approx(error, abs=0.0501)
            assert 100.0 * found["turnover"] == pytest.approx(turnover, abs=0.0501)


BUDGETS = (0.01, 0.02, 0.04)


def budget_rows():
    """File, strategy and what it used of the three budgets; a line without a file belongs to that above."""
    table = (ROOT / "docs/concepts/strategies.md").read_text(encoding="utf-8").partition("| file | strategy |")[2]
    title = ""
    for first, strategy, *used in re.findall(r"^\| ([^|]*)\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", table, re.M):
        title = first.strip() or title
        yield title, strategy, used


BUDGET_FILES = {
    "NASDAQ-100, 2019-2020, daily": "nasdaq100_2019_2020_daily",
    "NASDAQ-100, 2023-2024, daily": "nasdaq100_2023_2024_daily",
    "S&P 500, 2015-2020, daily": "sp500_2015_2020_daily",
    "S&P 100, 1992-1997, weekly": "orlib_sp100_98_weekly",
    "FTSE 100, 2010-2023, daily": "ftse100_64_2010_2023_daily",
}
QUICK = ("NASDAQ-100, 2019-2020, daily", "S&P 100, 1992-1997, weekly")


@pytest.mark.parametrize("title", [pytest.param(t, marks=() if t in QUICK else pytest.mark.slow) for t in BUDGET_FILES])
def test_what_a_tilt_uses_of_its_budget(title):
    panel = real_market(BUDGET_FILES[title], gaps="freeze")
    rows = [(strategy, used) for name, strategy, used in budget_rows() if name == title]
    assert [strategy for strategy, _ in rows] == ["pas", "apas", "tilted-ensemble"]
    with one_thread():
        for strategy, used in rows:
            for budget, shown in zip(BUDGETS, used, strict=True):
                params = {"fill": "close", "max_tracking_error": budget}
                found = replay(panel, strategy, params).metrics_by_target()["budget_used"]
                assert found == pytest.approx(float(shown.strip("()")), abs=0.00501)
                assert (round(found, 2) > 1.0) == shown.startswith("(")


def test_the_entry_is_most_of_the_squared_error_of_a_short_run():
    """The example of the page on analysis: with the day in cash, and without it."""
    text = (ROOT / "docs/concepts/analysis.md").read_text(encoding="utf-8")
    share, every, scored = re.search(
        r"it was (\d+) % of the squared error.*?is ([\d.]+) bp with.*?and ([\d.]+) without", text, re.S
    ).groups()
    with one_thread():
        record = replay(real_market("nasdaq100_2019_2020_daily", gaps="freeze"), "ensemble")
    account, index = record.value, record.index[:, 0]
    squared = (account[1:] / account[:-1] - index[1:] / index[:-1]) ** 2
    assert 100.0 * squared[:2].max() / squared.sum() == pytest.approx(float(share), abs=0.5)
    assert 1e4 * squared.mean() ** 0.5 == pytest.approx(float(every), abs=0.0501)
    assert 1e4 * record.metrics()["te_rms"] == pytest.approx(float(scored), abs=0.0501)


def test_the_readme_has_the_same_figures():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "`pa` with `eps=0`" in text
    for title in list(FILES)[:2]:
        (plain, _, ensemble) = ROWS[title]
        assert f"{plain[0]:g} / {plain[1]:g} %" in text
        assert f"**{ensemble[0]:g} / {ensemble[1]:g} %**" in text
