"""The leaderboard: its figures are those of the runs, what fails is a row, and what it writes can be read."""

import json
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.markets import random_panel
from tracker_strategies.analysis.inference.verdicts import Judged
from tracker_strategies.analysis.pages.charts import chart_style
from tracker_strategies.analysis.pages.judged import judged_cells
from tracker_strategies.cli import app
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.research import replay
from tracker_strategies.research.leaderboard import rivals
from tracker_strategies.research.leaderboard.page import frontiers, leaderboard_page
from tracker_strategies.research.leaderboard.rivals import SkfolioTracker, has_skfolio
from tracker_strategies.research.leaderboard.run import SKFOLIO, entrant, entrants, market_name, open_markets, run_leaderboard
from tracker_strategies.research.leaderboard.tables import factors, identical, markdown, tables, versus
from tracker_strategies.research.sweeps.running.driver import Unwatched
from tracker_strategies.strategies import STRATEGIES, TrackerStrategy

PANELS = {"one": random_panel(100, 5, seed=1), "two": random_panel(60, 6, seed=2, gaps=True)}


class Broken(TrackerStrategy):
    """A strategy that nobody can run."""

    alias_name = "broken"

    @classmethod
    def make_algorithm(cls, p, symbols, n_targets):
        raise ValueError("out of | order")


@pytest.fixture(scope="module")
def result():
    taking_part = [*entrants(("pa", "ensemble", "equal-weight"), max_names=3, ablation=True), entrant(f"{__name__}:Broken")]
    return run_leaderboard(PANELS, taking_part)


@pytest.fixture
def market_file(tmp_path):
    path = tmp_path / "markets" / "small.csv"
    path.parent.mkdir()
    PANELS["one"].to_frame().to_csv(path, index_label="date")
    return path


def row_of(result, market, strategy, group="strategies"):
    (row,) = [r for r in result["rows"] if (r["market"], r["strategy"], r["group"]) == (market, strategy, group)]
    return row


def test_every_figure_is_that_of_the_run(result):
    for market, panel in PANELS.items():
        expected = replay(panel, "pa").since("0.5").metrics()  # fills at the next open, as everywhere
        row = row_of(result, market, "pa")
        assert {key: row[key] for key in ("te_rms", "turnover", "tracking_difference")} == {
            key: expected[key] for key in ("te_rms", "turnover", "tracking_difference")
        }
        assert row["net_excess_0"] == pytest.approx(expected["excess_log_return"] * panel.periods_per_year / expected["n_bars"])
        assert row["ms_per_bar"] > 0.0


@pytest.mark.parametrize("strategy", ["pa", "equal-weight", "ensemble"])
def test_costs_taken_off_one_run_are_what_an_account_pays(result, strategy):
    panel = PANELS["one"]
    paid = replay(panel, strategy, costs=CostModel(10.0)).since("0.5").metrics()
    expected = paid["excess_log_return"] * panel.periods_per_year / paid["n_bars"]
    row = row_of(result, "one", strategy)
    assert row["net_excess_10"] == pytest.approx(expected, abs=1e-4)
    assert row["net_excess_10"] < row["net_excess_5"] < row["net_excess_0"]


def test_the_cost_that_accounts_pay_is_not_taken_off_twice():
    free, paying = (run_leaderboard({"one": PANELS["one"]}, entrants(("pa",)), cost_bps=cost)["rows"][0] for cost in (0.0, 10.0))
    for cost in (0, 5, 10):
        assert paying[f"net_excess_{cost}"] == pytest.approx(free[f"net_excess_{cost}"], abs=1e-4)
    assert paying["tracking_difference"] < free["tracking_difference"]


def test_what_fails_is_a_row_with_its_error_and_comes_last(result):
    for market, group, rows in tables(result):
        errors = [row["te_rms"] for row in rows if not row["error"]]
        assert errors == sorted(errors), (market, group)
    row = row_of(result, "two", "broken")
    assert row["error"] == "ValueError: out of | order"
    assert [r for r in result["rows"] if r["market"] == "two"][-1] is row
    assert "out of / order" in markdown(result, "command")
    assert "out of | order" in leaderboard_page(result, "command")


def test_two_processes_find_what_one_finds(result):
    again = run_leaderboard({"one": PANELS["one"]}, entrants(("pa", "equal-weight")), jobs=2)["rows"]
    for row in again:
        same = row_of(result, "one", row["strategy"])
        assert row["te_rms"] == pytest.approx(same["te_rms"], rel=1e-12)


def test_everybody_takes_part_by_default():
    names = {entrant.name for entrant in entrants(skfolio=True)}
    assert names == {cls.alias_name for cls in STRATEGIES} - {"constant-weight"} | {"skfolio"}


