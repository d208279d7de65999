r"""Headline figures of a tracker, each with its definition. Per bar, as fractions: ``te_rms = 0.0010`` is 10 bp per bar.

**Scored bars.** Bar t is scored when the account was at its target at the close of bar t-1. With fills at the next open the first
scored bar is the second after the first decision, with fills at the close the first; an ``eval_from`` counts from the later of
the two. :class:`~tracker_strategies.analysis.entry.EntryWatch` says what "at its target" means where an entry takes longer. An
account that never gets there has ``n_bars`` 0; its other figures are NaN (null in JSON), but for ``final_value`` and those of the
entry.

**Returns** are time-weighted: with the account's value V_t at the close and the cash F_t that was paid in (+) or taken out (-),
booked after the fills of bar t, the account returned r_t = (V_t - F_t) / V_{t-1} - 1. Money that is paid in is not a return. Cash
F that was booked within the bar, while the account was worth B, splits the bar in two: 1 + r_t = B / V_{t-1} * V_t / (B + F).

With the index return y_t and the active return e_t = r_t - y_t over T scored bars:

te_rms
    sqrt(mean e_t^2): the size of the difference from the index, drift included.
te_centred
    Sample standard deviation of e_t (ddof = 1): the industry's ex-post tracking error, drift excluded.
mdte
    (1/T) sqrt(sum e_t^2), Eq. 13 of the APAS paper. It depends on T: never compare it across periods.
tracking_difference
    prod(1 + r_t) - prod(1 + y_t): how far apart the two accounts ended, per unit invested.
excess_log_return
    sum ln(1 + r_t) - sum ln(1 + y_t).
turnover
    Mean over bars of sum_i |w_{t+1,i} - drifted w_{t,i}|: value bought plus value sold, over the account's value at the close
    before. Investing what came in, or selling for what goes out, is trading too.
cost_bps
    10^4 times the mean over bars of commission and slippage paid, over the account's value at the close before.
n_holdings
    Mean over bars of the number of names with a position.
final_value
    Account value at the last bar.
n_bars
    T.
entry_bars
    Bars from the close before the first fill to the close at which the account was at its target: 1 with fills at the next open,
    0 with fills at the close, more where the entry takes longer. Bars on which nothing was ordered yet are in neither count. For
    an account that never got there, all bars from that close on.
entry_active_return
    prod(1 + r_t) - prod(1 + y_t) over the bars of the entry, its costs included.
entry_turnover
    Value bought plus value sold in the entry, over the account's value at the close before each fill; summed, not per bar.
entry_cost_bps
    10^4 times commission and slippage of those trades, over the account's value; summed, not per bar.
breaches_active, breaches_passive, breaches_forced
    Bars with a limit that a decision broke without need (never), that prices carried a holding over, or that had to give way:
    see :mod:`~tracker_strategies.analysis.breaches`.
idle_cash
    Mean over bars of the share of the account that decisions leave in cash, beyond ``min_cash``, because a limit forces them to:
    caps that cannot hold more, a turnover that does not reach, lots that are too large.
unfilled
    Value of the orders that the market did not take, over that of all orders sent, filled or not; 0 where fills do not depend on
    volume (``max_participation``, ``impact``).

If a margin or a budget was set, ``metrics.json`` also has the target and what was delivered, per year:
:func:`~tracker_strategies.analysis.goals.goals_of`.

Trades filled at the close at which the account gets to its target belong to the entry, and so does what they cost: the first
scored bar begins with what was left after them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracker_strategies.errors import DataError

FloatArray = NDArray[np.float64]

#: The keys of ``metrics.json``, in the order in which they are shown.
METRIC_KEYS = (
    "te_rms",
    "te_centred",
    "mdte",
    "tracking_difference",
    "excess_log_return",
    "turnover",
    "cost_bps",
    "n_holdings",
    "final_value",
    "n_bars",
    "entry_bars",
    "entry_active_return",
    "entry_turnover",
    "entry_cost_bps",
    "breaches_active",
    "breaches_passive",
    "breaches_forced",
    "idle_cash",
    "unfilled",
)

#: Those that count bars.
COUNTS = ("n_bars", "entry_bars", "breaches_active", "breaches_passive", "breaches_forced")

#: Those that depend on which index the account is compared with.
TRACKING_KEYS = (
    "te_rms",
    "te_centred",
    "mdte",
    "tracking_difference",
    "excess_log_return",
    "n_bars",
    "entry_bars",
    "entry_active_return",
)

#: Those that tell how limits were kept.
LIMIT_KEYS = ("breaches_active", "breaches_passive", "breaches_forced", "idle_cash", "unfilled")


def tracking_metrics(returns: ArrayLike, index_returns: ArrayLike) -> dict[str, float]:
    """The figures that need only two series of simple returns of equal length T >= 1."""
    r, y = np.asarray(returns, dtype=np.float64), np.asarray(index_returns, dtype=np.float64)
    if r.shape != y.shape or r.ndim != 1 or not len(r):
        raise DataError(f"returns of shape {r.shape} and index returns of shape {y.shape} do not match, or are empty")
    e = r - y
    square = float(e @ e)
    growth, index_growth = float(np.log1p(r).sum()), float(np.log1p(y).sum())
    return {
        "te_rms": math.sqrt(square / len(e)),
        "te_centred": float(np.std(e, ddof=1)) if len(e) > 1 else 0.0,
        "mdte": math.sqrt(square) / len(e),
        "tracking_difference": math.expm1(growth) - math.expm1(index_growth),
        "excess_log_return": growth - index_growth,
        "n_bars": float(len(e)),
    }


def time_weighted(value: FloatArray, flow: FloatArray | None) -> FloatArray:
    """Growth of each bar from the second on, 1 + r_t = (V_t - F_t) / V_{t-1}; ``flow`` is the cash booked per bar, None for none;
    cash booked within a bar as :func:`carried_to_close`.

    The last axis is time.
    """
    kept = value[..., 1:] if flow is None else value[..., 1:] - flow[..., 1:]
    return np.asarray(kept / value[..., :-1])


def not_taken(unfilled: FloatArray | None, turnover: FloatArray) -> float:
    """Value of the orders that the market did not take, over that of all orders; 0 where it takes all."""
    left = 0.0 if unfilled is None else float(unfilled.sum())
    return left / (left + float(turnover.sum())) if left else 0.0


def carried_to_close(flow: float, base: float, value: float, later: float = 0.0) -> float:
    """What cash F, booked while the account was worth B, counts at the close, in addition to cash G booked there.

    With F_t = G + F (V_t - G) / (B + F) the formula (V_t - F_t) / V_{t-1} is B / V_{t-1} * (V_t - G) / (B + F), the two parts of
    the bar.
    """
    return later + flow * (value - later) / (base + flow)


def downside_risk(returns: ArrayLike, index_returns: ArrayLike) -> float:
    """Mean of [y_t - r_t]_+^2: only the bars behind the index count."""
    behind = np.maximum(np.asarray(index_returns, dtype=np.float64) - np.asarray(returns, dtype=np.float64), 0.0)
    return float(np.mean(behind**2))


def capture(returns: ArrayLike, index_returns: ArrayLike) -> tuple[float, float]:
    """Up and down capture: geometric mean return of the account over that of the index, on bars on which the index rose, and on
    those on which it fell.

    1 is what a perfect tracker has; NaN where the index never rose, or never fell.
    """
    r, y = np.asarray(returns, dtype=np.float64), np.asarray(index_returns, dtype=np.float64)
    ratios = (_mean_growth(r[rows]) / _mean_growth(y[rows]) if rows.any() else math.nan for rows in (y > 0.0, y < 0.0))
    return next(ratios), next(ratios)


def _mean_growth(returns: FloatArray) -> float:
    return math.expm1(float(np.log1p(returns).mean()))


def drawdown(cumulated: ArrayLike) -> FloatArray:
    """Distance of each point of a path from its previous maximum, 0 or less. The path begins at its base."""
    path = np.asarray(cumulated, dtype=np.float64)
    return np.asarray(path - np.maximum.accumulate(path))


def drifted_weights(weights: FloatArray, asset_returns: FloatArray) -> FloatArray:
    """Weights after a bar without a trade: w_i (1 + x_i) / (1 + w.x), row by row."""
    grown = weights * (1.0 + asset_returns)
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True))


def weight_turnover(weights: FloatArray, asset_returns: FloatArray) -> FloatArray:
    """Turnover of each round from the second on: sum_i |w_{t+1,i} - drifted w_{t,i}|, for W and X of shape (T, N)."""
    return np.asarray(np.abs(weights[1:] - drifted_weights(weights[:-1], asset_returns[:-1])).sum(axis=1))


def annualised(te: float, periods_per_year: float) -> float:
    """A tracking error per bar, scaled to a year by the square root of time."""
    return te * math.sqrt(periods_per_year)
