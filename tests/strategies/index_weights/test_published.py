"""Weights of the index that a user has: every form of them, from their date on, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from tests.markets import random_panel
from tracker_strategies.errors import ParameterError
from tracker_strategies.research import replay
from tracker_strategies.runner import backtest
from tracker_strategies.strategies.index_weights.published import published_weights

PANEL = random_panel(60, 5, seed=6)
CLOSE = {"fill": "close"}
WEIGHTS = dict(zip(PANEL.symbols, (0.4, 0.3, 0.15, 0.1, 0.05), strict=True))
DAY = str(PANEL.dates[30].astype("datetime64[D]"))


def decisions(engine=replay, **params):
    return engine(PANEL, "ensemble", {**CLOSE, **params}).decisions


def test_every_form_says_the_same(tmp_path):
    table = pd.DataFrame({"symbol": list(WEIGHTS), "weight": list(WEIGHTS.values())})
    table.to_csv(tmp_path / "weights.csv", index=False)
    table.assign(date=DAY).to_csv(tmp_path / "dated.csv", index=False)
    plain = decisions(prior_weights=WEIGHTS)
    np.testing.assert_array_equal(decisions(prior_weights=str(tmp_path / "weights.csv")), plain)
    assert np.abs(plain - decisions()).max() > 1e-4
    dated = decisions(prior_weights={DAY: WEIGHTS})
    np.testing.assert_array_equal(decisions(prior_weights=pd.DataFrame([WEIGHTS], index=[pd.Timestamp(DAY)])), dated)
    np.testing.assert_array_equal(decisions(prior_weights=str(tmp_path / "dated.csv")), dated)


@pytest.mark.parametrize("engine", [replay, backtest])
def test_a_row_is_not_known_before_its_date(engine):
    without, told = decisions(engine), decisions(engine, prior_weights={DAY: WEIGHTS})
    np.testing.assert_array_equal(told[:31], without[:31])
    assert np.abs(told[31:] - without[31:]).max() > 1e-5


def test_engines_agree_and_the_tilted_ensemble_is_told_too():
    given = {"prior_weights": {DAY: WEIGHTS, str(PANEL.dates[45]): dict.fromkeys(WEIGHTS, 1.0)}}
    np.testing.assert_array_equal(decisions(backtest, **given), decisions(replay, **given))
    plain, told = (replay(PANEL, "tilted-ensemble", {**CLOSE, **more}).decisions for more in ({}, given))
    np.testing.assert_array_equal(told[:31], plain[:31])
    assert np.abs(told[31:] - plain[31:]).max() > 1e-5


def test_excluded_names_need_no_weight_and_the_order_of_the_mapping_does_not_matter():
    some = dict(list(WEIGHTS.items())[:4])
    backwards = dict(reversed(list(some.items())))
    one, other = (decisions(prior_weights=w, exclude=[PANEL.symbols[4]]) for w in (some, backwards))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"S1": 0.5, "Z9": 0.5}, "prior_weights contain 'Z9', which is not one of the 5 assets"),
        ({"S1": -0.5}, "must be numbers >= 0 with a positive sum"),
        ({"S1": 0.0}, "positive sum"),
        ({"S1": "much"}, "must be numbers"),
        ({"S1": float("nan")}, "must be numbers"),
        ({}, "must be a mapping of symbol to weight"),
        (0.5, "must be a mapping of symbol to weight"),
        ({"someday": {"S1": 1.0}}, "'someday', which is not a date"),
        ({"2020-01-31": {"S1": -1.0}}, "prior_weights of 2020-01-31 must be"),
        ("nowhere.csv", "cannot be read"),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        decisions(prior_weights=given)


def test_files_that_are_no_tables_of_weights_are_refused(tmp_path):
    for text, words in (
        ("who,weight\nS1,1\n", "no column 'symbol' among who, weight"),
        ("symbol,weight\nS1,1\nS1,2\n", "S1 appears twice"),
        ("symbol,weight\n", "no rows"),
    ):
        file = tmp_path / "weights.csv"
        file.write_text(text)
        with pytest.raises(ParameterError, match=words):
            published_weights(file, ("S1", "S2"))
