"""Splits and dividends: to the share what was traded, to the cent what a holder had."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datafeeds import DataError
from datafeeds.adjustment import COLUMNS, PRICES, Adjustment, adjust, as_traded, later_splits, whole_bars

SPLIT, TOTAL, RAW = Adjustment


def bars(close, *, dividend=None, split=None, volume=1000.0):
    """Bars whose four prices are one, on consecutive days."""
    index = pd.date_range("2024-01-01", periods=len(close), name="date")
    frame = pd.DataFrame({name: np.asarray(close, dtype=float) for name in PRICES}, index=index)
    frame["volume"], frame["dividend"], frame["split"] = volume, 0.0, 1.0
    for row, amount in (dividend or {}).items():
        frame.iloc[row, frame.columns.get_loc("dividend")] = amount
    for row, ratio in (split or {}).items():
        frame.iloc[row, frame.columns.get_loc("split")] = ratio
    return frame[list(COLUMNS)]


def closes(frame, mode):
    return adjust(frame, mode)["close"].tolist()


# -- by hand ---------------------------------------------------------------------------------------------------------------------


def test_a_split_divides_all_prices_before_it():
    traded = bars([400.0, 408.0, 102.0, 104.0], split={2: 4.0})
    assert closes(traded, SPLIT) == [100.0, 102.0, 102.0, 104.0]
    assert adjust(traded, SPLIT)["volume"].tolist() == [4000.0, 4000.0, 1000.0, 1000.0]
    assert closes(traded, RAW) == [400.0, 408.0, 102.0, 104.0]


def test_a_reverse_split_multiplies_them():
    traded = bars([1.0, 1.25, 10.0, 12.5], split={2: 0.125})
    assert closes(traded, SPLIT) == [8.0, 10.0, 10.0, 12.5]
    assert adjust(traded, SPLIT)["volume"].tolist() == [125.0, 125.0, 1000.0, 1000.0]


def test_a_dividend_buys_shares_at_the_close_of_its_ex_date():
    traded = bars([100.0, 98.0, 98.0], dividend={1: 2.0})
    assert closes(traded, SPLIT) == [100.0, 98.0, 98.0]
    total = closes(traded, TOTAL)
    assert total[1:] == [98.0, 98.0]
    assert total[1] / total[0] == pytest.approx((98.0 + 2.0) / 100.0, rel=1e-15)


def test_a_split_and_a_dividend_on_one_day_the_dividend_belongs_to_the_new_shares():
    traded = bars([400.0, 98.0, 99.0], dividend={1: 2.0}, split={1: 4.0})
    assert closes(traded, SPLIT) == [100.0, 98.0, 99.0]
    total = closes(traded, TOTAL)
    # one old share of 400 became four of 98 with 2 each
    assert total[1] / total[0] == pytest.approx(4 * (98.0 + 2.0) / 400.0, rel=1e-15)


def test_a_dividend_before_a_split_is_counted_in_the_shares_of_its_own_day():
    traded = bars([400.0, 396.0, 99.0], dividend={1: 4.0}, split={2: 4.0})
    assert adjust(traded, SPLIT)["dividend"].tolist() == [0.0, 1.0, 0.0]
    total = closes(traded, TOTAL)
    assert total[1] / total[0] == pytest.approx((396.0 + 4.0) / 400.0, rel=1e-15)
    assert total[2] / total[1] == pytest.approx(1.0, rel=1e-15)


def test_all_four_prices_of_a_bar_are_scaled_alike():
    traded = bars([100.0, 98.0], dividend={1: 2.0}).assign(open=[99.0, 97.0], high=[101.0, 99.0], low=[98.0, 96.0])
    total = adjust(traded, TOTAL)
    ratio = total[list(PRICES)] / traded[list(PRICES)]
    assert np.ptp(ratio.to_numpy(), axis=1).max() < 1e-15


def test_an_unknown_mode_is_refused_by_name():
    with pytest.raises(DataError, match="'dividends' is unknown; choose one of split, total, raw"):
        Adjustment.parse("dividends")


# -- against a holder who counts shares in whole fractions -----------------------------------------------------------------------

RATIOS = st.sampled_from([(2, 1), (3, 2), (4, 1), (7, 1), (20, 1), (1, 8), (1, 10), (3, 4)])
CENTS = st.integers(50, 500_000)


@st.composite
def histories(draw):
    n = draw(st.integers(2, 12))
    days = st.integers(0, n - 1)
    cents = draw(st.lists(CENTS, min_size=n, max_size=n))
    paid = draw(st.dictionaries(days, st.integers(1, 20_000), max_size=4))
    ratios = draw(st.dictionaries(days, RATIOS, max_size=3))
    traded = bars(
        [c / 100 for c in cents],
        dividend={d: c / 100 for d, c in paid.items()},
        split={d: a / b for d, (a, b) in ratios.items()},
    )
    return traded, cents, paid, ratios


def wealth(cents, paid, ratios, *, reinvest):
    """Of the holder of one share on the first day, in cents: an exact tale told day by day."""
    shares, path = Fraction(1), [Fraction(cents[0])]
    for day in range(1, len(cents)):
        shares *= Fraction(*ratios.get(day, (1, 1)))
        if reinvest:
            shares *= 1 + Fraction(paid.get(day, 0), cents[day])
        path.append(shares * cents[day])
    return path


@given(histories())
def test_returns_are_those_of_a_holder(history):
    traded, cents, paid, ratios = history
    for mode, reinvest in ((SPLIT, False), (TOTAL, True)):
        path = wealth(cents, paid, ratios, reinvest=reinvest)
        exact = [float(after / before) for before, after in pairwise(path)]
        adjusted = adjust(traded, mode)["close"].to_numpy()
        assert adjusted[1:] / adjusted[:-1] == pytest.approx(exact, rel=1e-13)
        assert adjusted[-1] == traded["close"].iloc[-1]


@given(histories())
def test_prices_that_a_vendor_restated_come_back_as_traded(history):
    traded, _, _, ratios = history
    restated = traded.copy()
    for row in range(len(traded)):
        later = Fraction(1)
        for day, ratio in ratios.items():
            if day > row:
                later *= Fraction(*ratio)
        for name in (*PRICES, "dividend"):
            restated.iloc[row, COLUMNS.index(name)] = float(Fraction(traded[name].iloc[row]) / later)
        restated.iloc[row, COLUMNS.index("volume")] = float(Fraction(traded["volume"].iloc[row]) * later)
    pd.testing.assert_frame_equal(as_traded(restated), traded, rtol=1e-13)
    # what the vendor shows is the split-adjusted series as of its last day
    pd.testing.assert_frame_equal(adjust(traded, SPLIT), restated, rtol=1e-13)


@given(histories(), st.integers(1, 11))
def test_what_happens_after_a_period_changes_nothing_in_it(history, stop):
    traded, cents, paid, ratios = history
    rest = {k: v for k, v in ratios.items() if k < stop}
    known = bars(
        [c / 100 for c in cents[:stop]],
        dividend={d: c / 100 for d, c in paid.items() if d < stop},
        split={d: a / b for d, (a, b) in rest.items()},
    )
    for mode in Adjustment:
        pd.testing.assert_frame_equal(adjust(traded.iloc[:stop], mode), adjust(known, mode), check_freq=False)


def test_later_splits_of_one_day_is_one():
    assert later_splits(np.array([4.0])).tolist() == [1.0]


# -- bars that hold together -----------------------------------------------------------------------------------------------------


def test_bars_are_mended_around_the_close_and_counted():
    nan = np.nan
    torn = bars([10.0] * 6).assign(
        open=[nan, 0.0, 12.0, 10.0, 10.0, 10.0], high=[10, 10, 11, nan, 9, 10], low=[10, 10, 9, 10, 10, 0]
    )
    mended, count = whole_bars(torn)
    assert mended["open"].tolist() == [10, 10, 12, 10, 10, 10]
    assert mended["high"].tolist() == [10, 10, 12, 10, 10, 10]
    assert mended["low"].tolist() == [10, 10, 9, 10, 10, 10]
    assert mended["close"].tolist() == torn["close"].tolist()
    assert count == 6


def test_rounding_is_not_counted_as_damage():
    apart = bars([10.0, 11.0]).assign(high=[10.0 - 1e-8, 11.0], low=[10.0, 11.0 + 1e-8])
    mended, count = whole_bars(apart)
    assert count == 0
    assert (mended["high"] >= mended["close"]).all()
    assert (mended["low"] <= mended["close"]).all()
