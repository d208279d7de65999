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


def test_the_readme_has_the_same_figures():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "`pa` with `eps=0`" in text
    for title in list(FILES)[:2]:
        (plain, _, ensemble) = ROWS[title]
        assert f"{plain[0]:g} / {plain[1]:g} %" in text
        assert f"**{ensemble[0]:g} / {ensemble[1]:g} %**" in text
