"""--index-weights: what run, compare and paper init make of a file of weights."""

import json

import pandas as pd
import pytest

from tests.cli.commands import refused, tracker


@pytest.fixture
def files(csv, tmp_path):
    """Weights of the sample's names, dated before the first bar and without a date."""
    prices = pd.read_csv(csv, index_col=0)
    names = [name for name in prices.columns if name != "INDEX"]
    table = pd.DataFrame({"symbol": names, "weight": 0.99 / len(names)})
    table.to_csv(tmp_path / "undated.csv", index=False)
    table.assign(date="2000-01-03").to_csv(tmp_path / "dated.csv", index=False)
    return tmp_path, prices.index[40]


def test_compare_uses_them_where_they_are_of_use_and_says_the_rest(csv, files):
    place, _ = files
    words = ("--data", csv, "--index-weights", place / "dated.csv")
    done = tracker("compare", "ensemble", "replicate", "equal-weight", *words, "--json")
    assert done.returncode == 0, done.stderr
    assert "sum to 0.99 and were rescaled to 1" in done.stderr
    assert "equal-weight runs without --index-weights" in done.stderr
    found = json.loads(done.stdout)
    assert found["replicate"]["turnover"] < 1e-3 < found["equal-weight"]["turnover"]
    refused(tracker("run", "equal-weight", *words), "ParameterError", "equal-weight cannot use index_weights")


def test_a_file_without_dates_needs_the_day_since_when_it_was_known(csv, files):
    place, day = files
    words = ("replicate", "--data", csv, "--index-weights", place / "undated.csv")
    refused(tracker("run", *words), "ParameterError", "have no date", "--weights-known-from DATE")
    done = tracker("run", *words, "--weights-known-from", day, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_bars"] == 80 - 40 - 2
    refused(tracker("run", *words, "--weights-known-from", "soon"), "'soon' is not a date")
    refused(
        tracker("run", "replicate", "--data", csv, "--index-weights", place / "dated.csv", "--weights-known-from", day),
        "have their own dates",
    )
    refused(tracker("run", "pa", "--data", csv, "--weights-known-from", day), "has no effect without --index-weights")


def test_a_run_of_other_weights_is_another_run(csv, files):
    place, _ = files
    words = ("run", "replicate", "--data", csv, "--index-weights", place / "dated.csv", "--out", place / "run", "--no-tearsheet")
    assert tracker(*words).returncode == 0
    assert tracker(*words).returncode == 0  # the same again
    table = pd.read_csv(place / "dated.csv")
    table.loc[0, "weight"] += 0.001
    table.to_csv(place / "dated.csv", index=False)
    refused(tracker(*words), "OutputError", "--force")


def test_paper_init_takes_a_file_without_dates(csv, files):
    place, _ = files
    done = tracker("paper", "init", place / "account", "replicate", "--data", csv, "--index-weights", place / "undated.csv")
    assert done.returncode == 0, done.stderr
    assert "rescaled" in done.stderr
    assert tracker("paper", "step", place / "account").returncode == 0


def test_a_file_that_cannot_be_read_is_named(csv, tmp_path):
    (tmp_path / "weights.csv").write_text("symbol,weight\nAAPL,much\n")
    refused(tracker("run", "replicate", "--data", csv, "--index-weights", tmp_path / "weights.csv"), "weights.csv", "much")
    refused(tracker("run", "replicate", "--data", csv, "--index-weights", tmp_path / "absent.csv"), "absent.csv")
