"""Equal numbers give equal weights, bit by bit, however they lie in memory: targets, signals, batches, whole replays."""

from __future__ import annotations

import numpy as np
import pytest

from tests.markets import random_panel
from tracker_strategies.algorithms import (
    PAS,
    RLS,
    VAW,
    AdaptiveLasso,
    AlphaSignal,
    Holdings,
    MultiTargetPA,
    OnlineAlgorithm,
    RecursiveLars,
    SparsePLS,
    Tilted,
)
from tracker_strategies.algorithms.passive_aggressive import slait
from tracker_strategies.research import replay
from tracker_strategies.strategies import STRATEGIES
from tracker_strategies.testing.rounds import market

N, Q = 40, 17


@pytest.mark.parametrize(
    "learner",
    [
        MultiTargetPA(N, n_targets=Q, eps=0.0),
        VAW(N, n_targets=Q),
        RLS(N, n_targets=Q),
        SparsePLS(N, n_targets=Q),
        RecursiveLars(N, n_targets=Q),
        AdaptiveLasso(N, n_targets=Q),
        Holdings(N, learner=RLS(N, n_targets=Q)),
    ],
    ids=lambda a: type(a).__name__,
)
def test_several_targets(learner: OnlineAlgorithm) -> None:
    X, _ = market(N, 40)
    Y = X @ np.random.default_rng(1).dirichlet(np.ones(N), Q).T
    expected = learner.fresh().run(X, Y)
    for other in (np.asfortranarray(Y), np.repeat(Y, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(learner.fresh().run(X, other), expected)


@pytest.mark.parametrize("make", [PAS, lambda n, **options: Tilted(n, learner=PAS(n), **options)], ids=["PAS", "Tilted"])
def test_signals(make) -> None:
    X, Y = market(N, 30)
    signals = np.random.default_rng(2).standard_normal((30, N))
    one, other = (make(N, side=AlphaSignal(), lam=0.1) for _ in range(2))
    for x, y, s, strided in zip(X, Y, signals, np.asfortranarray(signals), strict=True):
        np.testing.assert_array_equal(one.update(x, y, signal=s), other.update(x, y, signal=strided))


def test_a_batch_fit() -> None:
    X, y = market(N, 60)
    np.testing.assert_array_equal(slait(np.asfortranarray(X), y).w, slait(X, y).w)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda cls: cls.alias_name)
def test_a_replay(strategy) -> None:
    panel = random_panel(60, 11, seed=4)
    columns = type(panel)(panel.dates, panel.symbols, np.asfortranarray(panel.close), panel.targets, panel.target_close)
    a, b = (replay(each, strategy) for each in (panel, columns))
    np.testing.assert_array_equal(a.decisions, b.decisions)
    np.testing.assert_array_equal(a.value, b.value)
