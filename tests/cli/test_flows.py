"""--flows and --contribute: what run and compare make of money that comes in and goes out."""

import json

import pandas as pd
import pytest

from tests.cli.commands import refused, tracker


@pytest.fixture
def flows(csv, tmp_path):
    days = pd.read_csv(csv, index_col=0).index
    (tmp_path / "flows.csv").write_text(f"date,amount,note\n{days[20]},250000,deposit\n{days[40]},-100000,\n2199-01-04,5,later\n")
    return tmp_path / "flows.csv"


def test_a_file_of_flows_changes_the_money_and_not_the_tracking(csv, flows):
    words = ("compare", "ensemble", "pa", "--data", csv, "--json")
    without, paid = (tracker(*words, *more) for more in ((), ("--flows", flows)))
    assert paid.returncode == 0, paid.stderr
    assert "flows: 1 after the last bar" in paid.stderr
    one, other = json.loads(without.stdout), json.loads(paid.stdout)
    for name, figures in one.items():
        assert other[name]["final_value"] > figures["final_value"] + 140_000
        for key in ("te_rms", "tracking_difference"):
            assert other[name][key] == pytest.approx(figures[key], abs=1e-12)


def test_a_run_folder_keeps_them(csv, flows, tmp_path):
    done = tracker(
        "run", "pa", "--data", csv, "--flows", flows, "--contribute", "1000/month", "--out", tmp_path / "run", "--no-tearsheet"
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "run" / "returns.parquet")
    assert table["flow"].sum() == 250_000 - 100_000 + 1000 * (table.index.to_period("M").nunique() - 1)
    assert (table["flow_at_close"] != 0.0).sum() == (table["flow"] != 0.0).sum()
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["params"]["cash_flows"]["each"] == "1000.0/month"
    shown = tracker("compare", tmp_path / "run", "--json")
    assert json.loads(shown.stdout)["te_rms"] == json.loads((tmp_path / "run" / "metrics.json").read_text())["te_rms"]


def test_what_cannot_be_meant_is_refused(csv, tmp_path):
    file = tmp_path / "flows.csv"
    for text, words in (
        ("date,amount\n1999-01-04,5\n", "starting cash"),
        ("date,sum\n2020-01-02,5\n", "no column 'amount'"),
        ("date,amount\n2020-01-02,much\n", "holds text where numbers are needed"),
        ("date,amount\n2020-01-02,\n", "flows.csv"),
    ):
        file.write_text(text)
        refused(tracker("run", "pa", "--data", csv, "--flows", file), "Error", words)
    file.write_text("date,amount\n01.02.2020,5.5\n")
    refused(tracker("run", "pa", "--data", csv, "--flows", file), "is ambiguous (day or month first?)", "--dates dmy")
    refused(tracker("run", "pa", "--data", csv, "--flows", file, "--dates", "dmy"), "an entry on 2020-02-01")
    refused(tracker("run", "pa", "--data", csv, "--flows", file, "--dates", "mdy"), "an entry on 2020-01-02")
    refused(tracker("run", "pa", "--data", csv, "--contribute", "lots"), "not a contribution", "1000/month")
    days = pd.read_csv(csv, index_col=0).index
    file.write_text(f"date,amount\n{days[30]},-9000000\n")
    refused(tracker("run", "pa", "--data", csv, "--flows", file), "AccountError", f"on {days[30]} is larger than the account")


def test_the_commands_take_a_file_and_contributions_and_change_the_schedule(csv, tmp_path):
    place, file = tmp_path / "account", tmp_path / "flows.csv"
    days = [line.partition(",")[0] for line in csv.read_text().splitlines()[1:]]
    file.write_text(f"date,amount,note\n{days[43]},250000,deposit\n")
    words = ("--data", csv, "--replay", days[40], "--flows", file, "--contribute", "1000/month")
    assert tracker("paper", "init", place, "pa", *words).returncode == 0
    file.unlink()  # the account keeps what it says
    shown = tracker("paper", "flows", place, f"{days[45]}=-5000")
    for words_shown in ("250,000.00", "-5,000.00", "each month"):
        assert words_shown in shown.stdout
    watched = tracker("paper", "watch", place, "--sessions", "7")
    assert "250,000.00 paid in and invested" in watched.stdout, watched.stderr
    status = json.loads(tracker("paper", "status", place, "--json").stdout)
    assert abs(status["since_start"]) < 0.2
    assert status["value"] > 1_200_000
    refused(tracker("paper", "flows", place, f"{days[41]}=5"), "FlowError", "name a date after")
    refused(tracker("paper", "init", tmp_path / "b", "pa", *words[:4], "--broker", "alpaca", "--contribute", "5/month"), "adopt")
