"""The synthetic market does what its docstring says: the truth can be read off it."""

import numpy as np
import pytest
from scipy.stats import kurtosis

from datafeeds import DataError
from datafeeds.synthetic.market import simulate_market, synthetic_market
from datafeeds.synthetic.prices import MARKET_VOLATILITY

EVENTS = {"late_listings": 4, "delistings": 5, "halts": 12, "holidays": 6, "bad_prints": 15}
ALL = {**EVENTS, "n_indices": 3, "regimes": (1.0, (2.5, -0.002), 0.8), "ohlc": True}


def returns(prices):
    return np.diff(np.log(prices), axis=0)


def events_of(market, kind):
    return [event for event in market.events if event.kind == kind]


# -- seeds -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, ALL], ids=["plain", "everything"])
def test_same_seed_same_bytes(options):
    first, second = (synthetic_market(30, 200, seed=7, **options) for _ in range(2))
    assert first.fingerprint() == second.fingerprint()


def test_different_seeds_differ_in_every_return():
    a, b = synthetic_market(seed=1), synthetic_market(seed=2)
    assert a.symbols == b.symbols
    assert (returns(a.close) != returns(b.close)).all()
    assert (a.target_close[1:] != b.target_close[1:]).all()


@pytest.mark.parametrize(
    "options", [{k: v} for k, v in EVENTS.items()] + [EVENTS, {"ohlc": True}, {"n_indices": 4}, {"review_every": 5}]
)
def test_clean_prices_do_not_depend_on_what_else_is_asked_for(options):
    plain, other = simulate_market(30, 200, seed=3), simulate_market(30, 200, seed=3, **options)
    assert np.array_equal(plain.clean_close, other.clean_close)


@pytest.mark.parametrize("kind", sorted(EVENTS))
def test_an_event_does_not_move_when_others_are_added(kind):
    singular = kind.removesuffix("s")
    alone, together = simulate_market(30, 200, seed=3, **{kind: EVENTS[kind]}), simulate_market(30, 200, seed=3, **EVENTS)
    if kind in {"late_listings", "delistings", "holidays"}:  # halts and bad prints have to fit into the lives of the assets
        assert [(e.start, e.stop) for e in events_of(alone, singular)] == [
            (e.start, e.stop) for e in events_of(together, singular)
        ]
    assert len(events_of(alone, singular)) == len(events_of(together, singular)) == EVENTS[kind]
    assert len(alone.events) == EVENTS[kind]


def test_a_longer_market_begins_with_the_shorter_one():
    short, long = simulate_market(12, 150, seed=5, n_indices=2), simulate_market(12, 400, seed=5, n_indices=2)
    assert np.array_equal(short.clean_close, long.clean_close[:150])
    assert np.array_equal(short.panel.target_close, long.panel.target_close[:150])


def test_halts_holidays_and_bad_prints_leave_the_index_alone():
    plain = synthetic_market(30, 200, seed=3)
    hit = synthetic_market(30, 200, seed=3, halts=30, holidays=10, bad_prints=30)
    assert np.array_equal(plain.target_close, hit.target_close)


# -- the index -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"n_indices": 3, **EVENTS}])
def test_index_is_share_counts_times_prices_between_reviews(options):
    market = simulate_market(40, 300, seed=11, review_every=63, **options)
    assert market.reviews.tolist() == [0, 63, 126, 189, 252]
    ends = [*market.reviews[1:], 299]
    for units, start, end in zip(market.index_units, market.reviews, ends, strict=True):
        value = (market.clean_close[start : end + 1, None, :] * units).sum(
            axis=2
        )  # at both ends: a review does not make the index jump
        np.testing.assert_allclose(market.panel.target_close[start : end + 1], value, rtol=1e-12)


