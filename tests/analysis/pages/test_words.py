"""Figures in words: nothing has no sign, one thing is no plural, and parameters are said as a reader would write them."""

from dataclasses import replace

import pytest

from tests.markets import random_panel
from tracker_strategies import backtest
from tracker_strategies.analysis.pages.limited import in_reading, parameters_of
from tracker_strategies.analysis.pages.words import bp, count, fixed, number, percent, signed_percent
from tracker_strategies.execution.timing import FillMode
from tracker_strategies.research.reproductions.apas.claims import _signed
from tracker_strategies.research.reproductions.page import power_words


@pytest.mark.parametrize("tiny", [-1e-14, 1e-14, -0.0, 0.0])
def test_what_rounds_to_zero_is_a_plain_zero(tiny):
    assert percent(tiny, 2) == "0.00\u202f%"
    assert percent(tiny, 2, sign=True) == "+0.00\u202f%"
    assert number(tiny) == "0.000"
    assert fixed(tiny, 3) == "0.000"
    assert bp(tiny) == "0.000\u202fbp"
    assert signed_percent(tiny) == "+0.000\u202f%"


def test_what_does_not_round_to_zero_keeps_its_sign():
    assert percent(-0.00006, 2) == "\u22120.01\u202f%"
    assert number(-4.53e-5) == "\u22120.0000453"
    assert fixed(-0.99994, 3) == "\u22121.000"


def test_a_figure_and_its_interval_have_as_many_places():
    assert [fixed(v, 3) for v in (0.99999, 1.00001, 1.0409)] == ["1.000", "1.000", "1.041"]


def test_axes_and_texts_of_reproductions_have_neither_raw_powers_nor_minus_zeros():
    told = [power_words(v) for v in (0.01, 1000.0, 1e4, 1e7, 1e-6)]
    assert told == ["0.01", "1,000", "10,000", "10\u2077", "10\u207b\u2076"]
    assert [_signed(v) for v in (-1e-5, -0.0015)] == ["+0.000", "\u22120.002"]


def test_one_is_no_plural():
    assert [count(n, "bar") for n in (0, 1.0, 2, 1200.0)] == ["0 bars", "1 bar", "2 bars", "1,200 bars"]
    assert in_reading("delist_after", 1) == "1 bar"
    assert in_reading("review", 7800) == "7,800 bars"
    assert in_reading("bars_per_year", 98280.0) == "98,280"


def test_shares_and_choices_are_told_in_words():
    assert in_reading("band", 0.001) == "0.1\u202f%"
    assert in_reading("unmapped", "group") == "one more sector"
    record = backtest(random_panel(40, 4, seed=1), "pa")
    own, _ = parameters_of(replace(record, params={**record.params, "unmapped": "free", "band": 0.002}))
    assert (own["names without a sector"], own["band"]) == ("without a limit", "0.2\u202f%")
    assert "unmapped" not in own


def test_fills_are_told_by_what_is_known_of_the_prices():
    assert FillMode.NEXT_OPEN.in_words(opens=None) == "fills at the next open (close, where prices have no opens)"
    assert FillMode.NEXT_OPEN.in_words(opens=False) == "fills at the next close (the prices have no opens)"
    assert FillMode.CLOSE.in_words(opens=None) == "fills at the close"
