"""Family `vaw`."""

from typing import Any

import numpy as np

from tests.vector_ops.registry import register
from tracker_strategies import algorithms as a
from tracker_strategies.algorithms.numerics import FixedShare
from tracker_strategies.algorithms.vaw import discount_grid, geometric_intervals

RN = a.RealSpace()


def make_dvaw(params: dict[str, Any], n: int, **options: Any) -> a.DiscountedVAW:
    """The forecaster of the paper: no prior; weights are the causal regression, without projection."""
    given = {name: params[name] for name in ("hint", "yref") if name in params}
    return a.DiscountedVAW(n, gamma=params["gamma"], lam=params["lam"], prior=None, feasible=RN, **given, **options)


@register("vaw", "dvaw")
def dvaw(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """In both forms, which must agree as closely as the vectors ask for."""
    X = np.array(inputs["X"], dtype=float)
    primal, dual = (follow(make_dvaw(params, X.shape[1], dual_rounds=rounds), X, inputs["Y"]) for rounds in (0, X.shape[1]))
    for name, values in primal.items():
        np.testing.assert_allclose(values, dual[name], rtol=1e-7, atol=1e-8)
    return primal


def follow(learner: a.DiscountedVAW, X: np.ndarray, Y: Any) -> dict[str, Any]:
    """Run a forecaster; return all that vectors compare, beside what it says after the round."""
    out: dict[str, list[Any]] = {name: [] for name in ("w", "pred", "hint", "w_causal")}
    for x, y in zip(X, Y, strict=True):
        out["w_causal"].append(learner.weights)
        out["w"].append(learner.improper_weights(x))
        out["pred"].append(learner.forecast(x))
        learner.update(x, y)
        said = learner.diagnostics()
        out["hint"].append(said["hint"])
        assert said["forecast"] == out["pred"][-1]
    return {name: np.array(values) for name, values in out.items()}


def make_meta(params: dict[str, Any], n: int, **options: Any) -> a.AdaptiveDiscount:
    given = {name: params[name] for name in ("lam", "hint", "yref")}
    return a.AdaptiveDiscount(n, gammas=params["gammas"], prior=None, **given, **options)


@register("vaw", "meta")
def meta(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    X = np.array(inputs["X"], dtype=float)
    primal, dual = (follow_meta(make_meta(params, X.shape[1], dual_rounds=r), X, inputs["Y"]) for r in (0, X.shape[1]))
    np.testing.assert_allclose(primal["pred"], dual["pred"], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(primal["portfolio"], dual["portfolio"], rtol=1e-7, atol=1e-8)
    return primal


def follow_meta(learner: a.AdaptiveDiscount, X: np.ndarray, Y: Any) -> dict[str, Any]:
    """Run the meta-algorithm; return all that vectors compare."""
    out: dict[str, list[Any]] = {name: [] for name in ("pred", "p", "M", "alpha", "beta", "expert_pred", "portfolio")}
    out["p"].append(learner.p)
    out["M"].append(0.0)
    for x, y in zip(X, Y, strict=True):
        out["portfolio"].append(learner.weights)
        out["expert_pred"].append(learner.expert_forecasts(x)[0])
        out["pred"].append(learner.forecast(x))
        learner.update(x, y)
        said = learner.diagnostics()
        assert said["forecast"] == out["pred"][-1]
        out["p"].append(learner.p)
        for key, name in {"M": "range", "alpha": "alpha", "beta": "beta"}.items():
            out[key].append(said[name])
    return {name: np.array(values) for name, values in out.items()}


@register("vaw", "strongly_adaptive")
def strongly_adaptive(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """The learner keeps all sleepers as two sums; beside it a plain vote over every single expert must come to the same."""
    X, Y, gammas = np.array(inputs["X"], dtype=float), inputs["Y"], params["gammas"]
    T, K = len(Y), len(gammas)
    intervals = geometric_intervals(T)
    assert [list(i) for i in intervals] == [list(i) for i in params["intervals"]]
    given = {name: params[name] for name in ("lam", "hint", "yref")}
    learner = a.StronglyAdaptive(X.shape[1], gammas=gammas, prior=None, horizon=T, **given)
    plain = FixedShare(len(intervals) * K)
    reference, predictions, history = 0.0, [], [plain.p]
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        awake = [i for i, (start, end) in enumerate(intervals) if start <= t <= end]
        awake.sort(key=lambda i: (-intervals[i][0], i))  # the shortest first: it starts last, or else ends first
        everyone = np.full((len(intervals), K), reference)
        everyone[awake] = learner.expert_forecasts(x)[0]
        p = plain.p.reshape(len(intervals), K)
        np.testing.assert_allclose(learner.p, p[awake], rtol=0, atol=1e-14)
        np.testing.assert_allclose(learner.diagnostics()["p_asleep"], 1.0 - p[awake].sum(), rtol=0, atol=1e-14)
        predictions.append(learner.forecast(x))
        np.testing.assert_allclose(predictions[-1], (p * everyone).sum(), rtol=0, atol=1e-12)
        plain.learn(0.5 * (y - everyone.reshape(-1)) ** 2)
        learner.update(x, y)
        assert learner.diagnostics()["forecast"] == predictions[-1]
        reference = y if (params["hint"] if params["yref"] == "hint" else params["yref"]) == "last" else 0.0
        history.append(plain.p)
    return {"pred": predictions, "p": history, "experts": [[g, *i] for i in intervals for g in gammas]}


@register("vaw", "gamma_grid")
def gamma_grid(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"gammas": discount_grid(params["d"], params["T"], params["b"])}


@register("vaw", "geometric_intervals")
def run_geometric_intervals(params: dict[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    return {"intervals": geometric_intervals(params["T"])}
