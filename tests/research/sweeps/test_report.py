"""What a report says: the best cells, how sure they are, and a warning where they are no better than the baseline."""

import base64
import json
import os
import re
import signal

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from datafeeds import MarketPanel, synthetic_market
from tracker_strategies import CostModel
from tracker_strategies.analysis.inference.objectives import OBJECTIVES
from tracker_strategies.analysis.pages.charts import chart_style, pareto
from tracker_strategies.analysis.pages.judged import decimals, p_words
from tracker_strategies.cli import app
from tracker_strategies.errors import OutputError, ParameterError
from tracker_strategies.research.sweeps import Halving, Range, Space, Sweep, WalkForward, read_rows, run_sweep
from tracker_strategies.research.sweeps.judging.charts import charts
from tracker_strategies.research.sweeps.judging.page import best_table
from tracker_strategies.research.sweeps.judging.report import findings, write_report
from tracker_strategies.research.sweeps.judging.results import load
from tracker_strategies.research.sweeps.running.driver import Unwatched

#: How many markets of noise, and the most of them in which an edge may be claimed: 3.2 standard deviations above one in twenty.
NOISE_MARKETS = [(100, 12), pytest.param(200, 20, marks=pytest.mark.slow)]


def noise_market(seed, n_bars=160, n_assets=6):
    """Names that are all alike and unpredictable, and an index of all of them: nothing can be earned beyond it."""
    rng = np.random.default_rng(seed)
    x = 0.008 * rng.standard_normal((n_bars, 1)) + 0.012 * rng.standard_t(5, (n_bars, n_assets)) / np.sqrt(5 / 3)
    close = 100.0 * np.cumprod(1.0 + x, axis=0)
    index = 100.0 * np.cumprod(1.0 + x.mean(axis=1, keepdims=True) + 5e-4 * rng.standard_normal((n_bars, 1)), axis=0)
    dates = pd.bdate_range("2020-01-01", periods=n_bars).to_numpy()
    return MarketPanel(dates, tuple(f"S{i}" for i in range(n_assets)), close, ("INDEX",), index)


def parquet(panel, folder, name="market"):
    path = folder / f"{name}.parquet"
    panel.to_frame().to_parquet(path)
    return str(path)


def compared(folder):
    """Fields of the comparison page; the path of a run is its active returns and its log returns over the index."""
    fields = json.loads(re.search(r'id="data">(.*?)</script>', (folder / "comparison.html").read_text())[1])["fields"]
    for run in [run for field in fields for run in field["runs"]]:
        run["path"] = [np.frombuffer(base64.b64decode(text), dtype="<f4").astype(float) for text in run["path"]]
    return fields


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    space = Space(("pa", "apas"), {"eps": (1e-4, 3e-4, 1e-3), "apas.lam": (1e-3, 1e-1)})
    source = parquet(synthetic_market(10, 300, seed=2), folder)
    sweep = Sweep(space, data=(source,), costs=(CostModel(), CostModel(5)), eval_from=0.3)
    run_sweep(sweep, folder / "sweep", jobs=1)
    return folder / "sweep"


def test_the_best_cell_leads_and_every_figure_is_that_of_its_row(swept):
    found = write_report(swept, draws=200)
    assert found == json.loads((swept / "report.json").read_text())
    assert (found["rows"], found["failed"], len(found["settings"])) == (20, 0, 2)
    rows = load(swept).settings
    for told, setting in zip(found["settings"], rows, strict=True):
        errors = [cell["te_rms"] for cell in told["best"]]
        assert errors == sorted(errors)
        assert len(errors) == 8  # ten candidates, two of them baselines
        assert set(told["baselines"]) == {"equal-weight", "pa"}
        assert told["n_bars"] == 210
        assert told["trials"] == 10
        for cell in told["best"]:
            low, high = cell["interval"]
            assert low < cell["te_rms"] < high
            for name, versus in cell["versus"].items():
                assert versus["delta"] == pytest.approx(told["baselines"][name]["te_rms"] - cell["te_rms"], abs=1e-9)
                assert versus["low"] <= versus["delta"] <= versus["high"]
        assert setting.n_bars == 210


def test_tracking_beats_equal_weight_and_that_is_said(swept):
    for told in write_report(swept, draws=200)["settings"]:
        versus = told["best"][0]["versus"]["equal-weight"]
        assert versus["p"] < told["level"] == 0.025
        assert "equal-weight" not in told["not_distinguishable_from"]
        assert told["edge"] == (not told["not_distinguishable_from"])
        assert len(told["warnings"]) == len(told["not_distinguishable_from"])


