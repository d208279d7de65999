"""Several markets on one calendar: what a bar shows is what was known when it was decided."""

import backtrader as bt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datafeeds import DataError, ExchangeRate, Market, MarketPanel, MultiIndexData, UniverseError, join_markets
from datafeeds.markets.closing_times import closing_instants
from tests.markets import random_panel

pytestmark = pytest.mark.filterwarnings("ignore:.*dropped:datafeeds.errors.DataWarning")

NAN = np.nan
# January 2024: New York rests on the 1st and 15th, Tokyo on the 1st to 3rd and the 8th.
NY_DAYS = pd.bdate_range("2024-01-02", "2024-01-19").drop("2024-01-15")
TOKYO_DAYS = pd.bdate_range("2024-01-04", "2024-01-19").drop("2024-01-08")


def prices(days, *names, first=100.0):
    """Every price is different and tells its row: 100, 101, ... for the first name, 200, 201, ... for the second."""
    return pd.DataFrame({name: first * (k + 1) + np.arange(len(days)) for k, name in enumerate(names)}, index=days)


def new_york(days=NY_DAYS, **options):
    return Market(prices(days, "SPX", "AAPL"), "SPX", "America/New_York", "16:00", **options)


def tokyo(days=TOKYO_DAYS, **options):
    return Market(prices(days, "NKY", "SONY", first=1000.0), "NKY", "Asia/Tokyo", "15:30", **options)


def column(panel, name):
    values = panel.column(name)
    if name in panel.targets and panel.target_seen is not None:
        values = np.where(panel.target_seen[:, panel.targets.index(name)], values, NAN)
    return pd.Series(values, index=[str(d)[5:10] for d in panel.dates])


# -- calendars -------------------------------------------------------------------------------------------------------------------


def test_a_holiday_of_one_market_is_a_missing_bar_and_a_target_without_a_level():
    panel = join_markets({"NY": new_york(), "TOKYO": tokyo()})
    assert panel.targets == ("SPX", "NKY")
    assert panel.symbols == ("AAPL", "SONY")
    assert panel.day(0) == "2024-01-04"  # the first date on which both have a level
    for target, asset, day in (("SPX", "AAPL", "01-15"), ("NKY", "SONY", "01-08")):
        for name in (target, asset):
            assert column(panel, name).isna().sum() == 1
            assert np.isnan(column(panel, name)[day])
    # The level shown on the holiday is the old one, marked as such: it is not a return of zero.
    level = pd.Series(panel.column("NKY"), index=column(panel, "NKY").index)
    assert level["01-08"] == level["01-05"]


def test_new_york_sees_tokyos_close_of_the_same_date():
    panel = join_markets({"NY": new_york(), "TOKYO": tokyo()})
    own = tokyo().prices["SONY"]
    for day, value in column(panel, "SONY").dropna().items():
        assert value == own[f"2024-{day}"]


def test_tokyo_sees_new_yorks_close_of_the_session_before():
    panel = join_markets({"NY": new_york(), "TOKYO": tokyo()}, decision="TOKYO")
    aapl = new_york().prices["AAPL"]
    shown = column(panel, "AAPL")
    assert shown["01-05"] == aapl["2024-01-04"]
    assert shown["01-08"] == aapl["2024-01-05"]  # Friday in New York is over before Monday's close in Tokyo, holiday or not
    assert shown["01-09"] == aapl["2024-01-08"]
    assert shown["01-15"] == aapl["2024-01-12"]
    assert np.isnan(shown["01-16"])  # no session in New York between the two decisions
    assert shown["01-17"] == aapl["2024-01-16"]
    assert aapl["2024-01-19"] not in panel.column("AAPL")  # it closes after the last decision
    sony = tokyo().prices["SONY"]
    assert all(value == sony[f"2024-{day}"] for day, value in column(panel, "SONY").dropna().items())


