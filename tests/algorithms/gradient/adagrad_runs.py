"""Runs of AdaGrad that its tests look into: weights, gradients, metrics, and the regret against any other weights."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tracker_strategies.algorithms import AdaGrad
from tracker_strategies.algorithms.gradient._base import loss_and_slope

seeds = st.integers(0, 2**32 - 1)
common = settings(max_examples=40, deadline=None)
rules = st.sampled_from(["cmd", "rda"])
losses = st.sampled_from(["squared", "eps_insensitive"])


def labelled(seed: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """Instances and targets of unit size that no weights fit exactly; now and then nothing happens at all."""
    rng = np.random.default_rng(seed)
    n, rounds = int(rng.integers(1, 7)), int(rng.integers(1, 40))
    X = rng.standard_normal((rounds, n)) * (rng.random((rounds, n)) < 0.7)
    Y = X @ rng.standard_normal(n) + 0.5 * rng.standard_normal(rounds)
    return X, (np.where(Y >= 0.0, 1.0, -1.0) if loss == "hinge" else Y)


class Played:
    """A run: weights w_1..w_{T+1}, losses, gradients, and the metric after each round."""

    def __init__(self, learner: AdaGrad, X: np.ndarray, Y: np.ndarray) -> None:
        self.learner = learner
        W, G, H, lost = [learner.weights], [], [], []
        for x, y in zip(X, Y.tolist(), strict=True):
            W.append(learner.update(x, y))
            said = learner.diagnostics()
            G.append(loss_and_slope(learner.loss, said["prediction"], y, learner.eps)[1] * x)
            H.append(learner.H)
            lost.append(said["loss"])
        self.W, self.G, self.H, self.loss = np.array(W), np.array(G), np.array(H), np.array(lost)

    def regret(self, u: np.ndarray, X: np.ndarray, Y: np.ndarray) -> float:
        learner, phi = self.learner, self.learner._phi
        others = [loss_and_slope(learner.loss, float(u @ x), y, learner.eps)[0] for x, y in zip(X, Y.tolist(), strict=True)]
        return float(self.loss.sum() - sum(others)) + sum(phi.value(w) - phi.value(u) for w in self.W[:-1])
