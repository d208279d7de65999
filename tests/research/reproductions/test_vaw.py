"""The switching target of the discounted VAW paper: printed numbers, bounds, and what the vote makes of it."""

import json
from typing import Any

import numpy as np
import pytest

from tracker_strategies.errors import ParameterError
from tracker_strategies.research.reproductions._vaw_study import regression_stream, switching_stream, theorem_3_1
from tracker_strategies.research.reproductions.vaw import reproduce_vaw


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    return reproduce_vaw(strongly_adaptive=False)


def scalar_losses(rounds: int, gamma: float) -> float:
    """Discounted VAW for x = 1 in two numbers: the sum of weights and the weighted sum of targets."""
    weight, total, lost = 1.0, 0.0, 0.0
    for t in range(rounds):
        y = -1.0 if t < rounds // 2 else 1.0
        weight, total = 1.0 + gamma * weight, gamma * total
        lost += 0.5 * (y - total / weight) ** 2
        total += y
    return lost


@pytest.mark.parametrize(
    ("gamma", "printed"),
    [(1.0, 501.0), (0.999, 409.9), (0.99, 101.4), (0.95, 22.9), (0.9, 16.5), (0.8, 26.2), (0.5, 127.3)],
)
def test_the_total_losses(result: dict[str, Any], gamma: float, printed: float) -> None:
    found = next(s["loss"] for s in result["streams"][0]["single"] if s["gamma"] == gamma)
    assert found == pytest.approx(scalar_losses(1000, gamma), abs=1e-6)
    assert round(found, 1) == printed


def test_the_vote_recovers(result: dict[str, Any]) -> None:
    votes = {v["hint"]: v for v in result["streams"][0]["votes"]}
    assert votes["zero"]["discounts"] == 11  # ten discounts and 0
    assert votes["zero"]["loss"] == pytest.approx(27.1, abs=0.05)
    assert votes["last"]["loss"] == pytest.approx(6.3, abs=0.05)


def test_every_claim_is_confirmed_and_the_run_accepted(result: dict[str, Any]) -> None:
    assert [c["verdict"] for c in result["claims"]] == ["confirmed"] * 5
    assert all(result["accepted"].values())
    assert {"printed_gamma_0.9", "exact_gamma_0.5", "meta_hint_zero_below_30", "meta_hint_last_below_7", "all"} <= set(
        result["accepted"]
    )


def test_the_terms_of_theorem_3_1_trade_tracking_for_stability(result: dict[str, Any]) -> None:
    """The smaller the discount, the less a move of the target costs and the more forgetting does."""
    for stream in result["streams"]:
        terms = [s["terms"] for s in stream["single"]]
        assert all(np.diff([t["variability"] for t in terms]) < 0.0)
        assert all(np.diff([t["stability"] for t in terms]) > 0.0)
        assert terms[0]["stability"] == 0.0
        for s in stream["single"]:
            assert sum(s["terms"].values()) == pytest.approx(s["bound"])
            assert s["regret"] <= s["bound"]


def test_the_terms_are_those_of_the_theorem_as_printed() -> None:
    stream, gamma, lam = regression_stream(40, 3, 5, 1), 0.9, 0.7
    hints = np.random.default_rng(0).standard_normal(40)
    terms = theorem_3_1(stream, hints, gamma, lam)

    def F(t: int, w: np.ndarray) -> float:
        losses = 0.5 * (stream.Y[:t] - stream.X[:t] @ w) ** 2
        return float(0.5 * gamma**t * lam * (w @ w) + (gamma ** np.arange(t - 1, -1, -1) * losses).sum())

    for T in (1, 7, 8, 40):
        moves = gamma * sum(F(t, stream.U[t]) - F(t, stream.U[t - 1]) for t in range(1, T))
        weights = gamma ** np.arange(T - 1, -1, -1) @ (stream.X[:T] ** 2).sum(axis=1)
        off = (stream.Y - hints)[:T] ** 2
        assert terms["variability"][T - 1] == pytest.approx(moves, abs=1e-10)
        assert terms["static"][T - 1] == pytest.approx(1.5 * off.max() * np.log1p(weights / (lam * 3)))
        assert terms["stability"][T - 1] == pytest.approx(1.5 * np.log(1.0 / gamma) * off.sum())
        assert terms["start"][T - 1] == pytest.approx(0.5 * gamma * lam * float(stream.U[0] @ stream.U[0]))


def test_the_result_is_plain_and_can_be_printed(result: dict[str, Any]) -> None:
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    for table in (result["table"], result["split"]):
        assert all(len(row) == len(table["head"]) for row in table["rows"])
    assert ["one regressor", "meta, hint zero", "27.1", "27.1"] in result["table"]["rows"]
    curve = result["curves"]["one regressor"]["gamma 0.9"]
    assert curve["regret"][-1][0] == curve["bound"][-1][0] == 1000.0
    assert all(r[1] <= b[1] for r, b in zip(curve["regret"], curve["bound"], strict=True))


def test_the_second_stream_has_its_switches() -> None:
    stream = regression_stream(100, 4, 3, 0)
    assert np.count_nonzero(np.diff(stream.U, axis=0).any(axis=1)) == 3
    assert switching_stream(10).comparator_losses.sum() == 0.0


def test_a_short_run_with_everything() -> None:
    result = reproduce_vaw(rounds=60, gammas=(1.0, 0.9), d=2, switches=1)
    assert [v["name"] for v in result["streams"][1]["votes"]] == ["meta", "meta", "strongly adaptive"]
    assert not any(name.startswith(("printed", "meta")) for name in result["accepted"])
    assert result["accepted"]["all"]


@pytest.mark.parametrize(
    "wrong", [{"rounds": 3}, {"rounds": 2.5}, {"gammas": (0.9,)}, {"gammas": (1.0, 0.0)}, {"seed": -1}, {"d": 0}, {"switches": 0}]
)
def test_bad_arguments_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        reproduce_vaw(**wrong)