def test_closing_instants_follow_summer_time():
    days = np.array(["2024-01-02", "2024-07-02"], dtype="datetime64[D]")
    shown = [str(t)[:16] for t in closing_instants(days, "America/New_York", "16:00")]
    assert shown == ["2024-01-02T21:00", "2024-07-02T20:00"]
    assert str(closing_instants(days, "Asia/Tokyo", "24:00")[0])[:16] == "2024-01-02T15:00"
    # 01:30 happens twice on the last night of summer time and 02:30 never on its first; the later instant is the safe one.
    nights = np.array(["2024-11-03"], dtype="datetime64[D]"), np.array(["2024-03-10"], dtype="datetime64[D]")
    assert str(closing_instants(nights[0], "America/New_York", "01:30")[0])[:16] == "2024-11-03T06:30"
    assert str(closing_instants(nights[1], "America/New_York", "02:30")[0])[:16] == "2024-03-10T07:00"


def test_what_is_known_changes_with_summer_time():
    """A market that closes at 20:30 UTC is behind New York's close in winter (21:00) and after it in summer (20:00)."""
    days = pd.bdate_range("2024-03-04", "2024-03-15")  # summer time begins in New York on Sunday the 10th
    other = Market(prices(days, "OTHER", first=1000.0), "OTHER", "UTC", "20:30")
    panel = join_markets({"NY": new_york(days), "UTC": other}, decision="UTC")
    aapl, shown = new_york(days).prices["AAPL"], column(panel, "AAPL")
    assert shown["03-08"] == aapl["2024-03-07"]
    assert shown["03-11"] == aapl["2024-03-11"]  # Friday's close, passed over, is in the return from Thursday to Monday
    assert shown["03-12"] == aapl["2024-03-12"]


PLACES = st.sampled_from([("America/New_York", "16:00"), ("Asia/Tokyo", "15:30"), ("Europe/London", "16:30"), ("UTC", "20:30"),
                          ("Australia/Sydney", "16:00"), ("America/Los_Angeles", "24:00")])  # fmt: skip
SESSIONS = st.sets(st.integers(0, 20), min_size=8).map(lambda days: pd.bdate_range("2024-03-01", periods=21)[sorted(days)])


@settings(max_examples=150, deadline=None)
@given(places=st.tuples(PLACES, PLACES), sessions=st.tuples(SESSIONS, SESSIONS), decision=st.sampled_from("AB"))
def test_a_bar_shows_the_latest_closes_that_had_happened_and_each_but_once(places, sessions, decision):
    """Over the changes to and from summer time on three continents, with any holidays."""
    markets = {
        name: Market(prices(days, f"{name}0", f"{name}1", first=first), f"{name}0", *place)
        for name, place, days, first in zip("AB", places, sessions, (100.0, 1000.0), strict=True)
    }
    try:
        panel = join_markets(markets, decision=decision)
    except DataError as error:
        assert "no common dates" in str(error)  # noqa: PT017
        return
    moments = markets[decision].closes_at(panel.dates.astype("datetime64[D]"))
    for name, days in zip("AB", sessions, strict=True):
        closes = markets[name].closes_at(days.to_numpy(dtype="datetime64[D]"))
        first = markets[name].prices[f"{name}1"].iloc[0]
        session = [None if np.isnan(x) else int(x - first) for x in panel.column(f"{name}1")]
        happened = [int((closes <= moment).sum()) - 1 for moment in moments]
        for t in range(1, len(moments)):
            new = happened[t] > happened[t - 1]
            assert session[t] == (happened[t] if new else None)
        assert session[0] == happened[0]


def test_by_default_the_market_that_closes_last_decides():
    first, second = (join_markets(m) for m in ({"NY": new_york(), "T": tokyo()}, {"T": tokyo(), "NY": new_york()}))
    assert column(first, "SONY").equals(column(second, "SONY"))
    assert column(first, "AAPL").equals(column(second, "AAPL"))
    assert second.symbols == ("SONY", "AAPL")


def test_markets_may_have_targets_only_or_assets_only():
    index = Market(prices(TOKYO_DAYS, "NKY"), "NKY", "Asia/Tokyo", "15:30")
    assets = Market(prices(TOKYO_DAYS, "SONY"), (), "Asia/Tokyo", "15:30")
    panel = join_markets({"NY": new_york(), "NIKKEI": index, "STOCKS": assets})
    assert (panel.targets, panel.symbols) == (("SPX", "NKY"), ("AAPL", "SONY"))


