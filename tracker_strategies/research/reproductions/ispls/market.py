"""Section 5 of the iS-PLS paper on prices: two indices at once with ten names, and small portfolios of one index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import MarketPanel, read_panel
from tracker_strategies.algorithms import (
    SLAIT,
    AdaptiveLasso,
    ConstantWeights,
    OnlineAlgorithm,
    RandomPortfolios,
    RecursiveLars,
    SparsePLS,
    StaticPortfolio,
    enhanced_target,
)
from tracker_strategies.algorithms.regression import SelfTuning
from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]
Source = Path | MarketPanel

NAMES, RATE, MEMBERS = 10, 0.15, 1000
"""Names held, return a year beyond the index, and random portfolios: as in the paper."""
WARM_UP = 52
"""Rounds before the first is scored: a year of weeks."""
SMALL, SMALL_MEMBERS = 50, 200
SELF = SelfTuning()
AS_PRINTED: dict[str, Any] = {"deflate": "sparse", "loyalty": 0.0}


@dataclass(frozen=True, eq=False)
class Market:
    """Returns of N names, shape (T, N), and of q indices, shape (T, q), over common dates."""

    X: FloatArray
    Y: FloatArray
    names: tuple[str, ...]
    indices: tuple[str, ...]
    periods: float
    source: str


def read_market(sources: Sequence[Source]) -> Market:
    """Join panels with one index each on the dates that all of them have; names without a price on all of these are left out.

    Raises
    ------
    DataError
        When a file cannot be read, or they have fewer than 80 dates, or no name, in common.
    """
    panels = [s if isinstance(s, MarketPanel) else read_panel(Path(s), "INDEX", gaps="freeze") for s in sources]
    labels = [Path(str(p.source)).name.split(".")[0] or f"index {i + 1}" for i, p in enumerate(panels)]
    if len(set(labels)) < len(labels):
        labels = [f"{label} {i + 1}" for i, label in enumerate(labels)]
    common = panels[0].dates
    for panel in panels[1:]:
        common = np.intersect1d(common, panel.dates)
    if len(common) < 80:
        raise DataError(
            f"{', '.join(labels)} have {len(common)} dates in common; at least 80 are needed, 52 of them for learning"
        )
    prices, levels, names = [], [], []
    for panel, label in zip(panels, labels, strict=True):
        rows = np.searchsorted(panel.dates, common)
        close = panel.close[rows]
        whole = np.asarray(np.isfinite(close).all(axis=0))
        prices.append(close[:, whole])
        levels.append(panel.target_close[rows, :1])
        names += [f"{label}:{s}" if len(panels) > 1 else s for s, kept in zip(panel.symbols, whole.tolist(), strict=True) if kept]
    X, Y = (np.hstack(part)[1:] / np.hstack(part)[:-1] - 1.0 for part in (prices, levels))
    if X.shape[1] < NAMES:
        raise DataError(
            f"{', '.join(labels)} have {X.shape[1]} names with a price on every common date; at least {NAMES} are needed"
        )
    periods = float(panels[0].periods_per_year)
    return Market(X, Y, tuple(names), tuple(labels), periods, " + ".join(str(p.source) for p in panels))


# ------------------------------------------------------------------ two indices, ten names, fifteen per cent a year


def bivariate(market: Market, members: int = MEMBERS, seed: int = 0) -> dict[str, Any]:
    """Figures 11 and 12: one portfolio for all indices; rivals, which know one target, have one portfolio for each."""
    N, q = market.X.shape[1], market.Y.shape[1]
    T = enhanced_target(market.Y, RATE, market.periods)
    paper: dict[str, Any] = {"n_targets": q, "theta": NAMES, "n_factors": 1, "forgetting": SELF} | AS_PRINTED
    joint: dict[str, OnlineAlgorithm] = {
        "iS-PLS, projected coefficients": SparsePLS(N, standardise=False, mapping="project", **paper),
        "iS-PLS, refit": SparsePLS(N, **paper),
        "iS-PLS, residual deflation, refit": SparsePLS(
            N, n_targets=q, theta=NAMES, n_factors=min(3, N), max_names=NAMES, forgetting=SELF
        ),
        "Equal weight": ConstantWeights(N),
    }
    found: dict[str, Any] = {"rows": [], "held": {}, "lambda": {}}
    curves: dict[str, FloatArray] = {}
    for name, learner in joint.items():
        W, said = _path(learner, market.X, T if name != "Equal weight" else T[:, 0])
        returns = np.einsum("ti,ti->t", W[:-1], market.X)
        found["rows"] += [_row(name, market, T, j, returns, W) for j in range(q)]
        curves[name] = returns
        if name.startswith("iS-PLS"):
            found["held"][name] = (W[WARM_UP:] > 0.0).mean(axis=0)
            found["lambda"][name] = said
    for j in range(q):
        rivals: dict[str, OnlineAlgorithm] = {
            "R-LARS": RecursiveLars(N, theta=NAMES, max_names=NAMES),
            "aLasso": AdaptiveLasso(N, theta=NAMES),
        }
        for name, learner in rivals.items():
            W, _ = _path(learner, market.X, T[:, j])
            found["rows"].append(_row(name, market, T, j, np.einsum("ti,ti->t", W[:-1], market.X), W))
    found["random"] = _population(market, T, members, seed, curves)
    found["growth"] = {name: np.log1p(returns[WARM_UP:]).cumsum() for name, returns in curves.items()}
    found["growth"] |= {name: np.log1p(market.Y[WARM_UP:, j]).cumsum() for j, name in enumerate(market.indices)}
    found["static"] = _static(market, T)
    about = {"periods": market.periods, "names": N, "scored": len(market.X) - WARM_UP}
    return found | about | {"indices": list(market.indices), "source": market.source}


def _path(learner: OnlineAlgorithm, X: FloatArray, Y: FloatArray) -> tuple[FloatArray, list[float]]:
    """Weights before the first round and after each, and lambda after each."""
    W, lam = np.empty((len(X) + 1, X.shape[1])), []
    W[0] = learner.weights
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        W[t + 1] = learner.update(x, y)
        lam.append(learner.diagnostics().get("lambda", 1.0))
    return W, lam


def _row(name: str, market: Market, T: FloatArray, j: int, returns: FloatArray, W: FloatArray) -> dict[str, Any]:
    """Excess return over index j, tracking error against its enhanced target, names held and turnover, after the warm-up."""
    scored = slice(WARM_UP, None)
    years = (len(returns) - WARM_UP) / market.periods
    held = W[WARM_UP:-1]
    drifted = held * (1.0 + market.X[scored]) / (1.0 + returns[scored])[:, None]
    excess = float(np.log1p(returns[scored]).sum() - np.log1p(market.Y[scored, j]).sum())
    return {
        "method": name,
        "index": market.indices[j],
        "excess_by_round": (np.log1p(returns[scored]) - np.log1p(market.Y[scored, j])).tolist(),
        "excess_return_a_year": excess / years,
        "excess_return": excess,
        "tracking_error": float(np.sqrt(((returns - T[:, j])[scored] ** 2).mean())),
        "names": float(np.count_nonzero(held, axis=1).mean()),
        "turnover": float(np.abs(W[WARM_UP + 1 :] - drifted).sum(axis=1).mean()),
    }


def _population(market: Market, T: FloatArray, members: int, seed: int, curves: Mapping[str, FloatArray]) -> dict[str, Any]:
    """A thousand portfolios of ten random names: excess returns over each index, and how many of them iS-PLS beats."""
    population = RandomPortfolios(
        market.X.shape[1], n_portfolios=members, theta=NAMES, n_targets=market.Y.shape[1], mapping="project", seed=seed
    )
    returns = np.empty((len(market.X), members))
    for t, (x, y) in enumerate(zip(market.X, T, strict=True)):
        returns[t] = population.member_returns(x)
        population.update(x, y)
    growth = np.log1p(returns[WARM_UP:]).sum(axis=0)
    errors = np.sqrt(((returns[WARM_UP:, :, None] - T[WARM_UP:, None, :]) ** 2).mean(axis=0))
    found: dict[str, Any] = {"members": members, "indices": {}, "beaten": {}}
    for j, name in enumerate(market.indices):
        excess = growth - float(np.log1p(market.Y[WARM_UP:, j]).sum())
        found["indices"][name] = {
            "mean_excess_return": float(excess.mean()),
            "excess_return": excess.tolist(),
            "quantiles": np.quantile(excess, (0.05, 0.5, 0.95)).tolist(),
            "tracking_error": float(np.median(errors[:, j])),
        }
    for name, own in curves.items():
        mine = np.sqrt(((own[WARM_UP:, None] - T[WARM_UP:]) ** 2).mean(axis=0)).sum()
        found["beaten"][name] = {
            "in return": float((growth < float(np.log1p(own[WARM_UP:]).sum())).mean()),
            "in tracking error": float((errors.sum(axis=1) > mine).mean()),
        }
    return found


def _static(market: Market, T: FloatArray) -> list[dict[str, Any]]:
    """Figure 10: the first index alone, ten names fitted once to all rounds and judged on the same rounds."""
    own = np.array([name.startswith(f"{market.indices[0]}:") or len(market.indices) == 1 for name in market.names])
    X, rounds = market.X[:, own], len(market.X)
    found = []
    for method, words in (("spls", "S-PLS"), ("lars", "LARS"), ("ols", "Least squares, all names")):
        learner = StaticPortfolio(X.shape[1], method=method, theta=min(NAMES, X.shape[1]), window=rounds)
        for x, y in zip(X, T[:, 0].tolist(), strict=True):
            learner.update(x, y)
        returns = X @ learner.weights
        excess = np.log1p(returns) - np.log1p(market.Y[:, 0])
        halves = [float(excess[: rounds // 2].sum()), float(excess[rounds // 2 :].sum())]
        found.append(
            {
                "method": words,
                "names": int(np.count_nonzero(learner.weights)),
                "excess_by_round": excess.tolist(),
                "excess_return_a_year": sum(halves) * market.periods / rounds,
                "first_half": halves[0],
                "second_half": halves[1],
                "tracking_error": float(np.sqrt(((returns - T[:, 0]) ** 2).mean())),
            }
        )
    return found


# ------------------------------------------------------------------ at most fifty names of one index


def small_portfolio(
    X: FloatArray,
    y: FloatArray,
    *,
    names: int = SMALL,
    members: int = SMALL_MEMBERS,
    prices: Sequence[float] = (1e-6, 1e-7),
    seed: int = 0,
) -> dict[str, Any]:
    """Portfolios of at most so many names: root mean square tracking error over the second half, learnt from the first round on.

    "iS-PLS" is our default, with residual deflation and loyalty; "iS-PLS, printed selection" has neither; both standardise and
    refit. `prices` are those of SLAIT, which cannot be told how many names to hold.
    """
    N, start = X.shape[1], len(X) // 2
    names = min(names, N)
    learners: dict[str, OnlineAlgorithm] = {
        "iS-PLS": SparsePLS(N, theta=max(1, names // 2), max_names=names),
        "iS-PLS, printed selection": SparsePLS(N, theta=names, max_names=names, **AS_PRINTED),
        **{f"SLAIT, price {price:g}": SLAIT(N, lam=price) for price in prices},
        "Equal weight": ConstantWeights(N),
    }
    rows = []
    for name, learner in learners.items():
        W, _ = _path(learner, X, y)
        returns = np.einsum("ti,ti->t", W[:-1], X)[start:]
        drifted = W[start:-1] * (1.0 + X[start:]) / (1.0 + returns)[:, None]
        rows.append(
            {
                "method": name,
                "rmse": float(np.sqrt(((returns - y[start:]) ** 2).mean())),
                "names": float(np.count_nonzero(W[start:-1], axis=1).mean()),
                "most_names": int(np.count_nonzero(W[start:-1], axis=1).max()),
                "turnover": float(np.abs(W[start + 1 :] - drifted).sum(axis=1).mean()),
            }
        )
    population = RandomPortfolios(N, n_portfolios=members, theta=names, seed=seed)
    errors = np.empty((len(X), members))
    for t, (x, target) in enumerate(zip(X, y.tolist(), strict=True)):
        errors[t] = population.member_returns(x) - target
        population.update(x, target)
    rmse = np.sqrt((errors[start:] ** 2).mean(axis=0))
    return {
        "rows": rows,
        "random": {"members": members, "quantiles": np.quantile(rmse, (0.0, 0.05, 0.5, 0.95, 1.0)).tolist()},
        "limit": names,
        "assets": N,
        "scored": len(X) - start,
    }