def test_the_page_stands_alone_and_shows_all_parts(swept):
    write_report(swept, draws=200)
    page = (swept / "report.html").read_text()
    assert not re.search(r"<script|https?://(?!www\.w3\.org)|@import|<link rel=\"stylesheet", page)
    for words in ("Tracking error and return", "Tracking error and turnover", "apas: lam and eps", "equal-weight", "Hansen"):
        assert words in page
    assert page.count('role="img"') == 2 * 3  # per setting two frontiers and a heat map
    assert "$" not in re.sub(r"<style>.*?</style>", "", page, flags=re.S)


def test_tiles_have_their_unit_beside_the_figure_and_the_verdict_of_the_table(swept):
    found = write_report(swept, draws=200)
    page = (swept / "report.html").read_text()
    tiles = re.findall(r'<div class="tile"><h3>(.*?)</h3><data[^>]*>(.*?)</data><p>(.*?)</p>', page)
    assert len(tiles) == 2 * 3
    assert all(figure.endswith("\u202fbp") and words.startswith("per bar; ") for _, figure, words in tiles)
    told = [v["verdict"] for s in found["settings"] for v in s["best"][0]["versus"].values()]
    said = [re.search(r">(\w[\w ]*)</span>", words)[1] for title, _, words in tiles if title.startswith("Ahead of")]
    assert said == told
    assert "distinguishable" not in page


def test_figures_in_a_heat_map_have_as_many_places_each(swept):
    write_report(swept, draws=200)
    for figure in (swept / "report.html").read_text().split("apas: lam and eps</h3>")[1:]:
        cells = re.findall(r">(\d+\.\d+)</text>", figure.split("</figure>")[0].split("axis-title")[0])
        told = [cell for cell in cells if float(cell) > 1.0]
        assert len(told) >= 4
        assert len({len(cell.split(".")[1]) for cell in told}) == 1


def test_when_orders_fill_is_said_in_words(swept):
    write_report(swept, draws=200)
    page = (swept / "report.html").read_text()
    assert "fills at the next open (close, where prices have no opens), 5 bp costs</h2>" in page
    assert "next_open" not in page


def test_p_values_at_the_floor_of_the_draws_are_written_as_bounds(swept):
    found = write_report(swept, draws=200)
    page = (swept / "report.html").read_text()
    lowest = [v["p"] for told in found["settings"] for cell in told["best"] for v in cell["versus"].values()]
    assert min(lowest) == pytest.approx(1 / 201)
    assert "p \u2264 0.005" in page
    assert "p 0.005" not in page
    assert p_words(1 / 1001, 1 / 1001) == "\u2264 0.001"
    assert p_words(2 / 1001, 1 / 1001) == "0.002"


def test_figures_have_no_more_decimals_than_their_intervals_bear():
    assert [decimals(-2.0, 2.0), decimals(9.8, 10.2), decimals(0.0, 0.04), decimals(-30.0, 30.0)] == [1, 2, 3, 0]
    assert decimals(float("nan"), 1.0) == decimals(1.0, 1.0) == 3
    entry = {"strategy": "pa", "params": {}, "te_rms": 12.3456e-4, "interval": [10.3e-4, 14.3e-4], "among_best": False}
    entry |= {"excess_log_return": 0.05, "turnover": 0.01, "cost_bps": 0.1, "n_holdings": 5.0}
    versus = {"delta": 1.2345e-4, "p": 0.2, "low": -0.8e-4, "high": 3.2e-4, "verdict": "no difference shown"}
    base = {**entry, "strategy": "equal-weight", "versus": {}}
    told = {"baselines": {"equal-weight": base}, "best": [{**entry, "versus": {"equal-weight": versus}}], "years": 2.0}
    table = best_table(told, OBJECTIVES["te_rms"])
    assert table.rows[1][1][:2] == ("12.3", "10.3 to 14.3")
    assert table.rows[1][2][:2] == ("+1.2", "\u22120.8 to +3.2; p 0.200: no difference shown")
    column = list(table.head).index("Excess log return, % per year")
    assert table.rows[1][column] == "+2.50"


