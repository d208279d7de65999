"""Finished runs: judged on the bars that they share, and what differs between them is said first."""

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies import CostModel
from tracker_strategies.analysis.inference import differences, judge_runs
from tracker_strategies.analysis.pages.comparison_page import comparison
from tracker_strategies.analysis.runfolder import read_run, write_run
from tracker_strategies.errors import ParameterError
from tracker_strategies.research import replay

PANEL = random_panel(200, 6, seed=4)


def run(params=None, **more):
    return replay(PANEL, "pa", params or {}, **more)


def test_runs_that_differ_in_nothing_but_their_strategy_have_nothing_to_say():
    assert differences({"a": run(), "b": run({"eps": 1e-3})}) == []


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (run({"max_weight": 0.3}), "limit max weight: none (a); 0.3 (b)"),
        (run(costs=CostModel(bps=5)), "costs: none (a); bps 5 (b)"),
        (run({"fill": "close"}), "fills: next_open (a); close (b)"),
        (run(cash=5e4), "cash at the start: 1000000 (a); 50000 (b)"),
        (run({"rebalance": 5}), "bars between rebalances: 1 (a); 5 (b)"),
        (run().since(0.5), "first scored bar"),
    ],
)
def test_what_differs_is_named_before_any_verdict(other, words, tmp_path):
    assert any(words in sentence for sentence in differences({"a": run(), "b": other}))
    if len(other.dates) == len(run().dates):
        page = comparison({"a": run(), "b": other}, tmp_path / "page.html").read_text()
        assert page.index("The runs differ in") < page.index("Verdict</th>")


def test_a_run_read_from_its_folder_differs_in_nothing_from_itself(tmp_path):
    own = run({"max_weight": 0.5, "exclude": (PANEL.symbols[0],)}, costs=CostModel(bps=3))
    write_run(own, tmp_path / "run", PANEL)
    assert differences({"memory": own.part, "folder": read_run(tmp_path / "run")}) == []


def test_runs_are_judged_on_their_scored_bars_against_the_named_one():
    runs = {"a": run(), "b": run({"eps": 1e-2}), "again": run()}
    found = judge_runs(runs, "b")
    assert found["b"].verdict == "reference"
    assert found["a"].figure == pytest.approx(runs["a"].metrics()["te_rms"], rel=1e-12)
    assert judge_runs(runs)["again"].verdict == "no difference"
    with pytest.raises(ParameterError, match="choose one of a, b, again"):
        judge_runs(runs, "c")


def test_a_late_entrant_moves_the_first_bar_of_all():
    slow = run({"entry_turnover": 0.2})
    found = judge_runs({"slow": slow, "a": run()})
    e = np.subtract(*run().from_row(len(run().dates) - len(slow.part.dates)).scored())
    assert found["a"].figure == pytest.approx(np.sqrt((e**2).mean()), rel=1e-12)
