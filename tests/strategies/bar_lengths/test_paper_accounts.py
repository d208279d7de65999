"""A paper account decides once per session: shorter bars are refused by name, windows are those of the source's own bars."""

import warnings

import pytest

from datafeeds import resample
from datafeeds.errors import DataWarning
from tests.intraday import minute_market
from tests.markets import random_panel
from tests.strategies.bar_lengths.test_year import dated
from tracker_strategies.errors import ParameterError
from tracker_strategies.papertrade import PaperAccount


@pytest.mark.parametrize("to", ["5 minutes", "hourly"])
def test_bars_within_the_day_are_refused_before_there_is_an_account(tmp_path, to):
    panel = resample(minute_market("2024-12-02", "2024-12-04"), to)
    with pytest.raises(ParameterError, match=r"bars of .*(minutes|hour).* decides once per session.*resample\(panel, 'daily'\)"):
        PaperAccount.create(tmp_path / "a", "pa", "minutes", panel=panel)
    assert not (tmp_path / "a").exists()


def test_windows_of_time_are_written_down_in_bars_of_the_source(tmp_path):
    params = {"listing_warmup": "6 months", "rebalance": "session-close", "delist_after": 7}
    warnings.simplefilter("error", DataWarning)  # a young account is told of no window that is longer than its data
    for freq, bars in (("W-FRI", 26), ("ME", 6), ("B", 126)):
        account = PaperAccount.create(
            tmp_path / freq, "pa", "bars", params, panel=(panel := dated(freq, 40)), start=str(panel.dates[1])[:10]
        )
        told = account.config.params
        assert (told["listing_warmup"], told["rebalance"], told["delist_after"]) == (bars, 1, 7)


def test_an_account_steps_on_with_the_defaults(tmp_path):
    panel = random_panel(12, 3, seed=5)
    account = PaperAccount.create(tmp_path / "a", "pa", "bars", panel=panel.rows(0, 6), start=str(panel.dates[4])[:10])
    assert "listing_warmup" not in account.config.params
    assert [account.step(panel.rows(0, n)).decision for n in (6, 7)][-1] == "act"