def test_bars_volumes_and_members_come_along():
    ohlc = random_panel(n_bars=12, n_assets=2, ohlc=True)
    members = np.ones(ohlc.close.shape, dtype=bool)
    members[6:, 1] = False
    full = MarketPanel(
        ohlc.dates, ("A", "B"), ohlc.close, ("I",), ohlc.target_close,
        open=ohlc.open, high=ohlc.high, low=ohlc.low, members=members,
    )  # fmt: skip
    days = pd.DatetimeIndex(ohlc.dates).delete(7)
    plain = Market(prices(days, "J", "C"), "J", "Asia/Tokyo", "15:30")
    panel = join_markets({"NY": Market(full, (), "America/New_York", "16:00"), "T": plain})
    np.testing.assert_array_equal(panel.open[:, :2], ohlc.open)
    np.testing.assert_array_equal(panel.low[:, :2], ohlc.low)
    np.testing.assert_array_equal(panel.high[:, 2], panel.close[:, 2])  # without bars of its own its close stands for them
    np.testing.assert_array_equal(panel.members[:, :2], members)
    assert panel.members[:, 2].all()


def test_files_and_mappings_will_do(tmp_path):
    prices(NY_DAYS, "SPX", "AAPL").to_csv(tmp_path / "ny.csv", index_label="date")
    prices(TOKYO_DAYS, "NKY").to_parquet(tmp_path / "tokyo.parquet")
    there = {"prices": tmp_path / "tokyo.parquet", "targets": "NKY", "timezone": "Asia/Tokyo", "close": "15:30"}
    data = MultiIndexData.from_markets({"NY": Market(tmp_path / "ny.csv", "SPX", "America/New_York", "16:00"), "T": there})
    by_hand = join_markets(
        {
            "NY": new_york(),
            "T": Market(dict(prices(TOKYO_DAYS, "NKY").items()), ["NKY"], "Asia/Tokyo", "15:30"),
        }
    )
    assert data.panel.fingerprint() == by_hand.fingerprint()
    assert data.panel.source == "NY + T"


def test_a_wide_file_with_several_targets_needs_no_more_than_their_names(tmp_path):
    frame = prices(NY_DAYS, "SPX", "NKY", "AAPL")
    frame.loc["2024-01-08", "NKY"] = NAN
    frame.to_csv(tmp_path / "wide.csv", index_label="date")
    data = MultiIndexData.from_source(tmp_path / "wide.csv", ["SPX", "NKY"], gaps="freeze")
    assert data.panel.targets == ("SPX", "NKY")
    assert data.panel.target_seen.sum() == 2 * len(NY_DAYS) - 1
    cerebro = bt.Cerebro()
    assert [feed._name for feed in data.add_to(cerebro)] == ["SPX", "NKY", "AAPL"]


# -- currencies ------------------------------------------------------------------------------------------------------------------


def yen(days=TOKYO_DAYS, first=0.01):
    return pd.Series(first + 0.0001 * np.arange(len(days)), index=days)


def test_prices_are_converted_at_the_rate_known_at_the_decision():
    markets = {"NY": new_york(currency="USD"), "T": tokyo(currency="JPY")}
    panel = join_markets(markets, fx={"JPY": yen()})
    sony = tokyo().prices["SONY"]
    for day, value in column(panel, "SONY").dropna().items():
        assert value == pytest.approx(sony[f"2024-{day}"] * yen()[f"2024-{day}"], rel=1e-15)
    assert column(panel, "AAPL").equals(column(join_markets({"NY": new_york(), "T": tokyo()}), "AAPL"))
    # A rate that is noted in New York at 17:00 is not known at 16:00: the one of the day before is used.
    daily = yen(pd.bdate_range("2023-12-20", "2024-01-19"))
    late = join_markets(markets, fx={"JPY": ExchangeRate(daily, "America/New_York", "17:00")})
    assert column(late, "SONY")["01-10"] == pytest.approx(sony["2024-01-10"] * daily["2024-01-09"])
    # The base may be neither of the two.
    euro = join_markets(markets, base="EUR", fx={"JPY": yen(), "USD": yen(NY_DAYS, 0.9)})
    aapl = new_york().prices["AAPL"] * yen(NY_DAYS, 0.9)
    assert column(euro, "AAPL")["01-10"] == pytest.approx(aapl["2024-01-10"])


