"""Scores against several indices, against their blend, and over the holidays of one of them."""

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tracker_strategies.analysis.metrics import tracking_metrics
from tracker_strategies.analysis.record import RunRecord
from tracker_strategies.analysis.runfolder import returns_frame


def record(**changes):
    panel = random_panel(30, 3, seed=1)
    index = np.column_stack([panel.target_close[:, 0], panel.close[:, 0]])
    own = {
        "strategy": "test",
        "dates": panel.dates,
        "value": panel.close.sum(axis=1),
        "index": index,
        "targets": ("A", "B"),
        "symbols": panel.symbols,
        "weights": np.zeros((30, 3)),
        "turnover": np.zeros(30),
        "cost": np.zeros(30),
        "orders": pd.DataFrame({"date": pd.DatetimeIndex([])}),
    }
    return RunRecord(**{**own, **changes})


def test_the_headline_is_against_the_blend_and_each_index_has_its_own_figures():
    run = record(blend=np.array([0.25, 0.75]))
    r = run.value[1:] / run.value[:-1] - 1.0
    y = run.index[1:] / run.index[:-1] - 1.0
    found = run.metrics_by_target()
    assert found["te_rms"] == pytest.approx(tracking_metrics(r, y @ [0.25, 0.75])["te_rms"], rel=1e-12)
    for j, name in enumerate("AB"):
        for key, value in tracking_metrics(r, y[:, j]).items():
            assert found["targets"][name][key] == pytest.approx(value, rel=1e-12)
    assert "targets" not in record(targets=("A",), index=run.index[:, :1]).metrics_by_target()


def test_a_holiday_of_the_index_is_no_return_of_zero():
    whole = record()
    seen = np.ones((30, 2), dtype=bool)
    seen[[7, 8, 20], 1] = False
    index = whole.index.copy()
    index[[7, 8], 1], index[20, 1] = index[6, 1], index[19, 1]  # as the feeds show it: the last level again
    run = record(index=index, seen=seen)
    rows = np.flatnonzero(seen[:, 1])
    r, y = (a[rows][1:] / a[rows][:-1] - 1.0 for a in (whole.value, whole.index[:, 1]))
    assert run.metrics(1) == {**run.metrics(1), **tracking_metrics(r, y)}
    assert run.metrics(1)["n_bars"] == 26
    assert run.metrics(0)["n_bars"] == 29
    assert run.metrics(1)["tracking_difference"] == pytest.approx(whole.metrics(1)["tracking_difference"], rel=1e-12)
    assert (run.active[[6, 7, 19]] == 0.0).all()
    assert np.isnan(returns_frame(run)["B"].to_numpy()[[7, 8, 20]]).all()
