"""What ``tracker data check`` finds in a panel: whether the prices can be trusted, and what tracking with them can reach."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datafeeds import CleaningReport, MarketPanel, MarketSource, SessionReport, check_sessions, clean
from datafeeds.errors import DataWarning
from tracker_strategies.algorithms.numerics.simplex_qp import solve_simplex_qp

FloatArray = NDArray[np.float64]
#: Returns that tell one correlation from another, and by how much that with the bar before must be larger.
ENOUGH_RETURNS, LAG = 100, 0.15


def look_at(market: MarketSource, exchange: str | None = None) -> tuple[dict[str, Any], CleaningReport, SessionReport | None]:
    """Open a source and look at it: the report as plain data, and what cleaning and the calendar of an exchange say.

    Holes are not refused: to find them is the point.

    Examples
    --------
    >>> from datafeeds import MarketSource
    >>> from tracker_strategies.research import look_at
    >>> report, *_ = look_at(MarketSource("sample"))
    >>> report["n_bars"]
    3018
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the report says it
        panel = replace(market, gaps="freeze").open()
    report = clean(panel, policy="flag")[1]
    sessions = None if exchange is None else check_sessions(panel, exchange)
    return check_panel(panel, report, sessions), report, sessions


def check_panel(panel: MarketPanel, report: CleaningReport, sessions: SessionReport | None = None) -> dict[str, Any]:
    """The report as plain data, for JSON.

    Keys: ``source``, ``first``, ``last``, ``n_bars``, ``n_assets``, ``targets``, ``bar_length``, ``periods_per_year``,
    ``dropped``; ``cut`` (bars of the source before every target has begun, or after one has ended, which no run uses);
    ``read_as`` (what the reader guessed);
    ``coverage`` (share of all dates and assets with a bar, and of the assets with one on every date); ``gaps`` (symbol to the
    number of dates without a bar between two bars); ``listings`` and ``delistings`` (symbol to its first bar after the first
    date, its last before the last); ``joined`` and ``left`` (changes of the members in the period, where a list of them is
    given); ``survivorship_warning``; ``cleaning`` (:meth:`datafeeds.CleaningReport.as_dict`); ``tracking`` (one entry per target:
    :func:`tracking_floor`); ``sessions`` (:meth:`datafeeds.SessionReport.as_dict` or None);
    ``lagged`` (:func:`lagged_names`).
    """
    has, T = panel.has_bar, panel.n_bars
    first, last = has.argmax(axis=0), T - 1 - has[::-1].argmax(axis=0)
    holes = (last - first + 1) - has.sum(axis=0)
    joined = left = 0
    if panel.members is not None:
        joined = int((panel.members[1:] & ~panel.members[:-1]).sum())
        left = int((panel.members[:-1] & ~panel.members[1:]).sum())
    delisted = {panel.symbols[i]: panel.day(int(last[i])) for i in np.flatnonzero(last < T - 1)}
    return {
        "source": panel.source,
        "first": panel.day(0),
        "last": panel.day(-1),
        "n_bars": T,
        "n_assets": panel.n_assets,
        "targets": list(panel.targets),
        "bar_length": str(panel.bar_length),
        "periods_per_year": panel.periods_per_year,
        "dropped": dict(panel.dropped),
        "cut": list(panel.cut),
        "read_as": list(panel.read_as),
        "coverage": {"bars": float(has.mean()), "complete_assets": float(has.all(axis=0).mean())},
        "gaps": {panel.symbols[i]: int(holes[i]) for i in np.argsort(-holes, kind="stable") if holes[i]},
        "listings": {panel.symbols[i]: panel.day(int(first[i])) for i in np.flatnonzero(first)},
        "delistings": delisted,
        "joined": joined,
        "left": left,
        "survivorship_warning": not delisted and not left,
        "cleaning": report.as_dict(),
        "tracking": {name: tracking_floor(panel, j) for j, name in enumerate(panel.targets)},
        "sessions": None if sessions is None else sessions.as_dict(),
        "lagged": lagged_names(panel),
    }


def lagged_names(panel: MarketPanel) -> dict[str, float]:
    """Names whose return goes with that of the target on the bar before, more than with that on the same bar.

    So it is where a market closes before the one of the index: its price of a date does not know the index's close of that date,
    and a fill at the close would trade on later news. The number is the correlation with the bar before.
    """
    y = panel.target_close[1:, 0] / panel.target_close[:-1, 0] - 1.0
    found = {}
    for name, x in zip(panel.symbols, panel.returns.T, strict=True):
        both = np.isfinite(x[1:])
        if np.count_nonzero(both) < ENOUGH_RETURNS:
            continue
        now, before = (_correlation(x[1:][both], other[both]) for other in (y[1:], y[:-1]))
        if before > max(now, 0.0) + LAG:
            found[name] = round(before, 3)
    return found


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0.0 else 0.0