def test_a_gap_in_the_rates_is_an_error_unless_the_last_may_stand():
    markets = {"NY": new_york(currency="USD"), "T": tokyo(currency="JPY")}
    holes = yen().drop(pd.DatetimeIndex(["2024-01-11", "2024-01-12"]))
    with pytest.raises(DataError, match=r"rate of JPY for 2024-01-11 \(2 dates without a rate; the last one is of 2024-01-10\)"):
        join_markets(markets, fx={"JPY": holes})
    with pytest.raises(DataError, match=r"JPY for 2024-01-12 \(1 dates without a rate"):
        join_markets(markets, fx={"JPY": holes}, fx_carry=1)
    carried = join_markets(markets, fx={"JPY": holes}, fx_carry=2)
    assert column(carried, "SONY")["01-12"] == pytest.approx(tokyo().prices["SONY"]["2024-01-12"] * yen()["2024-01-10"])
    assert np.datetime64("2024-01-08") in join_markets(markets, fx={"JPY": yen()}).dates  # no price needs a rate, there is none
    with pytest.raises(DataError, match=r"JPY for 2024-01-04 .*none is earlier"):
        join_markets(markets, fx={"JPY": yen()[3:]})
    ended_long_ago = pd.Series([0.01], index=pd.DatetimeIndex(["2020-01-02"]))
    with pytest.raises(DataError, match=r"JPY for 2024-01-04 .*the last one is of 2020-01-02"):
        join_markets(markets, fx={"JPY": ended_long_ago})


# -- errors ----------------------------------------------------------------------------------------------------------------------


def nobody(frame, name):
    return frame.assign(**{name: NAN})


ERRORS = {
    "target without data": (
        lambda: join_markets({"NY": new_york(), "T": Market(nobody(tokyo().prices, "NKY"), "NKY", "Asia/Tokyo", "15:30")}),
        DataError, "market T: target NKY has no data",
    ),
    "target that is not there": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS, "AAPL"), "SPX", "America/New_York", "16:00")}),
        UniverseError, "market NY: no column named 'SPX'",
    ),
    "no common dates": (
        lambda: join_markets({"NY": new_york(NY_DAYS[:4]), "T": tokyo(TOKYO_DAYS[5:])}),
        DataError, "no common dates: SPX 2024-01-02..2024-01-05 .4 levels., NKY 2024-01-12..2024-01-19",
    ),
    "name in two markets": (
        lambda: join_markets({"NY": new_york(), "T": Market(prices(TOKYO_DAYS, "NKY", "AAPL"), "NKY", "Asia/Tokyo", "15:30")}),
        UniverseError, "'AAPL' appears in the markets NY and T",
    ),
    "time zone": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS, "SPX", "A"), "SPX", "America/Gotham", "16:00")}),
        DataError, "unknown time zone 'America/Gotham'",
    ),
    "closing time": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS, "SPX", "A"), "SPX", "America/New_York", "4 pm")}),
        DataError, "closing time '4 pm'",
    ),
    "currency without a rate": (
        lambda: join_markets({"NY": new_york(currency="USD"), "T": tokyo(currency="JPY")}),
        DataError, "market T is quoted in JPY, but no exchange rate is given",
    ),
    "rate that is none": (
        lambda: join_markets({"NY": new_york(currency="USD"), "T": tokyo(currency="JPY")}, fx={"JPY": -yen()}),
        DataError, "rate of JPY: .* is -0.01",
    ),
    "decision market": (
        lambda: join_markets({"NY": new_york()}, decision="LONDON"), UniverseError, "'LONDON' is not a market; choose one of NY",
    ),
    "no target": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS, "A"), (), "America/New_York", "16:00")}), UniverseError, "no target",
    ),
    "no market": (lambda: join_markets({}), UniverseError, "no market"),
    "hole": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS, "SPX", "A").mask(lambda d: d == 203), "SPX", "UTC", "16:00")}),
        DataError, "market NY: A has no price on 2024-01-05",
    ),
    "intraday": (
        lambda: join_markets({"NY": Market(prices(NY_DAYS + pd.Timedelta("9h"), "SPX", "A"), "SPX", "UTC", "16:00")}),
        DataError, "2024-01-02T09:00 is a time within a day",
    ),
    "carry": (
        lambda: join_markets({"NY": new_york(currency="USD"), "T": tokyo(currency="JPY")}, fx={"JPY": yen()}, fx_carry=-1),
        DataError, "fx_carry=-1",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_what_cannot_be_put_together_is_named_on_one_line(case):
    make, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)
