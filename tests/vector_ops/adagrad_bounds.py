"""Family `bounds`: the regret of AdaGrad and the lemma behind it."""

from typing import Any

import numpy as np

from tests.vector_ops.adagrad import follow, make_adagrad
from tests.vector_ops.bounds import arrays, bounded
from tests.vector_ops.pa import pairs
from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.gradient._base import loss_and_slope


def regret(learner: a.AdaGrad, run: dict[str, np.ndarray], inputs: dict[str, Any]) -> float:
    """Losses and regularisers of w_1..w_T over those of x_star."""
    phi, u = learner._phi, np.array(inputs["x_star"])
    paid = float(run["loss"].sum()) + sum(phi.value(w) for w in run["w"][:-1])
    other = sum(loss_and_slope(learner.loss, float(u.dot(x)), y, learner.eps)[0] + phi.value(u) for x, y in pairs(inputs))
    return paid - float(other)


def theorem(params: dict[str, Any], inputs: dict[str, Any], size: Any, mass: Any, share: float) -> dict[str, Any]:
    """The bound of Theorem 6 or 8: `size` is the norm of points, `mass` that of gradients, `share` of delta counts with cmd."""
    x1, u = arrays(inputs, "x1", "x_star")
    learner = make_adagrad(params, inputs["x1"])
    run = follow(learner, inputs)
    gamma, eta, delta = mass(run["g"]), learner.eta, learner.delta
    if learner.rule == "rda":
        assert delta >= max(size(g) for g in run["g"])
        rhs = delta / eta * float(u.dot(u)) + size(u) ** 2 * gamma / eta + eta * gamma
    else:
        far = max(size(u - w) for w in run["w"][:-1])
        rhs = share * delta / eta * float((u - x1).dot(u - x1)) + far**2 * gamma / (2.0 * eta) + eta * gamma
    return bounded(regret(learner, run, inputs), rhs)


def largest(v: np.ndarray) -> float:
    return float(np.abs(v).max())


def norms_of_coordinates(G: np.ndarray) -> float:
    return float(np.linalg.norm(G, axis=0).sum())


@register("bounds", "adagrad_thm6")
def adagrad_thm6(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return theorem(params, inputs, largest, norms_of_coordinates, 0.5)


@register("bounds", "adagrad_thm8")
def adagrad_thm8(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """tr (sum g g')^(1/2) is the sum of the singular values of the matrix of gradients."""
    trace = lambda G: float(np.linalg.svd(G, compute_uv=False).sum())  # noqa: E731
    return theorem(params, inputs, lambda v: float(np.linalg.norm(v)), trace, 1.0)


@register("bounds", "adagrad_lemma5")
def adagrad_lemma5(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    G = follow(make_adagrad(params, inputs["x1"]), inputs)["g"]
    s = np.sqrt(np.cumsum(G**2, axis=0))
    lhs = float(np.divide(G**2, s, out=np.zeros_like(G), where=s > 0.0).sum())
    return bounded(lhs, 2.0 * norms_of_coordinates(G))