def tracking_floor(panel: MarketPanel, target: int = 0) -> dict[str, Any]:
    r"""How close the assets come to a target.

    Returns
    -------
    dict
        - ``equal_weight_correlation``: of the returns of the equal-weight portfolio, rebalanced on every bar among the names that
          have a return, with those of the target; None where one of them never moves.
        - ``equal_weight_te_rms``: root mean square of the difference, per bar.
        - ``floor_te_rms``: the least that constant long-only *weights* reach in hindsight,
          :math:`\min_{w \ge 0, \sum w = 1} \sqrt{\frac1T \sum_t (w^\top x_t - y_t)^2}`. A learner of share counts may do better:
          an index holds share counts, and its weights drift.
        - ``floor_names``: how many names it holds.
        - ``shares_te_rms``: what constant long-only *share counts*, chosen in hindsight, reach: see :func:`best_share_counts`.
        - ``shares_names``: how many names they hold.
        - ``floor_assets``: of how many it could choose: those with a bar on every date on which the target has a level.
          With more of them than ``n_returns`` it says little about the future.
        - ``n_returns``: returns that were compared.
    """
    seen = np.arange(panel.n_bars) if panel.target_seen is None else np.flatnonzero(panel.target_seen[:, target])
    level, close = panel.target_close[seen, target], panel.close[seen]
    y, X = level[1:] / level[:-1] - 1.0, close[1:] / close[:-1] - 1.0
    some = np.isfinite(X).any(axis=1)
    equal = np.nanmean(X[some], axis=1)
    spread = float(equal.std() * y[some].std()) if some.any() else 0.0
    correlation = float(np.mean((equal - equal.mean()) * (y[some] - y[some].mean())) / spread) if spread else None
    whole = X[:, np.isfinite(X).all(axis=0)]
    floor, names, shares, held = None, 0, None, 0
    complete = close[:, np.isfinite(close).all(axis=0)]
    if complete.size and len(y):
        counts = best_share_counts(complete, level)
        wealth = complete @ counts
        shares, held = _rms(wealth[1:] / wealth[:-1] - 1.0 - y), int((counts * complete[0] > 1e-12 * wealth[0]).sum())
    if whole.size:
        scale = 1.0 / max(float(np.abs(whole).max()), 1e-300)  # returns of 1e-3 have squares of 1e-6
        Z, z = whole * scale, y * scale
        w, _ = solve_simplex_qp(Z.T @ Z, Z.T @ z)
        floor, names = _rms(whole @ w - y), int((w > 1e-12).sum())
    return {
        "equal_weight_correlation": correlation,
        "equal_weight_te_rms": _rms(equal - y[some]) if some.any() else None,
        "floor_te_rms": floor,
        "floor_names": names,
        "floor_assets": whole.shape[1],
        "shares_te_rms": shares,
        "shares_names": held,
        "n_returns": len(y),
    }


def best_share_counts(close: FloatArray, level: FloatArray, rounds: int = 6) -> FloatArray:
    r"""Constant long-only share counts that would have tracked an index best.

    The active return of counts n on a bar is :math:`e_t = n^\top (p_t - (1 + y_t) p_{t-1}) / V_{t-1}`, with the account's value
    :math:`V_t = n^\top p_t`. It is linearised around the counts of the round before, which start with the index as V: a least
    squares problem on the simplex per round (Gauss-Newton).

    Parameters
    ----------
    close : ndarray, shape (T, N)
        Prices, all finite.
    level : ndarray, shape (T,)
        Of the index.
    """
    growth, y = close / close[0], level[1:] / level[:-1] - 1.0
    missed, value, error = growth[1:] - (1.0 + y)[:, None] * growth[:-1], level / level[0], np.zeros(len(y))
    best, least = np.full(close.shape[1], 1.0 / close.shape[1]), np.inf
    for _ in range(rounds):
        A = (missed - error[:, None] * growth[:-1]) / value[:-1, None]
        scale = 1.0 / max(float(np.abs(A).max()), 1e-300)  # returns of 1e-3 have squares of 1e-6
        w, _ = solve_simplex_qp(scale**2 * (A.T @ A), -(scale**2) * (A.T @ error))
        value = growth @ w
        error = value[1:] / value[:-1] - 1.0 - y
        if _rms(error) < least:
            best, least = w, _rms(error)
    return np.asarray(best / close[0])


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values * values)))