def test_index_weights_drift_with_prices_and_predict_the_index_return():
    market = simulate_market(40, 200, seed=2)
    x = market.clean_close[1:] / market.clean_close[:-1] - 1.0
    y = market.panel.target_close[1:, 0] / market.panel.target_close[:-1, 0] - 1.0
    weights = np.array([market.weights(t)[0] for t in range(200)])
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((weights[:-1] * x).sum(axis=1), y, rtol=0, atol=1e-14)
    assert np.abs(weights[62] - weights[0]).sum() > 0.05
    drifted = weights[0] * market.clean_close[62] / market.clean_close[0]
    np.testing.assert_allclose(weights[62], drifted / drifted.sum(), rtol=1e-12)


def test_reviews_change_members_and_shares():
    market = simulate_market(50, 750, seed=0)
    held = market.index_units[:, 0] > 0
    assert (held.sum(axis=1) == 40).all()
    assert (held[1:] != held[:-1]).any()
    both = held[0] & held[1]
    ratio = market.index_units[1, 0, both] / market.index_units[0, 0, both]
    assert 0.003 < np.log(ratio).std() < 0.03


def test_without_reviews_nothing_changes():
    market = simulate_market(20, 300, review_every=0)
    assert market.reviews.tolist() == [0]
    relative = market.panel.target_close[:, 0] / (market.clean_close @ market.index_units[0, 0])
    np.testing.assert_allclose(relative, 1.0, rtol=1e-12)


def test_members_are_the_largest_by_capitalisation():
    market = simulate_market(50, 100, seed=4)
    caps = market.universe.shares * market.clean_close[0]
    assert set(np.argsort(-caps)[:40]) == set(np.flatnonzero(market.index_units[0, 0]))


def test_several_indices_are_different_subsets():
    market = simulate_market(60, 200, n_indices=3)
    assert market.panel.targets == ("INDEX", "INDEX2", "INDEX3")
    held = market.index_units[0] > 0
    assert held.sum(axis=1).tolist() == [48, 24, 24]
    assert (held[1] != held[2]).any()
    y = returns(market.panel.target_close)
    assert np.corrcoef(y.T).min() > 0.5
    assert np.corrcoef(y.T)[0, 1] < 0.99999


@pytest.mark.parametrize("seed", range(5))
def test_an_index_never_holds_a_name_that_does_not_trade(seed):
    market = simulate_market(20, 260, seed, n_indices=4, late_listings=9, delistings=9, review_every=20)
    listed = market.panel.has_bar
    for t in range(260):
        assert not (market.units(t).any(axis=0) & ~listed[t]).any()
    assert (market.index_units.sum(axis=2) > 0).all()


# -- the prices ------------------------------------------------------------------------------------------------------------------


def test_tails_are_heavier_than_normal_and_normal_on_request():
    heavy, normal = (returns(synthetic_market(40, 4000, tail=tail).close) for tail in (5.0, np.inf))
    assert np.median(kurtosis(heavy)) > 1.0
    assert abs(np.median(kurtosis(normal))) < 0.2
    np.testing.assert_allclose(heavy.std(axis=0), normal.std(axis=0), rtol=0.1)


def test_prices_and_index_start_where_they_should():
    market = simulate_market(200, 50)
    np.testing.assert_allclose(market.clean_close[0], market.universe.first_price, rtol=1e-12)
    assert 5 < market.clean_close[0].min() < 50 < market.clean_close[0].max() < 500
    assert market.panel.target_close[0] == 1000.0


def test_moments_are_those_of_daily_equities():
    market = simulate_market(200, 2520, seed=1)
    x, y = returns(market.clean_close), returns(market.panel.target_close[:, 0])
    assert 0.009 < y.std() < 0.016
    assert 0.012 < np.median(x.std(axis=0)) < 0.025
    assert abs(x.mean() - 2e-4) < 6e-4
    correlation = np.corrcoef(x.T)
    assert 0.2 < np.median(correlation[np.triu_indices(200, 1)]) < 0.6


