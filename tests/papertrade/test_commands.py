"""The commands: from an empty folder to a month of paper trading, its status, its report and its files."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from datafeeds import load_sample, read_panel
from tests.markets import random_panel
from tests.papertrade.harness import books_balance, contents, open_account, orders, step_through, values
from tracker_strategies.cli.accounts.asking import app
from tracker_strategies.errors import DataError, OutputError, ParameterError, TrackerError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.live.watching import practise, wake_up, watch
from tracker_strategies.papertrade.market.session_clocks import WallClock
from tracker_strategies.papertrade.views.exporting import export, tables_of
from tracker_strategies.papertrade.views.report import report_of, write_report
from tracker_strategies.papertrade.views.status import status_of


def run(*arguments, ok=True):
    result = CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})
    if ok:
        assert result.exit_code == 0, result.output + repr(result.exception)
    return result


@pytest.fixture
def prices(folder):
    """A short file of real prices."""
    path = folder / "prices.csv"
    load_sample().rows(-40, None).to_frame().to_csv(path)
    return path


# -- a newcomer's way ----------


def test_from_nothing_to_a_month_of_paper_trading(folder, prices):
    place = folder / "demo"
    opened = run("init", place, "apas", "--data", prices, "--replay", "2022-11-22", "--cost-bps", 5)
    assert "20 names" in opened.output
    assert "tracker paper watch" in opened.output
    watched = run("watch", place, "--sessions", 21)
    assert len(re.findall(r"rebalance, \d+ orders sent", watched.output)) == 21
    status = run("status", place)
    assert "session 21" in status.output
    assert "waits for its orders" in status.output
    content = json.loads(run("report", place, "--json").output)
    assert abs(content["gap"]["value_gap"]) < 1e-9  # nothing went wrong on the way
    assert content["gap"]["weights_gap"] < 1e-12
    rest = run("watch", place)
    assert "the history ends here" in rest.output


def test_step_and_status_for_programs(folder, prices):
    place = folder / "a"
    run("init", place, "pa", "--data", prices, "--limit", "max_weight=0.5", "--param", "eps=0.0003")
    step = json.loads(run("step", place, "--json").output)
    assert (step["decision"], step["sent"]) == ("act", 19)
    status = json.loads(run("status", place, "--json", "--check").output)
    assert (status["state"], status["waiting"], status["halted"]) == ("waits for its orders", 19, "")
    assert status["value"] == 1e6
    assert PaperAccount(place).config.params["eps"] == 0.0003
    report = run("report", place, "--json", ok=False)
    assert isinstance(report.exception, DataError)


def test_the_switch_the_limits_and_the_operators_commands(folder, prices):
    place = folder / "a"
    run("init", place, "pa", "--data", prices, "--replay", "2022-12-01")
    run("watch", place, "--sessions", 3)
    assert "halted" in run("halt", place, "--reason", "lunch", "--cancel-open").output
    assert "lunch" in run("status", place).output
    assert "halted (lunch" in run("step", place).output
    assert "trades again" in run("resume", place).output
    assert "0.3" in run("limits", place, "max_weight=0.3", "max_turnover=none", "allow=AAPL,MSFT").output
    refused = run("step", place, ok=False)
    assert "max_weight=0.3" in str(refused.exception) or "allow" in str(refused.exception)
    run("limits", place, "max_weight=none", "allow=none")
    assert "nothing differed" in run("adopt", place).output
    assert run("flatten", place, ok=False).exit_code == 1  # asked, and not answered with yes
    assert "sell everything" in run("flatten", place, "--yes").output
    exported = run("export", place, "--out", folder / "files", "--format", "parquet")
    assert exported.output.count("wrote") == 9


def test_faults_on_request(folder, prices):
    place = folder / "a"
    run(
        "init",
        place,
        "pa",
        "--data",
        prices,
        "--replay",
        "2022-12-01",
        "--fault",
        "partial=0.5",
        "--fault",
        "reject=0.2",
        "--fault",
        "seed=3",
    )
    run("watch", place, "--sessions", 5)
    assert {o["status"] for o in orders(PaperAccount(place))} >= {"filled", "cancelled", "rejected"}
    status = run("status", place).output
    assert "rejected" in status
    gap = report_of(PaperAccount(place)).gap
    assert gap["missed_orders"] > 10
    assert gap["missed"] > 0.0
    books_balance(PaperAccount(place))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nope"], "unknown strategy 'nope'"),
        (["pa", "--limit", "max_size=1"], "unknown limit 'max_size'"),
        (["pa", "--param", "eps"], "key=value"),
        (["pa", "--start", "2050-01-01"], "before 2050-01-01"),
        (["pa", "--fill", "open"], "fill='open'"),
        (["pa", "--broker", "robinhood"], "broker='robinhood'"),
        (["pa", "--broker", "alpaca", "--url", "https://api.alpaca.markets"], "is not a paper account"),
        (["pa", "--index", "DAX"], "DAX"),
    ],
)
def test_a_wrong_request_is_refused_in_one_line_and_nothing_is_written(folder, prices, arguments, problem):
    pytest.importorskip("alpaca")
    done = run("init", folder / "a", *arguments, "--data", prices, ok=False)
    assert isinstance(done.exception, TrackerError)
    assert problem in str(done.exception)
    assert "\n" not in str(done.exception)
    assert not (folder / "a").exists()


def test_an_account_is_not_opened_over_another(folder, prices):
    run("init", folder / "a", "pa", "--data", prices)
    with pytest.raises(OutputError, match="already exists"):
        PaperAccount.create(folder / "a", "pa", str(prices))


def test_the_module_runs_as_a_program(folder, prices):
    command = [sys.executable, "-m", "tracker_strategies", "paper"]
    assert b"watch" in subprocess.run([*command, "--help"], capture_output=True, check=True).stdout
    wrong = subprocess.run([*command, "step", str(folder / "none")], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("JournalError: no paper account at")


def test_the_help_costs_no_heavy_import():
    code = "import sys, tracker_strategies.cli.accounts.asking; print(*sys.modules)"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {"numpy", "pandas", "backtrader", "alpaca", "exchange_calendars", "sqlite3"}


def test_the_simulated_account_needs_neither_alpaca_nor_calendars(folder, prices):
    """In a process in which both cannot be imported."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('alpaca', 'exchange_calendars', 'requests')))\n"
        "from tracker_strategies.papertrade import PaperAccount\n"
        f"a = PaperAccount.create({str(folder / 'a')!r}, 'pa', {str(prices)!r}, replay='2022-12-01')\n"
        "print([a.step().sent for _ in range(3)])\n"
        "try:\n"
        f"    PaperAccount.create({str(folder / 'b')!r}, 'pa', {str(prices)!r}, broker='alpaca')\n"
        "except Exception as e:\n"
        "    print(type(e).__name__, e)\n"
    )
    environment = {**os.environ, "APCA_API_KEY_ID": "k", "APCA_API_SECRET_KEY": "s"}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout.splitlines()
    assert out[0].startswith("[19, ")
    assert out[1].startswith("MissingExtraError")
    assert "[paper]" in out[1]


