"""An account over three markets with holidays of their own does what the backtest over them does."""

from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from datafeeds import Market, MarketPanel, join_markets
from tests.papertrade.harness import COSTS, books_balance, decided_weights, events, open_account, orders, step_through, values
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import BadBarError, RiskError, StaleDataError
from tracker_strategies.papertrade.market.calendars import Calendars
from tracker_strategies.papertrade.market.session_clocks import WallClock
from tracker_strategies.papertrade.views.report import report_of
from tracker_strategies.papertrade.views.status import status_of
from tracker_strategies.runner import backtest

#: Zone, close, code, index, names and holidays. The last one of New York is one of Tokyo's, too.
PLACES = {
    "NY": ("America/New_York", "16:00", "XNYS", "SPX", 7, ("2024-01-15", "2024-01-23")),
    "LON": ("Europe/London", "16:30", "XLON", "UKX", 6, ("2024-01-18",)),
    "TOK": ("Asia/Tokyo", "15:30", "XTKS", "NKY", 6, ("2024-01-08", "2024-01-23")),
}
TARGETS = tuple(place[3] for place in PLACES.values())


def tables(seed=3, last="2024-01-26"):
    """Random walks with full bars on the sessions of each market."""
    rng = np.random.default_rng(seed)
    found = {}
    for place, (_, _, _, index, n, holidays) in PLACES.items():
        days = pd.bdate_range("2024-01-04", last).drop(pd.DatetimeIndex(holidays))
        walk = 100.0 * np.exp((rng.standard_normal((len(days), n)) * 0.02).cumsum(axis=0))
        frame = pd.DataFrame(walk, index=days, columns=[f"{place}{i}" for i in range(n)])
        found[place] = frame.assign(**{index: frame.mean(axis=1) * np.exp(rng.standard_normal(len(days)) * 1e-3)})
    return found


def by_date():
    """The tables side by side, as in a file."""
    return MarketPanel.from_frame(pd.concat(tables().values(), axis=1, sort=True), list(TARGETS), gaps="freeze")


def one_index():
    """The same names, and one index that has a level on every day."""
    panel = by_date()
    return MarketPanel(panel.dates, panel.symbols, panel.close, ("WORLD",), panel.target_close.mean(axis=1, keepdims=True))


def joined():
    """As the decision at New York's close knows them."""
    return join_markets({p: Market(tables()[p], index, zone, close) for p, (zone, close, _, index, _, _) in PLACES.items()})


def calendar():
    """Every name under the code of its exchange; days on which these have sessions are not those of the tables."""
    return " ".join(
        f"{code}={','.join([index, *(f'{place}{i}' for i in range(n))])}" for place, (_, _, code, index, n, _) in PLACES.items()
    )


def assert_parity(account, panel, strategy, params):
    record = backtest(panel, strategy, params, costs=COSTS)
    np.testing.assert_allclose(decided_weights(account), record.decisions, atol=1e-12, rtol=0)
    np.testing.assert_allclose(values(account), record.value, rtol=1e-9)
    books_balance(account)
    return record


@pytest.mark.parametrize("make", [by_date, joined], ids=["side by side", "as known at the decision"])
@pytest.mark.parametrize(
    ("strategy", "params"),
    [("pa", {}), ("multi-index", {"eps": 1e-4}), ("equal-weight", {"rebalance": 3})],
    ids=["pa", "each index", "schedule"],
)
def test_holidays_of_one_market_and_of_two_are_lived_through_as_in_the_backtest(folder, make, strategy, params):
    panel = make()
    assert (~panel.target_seen).any(axis=1).sum() >= 4
    account = open_account(folder / "a", panel, strategy, params, targets=TARGETS, verify_every=7)
    results = step_through(account, panel)
    assert_parity(account, panel, strategy, params)
    assert any("NKY" in m and "holiday" in m for r in results for m in r.messages)
    assert not events(account, "refused")


def test_figures_are_those_of_the_backtest_whatever_the_blend(folder):
    panel, params = by_date(), {"blend": "0.7,0.2,0.1"}
    account = open_account(folder / "a", panel, "pa", params, targets=TARGETS)
    step_through(account, panel)
    own = assert_parity(account, panel, "pa", params)
    report = report_of(account)
    for record in (report.paper, report.backtest):
        assert record.metrics() == pytest.approx(own.metrics(), rel=1e-8, abs=1e-12)
    np.testing.assert_allclose(report.paper.scored()[1], own.scored()[1], rtol=1e-9)
    assert (report.paper.scored()[1] != 0.0).all()  # a holiday is no return of zero
    status = status_of(account)
    assert tuple(status.indices) == TARGETS
    for j, name in enumerate(TARGETS):
        assert status.indices[name] == pytest.approx(panel.target_close[-1, j] / panel.target_close[0, j] - 1.0)
    whole = np.flatnonzero(panel.target_seen.all(axis=1))
    growth = panel.target_close[whole[1:]] / panel.target_close[whole[:-1]] - 1.0
    assert status.index_since_start == pytest.approx(np.prod(1.0 + growth @ [0.7, 0.2, 0.1]) - 1.0)