def test_a_few_names_are_a_few(result):
    for name in ("ensemble", "slait"):
        assert row_of(result, "one", name, "at most 3 names")["n_holdings"] <= 3.0


def test_a_factor_of_the_ablation_is_a_ratio_of_two_runs(result):
    found = {line[0]: line[1:] for line in factors(result)}
    ratios = []
    for market in PANELS:
        before, after = (row_of(result, market, f"pa, weights{c}", "ablation") for c in ("", ", cost_aware 10"))
        ratios.append((after["te_rms"] / before["te_rms"], after["turnover"] / before["turnover"]))
    te, turnover = np.median(ratios, axis=0)
    line = found["the cost term (pa, weights)"]
    assert line[:3] == [f"{te:.2f}", f"{max(r[0] for r in ratios):.2f}", f"{turnover:.2f}"]
    assert bool(re.match(r"helps (TE and )?turnover", line[3])) == (turnover < 0.98)
    assert line[3].startswith("helps TE") == (te < 0.98)


def test_the_recommended_tracker_is_compared_and_who_beats_it_is_named(result):
    for line, market in zip(versus(result), PANELS, strict=True):
        ours, pa = (row_of(result, market, name) for name in ("ensemble", "pa"))
        assert line[:3] == [market, f"{ours['te_rms'] / pa['te_rms']:.2f}", f"{ours['turnover'] / pa['turnover']:.2f}"]
        assert ("pa" in line[-1].split(", ")) == (pa["te_rms"] < ours["te_rms"])


def test_the_page_stands_alone_and_has_both_frontiers_of_every_market(result):
    page = leaderboard_page(result, "tracker leaderboard --data <one>")
    assert page.count('role="img"') == 2 * len(PANELS)
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "&lt;one&gt;" in page
    assert "Survivorship bias" in page


def test_the_page_has_each_difference_from_the_reference_with_interval_and_p_value(result):
    page = leaderboard_page(result, "tracker leaderboard")
    assert page.count("ahead of ensemble, bp") == len(list(tables(result)))
    compared = [row for row in result["rows"] if row.get("judged", {}).get("versus")]
    assert compared
    for row in compared:
        found = Judged.from_told(row["strategy"], row["te_rms"], row["judged"])
        ahead, p = judged_cells(found)[1:3]
        head, note = f'<th scope="row">{re.escape(row["strategy"])}</th>', re.escape(ahead.note)
        line = re.search(rf"<tr[^>]*>{head}(?:(?!</tr>).)*{note}.*?</tr>", page)
        assert ahead.text in line[0]
        assert p.replace("<", "&lt;") in line[0]
        assert found.verdict in line[0]
    for body in re.findall(r'<table class="board">(.*?)</table>', page, re.S):
        assert {len(re.findall(r"<t[hd][ >]", line)) for line in re.findall(r"<tr.*?</tr>", body, re.S)} == {12}


def test_the_page_says_in_words_when_orders_fill_and_where_scoring_begins(result):
    page = leaderboard_page(result, "command")
    lead = re.search(r'<p class="lead">(.*?)</p>', page, re.S)[1]
    assert lead.startswith("Fills at the next close (the prices have no opens), no costs, scored after 50")
    later = {**result, "settings": {**result["settings"], "eval_from": "2020-03-02", "fill": "close", "cost_bps": 5.0}}
    assert "Fills at the close, 5 bp costs, scored from 2020-03-02 on; verdicts against ensemble." in leaderboard_page(later, "")
    mixed = {**result, "markets": {name: {"opens": name == "one"} for name in result["markets"]}}
    assert "Fills at the next open (close, where prices have no opens)" in leaderboard_page(mixed, "")


def test_the_page_claims_nothing_of_data_that_it_does_not_know(result):
    page = leaderboard_page(result, "command")
    assert "where names were chosen because of what they are today" in page
    assert "most of these markets" not in page


def test_rows_that_are_one_portfolio_are_said_to_be_and_why():
    names = ("rls", "discounted-vaw", "multi-index", "pa", "sparse-pls", "recursive-lars", "random-portfolio", "equal-weight")
    found = run_leaderboard({"one": PANELS["one"]}, entrants(names))
    said = identical(found["rows"])
    assert [words.split(": ")[1].split(".")[0] for words in sorted(said)] == [
        "discounted-vaw, rls",
        "multi-index, pa",
        "random-portfolio, recursive-lars, sparse-pls",
    ]
    assert all(len(words.split(". ")) > 2 for words in said)
    page, text = leaderboard_page(found, "x"), markdown(found, "x")
    assert all(words in page and words in text for words in said)
    other = [{**row, "turnover": row["turnover"] * (1 + 1e-6 * i)} for i, row in enumerate(found["rows"])]
    assert identical(other) == []


