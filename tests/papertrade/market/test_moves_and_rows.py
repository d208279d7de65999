"""Moves that are believed and moves that are not; sources that lose rows."""

import numpy as np
import pytest

from datafeeds import MarketPanel, open_source
from tests.markets import random_panel
from tests.papertrade.harness import changed, day, events, open_account, step_through
from tracker_strategies.papertrade import PaperAccount
from tracker_strategies.papertrade.errors import BadBarError
from tracker_strategies.papertrade.live.watching import practise, watch


def market():
    return random_panel(n_bars=16, n_assets=4, seed=8, ohlc=True)


def moved(panel, row, column, factor):
    """The panel with all prices of a name multiplied from a row on."""
    bars = {k: getattr(panel, k).copy() for k in ("close", "open", "high", "low")}
    for values in bars.values():
        values[row:, column] *= factor
    return MarketPanel(panel.dates, panel.symbols, bars.pop("close"), panel.targets, panel.target_close, **bars)


# -- moves ----------


def test_the_true_move_of_the_sample_can_be_allowed_by_step_and_by_watch(folder):
    """AMD rose by 52 % on 2016-04-22."""
    panel = open_source("sample")
    row = int(np.searchsorted(panel.dates, np.datetime64("2016-04-22")))
    panel = panel.rows(row - 12, row + 3)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=12)
    with pytest.raises(BadBarError, match=r"AMD moved by \+52%.* allow it once: tracker paper step --max-move 10 .*watch"):
        step_through(account, panel, start=13, stop=13)
    assert account.step(panel.rows(0, 13), max_move=1.0).decision == "act"
    step_through(account, panel, start=14)


@pytest.mark.parametrize("way", ["practise", "watch"])
def test_watching_goes_on_over_a_move_that_a_person_has_allowed(folder, way):
    pytest.importorskip("exchange_calendars")
    panel = moved(market(), 6, 1, 3.3)
    path = folder / "prices.csv"
    path.write_text(panel.to_frame().to_csv())
    clock = {"replay": day(panel, 4)} if way == "practise" else {"start": day(panel, 4)}
    account = PaperAccount.create(folder / "a", "pa", str(path), **clock)
    steps, complaints = [], []

    def go(**options):
        if way == "practise":
            practise(account, steps.append, **options)
        else:
            watch(account, steps.append, complaints.append, rounds=1, pause=lambda seconds: None, **options)

    if way == "practise":
        with pytest.raises(BadBarError, match=r"S1 moved by \+2\d\d%"):
            go()
    else:
        go()
        assert any("S1 moved by" in words for words in complaints)
    go(max_move=5.0)
    assert steps[-1].session == day(panel, -1)


def test_a_new_name_may_move_more_in_its_first_sessions(folder):
    panel = market()
    for row in range(4):
        panel = changed(panel, row, 3, np.nan)
    young, old = moved(panel, 6, 3, 2.0), moved(panel, 6, 2, 2.2)
    account = open_account(folder / "young", young)
    step_through(account, young, stop=8)
    account = open_account(folder / "old", old)
    with pytest.raises(BadBarError, match="S2 moved by"):
        step_through(account, old, stop=8)
    wrong = moved(panel, 6, 3, 0.1)
    account = open_account(folder / "wrong", wrong)
    with pytest.raises(BadBarError, match=r"S3 moved by -9\d%.*for a name that is newly listed"):
        step_through(account, wrong, stop=8)


def test_a_split_that_is_not_listed_is_told_from_a_bad_print(folder):
    flat = market()
    flat = changed(flat, 6, 1, flat.close[5, 1])
    for factor, words in ((0.25, "a 4:1 split"), (0.2, "a 5:1 split"), (10.0, "a 1:10 split"), (0.283, "a bad print")):
        panel = changed(flat, 6, 1, flat.close[5, 1] * factor)
        account = open_account(folder / f"x{factor}", panel)
        with pytest.raises(BadBarError, match=f": {words}.*,S1,split,NEW SHARES FOR ONE OLD"):
            step_through(account, panel, stop=7)


def test_a_small_move_that_looks_like_a_split_is_noted_and_taken(folder):
    flat = market()
    panel = changed(flat, 6, 1, flat.close[5, 1] * 2 / 3)
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=7)
    (noted,) = [text for text in events(account, "data") if "split" in text]
    assert noted.startswith(f"S1 moved by -33.3% on {day(panel, 6)}, which looks like a 3:2 split")


# -- rows ----------


def without(panel, rows):
    keep = [t for t in range(panel.n_bars) if t not in rows]
    bars = {k: getattr(panel, k)[keep] for k in ("open", "high", "low")}
    return MarketPanel(panel.dates[keep], panel.symbols, panel.close[keep], panel.targets, panel.target_close[keep], **bars)


def test_rows_that_a_source_has_lost_are_named_once(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=12)
    for k in (13, 14):
        (result,) = step_through(account, without(panel.rows(0, k), {1, 9}), start=k - 2, stop=k - 2)
        assert result.taken == [day(panel, k - 1)]
        assert any(f"lost {day(panel, 1)}, {day(panel, 9)} (2 sessions)" in message for message in result.messages)
    assert len(events(account, "data")) == 1
    step_through(account, without(panel.rows(0, 15), {1, 5, 9}), start=12, stop=12)
    _, more = events(account, "data")
    assert f"lost {day(panel, 1)}, {day(panel, 5)}, {day(panel, 9)} (3 sessions)" in more


def test_a_source_that_shows_the_last_months_only_is_told_once(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel, stop=12)
    for k in (13, 14, 15):
        account.step(panel.rows(k - 11, k))
    (noted,) = events(account, "data")
    assert f"the source begins on {day(panel, 2)} now, but used to begin on {day(panel, 0)}" in noted


def test_a_source_that_has_everything_is_not_noted(folder):
    panel = market()
    account = open_account(folder / "a", panel)
    step_through(account, panel)
    assert not events(account, "data")
