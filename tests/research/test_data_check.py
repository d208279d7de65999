"""``tracker data check`` and ``--clean``: what a user learns about a file before and while trusting it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from datafeeds import MarketPanel, clean, load_sample, with_members
from tests.cli.commands import refused, tracker
from tests.markets import random_panel, real_market
from tracker_strategies.cli import app
from tracker_strategies.errors import DataError, UniverseError
from tracker_strategies.research.data_check import best_share_counts, check_panel, lagged_names, tracking_floor


def inside(*words):
    """The command in this process: a tenth of the time of one of its own."""
    return CliRunner(env={"COLUMNS": "120"}).invoke(app, [*map(str, words)])


@pytest.fixture(scope="module")
def dirty(tmp_path_factory):
    """Ninety days of the sample with one bad print, one hole, one late listing and one delisting."""
    frame = load_sample().rows(-90, None).to_frame()
    names = list(frame.columns[1:])
    frame.iloc[40, 1] *= 10.0
    frame.iloc[50, 2] = np.nan
    frame.iloc[:20, 3] = np.nan
    frame.iloc[80:, 4] = np.nan
    path = tmp_path_factory.mktemp("data") / "dirty.csv"
    frame.to_csv(path)
    return path, frame, names


def report_on(panel):
    return check_panel(panel, clean(panel)[1])


def test_the_report_as_json_names_every_fault(dirty):
    path, frame, names = dirty
    result = tracker("data", "check", path, "--exchange", "XNYS", "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    day = [str(d)[:10] for d in frame.index]
    assert (found["n_bars"], found["n_assets"], found["targets"]) == (90, 20, ["INDEX"])
    assert found["gaps"] == {names[1]: 1}
    assert found["listings"] == {names[2]: day[20]}
    assert found["delistings"] == {names[3]: day[79]}
    assert found["survivorship_warning"] is False
    assert found["coverage"] == pytest.approx({"bars": 1 - 31 / 1800, "complete_assets": 17 / 20})
    assert [(f["symbol"], f["date"], f["kind"]) for f in found["cleaning"]["findings"]] == [(names[0], day[40], "spike")]
    assert found["sessions"]["missing"] == []
    assert found["tracking"]["INDEX"]["floor_assets"] == 17


def test_the_report_reads_well(dirty):
    path, _, names = dirty
    text = inside("data", "check", path).stdout
    for word in (
        "coverage",
        "gaps",
        "listings",
        "delistings",
        "equal weights: correlation",
        "best constant weights in hindsight",
        "1 spike",
    ):
        assert word in text
    assert names[0] in text
    assert "survivorship" not in text
    assert "no name ever leaves" in inside("data", "check", "sample").stdout


def test_a_wrong_word_is_one_line(dirty):
    refused(tracker("data", "check", dirty[0], "--exchange", "WALL"), "DataError", "WALL")
    problem = inside("data", "check", dirty[0], "--index", "NOPE").exception
    assert isinstance(problem, UniverseError)
    assert "NOPE" in str(problem)
    problem = inside("run", "pa", "--data", dirty[0], "--gaps", "freeze", "--clean", "scrub").exception
    assert isinstance(problem, DataError)
    assert "clean='scrub'" in str(problem)


@pytest.mark.parametrize("policy", ["flag", "drop", "winsorise"])
def test_a_run_reports_what_was_cleaned_on_stderr_and_in_its_folder(dirty, tmp_path, policy):
    path, _, names = dirty
    words = ("--gaps", "freeze", "--clean", policy, "--json", "--out", tmp_path / "run", "--no-tearsheet")
    result = inside("run", "pa", "--data", path, *words)
    assert result.exit_code == 0, result.stderr
    json.loads(result.stdout)  # the metrics and nothing else
    assert f"cleaning ({policy}): 1 spike in 1 series" in result.stderr
    assert names[0] in result.stderr
    written = json.loads((tmp_path / "run" / "run.json").read_text())
    done = {"flag": "flagged", "drop": "made a gap", "winsorise": "set to the close before"}[policy]
    assert written["data"]["cleaning"]["policy"] == policy
    assert [f["action"] for f in written["data"]["cleaning"]["findings"]] == [done]
    assert [e["event"] for e in written["events"] if e["symbol"] == names[2]] == ["listed"]
    assert [e["event"] for e in written["events"] if e["symbol"] == names[3]] == []  # ten bars: it may still be a halt


def test_a_panel_whose_members_leave_has_no_survivorship_warning():
    panel = random_panel(n_bars=30)
    assert report_on(panel)["survivorship_warning"] is True
    always = {name: [(None, None)] for name in panel.symbols}
    found = report_on(with_members(panel, {**always, "S1": [(None, panel.day(10))], "S2": [(panel.day(5), None)]}))
    assert (found["joined"], found["left"], found["survivorship_warning"]) == (1, 1, False)


def test_the_floor_is_the_least_that_constant_weights_reach():
    panel = random_panel(n_bars=60, n_assets=6, seed=4)
    found = tracking_floor(panel)
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    weights = np.random.default_rng(0).dirichlet(np.ones(6), 20_000)
    errors = np.sqrt(((weights @ panel.returns.T - y) ** 2).mean(axis=1))
    assert found["floor_te_rms"] <= errors.min()
    assert found["floor_te_rms"] == pytest.approx(errors.min(), rel=0.2)
    equal = panel.returns.mean(axis=1)
    assert found["equal_weight_te_rms"] == pytest.approx(np.sqrt(((equal - y) ** 2).mean()))
    assert found["equal_weight_correlation"] == pytest.approx(np.corrcoef(equal, y)[0, 1])


def test_an_index_that_is_a_portfolio_of_the_assets_has_a_floor_of_zero():
    panel = random_panel(n_bars=60, n_assets=4)
    w = np.array([0.4, 0.0, 0.1, 0.5])
    level = 100.0 * np.r_[1.0, np.cumprod(1.0 + panel.returns @ w)]
    found = tracking_floor(replace(panel, target_close=level[:, None]))
    assert found["floor_te_rms"] < 1e-10
    assert found["floor_names"] == 3


def test_the_figures_of_real_markets_are_those_of_their_notes():
    found = tracking_floor(real_market("orlib_sp500_457_weekly"))
    assert found["equal_weight_correlation"] == pytest.approx(0.937, abs=5e-4)
    found = tracking_floor(real_market("nasdaq100_2023_2024_daily"))
    assert found["equal_weight_correlation"] == pytest.approx(0.930, abs=5e-4)
    assert found["equal_weight_te_rms"] == pytest.approx(42.6e-4, rel=5e-3)
    assert found["floor_assets"] == 99


def test_an_index_of_constant_share_counts_is_found_and_constant_weights_miss_it():
    panel = load_sample().rows(0, 500)
    counts = np.zeros(panel.n_assets)
    counts[[1, 4, 7]] = [3.0, 1.0, 2.0]
    found = tracking_floor(replace(panel, target_close=(panel.close @ counts)[:, None]))
    assert found["shares_te_rms"] < 1e-8
    assert found["shares_names"] == 3
    assert found["floor_te_rms"] > 1e-4


def test_the_best_share_counts_are_better_than_any_of_many_others():
    panel = load_sample().rows(0, 300)
    level = panel.target_close[:, 0]
    y = level[1:] / level[:-1] - 1.0
    rng = np.random.default_rng(3)

    def missed(counts):
        wealth = panel.close @ counts
        return np.sqrt(np.mean((wealth[1:] / wealth[:-1] - 1.0 - y) ** 2))

    best = best_share_counts(panel.close, level)
    assert (best >= 0.0).all()
    near = [np.maximum(best * (1.0 + s * rng.standard_normal(panel.n_assets)), 0.0) for s in (0.01, 0.1, 0.5) for _ in range(50)]
    assert missed(best) <= min(map(missed, near)) * (1 + 1e-6)


def test_names_of_a_market_that_closes_before_the_index_are_named():
    rng = np.random.default_rng(0)
    news = 0.01 * rng.standard_normal(401)
    noise = 0.004 * rng.standard_normal((401, 3))
    returns = np.c_[news, np.r_[0.0, news[:-1]], news, news] + np.c_[np.zeros(401), noise]
    prices = pd.DataFrame(100.0 * np.cumprod(1.0 + returns, axis=0), columns=["INDEX", "TOKYO", "NY", "NY2"])
    panel = MarketPanel.from_frame(prices.set_index(pd.bdate_range("2020-01-01", periods=401)))
    assert list(lagged_names(panel)) == ["TOKYO"]
    assert lagged_names(panel.take(np.array([False, True, True]), "the same market")) == {}