def test_returns_are_per_year_and_the_legend_is_as_drawn(swept):
    told = write_report(swept, draws=200)["settings"][0]
    first, last = (np.datetime64(day[:10]) for day in told["days"])
    assert told["years"] == pytest.approx((last - first).astype(int) / 365.25)
    setting = load(swept).settings[0]
    base = {name: setting.find(name) for name in told["baselines"]}
    with chart_style():
        labels = [key.label for key in charts(setting, base, None)[0].legend]
        up = charts(setting, base, None, told["years"])[0].svg
    assert "Log return over the index per year" in up
    assert "equal-weight" not in labels
    assert labels[-1] == "Baselines"


def test_the_best_and_the_baselines_can_be_compared_bar_by_bar(swept):
    found = write_report(swept, draws=200)
    assert 'href="comparison.html"' in (swept / "report.html").read_text()
    fields = compared(swept)
    assert len(fields) == len(found["settings"]) == 2
    for field, told in zip(fields, found["settings"], strict=True):
        cells = [*told["baselines"].values(), *told["best"]]
        assert [run["te"] for run in field["runs"]] == [cell["te_rms"] for cell in cells]
        for run, cell in zip(field["runs"], cells, strict=True):
            active, excess = run["path"]
            assert len(active) == len(excess) == told["n_bars"]
            assert np.sqrt((active**2).mean()) == pytest.approx(cell["te_rms"], rel=1e-5)
            assert excess.sum() == pytest.approx(cell["excess_log_return"], abs=1e-5)


def test_curves_over_several_seeds_end_at_the_figures_of_the_table(tmp_path):
    walk = WalkForward(folds=2, purge=2, burn_in=5)
    sweep = Sweep(
        Space(("pa",), {"eps": (1e-3, 1e-2)}), data=("synthetic:n_assets=5,n_bars=120",), seeds=(0, 1, 2), walk_forward=walk
    )
    run_sweep(sweep, tmp_path, jobs=1)
    (told,) = write_report(tmp_path, draws=200)["settings"]
    assert "Of several seeds: the mean" in (tmp_path / "comparison.html").read_text()
    (field,) = compared(tmp_path)
    columns = ("strategy", "params", "seed", "fold", "part", "excess")
    rows = read_rows(tmp_path, columns).to_pandas().query("part == 'test'").sort_values("fold")
    for run, cell in zip(field["runs"], [*told["baselines"].values(), *told["best"]], strict=True):
        active, excess = run["path"]
        assert len(active) == len(excess) == told["n_bars"] / 3 == 60
        assert np.sqrt((active**2).mean()) == pytest.approx(cell["te_rms"], rel=1e-5)
        assert excess.sum() == pytest.approx(cell["excess_log_return"], abs=1e-5)
        own = rows[(rows["strategy"] == cell["strategy"]) & (rows["params"] == json.dumps(cell["params"]))]
        seeds = np.array([np.concatenate(list(one["excess"])) for _, one in own.groupby("seed")])
        assert seeds.shape == (3, 60)
        np.testing.assert_allclose(excess.cumsum(), seeds.astype(float).cumsum(axis=1).mean(axis=0), atol=1e-6)


def stored(folder, cell):
    """Paths of a candidate as its rows have them, the longest one of each seed and window, by seed and first scored row."""
    columns = ("strategy", "params", "seed", "score_from", "stop", "active", "excess")
    rows = read_rows(folder, columns).to_pandas().sort_values("stop")
    own = rows[(rows["strategy"] == cell["strategy"]) & (rows["params"] == json.dumps(cell["params"]))]
    return {
        (seed, start): tuple(np.asarray(path, dtype=float) for path in (active, excess))
        for seed, start, active, excess in zip(*(own[c] for c in ("seed", "score_from", "active", "excess")), strict=True)
    }


OTHER_BARS = "not all seeds were scored on the same bars"


def test_seeds_scored_from_different_bars_on_are_averaged_window_by_window(tmp_path):
    space, data = Space(("pa",), {"eps": (1e-4, 3e-4)}), ("synthetic:n_assets=5,n_bars=80",)
    run_sweep(Sweep(space, data=data, seeds=(0, 1), eval_from=0.5), tmp_path, jobs=1)
    run_sweep(Sweep(space, data=data, seeds=(2,), eval_from=0.25), tmp_path, jobs=1, extend=True)
    (told,) = write_report(tmp_path, draws=200)["settings"]
    assert OTHER_BARS in (tmp_path / "comparison.html").read_text()
    (field,) = compared(tmp_path)
    for run, cell in zip(field["runs"], [*told["baselines"].values(), *told["best"]], strict=True):
        active, excess = run["path"]
        own = stored(tmp_path, cell)
        assert {place: len(a) for place, (a, _) in own.items()} == {(0, 40): 40, (1, 40): 40, (2, 20): 60}
        both = np.sqrt((own[0, 40][0] ** 2 + own[1, 40][0] ** 2) / 2)
        np.testing.assert_allclose(active, [*np.abs(own[2, 20][0]), *both], rtol=1e-6)
        np.testing.assert_allclose(excess, [*own[2, 20][1] / 3, *(own[0, 40][1] + own[1, 40][1]) / 3], rtol=1e-6)
        assert excess.sum() == pytest.approx(cell["excess_log_return"], abs=1e-6)