def test_betas_can_be_estimated_back():
    market = simulate_market(100, 5000, seed=1)
    x = returns(market.clean_close)
    factor = x.mean(axis=1) / market.betas.mean()
    fitted = np.array([np.cov(column, factor)[0, 1] for column in x.T]) / factor.var()
    assert np.corrcoef(fitted, market.betas)[0, 1] > 0.97
    assert abs(factor.std() / MARKET_VOLATILITY - 1) < 0.1


def test_regimes_scale_volatility_and_drift_in_equal_periods():
    calm = simulate_market(30, 900, seed=6)
    wild = simulate_market(30, 900, seed=6, regimes=(1.0, (3.0, -0.004), 0.5))
    a, b = returns(calm.clean_close), returns(wild.clean_close)
    np.testing.assert_allclose(a[:299], b[:299], rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(b[299:599].std(axis=0) / a[299:599].std(axis=0), 3.0, rtol=1e-6)
    np.testing.assert_allclose(b[599:].std(axis=0) / a[599:].std(axis=0), 0.5, rtol=1e-6)
    flat = simulate_market(30, 900, seed=6, regimes=(1.0, 3.0, 0.5))
    extra = b - returns(flat.clean_close)
    np.testing.assert_allclose(extra[299:599], np.tile(-0.004 * wild.betas, (300, 1)), rtol=1e-9)
    assert np.abs(extra[:299]).max() == 0.0
    assert np.abs(extra[599:]).max() < 1e-12


# -- full bars -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, EVENTS, {"regimes": (0.01, 20.0)}, {"regimes": (1e-12,)}], ids=["clean", "events", "extreme", "still"]
)
def test_bars_contain_their_open_and_close(options):
    panel = synthetic_market(30, 400, seed=8, ohlc=True, **options)
    bar = panel.has_bar
    for inside in (panel.open, panel.close):
        assert (panel.low[bar] <= inside[bar]).all()
        assert (inside[bar] <= panel.high[bar]).all()
    for values in (panel.open, panel.high, panel.low, panel.volume):
        assert np.array_equal(np.isfinite(values), bar)
    assert (panel.low[bar] > 0).all()
    assert (panel.volume[bar] >= 0).all()


def test_open_gaps_away_from_the_close_before_it():
    panel = synthetic_market(30, 1000, ohlc=True)
    gap, whole = np.log(panel.open[1:] / panel.close[:-1]), returns(panel.close)
    day = np.log(panel.close[1:] / panel.open[1:])
    assert 0.15 < (gap.std() / whole.std()) ** 2 < 0.35
    assert abs(np.corrcoef(gap.ravel(), day.ravel())[0, 1]) < 0.1  # the night does not know the day
    assert (panel.high > np.maximum(panel.open, panel.close)).mean() > 0.99


# -- events ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_events_stand_exactly_where_the_record_says(seed):
    market = simulate_market(30, 250, seed, **EVENTS)
    panel, column = market.panel, {s: i for i, s in enumerate(market.panel.symbols)}
    expected = market.clean_close.copy()
    for event in market.events:
        cells = slice(event.start, event.stop), [column[s] for s in event.symbols]
        expected[cells] *= event.factor if event.kind == "bad_print" else np.nan
    np.testing.assert_array_equal(panel.close, expected)
    assert {kind: len(events_of(market, kind.removesuffix("s"))) for kind in EVENTS} == EVENTS


def test_late_listings_lead_and_delistings_trail():
    market = simulate_market(30, 250, late_listings=6, delistings=7)
    bar = market.panel.has_bar
    assert (~bar[0]).sum() == 6
    assert (~bar[-1]).sum() == 7
    changes = np.abs(np.diff(bar.astype(int), axis=0)).sum(axis=0)
    assert sorted(changes) == [0] * 17 + [1] * 13
    assert bar[124:126].all()