@pytest.mark.parametrize("start", [3, 8], ids=["the day after a holiday", "on a holiday"])
def test_an_account_may_begin_around_a_holiday(folder, start):
    panel = by_date()
    account = open_account(folder / "a", panel, targets=TARGETS, start=str(panel.dates[start])[:10])
    step_through(account, panel, start=start + 1)
    full = backtest(panel, "pa", {}, costs=COSTS)
    np.testing.assert_allclose(decided_weights(account), full.decisions[start:], atol=1e-12, rtol=0)
    assert report_of(account).gap["value_gap"] == pytest.approx(0.0, abs=1e-9)


def test_recorded_history_of_one_index_over_three_markets_is_lived_through(folder):
    panel = one_index()
    panel.to_frame().to_csv(folder / "prices.csv")
    options = {"targets": ("WORLD",), "gaps": "freeze", "replay": "2024-01-04", "costs": COSTS}
    account = PaperAccount.create(folder / "a", "pa", str(folder / "prices.csv"), **options)
    for _ in range(panel.n_bars):
        account.step()
    assert_parity(account, panel, "pa", {})


def test_a_file_whose_newest_row_is_a_holiday_of_one_index_is_stepped_on_that_day(folder):
    panel = by_date()
    frame, path = pd.concat(tables().values(), axis=1, sort=True), folder / "prices.csv"
    frame.to_csv(path)
    options = {"targets": TARGETS, "gaps": "freeze", "start": "2024-01-04", "costs": COSTS}
    account = PaperAccount.create(folder / "a", "pa", str(path), **options)
    for rows in range(1, len(frame) + 1):
        frame.iloc[:rows].to_csv(path)
        if rows > 1:  # a panel needs two dates
            account.step()
    record = backtest(panel, "pa", {}, costs=COSTS)
    with account.journal(readonly=True) as journal:
        missed = journal.rows("select session from decisions where kind = 'missed'")
    assert [row[0] for row in missed] == ["2024-01-04"]
    np.testing.assert_allclose(decided_weights_of(account, "2024-01-05"), record.decisions[1:], atol=1e-12, rtol=0)


def decided_weights_of(account, since):
    with account.journal(readonly=True) as journal:
        rows = journal.rows("select weights from decisions where session >= ? order by session", (since,))
        return np.array([np.frombuffer(row[0]) for row in rows])


def test_without_an_index_of_its_own_a_first_holiday_waits_for_the_next_session_and_a_second_does_not(folder):
    panel = one_index()
    account = open_account(folder / "a", panel, targets=("WORLD",))
    step_through(account, panel, stop=2)
    with pytest.raises(BadBarError, match=r"6 of 19 names have no bar on 2024-01-08.*as soon as the next one is available"):
        step_through(account, panel, start=3, stop=3)
    result = step_through(account, panel, start=4, stop=4)[0]
    assert result.taken == ["2024-01-08", "2024-01-09"]
    assert any("treated as a holiday" in m for m in result.messages)
    for before, holiday in ((5, 8), (10, 11)):  # New York and London, for the first time
        step_through(account, panel, start=before, stop=holiday - 1)
        with pytest.raises(BadBarError):
            step_through(account, panel, start=holiday, stop=holiday)
        step_through(account, panel, start=holiday + 1, stop=holiday + 1)
    assert all(r.decision == "act" for r in step_through(account, panel, start=13))  # two together, each known by now
    books_balance(account)


def test_a_calendar_that_says_who_trades_where_knows_a_holiday_from_a_late_source(folder):
    pytest.importorskip("exchange_calendars")
    panel, code = one_index(), calendar().replace("SPX", "WORLD").replace("UKX,", "").replace("NKY,", "")
    account = open_account(folder / "a", panel, targets=("WORLD",), calendar=code)
    step_through(account, panel, stop=2)
    assert step_through(account, panel, start=3, stop=3)[0].decision == "act"  # Tokyo is closed on 8 January 2024
    step_through(account, panel, start=4, stop=10)  # and New York on the 15th
    with pytest.raises(BadBarError, match="6 of 19 names have no bar on 2024-01-18"):  # London is not
        step_through(account, panel, start=11, stop=11)
    with pytest.raises(BadBarError, match="6 of 19 names have no bar on 2024-01-18"):  # and no later session excuses it
        step_through(account, panel, start=12, stop=12)


