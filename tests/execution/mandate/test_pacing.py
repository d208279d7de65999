"""Names that are chosen at reviews only, and decisions that go a part of the way."""

from __future__ import annotations

import numpy as np
import pytest

from datafeeds import MarketPanel
from tests.markets import random_panel
from tracker_strategies.execution.mandate.names.choosing import TRIES
from tracker_strategies.execution.mandate.pacing import ALWAYS, REVIEW, REVIEW_TRIES, SPEED, Pacing
from tracker_strategies.research import replay

PANEL = random_panel(90, 12, seed=4)


def names_held(record: object, rows: range) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(record.decisions[t]).tolist()) for t in rows]  # type: ignore[attr-defined]


@pytest.mark.parametrize("offset", [0, 3])
def test_names_change_at_reviews_only(offset: int) -> None:
    record = replay(PANEL, "ensemble", {"max_names": 4, "review": 10, "review_offset": offset, "fill": "close"})
    held = names_held(record, range(90))
    changes = {t for t in range(1, 90) if held[t] != held[t - 1]}
    assert changes
    assert changes <= {5, 10, *range(20 + offset, 90, 10)}
    assert max(map(len, held)) == 4


def test_decisions_go_a_tenth_of_the_way() -> None:
    record = replay(PANEL, "ensemble", {"max_names": 4, "fill": "close"})
    turnover = np.abs(record.decisions[1:] - record.weights[1:]).sum(axis=1)  # type: ignore[index]
    held = names_held(record, range(90))
    quiet = [t for t in range(41, 90) if held[t] == held[t - 1]]
    whole = replay(PANEL, "pa", {"max_names": 4, "fill": "close"})
    assert np.mean(turnover[np.array(quiet) - 1]) < 0.02
    assert whole.metrics()["turnover"] > record.metrics()["turnover"]


@pytest.mark.parametrize("limits", [{"max_weight": 0.3}, {"max_turnover": 0.05}, {"exclude": ["A02"]}, {"lot": 1.0}])
def test_with_other_limits_all_are_kept_from_the_first_bar_on(limits: dict[str, object]) -> None:
    limits = {key: [PANEL.symbols[2]] if key == "exclude" else value for key, value in limits.items()}
    record = replay(PANEL, "ensemble", {"max_names": 4, "fill": "close", **limits})
    assert np.count_nonzero(record.weights, axis=1).max() <= 4
    assert np.count_nonzero(record.decisions, axis=1).max() <= 4  # type: ignore[arg-type]
    assert record.metrics()["breaches_active"] == 0
    assert record.weights[1:].sum(axis=1).min() > (0.9 if "lot" not in limits else 0.5)


def test_one_name_and_as_many_as_there_are() -> None:
    one = replay(PANEL, "ensemble", {"max_names": 1, "fill": "close"})
    assert set(np.count_nonzero(one.decisions, axis=1)) == {1}  # type: ignore[arg-type]
    every, dense = (replay(PANEL, "ensemble", {"fill": "close", **more}) for more in ({"max_names": 12}, {}))
    assert every.weights.tobytes() == dense.weights.tobytes()


def test_the_order_of_the_feeds_does_not_matter() -> None:
    """Before any return is known all names are tied, and the tie is broken by symbol."""
    turned = np.arange(12)[::-1]
    other = MarketPanel(
        PANEL.dates, tuple(PANEL.symbols[i] for i in turned), PANEL.close[:, turned], PANEL.targets, PANEL.target_close
    )
    params = {"max_names": 4, "fill": "close"}
    here, there = replay(PANEL, "ensemble", params), replay(other, "ensemble", params)
    assert here.decisions is not None
    assert there.decisions is not None
    # The value of the account is summed in the order of the feeds: the last bits may differ.
    np.testing.assert_allclose(here.decisions, there.decisions[:, turned], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(here.decisions > 0.0, there.decisions[:, turned] > 0.0)


def test_a_review_between_two_trades_counts_for_the_next() -> None:
    pacing = Pacing()
    now = {"entered": True, "chooses": True, "again": False}
    assert pacing.decide((0, 0.1), entered=False, chooses=True, again=False) == (REVIEW_TRIES, 1.0, True)
    pacing.settle()
    pacing.pass_bar()
    assert pacing.decide((0, 0.1), **now) == (0, pytest.approx(0.1), False)
    for _ in range(4):
        pacing.pass_bar()
    assert pacing.decide((1, 0.1), **now) == (REVIEW_TRIES, pytest.approx(1.0 - 0.9**5), True)
    pacing.settle()
    assert pacing.decide((1, 0.1), entered=True, chooses=True, again=True) == (REVIEW_TRIES, pytest.approx(1.0 - 0.9**5), True)
    pacing.pass_bar()
    assert pacing.decide((1, 0.1), **now) == (0, pytest.approx(0.1), False)
    pacing.review_again()
    assert pacing.decide((1, 0.1), **now) == (0, pytest.approx(0.1), True)


def test_amounts_are_reviewed_now_and_then() -> None:
    """The way that was not gone since the last review is gone at the next one."""
    pacing = Pacing()
    now = {"entered": True, "chooses": False, "again": False}
    pacing.settle()
    due = []
    for _ in range(2 * REVIEW):
        pacing.pass_bar()
        tries, share, reviewed = pacing.decide(ALWAYS, **now)
        due.append(reviewed)
        if reviewed:
            assert (tries, share) == (TRIES, pytest.approx(1.0 - (1.0 - SPEED) ** REVIEW))
            pacing.settle()
    assert np.flatnonzero(due).tolist() == [REVIEW - 1, 2 * REVIEW - 1]
    assert pacing.decide(ALWAYS, entered=True, chooses=True, again=False)[2]  # names are looked at on every bar
