"""A small storm of lies; the large one is ``python -m tests.storm yahoo``."""

import argparse

import pytest

pytest.importorskip("yfinance", reason="the extra yahoo is not installed")

from tests.storm import yahoo
from tests.storm.bad_input.many import outcomes


def test_a_small_storm_of_lies():
    given = argparse.Namespace(seed=5, first=0, count=12, jobs=1)
    assert [outcome for outcome in outcomes(yahoo.trial, given, 300.0) if outcome.wrong] == []