class Stop(Unwatched):
    """Ends a sweep after so many rows."""

    def __init__(self, rows):
        self.left = rows

    def row(self, row):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_the_short_path_of_an_unfinished_halving_is_not_mixed_with_other_bars(tmp_path):
    sweep = Sweep(
        Space(("pa",), {"eps": (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 1e-1)}),
        data=("synthetic:n_assets=5,n_bars=181",),
        seeds=(0, 1),
        search="halving",
        halving=Halving(3, 2),
        baselines=(),
    )
    # Six candidates on a third of the bars of both seeds, then the best two of them on all bars of the first seed alone.
    assert run_sweep(sweep, tmp_path, jobs=1, watcher=Stop(6 * 2 + 2)).stopped
    (setting,) = load(tmp_path).settings
    assert setting.sizes == (179, 59)
    (told,) = write_report(tmp_path, draws=200)["settings"]
    assert OTHER_BARS in (tmp_path / "comparison.html").read_text()
    (field,) = compared(tmp_path)
    assert len(field["runs"]) == 2
    for run, cell in zip(field["runs"], told["best"], strict=True):
        active, excess = run["path"]
        own = stored(tmp_path, cell)
        np.testing.assert_allclose(active, np.abs([*own[1, 0][0], *own[0, 0][0]]), rtol=1e-6)
        np.testing.assert_allclose(excess, np.array([*own[1, 0][1], *own[0, 0][1]]) / 2, rtol=1e-6)
        assert np.sqrt((active**2).mean()) == pytest.approx(cell["te_rms"], rel=1e-5)  # every window has one seed
        assert excess.sum() == pytest.approx(cell["excess_log_return"], abs=1e-6)
    assert not run_sweep(sweep, tmp_path, jobs=1).stopped
    write_report(tmp_path, draws=200)
    assert OTHER_BARS not in (tmp_path / "comparison.html").read_text()
    (field,) = compared(tmp_path)
    assert {len(path) for run in field["runs"] for path in run["path"]} == {179}


def test_sources_are_fields_of_their_own_whose_seeds_are_averaged_apart(tmp_path):
    data = ("synthetic:n_assets=5,n_bars=80", "synthetic:n_assets=4,n_bars=120")
    run_sweep(Sweep(Space(("pa",), {"eps": (1e-4, 3e-4)}), data=data, seeds=(0, 1)), tmp_path, jobs=1)
    settings = write_report(tmp_path, draws=200)["settings"]
    assert OTHER_BARS not in (tmp_path / "comparison.html").read_text()
    fields = compared(tmp_path)
    assert sorted(len(field["runs"][0]["path"][0]) for field in fields) == [78, 118]
    for field, told in zip(fields, settings, strict=True):
        for run, cell in zip(field["runs"], [*told["baselines"].values(), *told["best"]], strict=True):
            active, excess = run["path"]
            assert len(active) == len(excess) == told["n_bars"] / 2
            assert np.sqrt((active**2).mean()) == pytest.approx(cell["te_rms"], rel=1e-5)
            assert excess.sum() == pytest.approx(cell["excess_log_return"], abs=1e-6)


def test_holidays_of_the_index_are_bars_of_neither_figures_nor_paths(tmp_path):
    frame = synthetic_market(5, 120, seed=3).to_frame()
    frame.loc[frame.index[[70, 80, 81, 110]], "INDEX"] = np.nan
    frame.to_parquet(tmp_path / "market.parquet")
    walk = WalkForward(folds=2, purge=2, burn_in=5)
    sweep = Sweep(
        Space(("pa",), {"eps": (1e-3, 1e-2)}), data=(str(tmp_path / "market.parquet"),), gaps="freeze", walk_forward=walk
    )
    run_sweep(sweep, tmp_path / "sweep", jobs=1)
    (setting,) = load(tmp_path / "sweep").settings
    assert setting.sizes == (27, 29)
    for entry in setting.entries:
        assert np.sqrt((setting.paths[entry.row].astype(float) ** 2).mean()) == pytest.approx(entry.figures["te_rms"], rel=1e-5)
    write_report(tmp_path / "sweep", draws=200)


