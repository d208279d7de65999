"""The simulations of the iS-PLS paper: they are the experiment, they repeat themselves, and the result says what was found."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from datafeeds import MarketPanel
from tracker_strategies.algorithms import SparsePLS
from tracker_strategies.errors import DataError, ParameterError
from tracker_strategies.research.reproductions.ispls import data
from tracker_strategies.research.reproductions.ispls.paper import _run_all, reproduce_ispls
from tracker_strategies.research.reproductions.ispls.runs import (
    PAPER,
    convergence,
    factors,
    follow,
    responses,
    responses_one_by_one,
    share_in,
)
from tracker_strategies.research.reproductions.page import write_paper
from tracker_strategies.research.reproductions.verdicts import VERDICTS, Part, positive


def panel(seed: int, n_bars: int = 150, n_assets: int = 14, source: str = "memory", first: str = "2010-01-08") -> MarketPanel:
    """Weekly prices of a small market."""
    rng = np.random.default_rng(seed)
    returns = 0.02 * (rng.standard_normal((n_bars, n_assets)) + rng.standard_normal((n_bars, 1)))
    close = 50.0 * np.exp(returns.cumsum(axis=0))
    dates = pd.date_range(first, periods=n_bars, freq="W-FRI").to_numpy()
    symbols = tuple(f"S{i}" for i in range(n_assets))
    return MarketPanel(dates, symbols, close, ("INDEX",), close[:, :9].mean(axis=1, keepdims=True), source=source)


@pytest.fixture(scope="module")
def result():
    """Two runs of everything but the rivals, in two processes, on small markets, and the calls of `progress`."""
    calls: list[tuple[int, int]] = []
    found = reproduce_ispls(
        runs=2,
        rival_runs=0,
        jobs=2,
        data=[panel(1, source="first.csv"), panel(2, source="second.csv"), panel(3)],
        members=15,
        progress=lambda done, total: calls.append((done, total)),
    )
    return found, calls


# ------------------------------------------------------------------ the experiment


def test_the_runs_are_the_experiment(result) -> None:
    checks = result[0]["accepted"]
    assert checks["all"], checks
    assert len(checks) == 6
    simulations = result[0]["simulations"]
    assert simulations["selection"]["sensitivity"][0] > 0.95
    assert simulations["convergence"]["50"][0] > 0.85
    variants = [simulations["changes"][name] for name in ("lambda 1", "lambda 0.9", "self-tuned")]
    for a, b in pairwise(variants):
        assert a["sensitivity"][0] < b["sensitivity"][0]
        assert a["mse"][0] > b["mse"][0]
    assert simulations["changes"]["self-tuned"]["sensitivity"][0] == pytest.approx(0.88, abs=0.06)  # as others found it
    assert simulations["changes"]["lambda 0.9"]["sensitivity"][0] == pytest.approx(0.74, abs=0.06)
    assert simulations["responses"]["lambda 0.9"]["sensitivity"][0] == pytest.approx(0.87, abs=0.05)
    assert all(delay is not None and delay <= 50 for delay in simulations["factors"]["delays"][:2])


def test_a_residual_factor_is_more_sensitive_than_the_printed_one(result) -> None:
    changes = result[0]["simulations"]["changes"]
    printed, own = changes["self-tuned"], changes["self-tuned, residual deflation"]
    assert own["second component"][0] > printed["second component"][0] + 0.1
    assert own["mse"][0] < printed["mse"][0]


def test_with_fifty_responses_it_is_above_its_rivals() -> None:
    rounds = 130  # thirty after the first change
    rivals = responses_one_by_one(0, 0, rounds)
    own = responses(0, 0)["lambda 0.9"]["sensitivity"][0, :rounds].mean()
    for name in ("R-LARS", "aLasso"):
        assert rivals[name]["sensitivity"].shape == (rounds,)
        assert own > rivals[name]["sensitivity"].mean() + 0.2


def test_claims_that_do_not_hold_are_told_with_their_numbers(result) -> None:
    found = {c["claim"]: c for c in result[0]["claims"]}
    assert all(c["verdict"] in VERDICTS for c in found.values())
    simulated = [c for c in found.values() if "Figure 1" not in c["claim"] and "section 5" not in c["claim"]]
    assert {c["verdict"] for c in simulated if "at most" not in c["claim"]} == {"too few runs"}  # two decide nothing
    (late,) = (c for text, c in found.items() if "25 rounds" in text)
    assert f"{result[0]['simulations']['convergence']['25'][0]:.2f} after 25" in late["found"]
    assert sum("Figure 1" in text for text in found) >= 4  # Figures 1 and 10 to 12
    assert any("at most 14 names" in text for text in found)


def test_ten_runs_are_enough_to_say_that_25_rounds_are_few() -> None:
    each = [convergence(0, k)["sensitivity"] for k in range(10)]
    assert positive([run[24] - 0.98 * run[99] for run in each]) is Part.FAILS


# ------------------------------------------------------------------ the data


def test_groups_change_their_roles_when_they_should() -> None:
    stream = data.one_response(data.generator(0, 2, 0), changes=True)
    assert stream.X.shape == (400, 300)
    np.testing.assert_array_equal(stream.most[[0, 99, 100, 299, 300, 399]], [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(stream.second[[0, 99, 100, 299, 300, 399]], [1, 1, 0, 0, 1, 1])
    groups = stream.X.reshape(400, 3, 100).mean(axis=2)
    for rows, sizes in ((slice(0, 100), (1000, 500, 0)), (slice(100, 300), (500, 1000, 0)), (slice(300, 400), (0, 500, 1000))):
        fitted = np.linalg.lstsq(groups[rows], stream.Y[rows, 0], rcond=None)[0]
        np.testing.assert_allclose(fitted, sizes, atol=30.0)  # a hundred variables of 10 or 5 each


def test_the_number_of_factors_is_what_it_says() -> None:
    stream, count = data.changing_factors(data.generator(0, 5, 0))
    for t, expected in ((50, 1), (150, 2), (250, 3), (350, 2)):
        assert count[t] == expected
        values = np.linalg.svd(stream.Y[t - 40 : t + 40], compute_uv=False)
        assert np.count_nonzero(values > 20.0) == expected  # noise alone stays below
    assert stream.Y.shape == (400, 50)


def test_restless_streams_change_about_ten_times() -> None:
    changes = []
    for k in range(5):
        stream, matter = data.restless(data.generator(0, 9, k), 30)
        assert (matter.sum(axis=1) == 30).all()
        changes.append(np.count_nonzero((matter[1:] != matter[:-1]).any(axis=1)))
    assert 5 <= np.mean(changes) <= 15
    assert stream.X.shape == (1000, 300)


def test_shares_of_groups() -> None:
    b = np.zeros(300)
    assert share_in(b, 0) == 0.0
    b[[0, 1, 150, 299]] = 1.0, -1.0, 2.0, 3.0
    assert share_in(b, 0) == 0.5
    assert share_in(b, 0, 2) == 0.75


# ------------------------------------------------------------------ repeating


def test_a_run_does_not_depend_on_the_others_or_on_the_process() -> None:
    plan = [("convergence", 1), ("convergence", 0)]
    here = {k: found["sensitivity"] for _, k, found in _run_all(plan, 3, 1)}
    there = {k: found["sensitivity"] for _, k, found in _run_all(plan, 3, 2)}
    for k in (0, 1):
        np.testing.assert_array_equal(here[k], convergence(3, k)["sensitivity"])
        np.testing.assert_allclose(here[k], there[k], atol=0.02)  # another number of threads may round a tie otherwise
    assert not np.array_equal(here[0], here[1])
    assert not np.array_equal(here[0], convergence(4, 0)["sensitivity"])


def test_adaptive_factors_and_forecasts_are_recorded_round_by_round() -> None:
    found = factors(1, 0)["factors"]
    assert found.shape == (400,)
    assert set(np.unique(found)) <= {1.0, 2.0, 3.0}
    stream = data.one_response(data.generator(1, 2, 0), changes=True).first(30)
    learner = SparsePLS(300, n_factors=2, forgetting=0.9, **PAPER)
    recorded = follow(learner.clone(), stream)
    for t, (x, y) in enumerate(zip(stream.X, stream.Y, strict=True)):
        assert recorded["mse"][t] == pytest.approx(float((y - x @ learner.coefficients)[0] ** 2), rel=1e-9)
        learner.update(x, y)
        assert recorded["sensitivity"][0, t] == share_in(learner.factors[:, 0], 0)


def test_progress_counts_every_run(result) -> None:
    _, calls = result
    assert calls == [(k, 14) for k in range(1, 15)]  # two runs of six experiments, two markets


# ------------------------------------------------------------------ what is written


def test_the_result_is_plain_and_makes_a_page(result, tmp_path: Path) -> None:
    found, _ = result
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["simulations"]["rivals"] is None
    assert found["bivariate"]["names"] == 28
    assert found["bivariate"]["random"]["members"] == 15
    assert found["small"]["assets"] == 14
    page = write_paper(found, tmp_path, "ispls", "Sparse PLS").read_text(encoding="utf-8")
    for text in ("Figure 9a", "Section 4.3", "self-tuned, residual deflation", "random portfolios"):
        assert text in page
    assert page.count('role="img"') == len(found["charts"]) == 7


# ------------------------------------------------------------------ what cannot be done


@pytest.mark.parametrize(
    "wrong", [{"runs": 1}, {"runs": 2.5}, {"seed": -1}, {"seed": True}, {"rival_runs": -1}, {"jobs": 0}, {"jobs": "many"}]
)
def test_bad_arguments_are_refused_before_any_work(wrong) -> None:
    def progress(done: int, total: int) -> None:
        raise AssertionError("work was done")

    with pytest.raises(ParameterError, match=next(iter(wrong))):
        reproduce_ispls(**({"runs": 2, "progress": progress} | wrong))


def test_files_of_no_use_are_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        reproduce_ispls(runs=2, data=[tmp_path / "absent.csv"])
    with pytest.raises(DataError, match="at most three"):
        reproduce_ispls(runs=2, data=[panel(1)] * 4)
    with pytest.raises(DataError, match="0 dates in common"):
        reproduce_ispls(runs=2, data=[panel(1), panel(2, first="1990-01-05")])
    with pytest.raises(DataError, match="at least 10"):
        reproduce_ispls(runs=2, data=[panel(1, n_assets=9)])
