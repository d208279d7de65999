"""The command `tracker` as a user meets it: its output and its exit code."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from tests.cli.commands import process, refused, tracker
from tracker_strategies.analysis.metrics import METRIC_KEYS
from tracker_strategies.research.reproductions.apas import runs as apas_runs


def test_help_teaches():
    result = tracker("--help")
    assert result.returncode == 0
    for word in ("demo", "run", "compare", "list"):
        assert word in result.stdout
    detail = tracker("run", "--help").stdout
    for word in (
        "--data",
        "--index",
        "--param",
        "--fill",
        "--cost-bps",
        "--lot",
        "--coordinates",
        "--eval-from",
        "--out",
        "--json",
        "Example",
    ):
        assert word in detail


def test_list_shows_every_strategy_with_parameters_and_defaults():
    result = tracker("list")
    assert result.returncode == 0
    for word in ("pa", "PATracker", "eps=0.0001", "equal-weight", "buy-and-hold", "constant-weight", "fill='next_open'"):
        assert word in result.stdout


def test_a_refusal_in_a_process_of_its_own():
    """All others are looked at inside the process of the tests: exit code and stderr are the same there."""
    words = ("run", "pa", "--param", "epsilon=1")
    ours, theirs = tracker(*words), process(*words)
    refused(theirs, "ParameterError", "epsilon", "eps")
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


def test_run_prints_the_metrics_as_json_and_nothing_else(csv):
    result = process("run", "pa", "--data", csv, "--json", "--cost-bps", "5", "--param", "eps=0.0003")
    assert result.returncode == 0, result.stderr
    metrics = json.loads(result.stdout)
    assert tuple(metrics) == METRIC_KEYS
    assert (metrics["n_bars"], metrics["entry_bars"]) == (78, 1)
    assert 0.0 < metrics["te_rms"] < 0.05
    assert metrics["cost_bps"] > 0.0


def test_run_writes_a_folder_that_says_all(csv, tmp_path):
    out = tmp_path / "results" / "pa"
    result = tracker("run", "pa", "--data", csv, "--out", out, "--fill", "close", "--eval-from", "0.5", "--no-tearsheet")
    assert result.returncode == 0, result.stderr
    assert "Final value: of the whole run" in " ".join(result.stdout.split())
    assert {p.name for p in out.iterdir()} == {
        "run.json",
        "metrics.json",
        "weights.parquet",
        "decisions.parquet",
        "returns.parquet",
        "orders.parquet",
        "diagnostics.parquet",
        "attribution.parquet",
        "stages.parquet",
    }
    run = json.loads((out / "run.json").read_text())
    assert run["strategy"] == "pa"
    assert run["params"]["eps"] == 1e-4
    assert run["params"]["fill"] == "close"
    assert run["data"]["source"] == "market.csv"
    assert run["data"]["n_bars"] == 80
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["n_bars"] == 40
    returns = pd.read_parquet(out / "returns.parquet")
    active = returns["active"].to_numpy()[-40:]
    assert metrics["te_rms"] == pytest.approx(float(np.sqrt((active**2).mean())), rel=1e-12)
    weights = pd.read_parquet(out / "decisions.parquet")
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-12)
    assert [p.name for p in out.parent.iterdir()] == ["pa"]


def test_same_inputs_same_bytes(csv, runs, tmp_path):
    """In another process, and without company."""
    a, b = runs / "pa", tmp_path / "b"
    assert process("run", "pa", "--data", csv, "--out", b, "--no-tearsheet").returncode == 0
    for file in ("metrics.json", "weights.parquet", "decisions.parquet", "returns.parquet", "orders.parquet"):
        assert (a / file).read_bytes() == (b / file).read_bytes()
    first, second = (json.loads((folder / "run.json").read_text()) for folder in (a, b))
    first.pop("created"), second.pop("created")
    assert first == second


def test_compare_shows_one_row_a_strategy(csv):
    result = tracker("compare", "pa", "equal-weight", "buy-and-hold", "--data", csv, "--cost-bps", "5")
    assert result.returncode == 0, result.stderr
    for word in ("pa", "equal-weight", "buy-and-hold", "TE ctr", "turnover", "5 bp costs", "the prices have no opens"):
        assert word in " ".join(result.stdout.split())
    numbers = json.loads(tracker("compare", "pa", "equal-weight", "--data", csv, "--json", "--param", "eps=0").stdout)
    assert list(numbers) == ["pa", "equal-weight"]


def test_compare_writes_a_page_and_finished_runs_are_compared_by_their_folders(csv, runs, drawn, tmp_path):
    words = ("compare", "pa", "equal-weight", "--data", csv, "--out", tmp_path / "runs", "--no-tearsheet")
    result = tracker(*words, "--html", tmp_path / "page.html")
    assert result.returncode == 0, result.stderr
    assert {p.name for p in tmp_path.iterdir()} == {"page.html", "runs"}
    again = tracker("compare", runs / "pa", runs / "equal-weight", "--json", "--html", tmp_path / "two.html")
    assert again.returncode == 0, again.stderr
    numbers = json.loads(again.stdout)
    for name in ("pa", "equal-weight"):
        judged = numbers[name].pop("judged")
        assert judged["verdict"] == ("reference" if name == "pa" else judged["verdict"])
        assert judged["interval"][0] < numbers[name]["te_rms"] < judged["interval"][1]
        assert numbers[name] == json.loads((runs / name / "metrics.json").read_text())
        assert f"<span>{name}</span>" in (tmp_path / "two.html").read_text()
    refused(tracker("compare", runs / "pa", "apas"), "ParameterError", "apas")
    refused(tracker("compare", runs / "pa", runs / "equal-weight", "--against", "x"), "ParameterError", "one of pa, equal-weight")
    shown = tracker("compare", runs / "pa", runs / "equal-weight", "--against", "equal-weight").stdout
    assert "reference" in shown
    assert "cannot be distinguished from the best" in shown
    refused(tracker("compare", runs / "pa", "--cost-bps", "5"), "ParameterError", "finished runs")
    refused(tracker("compare", "pa", "--data", csv, "--html", tmp_path), "OutputError", "it is a folder")
    inside = ("--out", tmp_path / "new", "--html", tmp_path / "new" / "page.html")
    refused(tracker("run", "pa", "--data", csv, *inside), "OutputError", "lies in the run folder")
    assert not (tmp_path / "new").exists()
    refused(tracker("compare", runs / "pa", drawn), "DataError", "not comparable")


def test_the_tear_sheet_of_a_folder_is_the_one_that_the_run_wrote(drawn, tmp_path):
    run = shutil.copytree(drawn, tmp_path / "pa")
    (run / "tearsheet.html").unlink()
    result = tracker("tearsheet", run)
    assert result.returncode == 0, result.stderr
    assert "tearsheet.html" in result.stdout
    assert (run / "tearsheet.html").read_bytes() == (drawn / "tearsheet.html").read_bytes()
    refused(tracker("tearsheet", tmp_path / "nowhere"), "DataError", "nowhere", "run.json")


def test_synthetic_markets_are_seeded():
    a, b, c = (
        tracker("run", "equal-weight", "--data", "synthetic", "--seed", s, "--json", "--param", "rebalance=monthly").stdout
        for s in (1, 1, 2)
    )
    assert a == b != c


def test_a_date_can_say_where_scoring_begins(csv):
    full, late = (
        json.loads(tracker("run", "buy-and-hold", "--data", csv, "--json", *w).stdout)
        for w in ((), ("--eval-from", "2022-12-01"))
    )
    assert late["n_bars"] < full["n_bars"]


def spoiled(csv, tmp_path, edit):
    frame = pd.read_csv(csv, index_col=0).astype(object)
    path = tmp_path / "bad.csv"
    edit(frame).to_csv(path)
    return path


def put(row, column, value):
    def edit(frame):
        frame.iloc[row, column] = value
        return frame

    return edit


BAD_FILES = {
    "hole": (put(10, 3, None), "no price on"),
    "duplicated date": (lambda f: pd.concat([f.iloc[:5], f.iloc[4:] * 1.01]), "twice"),
    "zero price": (put(7, 2, 0.0), "0"),
    "text": (put(7, 2, "oops"), "oops"),
    "no index": (lambda f: f.drop(columns="INDEX"), "INDEX"),
    "one row": (lambda f: f.iloc[:1], "only one row"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_is_one_named_line_and_leaves_nothing(case, csv, tmp_path):
    edit, word = BAD_FILES[case]
    out = tmp_path / "out"
    line = refused(tracker("run", "pa", "--data", spoiled(csv, tmp_path, edit), "--out", out), word)
    assert line.split(":")[0] in ("DataError", "UniverseError")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv"]


def test_what_was_guessed_about_a_file_is_one_line_and_in_the_record(csv, tmp_path):
    out = tmp_path / "out"
    path = spoiled(csv, tmp_path, lambda f: pd.concat([f, f.iloc[:2]]))
    run = tracker("run", "pa", "--data", path, "--out", out, "--no-tearsheet")
    assert "bad.csv read as: rows sorted by date, 2 identical rows dropped\n" in run.stderr
    assert json.loads((out / "run.json").read_text())["data"]["read_as"] == ["rows sorted by date", "2 identical rows dropped"]


BAD_WORDS = {
    "unknown strategy": (("run", "pax"), ("ParameterError", "pax", "equal-weight")),
    "unknown parameter": (("run", "pa", "--param", "epsilon=1"), ("ParameterError", "epsilon", "eps")),
    "parameter nobody has": (("compare", "pa", "equal-weight", "--param", "epsilon=1"), ("ParameterError", "epsilon")),
    "parameter without value": (("run", "pa", "--param", "eps"), ("ParameterError", "key=value")),
    "parameter outside its domain": (("run", "pa", "--param", "eps=-1"), ("ParameterError", "eps")),
    "weights with NaN": (("run", "constant-weight", "--param", "weights=AAPL:nan,AMD:1"), ("ParameterError", "weights")),
    "weights of a stranger": (("run", "constant-weight", "--param", "weights=NOPE:1"), ("UniverseError", "NOPE")),
    "fill": (("run", "pa", "--fill", "yesterday"), ("ParameterError", "yesterday", "next_open")),
    "costs": (("run", "pa", "--cost-bps", "-1"), ("ParameterError", "-1")),
    "cash": (("run", "pa", "--cash", "0"), ("ParameterError", "cash")),
    "eval-from": (("run", "pa", "--eval-from", "soon"), ("ParameterError", "soon")),
    "eval-from after the end": (("run", "pa", "--eval-from", "2099-01-01"), ("ParameterError", "2099")),
    "no such file": (("run", "pa", "--data", "nowhere.csv"), ("DataError", "nowhere.csv")),
    "no such column": (("run", "pa", "--index", "DAX"), ("UniverseError", "DAX")),
    "unknown paper": (("reproduce", "bible"), ("ParameterError", "bible", "apas")),
    "too few sets": (("reproduce", "apas", "--sets", "1"), ("ParameterError", "sets")),
    "coordinates": (("run", "pa", "--coordinates", "polar"), ("ParameterError", "polar")),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_a_bad_word_is_one_named_line(case):
    words, expected = BAD_WORDS[case]
    refused(tracker(*words), *expected)


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(csv, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    refused(tracker("run", "pa", "--data", csv, "--out", blocked / "sub"), "OutputError", "file")
    refused(tracker("run", "pa", "--data", csv, "--out", blocked), "OutputError", "it is a file")
    other = tmp_path / "precious"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    refused(tracker("run", "pa", "--data", csv, "--out", other), "OutputError", "thesis.tex")
    assert (other / "thesis.tex").read_text() == "x"


def test_a_run_folder_is_replaced_but_nothing_else_in_it(csv, tmp_path):
    out = tmp_path / "run"
    words = ("run", "buy-and-hold", "--data", csv, "--out", out, "--no-tearsheet")
    assert tracker(*words).returncode == 0
    assert tracker(*words).returncode == 0
    (out / "notes.txt").write_text("mine")
    refused(tracker(*words), "OutputError", "notes.txt")
    (out / "notes.txt").unlink()
    refused(tracker("compare", "pa", "equal-weight", "--data", csv, "--out", out), "OutputError", "a single run")
    refused(tracker("run", "pa", "--data", csv, "--out", ".", cwd=tmp_path / "run"), "OutputError")
    assert (out / "run.json").exists()


@pytest.mark.parametrize("param", ["band=abc", "max_turnover=abc", "lot=abc", "max_weight=abc", "rebalance=soon"])
def test_a_parameter_of_the_wrong_kind_is_one_named_line(param, csv):
    refused(tracker("run", "pa", "--data", csv, "--param", param), "ParameterError", param.split("=")[0])


@pytest.mark.parametrize(("paper", "words"), [("adagrad", "883,857"), ("vaw", "501.0")])
def test_the_smaller_papers_are_reproduced_with_a_page_and_their_numbers(tmp_path, paper, words):
    result = tracker("reproduce", paper, "--out", tmp_path)
    assert result.returncode == 0, result.stderr
    assert "not met" not in result.stdout
    assert words in result.stdout
    page = (tmp_path / f"{paper}.html").read_text()
    assert words in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert json.loads((tmp_path / f"{paper}.json").read_text())["accepted"]["all"] is True


def test_reproduce_writes_a_page_and_says_what_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(apas_runs, "SLAIT_ITERATIONS", 5)
    result = tracker("reproduce", "apas", "--sets", "2", "--out", tmp_path / "apas")
    assert result.returncode == 0, result.stderr
    assert "criteria of the experiment: " in result.stdout
    assert {p.name for p in (tmp_path / "apas").iterdir()} == {"apas.html", "apas.json"}


def test_usage_errors_exit_with_2():
    assert tracker("run").returncode == 2
    assert tracker("fly").returncode == 2