def test_a_report_is_the_same_bytes_twice(swept):
    pages = []
    for _ in range(2):
        write_report(swept, draws=200)
        pages.append(b"".join((swept / name).read_bytes() for name in ("report.html", "report.json", "comparison.html")))
    assert pages[0] == pages[1]


def test_another_objective_another_order(swept):
    told = write_report(swept, objective="excess_log_return", draws=200)["settings"][0]
    earned = [cell["excess_log_return"] for cell in told["best"]]
    assert earned == sorted(earned, reverse=True)
    with pytest.raises(ParameterError, match="choose one of te_rms"):
        write_report(swept, objective="luck")
    with pytest.raises(ParameterError, match="draws"):
        write_report(swept, draws=3)


def test_a_folder_without_rows_is_named(tmp_path):
    with pytest.raises(OutputError, match="holds no sweep"):
        write_report(tmp_path)
    sweep = Sweep(Space(("pa",), {"max_weight": (0.01, 0.02)}), data=("synthetic:n_assets=3,n_bars=40",), baselines=())
    run_sweep(sweep, tmp_path / "failed", jobs=1)
    with pytest.raises(OutputError, match=r"all 2 cells of .* failed; the first error is: ParameterError"):
        write_report(tmp_path / "failed")


class StopAt(Unwatched):
    """A watcher that presses Ctrl-C at a row."""

    def __init__(self, row):
        self.left = row

    def row(self, row):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("rows", [1, 6])
def test_an_unfinished_sweep_says_so_everywhere_and_counts_the_plan(tmp_path, rows):
    source = parquet(synthetic_market(6, 200, seed=5), tmp_path)
    eps = tuple(np.geomspace(1.5e-5, 1e-2, 22).tolist())
    sweep = Sweep(Space(("pa",), {"eps": eps}), data=(source,), baselines=("equal-weight", "pa"))
    folder = tmp_path / "sweep"
    assert run_sweep(sweep, folder, jobs=1, watcher=StopAt(rows)).stopped
    found = write_report(folder, draws=200)
    done = found["rows"]
    assert rows <= done < 24
    assert (found["cells"], found["finished"]) == (24, False)
    said = f"The sweep is unfinished: {done} of 24 cells have rows. p-values count all 24."
    assert found["settings"][0]["warnings"][0] == said
    assert said in (folder / "report.html").read_text()
    assert said in (folder / "comparison.html").read_text()
    assert f"{done} of 24 cells" in (folder / "report.html").read_text()
    shown = CliRunner().invoke(app, ["sweep", "report", str(folder), "--draws", "200"]).output
    assert said in " ".join(shown.split())
    results = load(folder)
    setting, planned = results.settings[0], 24 / done
    assert found["settings"][0]["trials_planned"] == round(planned * len(setting.entries))
    baseline, resamples = setting.find("equal-weight"), setting.resamples(200)
    _, alone = setting.against(baseline, resamples, 0.05)
    _, counted = setting.against(baseline, resamples, 0.05, planned)
    np.testing.assert_allclose(counted.p, np.minimum(1.0, np.where(alone.p < 1.0, planned * alone.p, 1.0)))
    assert (counted.low <= alone.low).all()
    assert (counted.high >= alone.high).all()
    run_sweep(sweep, folder, jobs=1)
    whole = write_report(folder, draws=200)
    assert whole["finished"]
    assert "sweep is unfinished" not in (folder / "report.html").read_text() + (folder / "comparison.html").read_text()


def test_a_sweep_without_a_baseline_claims_nothing(tmp_path):
    run_sweep(Sweep(Space(("pa",)), data=("synthetic:n_assets=3,n_bars=60",), baselines=()), tmp_path, jobs=1)
    found = write_report(tmp_path, draws=200)
    assert not found["edge"]
    assert any("no baseline" in words for words in found["settings"][0]["warnings"])


