"""`tracker orders`, and `--holdings` wherever an account begins."""

import json

import pandas as pd
import pytest

from datafeeds import load_sample
from tests.cli.commands import process, refused, tracker
from tracker_strategies import Account, backtest, orders_for
from tracker_strategies.execution.costs import CostModel
from tracker_strategies.papertrade import PaperAccount

PANEL = load_sample().rows(-80, None)
DAY = PANEL.day(-1)


@pytest.fixture(scope="module")
def holdings(tmp_path_factory):
    path = tmp_path_factory.mktemp("held") / "holdings.csv"
    path.write_text("symbol,qty\nAAPL,100\nMSFT,50\nCASH,2500\n")
    return path


def test_one_command_makes_the_list(csv, holdings, tmp_path):
    out = tmp_path / "orders.csv"
    words = ("orders", "pa", "--data", csv, "--holdings", holdings, "--cost-bps", "5", "--as-of", DAY)
    done = process(*words, "--out", out)
    assert done.returncode == 0, done.stderr
    plan = orders_for(PANEL, "pa", Account.read(holdings), costs=CostModel(bps=5))
    assert out.read_text() == plan.to_csv()
    for line in plan.foot:
        assert line in done.stdout
    assert f"orders for the session after {DAY}" in done.stdout
    assert "nothing was sent" in done.stdout
    assert f"as of {DAY}, as requested; the last completed session of XNYS is" in done.stderr
    assert "…" not in done.stdout
    told = json.loads(tracker(*words, "--json").stdout)
    assert told["orders"] == plan.table.to_dict("records")
    assert told["foot"] == list(plan.foot)


def test_a_newcomer_with_a_workbook_of_prices(holdings, tmp_path):
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    PANEL.to_frame().to_excel(tmp_path / "prices.xlsx", engine="xlsxwriter")
    done = tracker(
        *("orders", "--data", tmp_path / "prices.xlsx", "--holdings", holdings, "--as-of", DAY, "--out", tmp_path / "orders.csv")
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "orders.csv").read_text() == orders_for(PANEL, "ensemble", Account.read(holdings)).to_csv()


def test_a_list_is_not_replaced_by_another_unasked(csv, holdings, tmp_path):
    out = tmp_path / "orders.csv"
    words = ("orders", "pa", "--data", csv, "--as-of", DAY, "--out", out)
    assert tracker(*words, "--holdings", holdings).returncode == 0
    text = out.read_bytes()
    assert tracker(*words, "--holdings", holdings).returncode == 0  # the same list
    other = tracker(*words, "--cash", "7")
    assert other.returncode == 2
    assert "already contains other orders; choose another file, or replace it with --force" in other.stderr
    assert out.read_bytes() == text
    assert tracker(*words, "--cash", "7000", "--force").returncode == 0
    assert out.read_bytes() != text
    assert "is a folder; name a file" in tracker(*words[:-1], tmp_path).stderr


def test_formats_of_brokers_and_the_next_day(csv, holdings, tmp_path):
    words = ("orders", "ensemble", "--data", csv, "--holdings", holdings, "--whole-shares", "--state", tmp_path / "state")
    for day in (PANEL.day(-2), DAY):
        done = tracker(*words, "--as-of", day, "--for", "ibkr", "--out", tmp_path / f"{day}.csv", "--account", "fund1")
        assert done.returncode == 0, done.stderr
    found = pd.read_csv(tmp_path / f"{DAY}.csv")
    assert found["BasketTag"].str.startswith(f"fund1-{DAY}-").all()
    whole = orders_for(PANEL, "ensemble", Account.read(holdings), {"lot": 1.0}, name="fund1")
    assert (tmp_path / f"{DAY}.csv").read_text() == whole.to_csv(broker="ibkr")
    assert (tmp_path / "state" / "state.json").exists()
    done = tracker("orders", "pa", "--data", csv, "--as-of", DAY, "--cash", "3", "--for", "alpaca", "--out", tmp_path / "a.csv")
    assert done.returncode == 0, done.stderr
    assert "no --holdings: an account of 3.00 in cash" in done.stderr
    assert "below Alpaca's minimum of 1" in done.stderr


def test_money_that_comes_with_the_orders(csv, holdings, tmp_path):
    (tmp_path / "flows.csv").write_text("date,amount\n2001-01-02,99\n2022-12-29,5000\n2023-01-31,700\n")
    words = ("orders", "pa", "--data", csv, "--holdings", holdings, "--as-of", DAY)
    plain = tracker(*words, "--flows", tmp_path / "flows.csv", "--out", tmp_path / "a.csv")
    assert plain.returncode == 0, plain.stderr
    assert "paid in with these orders: 5,000.00" in plain.stdout  # only what is booked on the next session
    assert (tmp_path / "a.csv").read_text() == orders_for(PANEL, "pa", Account.read(holdings), flow=5000.0).to_csv()
    monthly = tracker(*words[:-1], PANEL.day(-20), "--contribute", "-100/month", "--json")
    assert json.loads(monthly.stdout)["figures"]["flow"] == (-100.0 if PANEL.day(-19)[:7] != PANEL.day(-20)[:7] else 0.0)
    refused(tracker(*words, "--contribute", "much"), "contribution")
    refused(tracker(*words, "--param", "flows=1000/month"), "flow")