# -- status, report, export ----------


def test_the_report_counts_what_was_lost_on_the_way(folder):
    """Costs that the account pays and its decisions did not know of: slippage shows as shortfall, to the cent."""
    panel = random_panel(n_bars=12, n_assets=4, seed=61)  # closes only: orders fill at the next close
    account = open_account(folder / "a", panel)
    step_through(account, panel)
    report = report_of(account)
    fills = tables_of(account)["fills"].merge(tables_of(account)["orders"][["cid", "price"]], on="cid", suffixes=("", "_decided"))
    lost = (fills["size"] * (fills["price"] - fills["price_decided"])).sum()
    assert report.gap["shortfall"] == pytest.approx(lost, rel=1e-12)
    assert report.gap["fees"] == pytest.approx(fills["fee"].sum(), rel=1e-12)
    np.testing.assert_allclose(report.paper.value, report.backtest.value, rtol=1e-9)
    np.testing.assert_allclose(report.paper.weights, report.backtest.weights, atol=1e-9)
    np.testing.assert_allclose(report.paper.turnover, report.backtest.turnover, rtol=1e-9, atol=1e-12)
    written, missing = write_report(report, folder / "out")
    assert {p.name for p in written} == {"report.json", "tearsheet.html"}
    assert not missing


def test_a_missed_session_shows_in_the_report_and_as_a_gap(folder):
    panel = random_panel(n_bars=12, n_assets=4, seed=62, ohlc=True)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=5)
    step_through(account, panel, start=9)
    gap = report_of(account).gap
    assert gap["missed_sessions"] == 3.0
    assert gap["value_gap"] != 0.0
    assert any("missed" in alarm for alarm in status_of(account).alarms)


def test_exported_tables_hold_what_the_journal_holds(folder):
    panel = random_panel(n_bars=9, n_assets=4, seed=63, ohlc=True, gaps=True)
    account = open_account(folder / "a", panel, "pa", {"listing_warmup": 1, "delist_after": 2})
    step_through(account, panel)
    for kind, read in (("csv", partial(pd.read_csv, float_precision="round_trip")), ("parquet", pd.read_parquet)):
        paths = export(account, folder / kind, kind)
        tables = {p.stem: read(p) for p in paths}
        assert len(tables["orders"]) == len(orders(account))
        np.testing.assert_allclose(tables["balances"]["value"], values(account), rtol=1e-12)
        back = tables["bars_close"].set_index("session")
        np.testing.assert_array_equal(back[list(panel.symbols)].to_numpy(), panel.close)
        assert not list((folder / kind).glob(".*"))
    again = read_panel(folder / "csv" / "bars_close.csv", gaps="freeze")  # a source like any other
    assert again.symbols == panel.symbols
    with pytest.raises(ParameterError, match="xlsx"):
        export(account, folder / "x", "xlsx")
    (folder / "file").write_text("")
    with pytest.raises(OutputError, match="choose another folder"):
        export(account, folder / "file")


