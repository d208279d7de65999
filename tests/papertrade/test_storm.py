"""A small storm on accounts: every kind once. Larger ones: python -m tests.storm accounts --count 1000 --seed 1 --jobs 2."""

import pytest

from tests.storm.paper.plans import KINDS, draw
from tests.storm.paper.trying import try_case

pytest.importorskip("alpaca", reason="alpaca-py is not installed: pip install -e '.[paper]'")
pytest.importorskip("exchange_calendars", reason="exchange_calendars is not installed: pip install -e '.[paper]'")


@pytest.mark.parametrize("index", range(len(KINDS)), ids=KINDS)
def test_every_kind_of_storm_once(index):
    result = try_case(3, index)
    assert result.findings == []
    assert result.kills or "kills" not in result.plan.kind


def test_a_split_in_the_night_in_which_all_shares_are_sold_is_no_stray_position():
    assert try_case(109, 385).findings == []


def test_a_case_depends_on_seed_and_index_alone():
    assert draw(5, 17) == draw(5, 17) != draw(5, 27)