def test_what_cannot_be_is_refused_in_one_line(csv, holdings, tmp_path):
    words = ("orders", "pa", "--data", csv, "--holdings", holdings)
    refused(tracker(*words), "DataError: the data are stale", f"--as-of {DAY}")
    words = (*words, "--as-of", DAY)
    refused(tracker(*words, "--fill", "open"), "which are not known the evening before")
    refused(tracker(*words, "--for", "ibkr"), "takes whole shares", "--whole-shares")
    refused(tracker(*words, "--for", "etrade"), "choose one of generic, alpaca, ibkr")
    refused(tracker(*words, "--time-in-force", "opg"), "takes whole shares only")
    refused(tracker(*words, "--time-in-force", "gtc"), "choose one of day, opg")
    refused(tracker(*words, "--account", "my account"), "letters and digits")
    refused(tracker(*words, "--gap", "much"), "gap")
    refused(tracker(*words, "--calendar", "NOWHERE"), "no calendar named 'NOWHERE'")
    refused(tracker(*words, "--cash", "3"), "its row CASH has 2,500.00, but --cash is 3.00")
    refused(tracker(*words, "--param", "epss=1"), "epss")
    refused(tracker("orders", "pq", "--data", csv), "unknown strategy 'pq'")
    refused(tracker("orders", "--data", csv, "--as-of", "2022-12-25"), "no bar of that date")
    refused(tracker("orders", "--data", csv, "--as-of", DAY, "--outside", "sell"), "add --holdings FILE")
    (tmp_path / "h.csv").write_text("symbol,qty\nAAPL,1\nTSLA,2\n")
    words = ("orders", "pa", "--data", csv, "--as-of", DAY, "--holdings", tmp_path / "h.csv")
    refused(tracker(*words), "TSLA is held but not in the data", "--outside keep")
    refused(tracker(*words, "--outside", "sell"), "TSLA is to be sold, but has no price")
    done = tracker(*words, "--outside", "keep")
    assert "not in the data and kept apart, not traded and not counted: TSLA" in done.stderr
    assert "no row CASH and no --cash: the account has no cash" in done.stderr
    refused(tracker(*words[:-1], tmp_path / "absent.csv"), "absent.csv")


def test_a_run_begins_with_what_is_held(csv, holdings, tmp_path):
    words = ("run", "pa", "--data", csv, "--holdings", holdings, "--out", tmp_path / "run", "--no-tearsheet")
    done = tracker(*words, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert told["params"]["holdings"] == {"AAPL": 100.0, "MSFT": 50.0}
    record = backtest(PANEL, "pa", {"holdings": {"AAPL": 100.0, "MSFT": 50.0}}, cash=2500.0)
    assert json.loads(done.stdout)["final_value"] == pytest.approx(record.metrics()["final_value"], rel=1e-9)
    (tmp_path / "other.csv").write_text("symbol,qty\nAAPL,1\nCASH,2500\n")
    again = tracker(*words[:5], tmp_path / "other.csv", *words[6:])
    assert again.returncode == 2  # another account is another run
    both = tracker("compare", "pa", "equal-weight", "--data", csv, "--holdings", holdings, "--json")
    assert both.returncode == 0, both.stderr
    refused(tracker("run", "pa", "--data", csv, "--outside", "keep"), "--holdings FILE")


def test_a_paper_account_begins_with_what_is_held(csv, holdings, tmp_path):
    words = ("paper", "init", tmp_path / "a", "pa", "--data", csv, "--holdings", holdings, "--replay", PANEL.day(40))
    done = tracker(*words)
    assert done.returncode == 0, done.stderr
    assert "2,500 in cash and" in done.stdout
    config = PaperAccount(tmp_path / "a").config
    assert config.holdings == {"AAPL": 100.0, "MSFT": 50.0}
    assert config.opening_value == pytest.approx(
        2500.0 + 100.0 * PANEL.column("AAPL")[40] + 50.0 * PANEL.column("MSFT")[40], rel=1e-9
    )
    assert tracker("paper", "watch", tmp_path / "a", "--sessions", "3").returncode == 0


def test_the_old_word_for_share_counts_is_kept_for_one_release(csv):
    old, new = (tracker("run", "pa", "--data", csv, "--coordinates", word, "--json") for word in ("holdings", "shares"))
    assert old.stdout == new.stdout
    assert "OldNameWarning: coordinates='holdings' is now called 'shares'" in old.stderr
    assert "OldNameWarning" not in new.stderr
    refused(tracker("run", "pa", "--data", csv, "--coordinates", "lots"), "choose weights or shares")