@pytest.mark.parametrize(
    "options", [{"halts": 40}, {"holidays": 20}, {"halts": 10, "holidays": 10, "late_listings": 9, "delistings": 9}]
)
def test_halts_and_holidays_are_inside_the_life_of_an_asset(options):
    market = simulate_market(20, 120, seed=1, **options)
    bar, column = market.panel.has_bar, {s: i for i, s in enumerate(market.panel.symbols)}
    for event in (*events_of(market, "halt"), *events_of(market, "holiday")):
        for symbol in event.symbols:
            rows = np.flatnonzero(bar[:, column[symbol]])
            assert rows[0] < event.start
            assert event.stop <= rows[-1]


def test_a_holiday_closes_one_exchange_and_no_other():
    market = simulate_market(40, 100, holidays=8)
    for event in events_of(market, "holiday"):
        closed = ~market.panel.has_bar[event.start]
        exchanges = set(market.universe.exchanges[closed])
        assert len(exchanges) == 1
        assert np.array_equal(closed, np.isin(market.universe.exchanges, list(exchanges)))


def test_bad_prints_are_isolated_tenfold_spikes():
    market = simulate_market(10, 200, bad_prints=60)
    wrong = market.panel.close / market.clean_close
    spikes = ~np.isclose(wrong, 1.0)
    assert spikes.sum() == 60
    assert set(np.round(wrong[spikes], 12)) == {0.1, 10.0}
    assert not (spikes[1:] & spikes[:-1]).any()
    assert not spikes[[0, -1]].any()


def test_a_market_without_events_shares_its_clean_prices_with_the_panel():
    market = simulate_market()
    assert market.events == ()
    assert market.clean_close is market.panel.close
    with pytest.raises(ValueError, match="read-only"):
        simulate_market(bad_prints=1).clean_close[0, 0] = 1.0


# -- edges -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_assets", "n_bars"), [(1, 2), (1, 3), (2, 2), (3, 5)])
def test_smallest_markets_work(n_assets, n_bars):
    panel = synthetic_market(n_assets, n_bars, n_indices=2, ohlc=True, review_every=1, late_listings=n_assets // 2)
    assert panel.n_bars == n_bars
    assert panel.n_assets == n_assets


def test_frequency_and_start_are_kept():
    panel = synthetic_market(3, 60, start="2020-02-28", freq="W-WED")
    assert panel.day(0) == "2020-03-04"
    assert panel.periods_per_year == 52


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_assets": 0}, "n_assets=0"),
        ({"n_bars": 1}, "n_bars=1"),
        ({"n_bars": 2.5}, "n_bars=2.5"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": None}, "seed=None"),
        ({"n_indices": 0}, "n_indices=0"),
        ({"review_every": -1}, "review_every=-1"),
        ({"halts": -2}, "halts=-2"),
        ({"n_assets": 5, "late_listings": 3, "delistings": 2}, "late_listings \\+ delistings = 5"),
        ({"n_bars": 2, "halts": 1}, "halts=1"),
        ({"n_bars": 10, "holidays": 9}, "holidays=9"),
        ({"n_assets": 1, "n_bars": 5, "bad_prints": 3}, "bad_prints=3"),
        ({"tail": 2.0}, "tail=2.0"),
        ({"tail": float("nan")}, "tail=nan"),
        ({"regimes": ()}, "regimes"),
        ({"regimes": (1.0, -2.0)}, "-2.0"),
        ({"regimes": ((1.0, 2.0, 3.0),)}, "regimes"),
        ({"regimes": ("wild",)}, "wild"),
        ({"freq": "nonsense"}, "nonsense"),
        ({"start": "someday"}, "someday"),
        ({"start": "2015-01-02T00:00Z"}, "time zone"),
        (
            {"n_bars": 98_280},
            "leave the years 1678 to 2261; choose another start, fewer bars, or shorter",
        ),
        ({"start": "1500-01-03"}, "leave the years 1678 to 2261; choose another start"),
    ],
)
def test_impossible_wishes_are_refused_by_name(options, says):
    with pytest.raises(DataError, match=says) as caught:
        synthetic_market(**options)
    assert "\n" not in str(caught.value)
