"""Sources of prices by name: the sample, a synthetic market, or a file by its path."""

import numpy as np
import pytest

from datafeeds import DataError, UniverseError
from datafeeds.sources import open_source
from datafeeds.synthetic.market import synthetic_market
from tests.datafeeds.readers.wide_files import GOOD


def test_sources_by_name(write):
    assert open_source("sample").source == "sample"
    assert open_source(str(write(GOOD))).source == "prices.csv"
    assert open_source(write(GOOD), "A", gaps="freeze", exclude=["INDEX"]).targets == ("A",)
    synthetic = open_source("synthetic", seed=4)
    assert synthetic.source == "synthetic"
    assert synthetic.fingerprint() == synthetic_market(seed=4).fingerprint()


def test_synthetic_source_has_the_indices_that_are_asked_for():
    panel = open_source("synthetic", ["INDEX3", "INDEX"])
    assert panel.targets == ("INDEX3", "INDEX")
    full = synthetic_market(n_indices=3)
    assert np.array_equal(panel.target_close, full.target_close[:, [2, 0]])
    with pytest.raises(UniverseError, match=r"'SPX'.*INDEX2"):
        open_source("synthetic", "SPX")


@pytest.mark.parametrize(
    ("name", "says"), [("yahoo", "must look like yahoo:TICKERS:START"), ("smaple", "'smaple' is neither"), ("", "'' is neither")]
)
def test_unknown_sources_name_the_alternatives(name, says):
    with pytest.raises(DataError, match=says) as caught:
        open_source(name)
    assert "\n" not in str(caught.value)
    assert "sample, synthetic" in str(caught.value)


def test_a_file_with_the_name_of_a_source_is_reached_by_its_path(write, monkeypatch):
    monkeypatch.chdir(write(GOOD, "sample").parent)
    assert open_source("sample").n_bars == 3018
    assert open_source("./sample").n_bars == 3