def test_when_no_index_has_a_level_the_data_are_stale(folder):
    panel = by_date()
    seen = panel.target_seen.copy()
    seen[5] = False
    panel = MarketPanel(panel.dates, panel.symbols, panel.close, panel.targets, panel.target_close, target_seen=seen)
    account = open_account(folder / "a", panel, targets=TARGETS)
    step_through(account, panel, stop=5)
    with pytest.raises(RiskError, match=r"the index has no level.*data are stale"):
        step_through(account, panel, start=6, stop=6)
    assert not orders(account, "session = '2024-01-11'")


def test_a_bad_print_after_a_holiday_is_not_believed(folder):
    panel = by_date()
    for place, name in ((panel.symbols.index("TOK2"), "TOK2"), (None, "NKY")):
        close, levels = panel.close.copy(), panel.target_close.copy()
        if place is None:
            levels[3, 2] *= 10.0
        else:
            close[3, place] *= 10.0
        wrong = MarketPanel(panel.dates, panel.symbols, close, panel.targets, levels, target_seen=panel.target_seen)
        account = open_account(folder / name, panel, targets=TARGETS)
        step_through(account, panel, stop=3)
        with pytest.raises(BadBarError, match=f"{name} moved by"):
            step_through(account, wrong, start=4, stop=4)


def test_a_close_that_has_passed_in_another_market_cannot_be_had(folder):
    with pytest.raises(ParameterError, match=r"fill='close' is not possible for LON0 \(names concerned: 12\)"):
        open_account(folder / "a", joined(), "pa", {"fill": "close"}, targets=TARGETS)


@pytest.mark.parametrize(
    ("moment", "newest"),
    [
        ("2024-01-08T20:00:00+00:00", "2024-01-05"),  # Tokyo is closed, London has closed, New York trades
        ("2024-01-08T21:01:00+00:00", "2024-01-08"),
        ("2024-01-15T16:29:00+00:00", "2024-01-12"),  # New York is closed: London is the last
        ("2024-01-15T16:31:00+00:00", "2024-01-15"),
    ],
)
def test_a_session_is_over_when_the_last_exchange_has_closed(moment, newest):
    pytest.importorskip("exchange_calendars")
    clock = WallClock("XNYS XLON XTKS", lambda: datetime.fromisoformat(moment))
    assert clock.newest() == newest
    rows = ["2024-01-05", "2024-01-08"] if moment < "2024-01-09" else ["2024-01-12", "2024-01-15"]
    assert clock.visible(rows, "") == 1 + rows.index(newest)
    with pytest.raises(StaleDataError, match="not a session of XNYS, XLON, XTKS"):
        clock.visible(["2024-01-01"], "")


def test_calendars_are_read_and_mistakes_named():
    both = Calendars.parse("XNYS XTKS=NKY,SONY")
    assert [both.home(name) for name in ("SPX", "NKY", "SONY")] == ["XNYS", "XTKS", "XTKS"]
    assert Calendars.parse("XNYS XLON").home("SPX") is None
    for text, match in (
        ("", "is empty"),
        ("XNYS XNYS", "each once"),
        ("XNYS,XLON", "separated by spaces"),
        ("XNYS=A XLON=A", "cannot trade at both"),
        ("XNYS=", "the names that trade there"),
    ):
        with pytest.raises(ParameterError, match=match):
            Calendars.parse(text)
    with pytest.raises(ParameterError, match="B is not one of this account's names"):
        Calendars.parse("XNYS=B XLON").check(("A",))
    with pytest.raises(ParameterError, match="no exchange is given for A;"):
        Calendars.parse("XNYS=B").check(("A", "B"))


@pytest.mark.filterwarnings("ignore::datafeeds.errors.DataWarning")
def test_a_target_without_a_level_on_the_newest_bars_is_on_holiday_for_ten_bars_and_then_has_ended():
    frame = pd.concat(tables(last="2024-02-29").values(), axis=1, sort=True)
    for absent in (1, 10, 11):
        short = frame.copy()
        short.iloc[-absent:, short.columns.get_loc("NKY")] = np.nan
        frozen = MarketPanel.from_frame(short, list(TARGETS), gaps="freeze")
        going_on = MarketPanel.from_frame(short, list(TARGETS), gaps="live")
        assert frozen.n_bars == len(frame) - absent
        assert going_on.n_bars == len(frame) - max(0, absent - 10)
        assert bool(going_on.cut) == (absent > 10)
    short.loc[short.index[-1], list(TARGETS)] = np.nan
    assert MarketPanel.from_frame(short, list(TARGETS), gaps="live").dates[-1] < short.index[-1].to_numpy()