def test_a_report_of_a_young_account_says_to_step_on(folder):
    panel = random_panel(n_bars=5, n_assets=3, seed=64)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=2)
    with pytest.raises(DataError, match="2 sessions so far"):
        report_of(account)


# -- watch ----------


class Time:
    """A clock that moves when somebody sleeps."""

    def __init__(self, moment):
        self.now = datetime.fromisoformat(moment)
        self.naps = []

    def __call__(self):
        return self.now

    def pause(self, seconds):
        self.naps.append(seconds)
        self.now += timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("moment", "options", "wakes"),
    [
        ("2024-07-02T21:00:00+00:00", {}, "2024-07-03T17:20:00+00:00"),  # an early close
        ("2024-07-03T18:00:00+00:00", {}, "2024-07-05T20:20:00+00:00"),  # over the holiday
        ("2024-07-05T21:00:00+00:00", {"waits": True}, "2024-07-08T13:32:00+00:00"),  # buys wait: after Monday's open
        ("2024-07-08T13:32:00+00:00", {"waits": True}, "2024-07-08T13:37:00+00:00"),  # and again while it trades
        ("2024-07-08T20:20:00+00:00", {"soon": True}, "2024-07-08T20:25:00+00:00"),  # the data are late
    ],
)
def test_watch_sleeps_until_the_calendar_says(moment, options, wakes):
    pytest.importorskip("exchange_calendars")
    clock = WallClock("XNYS", lambda: datetime.fromisoformat(moment))
    assert wake_up(clock, **options) == datetime.fromisoformat(wakes)


def test_watch_steps_after_every_session_of_a_file_that_grows(folder):
    pytest.importorskip("exchange_calendars")
    dates = ["2024-07-01", "2024-07-02", "2024-07-03", "2024-07-05", "2024-07-08"]
    frame = random_panel(n_bars=5, n_assets=3, seed=65).to_frame()
    frame.index = pd.DatetimeIndex(dates, name="date")
    path, clock = folder / "prices.csv", Time("2024-07-02T21:00:00+00:00")

    def pause(seconds):
        """The vendor writes each session half an hour after its close; on the day before the holiday that is early."""
        clock.pause(seconds)
        done = sum(clock.now >= datetime.fromisoformat(f"{d}T{'17' if d == '2024-07-03' else '20'}:30:00+00:00") for d in dates)
        if done > len(written):
            written.append(frame.iloc[:done].to_csv(path))

    written = [frame.iloc[:2].to_csv(path)] * 2
    account = PaperAccount.create(folder / "a", "pa", str(path), clock="wall")
    account = PaperAccount(account.folder, clock=clock)
    said, complaints = [], []
    watch(account, said.append, complaints.append, time_of_day=clock, pause=pause, rounds=14)
    assert [r.session for r in said if r.decision] == dates[1:]
    assert any("stale" in c for c in complaints)  # the first look came before the vendor
    assert max(clock.naps) <= 60.0  # naps, so that a laptop that was closed notices


def test_watch_says_what_needs_a_person_and_goes_on(folder):
    pytest.importorskip("exchange_calendars")
    panel = random_panel(n_bars=5, n_assets=3, seed=66)
    panel.to_frame().to_csv(folder / "prices.csv")
    account = PaperAccount.create(folder / "a", "pa", str(folder / "prices.csv"))
    account.change_limits({"max_turnover": 0.1})
    clock, complaints = Time("2024-07-02T21:00:00+00:00"), []
    watch(account, lambda r: None, complaints.append, time_of_day=clock, pause=clock.pause, rounds=2)
    assert len(complaints) == 2
    assert all("max_turnover=0.1" in c for c in complaints)
    assert clock.now.date().isoformat() == "2024-07-03"


def test_practice_keeps_the_pace_and_survives_a_refusal(folder, prices):
    account = PaperAccount.create(folder / "a", "pa", str(prices), replay="2022-12-01")
    account.change_limits({"max_weight": 0.01})
    said, naps = [], []
    assert practise(account, said.append, sessions=3, speed=0.25, pause=naps.append) == 3
    assert naps == [0.25] * 3
    assert {r.decision for r in said} == {"refused"}
    assert len(contents(account.folder / "journal.db")["balances"]) == 3


def test_time_stamps_are_in_utc(folder, prices):
    account = PaperAccount.create(folder / "a", "pa", str(prices))
    account.step()
    with account.journal(readonly=True) as journal:
        stamp = datetime.fromisoformat(journal.one("select made_at from decisions"))
    assert abs(datetime.now(UTC) - stamp) < timedelta(minutes=5)