def test_folds_and_seeds_are_one_path_and_training_is_not_judged(tmp_path):
    walk = WalkForward(folds=2, purge=2, burn_in=5)
    sweep = Sweep(
        Space(("pa",), {"eps": (1e-3, 5e-3, 1e-2)}), data=("synthetic:n_assets=5,n_bars=120",), seeds=(0, 1), walk_forward=walk
    )
    run_sweep(sweep, tmp_path, jobs=1)
    (setting,) = load(tmp_path).settings
    assert setting.sizes == (30, 30, 30, 30)
    assert len(setting.entries) == 5
    entry = setting.entries[0]
    te = np.sqrt((setting.paths[entry.row].astype(float) ** 2).mean())
    assert entry.figures["te_rms"] == pytest.approx(te, rel=1e-5)
    told = write_report(tmp_path, draws=200)["settings"][0]
    assert -1.0 <= told["train_test_rank_correlation"] <= 1.0
    assert told["n_segments"] == 4


def test_dropped_candidates_count_as_trials_but_cannot_win(tmp_path):
    sweep = Sweep(
        Space(("pa",), {"eps": Range(1e-5, 1e-1, log=True)}),
        data=("synthetic:n_assets=5,n_bars=200",),
        search="halving",
        trials=9,
        halving=Halving(3, 2),
    )
    run_sweep(sweep, tmp_path, jobs=1)
    told = write_report(tmp_path, draws=200)["settings"][0]
    assert told["trials"] == 9 + 2
    assert len(told["best"]) == 3


def test_what_failed_is_said(tmp_path):
    sweep = Sweep(Space(("pa",), {"max_weight": (0.5, 0.01)}), data=("synthetic:n_assets=3,n_bars=60",))
    run_sweep(sweep, tmp_path, jobs=1)
    found = write_report(tmp_path, draws=200)
    assert found["failed"] == 1
    assert any("1 candidates failed" in words and "max_weight" in words for words in found["settings"][0]["warnings"])


def test_the_frontier_has_exactly_the_points_that_nobody_beats():
    rng = np.random.default_rng(0)
    for _ in range(50):
        a, b = rng.integers(0, 8, (2, 20)).astype(float)
        kept = pareto(a, b)
        beaten = [any((a[j] <= a[i]) and (b[j] <= b[i]) and (a[j] < a[i] or b[j] < b[i]) for j in range(20)) for i in range(20)]
        assert {(a[i], b[i]) for i in kept} == {(a[i], b[i]) for i in range(20) if not beaten[i]}
        assert (np.diff(a[kept]) > 0).all()
        assert (np.diff(b[kept]) < 0).all()


@pytest.mark.parametrize(("markets", "most"), NOISE_MARKETS)
def test_on_pure_noise_a_report_claims_an_edge_in_at_most_a_tenth_of_markets(tmp_path, markets, most):
    """Whole sweeps of nine candidates, judged by tracking error and by return."""
    space = Space(("pa", "apas"), {"pa.eps": (3e-4, 1e-3, 3e-3, 1e-2), "apas.lam": (1e-2, 0.1, 1.0)})
    wrong = {"te_rms": 0, "excess_log_return": 0}
    for seed in range(markets):
        sweep = Sweep(space, data=(parquet(noise_market(seed), tmp_path),), fill=("close",))
        run_sweep(sweep, tmp_path / f"{seed}", jobs=1)
        for objective in wrong:
            wrong[objective] += findings(load(tmp_path / f"{seed}", objective), draws=150)["edge"]
    assert max(wrong.values()) <= most


def test_a_candidate_that_got_to_its_target_later_is_named_and_not_laid_over_other_bars(tmp_path):
    space = Space(("pa",), {"entry_turnover": (None, 0.1, 1e-6)})
    data = ("synthetic:n_assets=5,n_bars=80",)
    run_sweep(Sweep(space, data=data, baselines=("equal-weight",)), tmp_path / "whole", jobs=1)
    (told,) = write_report(tmp_path / "whole", draws=200)["settings"]
    assert told["n_bars"] == 78
    assert [cell["params"] for cell in told["best"]] == [{}]
    (never,) = (words for words in told["failures"] if "1e-06" in words)
    (late,) = (words for words in told["failures"] if "0.1" in words)
    assert "no bar is scored, because the account never got to its target" in never
    assert "got to its target later than others" in late
    run_sweep(Sweep(space, data=data, baselines=("equal-weight",), eval_from=0.5), tmp_path / "half", jobs=1)
    (told,) = write_report(tmp_path / "half", draws=200)["settings"]
    assert len(told["best"]) == 2  # scored from a bar at which both were there
    assert len(told["failures"]) == 1
