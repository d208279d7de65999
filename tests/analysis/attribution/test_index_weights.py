"""Published weights of the index at every close: as published, and drifted with prices after that."""

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies import backtest
from tracker_strategies.analysis.attribution import index_weights_of
from tracker_strategies.analysis.pages.attributed import attribution_tables
from tracker_strategies.analysis.pages.managed import active_tables
from tracker_strategies.analysis.pages.words import percent
from tracker_strategies.analysis.recording import attribution_of
from tracker_strategies.analysis.runfolder import write_run

PANEL = random_panel(120, 6, seed=5, ohlc=True)
SHARES = np.arange(1.0, 7.0)


def weights_on(row):
    worth = SHARES * PANEL.close[row]
    return dict(zip(PANEL.symbols, (worth / worth.sum()).tolist(), strict=True))


@pytest.fixture(scope="module")
def record():
    given = {str(PANEL.dates[row])[:10]: weights_on(row) for row in (0, 60)}
    return backtest(PANEL, "ensemble", {"index_weights": given}, stages=True)


def test_weights_of_an_index_of_constant_share_counts_are_known_at_every_close(record):
    worth = SHARES * PANEL.close
    np.testing.assert_allclose(index_weights_of(record), worth / worth.sum(axis=1, keepdims=True), rtol=1e-9)
    part = record.part
    np.testing.assert_allclose(index_weights_of(part), index_weights_of(record)[-len(part.dates) :], rtol=1e-9)


def test_the_run_folder_attributes_against_them(record, tmp_path):
    found = attribution_of(write_run(record, tmp_path / "run", PANEL))
    np.testing.assert_allclose(found.names.sum(axis=1), found.active, atol=1e-12)
    b, x = index_weights_of(record)[-2], PANEL.close[-1] / PANEL.close[-2] - 1.0
    assert found.names["(index not explained by its weights)"].iloc[-1] == pytest.approx(b @ x - found.index[-1], abs=1e-12)


def test_the_tear_sheet_of_the_folder_shows_active_weights_and_the_active_share(record, tmp_path):
    folder = write_run(record, tmp_path / "run", PANEL)
    part, b = record.part, index_weights_of(record.part)
    kept = attribution_of(folder).index_weights
    np.testing.assert_array_equal(kept.to_numpy(), b[1:])
    words, ((heading, table),) = active_tables(part, kept)
    share = 0.5 * (np.abs(part.weights - b).sum(axis=1) + np.abs((part.weights - b).sum(axis=1)))[1:]
    assert words.startswith(f"Active share {percent(share[-1], 1)} at the end, {percent(share.mean(), 1)} on average")
    assert heading == "Largest active weights at the end"
    for name, held, index, active in table.rows:
        i = PANEL.symbols.index(name)
        assert (held.value, index.value) == (part.weights[-1, i], b[-1, i])
        assert active.value == pytest.approx(held.value - index.value)
    sizes = [abs(row[3].value) for row in table.rows]
    assert sizes == sorted(sizes, reverse=True)
    assert active_tables(part, None) == ("", [])


def test_what_is_not_known_yet_is_not_made_up():
    late = backtest(PANEL, "ensemble", {"index_weights": {str(PANEL.dates[60])[:10]: weights_on(60)}}, stages=True)
    assert index_weights_of(late) is None
    assert index_weights_of(late.since(0.6)) is not None
    assert index_weights_of(backtest(PANEL, "pa", {}, stages=True)) is None


def test_what_the_weights_leave_unexplained_is_a_line_of_its_own_beside_the_names(record, tmp_path):
    found = attribution_of(write_run(record, tmp_path / "run", PANEL))
    rows = dict(attribution_tables(found))["By name: those that cost most"].rows
    assert [row[0].text for row in rows[-3:-1]] == [
        "2 other lines, with cash and costs",
        "Index not explained by its published weights",
    ]
    line = found.names["(index not explained by its weights)"]
    assert rows[-2][2].value == pytest.approx(found.active @ line / (found.active @ found.active), abs=1e-12)
    assert sum(row[2].value for row in rows[:-1]) == pytest.approx(1.0, abs=1e-10)