def test_the_legend_names_what_is_drawn_and_baselines_are_no_trackers(result):
    (row,) = [r for r in result["rows"] if (r["market"], r["strategy"], r["group"]) == ("one", "pa", "strategies")]
    with chart_style():
        labels = {
            names: [key.label for key in frontiers("one", [{**row, "strategy": name} for name in names])[0].legend]
            for names in (("pa",), ("equal-weight",), ("pa", "random-portfolio"), ("constant-weight", "replicate"))
        }
    assert labels == {
        ("pa",): ["Trackers"],
        ("equal-weight",): ["Rivals and baselines"],
        ("pa", "random-portfolio"): ["Trackers", "Rivals and baselines"],
        ("constant-weight", "replicate"): ["Rivals and baselines"],
    }


def test_the_command_writes_page_numbers_and_markdown(market_file, tmp_path):
    out, text = tmp_path / "out", tmp_path / "docs" / "results.md"
    command = ["leaderboard", "--data", str(market_file.parent), "--strategies", "pa,equal-weight"]
    run = CliRunner().invoke(app, [*command, "--out", str(out), "--markdown", str(text), "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert [row["strategy"] for row in found["rows"]] == ["pa", "equal-weight"]
    assert json.loads((out / "leaderboard.json").read_text())["rows"] == found["rows"]
    assert 'href="comparison.html"' in (out / "leaderboard.html").read_text()
    shown = re.search(r'id="data">(.*?)</script>', (out / "comparison.html").read_text())[1]
    (field,) = json.loads(shown)["fields"]
    assert field["name"] == "small"
    assert [(run["name"], run["te"], run["turnover"]) for run in field["runs"]] == [
        (row["strategy"], row["te_rms"], row["turnover"]) for row in found["rows"]
    ]
    first = text.read_text()
    assert "| pa |" in first
    assert "Survivorship bias" in first
    assert str(tmp_path) not in first
    run = CliRunner().invoke(app, [*command, "--fill", "next_open", "--markdown", str(text), "--append"])
    assert run.exit_code == 0, run.output
    assert "equal-weight" in run.stdout
    assert text.read_text().startswith(first.rstrip("\n"))
    assert text.read_text().count("# Results") == 1
    assert "Fills: next_open" in text.read_text()


def test_a_leaderboard_takes_the_place_of_an_earlier_one_and_of_nothing_else(market_file, tmp_path):
    command = ["leaderboard", "--data", str(market_file), "--strategies", "pa,equal-weight", "--out"]
    for _ in range(2):
        assert CliRunner().invoke(app, [*command, str(tmp_path / "board")]).exit_code == 0
    run = tmp_path / "run"
    assert CliRunner().invoke(app, ["run", "pa", "--data", str(market_file), "--out", str(run)]).exit_code == 0
    before = sorted(path.name for path in run.iterdir())
    refused = CliRunner().invoke(app, [*command, str(run)])
    assert "do not belong to a leaderboard" in str(refused.exception)
    assert sorted(path.name for path in run.iterdir()) == before


def counted(monkeypatch):
    """Rows that are run from now on."""
    ran = []
    monkeypatch.setattr(Unwatched, "row", lambda self, row: ran.append(row["strategy"]))
    return ran


def test_what_was_run_before_is_not_run_again_and_what_failed_is(tmp_path, monkeypatch):
    panels = {"one": PANELS["one"]}
    ran, broken = counted(monkeypatch), f"{__name__}:Broken"
    first = run_leaderboard(panels, [entrant("pa"), entrant(broken)], tmp_path / "board")
    again = run_leaderboard(panels, [entrant("equal-weight"), entrant("pa"), entrant(broken)], tmp_path / "board")
    assert ran == ["pa", broken, "equal-weight", broken]
    alone, beside = row_of(first, "one", "pa"), row_of(again, "one", "pa")
    assert (alone.pop("judged")["verdict"], beside.pop("judged")["verdict"]) == ("reference", "better")
    assert beside == alone
    other = run_leaderboard({"one": PANELS["two"]}, [entrant("pa")], tmp_path / "board")  # other prices under the same name
    assert other["rows"][0]["te_rms"] != first["rows"][0]["te_rms"]


class StopsAtOnce(Unwatched):
    """Somebody who presses Ctrl-C after the first row."""

    def row(self, row):
        raise KeyboardInterrupt


def test_a_leaderboard_that_was_stopped_goes_on(tmp_path, monkeypatch):
    ran = counted(monkeypatch)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            run_leaderboard(PANELS, entrants(("pa", "equal-weight")), tmp_path / "board", watcher=StopsAtOnce())
    result = run_leaderboard(PANELS, entrants(("pa", "equal-weight")), tmp_path / "board")
    assert len(ran) == 2
    assert len(result["rows"]) == 4


def test_a_strategy_of_ones_own_takes_part_and_is_run_again_when_its_file_changes(tmp_path, monkeypatch):
    file, ran = tmp_path / "own.py", counted(monkeypatch)
    code = "from tracker_strategies.strategies import PATracker\nclass Mine(PATracker):\n    params = (('eps', {}),)\n"
    figures = []
    for eps in (1e-4, 1e-4, 1e-2):
        file.write_text(code.format(eps))
        result = run_leaderboard({"one": PANELS["one"]}, entrants([f"{file}:Mine"]), tmp_path / "board")
        figures.append(row_of(result, "one", "Mine")["te_rms"])
    assert figures[0] == figures[1] == replay(PANELS["one"], "pa", {"eps": 1e-4}).since("0.5").metrics()["te_rms"]
    assert figures[2] == replay(PANELS["one"], "pa", {"eps": 1e-2}).since("0.5").metrics()["te_rms"]
    assert len(ran) == 2


def test_a_market_called_synthetic_is_not_drawn_anew():
    (row,) = run_leaderboard({"synthetic": PANELS["one"]}, entrants(("pa",)))["rows"]
    assert row["te_rms"] == replay(PANELS["one"], "pa").since("0.5").metrics()["te_rms"]


def test_a_folder_is_one_market_per_file_and_says_what_it_left_out(market_file):
    (market_file.parent / "notes.csv").write_text("a,b\n1,2\n")
    panels, left_out = open_markets([str(market_file.parent)])
    assert list(panels) == ["small"]
    assert list(left_out) == ["notes.csv"]
    with pytest.raises(DataError):
        open_markets([str(market_file.parent / "notes.csv")])


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(DataError, match="holds no market"):
        open_markets([str(tmp_path)])


def test_names_of_markets():
    assert market_name("a/b/c.x.csv.gz") == "c.x"
    assert market_name("sample") == "sample"


@pytest.mark.parametrize(
    ("options", "words"), [({"jobs": 0}, "jobs"), ({"fill": "x"}, "fill"), ({"eval_from": "2"}, "eval-from")]
)
def test_bad_settings_are_refused_before_anything_runs(options, words, monkeypatch):
    seen = []
    monkeypatch.setattr(Unwatched, "row", lambda self, row: seen.append(row))
    with pytest.raises(ParameterError, match=words):
        run_leaderboard(PANELS, [entrant("pa")], **options)
    assert not seen


def test_without_skfolio_the_others_run_and_a_word_is_said(market_file, monkeypatch):
    monkeypatch.setattr(rivals, "has_skfolio", lambda: False)
    run = CliRunner().invoke(app, ["leaderboard", "--data", str(market_file), "--strategies", "pa", "--skfolio", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert [row["strategy"] for row in found["rows"]] == ["pa"]
    assert "not installed" in found["notes"][0]


@pytest.mark.skipif(has_skfolio(), reason="skfolio is installed")
def test_a_missing_rival_names_its_extra():
    row = run_leaderboard({"one": PANELS["one"]}, [entrant(SKFOLIO)])["rows"][0]
    assert "[rivals]" in row["error"]
    assert "skfolio" not in sys.modules


@pytest.mark.skipif(not has_skfolio(), reason="skfolio is not installed: extra 'rivals'")
def test_skfolio_solves_what_it_is_given():
    weights = np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    X = np.random.default_rng(0).normal(0.0, 0.01, (60, 5))
    learner = SkfolioTracker.make_algorithm(type("p", (), {"window": 60, "every": 60}), tuple("abcde"), 1)
    np.testing.assert_allclose(learner.run(X, X @ weights)[-1], weights, atol=1e-2)


def test_limits_of_the_command_hold_for_all_and_stand_in_its_tables(market_file, tmp_path):
    words = ["leaderboard", "--data", str(market_file), "--strategies", "pa,equal-weight", "--max-names", "3", "--whole-shares"]
    done = CliRunner().invoke(app, [*words, "--json", "--markdown", str(tmp_path / "board.md")])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert all(row["n_holdings"] <= 3.0 for row in found["rows"])
    assert found["settings"]["mandate"] == {"max_names": 3, "lot": 1.0}
    assert "--max-names 3" in found["command"]
    assert "--whole-shares" in found["command"]
    assert "Limits of all: max_names=3, lot=1." in (tmp_path / "board.md").read_text()
